"""Runs the probes and collects their evidence. A probe that fails is shown and started again; no failure is fatal."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence

from potluck_control.api.schema import ProbeState, ProbeStatus
from potluck_control.states import Reason

from potluck.sentences import Sentence, sentence, verbatim
from potluck.tasks import start_task
from potluck_daemon.policy.model import SETTLE_S, Presence
from potluck_daemon.presence.probe import Probe, ProbeFailedError, ProbeUnavailableError, Sighting, Situation
from potluck_daemon.presence.tracking import Track, forget_quiet, observe

log = logging.getLogger(__name__)


class Watch:
    """All probes of one set of settings. It calls `on_change` from the loop when evidence or a probe's state changed.

    Args:
        never: programs that never count, whatever a probe takes them for, unless they are on the user's own
            always-yield list.
        retry_s: until a probe that failed is started again.
        cancel_again_s: until a probe that lost its cancellation is cancelled again.
    """

    def __init__(
        self,
        probes: Sequence[Probe],
        on_change: Callable[[], None],
        *,
        likely_interval_s: float,
        never: Iterable[str] = (),
        switched_off: Sequence[Sentence] = (),
        clock: Callable[[], float] = time.monotonic,
        retry_s: float = 30.0,
        cancel_again_s: float = 0.5,
    ) -> None:
        self._probes = probes
        self._on_change = on_change
        self._likely_interval_s = likely_interval_s
        self._never = {name.lower() for name in never}
        self._switched_off = switched_off
        self._clock = clock
        self._retry_s, self._cancel_again_s = retry_s, cancel_again_s
        self._tasks: list[asyncio.Task[None]] = []
        self._problems: dict[Sentence, ProbeStatus] = {}
        self._track = Track()
        self._woken_at = math.inf
        self.situation = Situation()

    @property
    def is_settled(self) -> bool:
        """True once every probe has looked, twice at what is likely, or has had enough time to."""
        known = self._track.seen.keys() | self._problems.keys()
        has_looked = all(probe.name in known for probe in self._probes) and not self._track.has_unconfirmed
        return has_looked or self._clock() >= self._woken_at + SETTLE_S

    @property
    def presence(self) -> Presence:
        return self._track.presence

    def set_awake(self, is_awake: bool) -> None:
        """Run the probes, or end them and forget everything that they saw. Idempotent."""
        if not is_awake:
            self._end_tasks()
        elif not self._tasks:
            self._woken_at = self._clock()
            self._tasks = [start_task(self._run(probe)) for probe in self._probes]

    def forget_quiet(self) -> None:
        """Forget the things that have ended, so that no quiet time follows them."""
        self._track = forget_quiet(self._track)

    def statuses(self) -> tuple[ProbeStatus, ...]:
        """Return the state of every probe, those that are switched off included."""
        running = tuple(self._status(probe.name) for probe in self._probes)
        return running + tuple(ProbeStatus(name, ProbeState.OFF) for name in self._switched_off)

    async def close(self) -> None:
        """End all probes. Cancel one again if a library lost the cancellation, as `wait_for` did before Python 3.12."""
        tasks = set(self._tasks)
        self._end_tasks()
        while tasks:
            _, tasks = await asyncio.wait(tasks, timeout=self._cancel_again_s)
            for task in tasks:
                task.cancel()

    def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []
        self._track = Track()
        self._problems = {}
        self._woken_at = math.inf

    def _status(self, name: Sentence) -> ProbeStatus:
        if not self._tasks:
            return ProbeStatus(name, ProbeState.ASLEEP)
        if name in self._problems:
            return self._problems[name]
        seen = [sighting for sighting in self._track.seen.get(name, ()) if sighting.reason is not Reason.AWAY]
        if seen:
            return ProbeStatus(name, ProbeState.SEEN, _listed([sighting.who for sighting in seen]))
        return ProbeStatus(name, ProbeState.WATCHING)

    async def _run(self, probe: Probe) -> None:
        def report(sightings: tuple[Sighting, ...]) -> None:
            self._apply(probe.name, self._allowed(sightings))

        this = asyncio.current_task()
        assert this is not None
        while True:
            try:
                await probe.watch(report, self.situation)
            except ProbeUnavailableError as error:
                self._show_problem(ProbeStatus(probe.name, ProbeState.UNAVAILABLE, error.sentence))
            except ProbeFailedError as error:
                self._show_problem(ProbeStatus(probe.name, ProbeState.FAILED, error.sentence))
            except Exception as error:  # the edge: one probe must not take the others down
                log.exception("probe %s failed", probe.name)
                self._show_problem(ProbeStatus(probe.name, ProbeState.FAILED, verbatim(type(error).__name__)))
            if this.cancelling():
                return  # a library that is cancelled while it connects may fail instead of ending
            await asyncio.sleep(self._retry_s)

    def _allowed(self, sightings: tuple[Sighting, ...]) -> tuple[Sighting, ...]:
        return tuple(item for item in sightings if item.app not in self._never or item.reason is Reason.EXCLUSIVE_APP)

    def _apply(self, name: Sentence, sightings: tuple[Sighting, ...] | None) -> None:
        """Apply one report. Return early for the usual one, which sees nothing and has nothing to confirm."""
        was_broken = sightings is not None and self._problems.pop(name, None) is not None
        seen_before = self._track.seen.get(name)
        if not was_broken and not sightings and sightings == seen_before:
            return
        before = self._track.presence
        self._track = observe(self._track, name, sightings, self._clock(), likely_interval_s=self._likely_interval_s)
        if was_broken or self._track.presence != before or seen_before != sightings:
            self._on_change()

    def _show_problem(self, problem: ProbeStatus) -> None:
        is_news = self._problems.get(problem.name) != problem
        self._apply(problem.name, None)
        self._problems[problem.name] = problem
        if is_news:
            log.info("probe %s: %s", problem.name, problem.detail)
            self._on_change()


def _listed(names: Sequence[str | Sentence]) -> Sentence:
    first, *others = names
    if others:
        return sentence("{what}, {other}", what=first, other=_listed(others))
    return first if isinstance(first, Sentence) else verbatim(first)
