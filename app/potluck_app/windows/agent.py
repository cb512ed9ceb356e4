"""Reports to the daemon what Windows knows of its user, from a thread of the app.

It reports changes at once, repeats what holds before the daemon forgets it, and takes back what ended. While the daemon
is away it asks nothing; the app's link notices when the daemon is back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from msgspec import structs
from potluck_control import schema
from potluck_control.client import ControlClient
from potluck_control.methods import settings
from potluck_control.schema import PresenceParams
from potluck_control.states import Reason

from potluck.errors import PotluckError
from potluck_app.windows.judging import LIFETIME_S, Wishes, judge
from potluck_app.windows.signals import UserSession

log = logging.getLogger(__name__)

LOOK_S = 1.0
REPEAT_S = LIFETIME_S / 3
WISHES_S = 30.0  # how soon a change of the settings is heard of


class PresenceAgent:
    """Reports what `look` sees of the user's session."""

    def __init__(
        self, client: ControlClient, look: Callable[[], UserSession], clock: Callable[[], float] = time.monotonic
    ):
        self._client = client
        self._look = look
        self._clock = clock
        self._wishes, self._wished_at = Wishes(), -WISHES_S
        self._told: dict[Reason, tuple[PresenceParams, float]] = {}
        self._stopped = threading.Event()
        self.is_connected = threading.Event()  # set and cleared by whoever watches the daemon

    def start(self) -> None:
        threading.Thread(target=self._run, name="presence", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        self.is_connected.set()

    def report(self) -> None:
        """Look once and report what changed. Raises PotluckError if the daemon does not answer."""
        now = self._clock()
        if now - self._wished_at >= WISHES_S:
            self._wishes, self._wished_at = wishes_of(self._client.call(settings.GET)), now
        holds = {report.reason: report for report in judge(self._look(), self._wishes)}
        for reason in self._told.keys() - holds.keys():
            self._client.call(schema.PRESENCE, structs.replace(self._told[reason][0], lifetime_s=0.0))
            del self._told[reason]
        for reason, report in holds.items():
            before, told_at = self._told.get(reason, (None, now))
            if report != before or now - told_at >= REPEAT_S:
                self._client.call(schema.PRESENCE, report)
                self._told[reason] = (report, now)

    def forget(self) -> None:
        """Report everything anew, for the daemon is a new one."""
        self._told.clear()

    def _run(self) -> None:
        while self.is_connected.wait() and not self._stopped.is_set():
            try:
                self.report()
            except PotluckError as error:  # it went away in between; the link says when it is back
                log.info("presence was not reported: %s", error)
                self.forget()
            self._stopped.wait(LOOK_S)


def wishes_of(page: settings.SettingsPage) -> Wishes:
    """Return the settings in force that matter here."""
    values = {item.key: item.value for section in page.sections for item in section.settings}

    def names(key: str) -> frozenset[str]:
        value = values.get(key, ())
        return frozenset(map(_file_name, value)) if isinstance(value, tuple) else frozenset()

    idle = values.get("when.idle_after_s")
    idle_s = float(idle) if isinstance(idle, int | float) else Wishes().idle_after_s
    return Wishes(names("yield.always"), names("yield.never"), idle_s)


def _file_name(program: str) -> str:
    """Return the file name of a program that people call, say, "Blender"."""
    name = program.lower()
    return name if name.endswith(".exe") else f"{name}.exe"
