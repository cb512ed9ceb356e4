"""The probes that the settings ask for, run by one `Watch` that is replaced when those settings change."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from potluck_control.settings import Settings

from potluck_daemon.policy.decide import Presence, is_device_needed
from potluck_daemon.presence.agents import AgentReports
from potluck_daemon.presence.choose import probes_for
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import Surroundings
from potluck_daemon.presence.session import with_session
from potluck_daemon.presence.watch import Watch


class Lookout:
    """Tells whether somebody else needs the computer. `on_change` is called when the answer may have changed."""

    def __init__(self, environment: Mapping[str, str], reader: NvmlReader, on_change: Callable[[], None]) -> None:
        self._own = environment
        self._surroundings = Surroundings(environment=dict(environment))
        self._reader = reader
        self._on_change = on_change
        self._settings = Settings()
        self.agents = AgentReports()
        self.watch = self._new_watch()

    def apply(self, settings: Settings) -> None:
        """Start afresh if other probes, or probes with other limits, are asked for."""
        before, self._settings = self._settings, settings
        if (before.yield_, before.when, before.limits) != (settings.yield_, settings.when, settings.limits):
            self._begin_again()

    @property
    def presence(self) -> Presence:
        return self.watch.presence

    @property
    def has_game(self) -> bool:
        """True while somebody needs the device."""
        return is_device_needed(self.presence)

    def _enter_session(self, variables: Mapping[str, str]) -> None:
        """Look with the variables of the desktop's session: it has come, or is another one."""
        environment = with_session(self._own, variables)
        if environment != self._surroundings.environment:
            self._surroundings = Surroundings(environment=environment)
            self._begin_again()
            self._on_change()

    def _begin_again(self) -> None:
        self.watch.set_awake(False)
        self.watch = self._new_watch()

    def _new_watch(self) -> Watch:
        probes, off = probes_for(self._settings, self._surroundings, self.agents, self._reader, self._enter_session)
        given = self._settings.yield_
        return Watch(
            probes, self._on_change, likely_interval_s=given.likely_interval_s, never=given.never, switched_off=off
        )
