"""Runs the probes and keeps what they say together. A probe that fails is shown and tried again, never fatal."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from enum import Enum

from potluck_daemon.control.schema import ProbeState, ProbeStatus
from potluck_daemon.policy import Presence
from potluck_daemon.presence.probe import Probe, ProbeUnavailableError, Sighting, Vigilance
from potluck_daemon.presence.tracking import Track, forget_quiet, observe

log = logging.getLogger(__name__)

RETRY_S = 30.0


class Level(Enum):
    ASLEEP = "asleep"  # nothing to give back
    RELAXED = "relaxed"  # given back already
    URGENT = "urgent"


class Watch:
    """`on_change` is called, from the loop, when the evidence or a probe's state changed."""

    def __init__(
        self,
        probes: Sequence[Probe],
        on_change: Callable[[], None],
        *,
        likely_interval_s: float,
        switched_off: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._probes = probes
        self._on_change = on_change
        self._likely_interval_s = likely_interval_s
        self._switched_off = switched_off
        self._clock = clock
        self._vigilance = Vigilance()
        self._level = Level.ASLEEP
        self._tasks: list[asyncio.Task[None]] = []
        self._problems: dict[str, str] = {}
        self._track = Track()

    @property
    def presence(self) -> Presence:
        return self._track.presence

    def set_level(self, level: Level) -> None:
        """Idempotent. Asleep forgets everything that was seen."""
        if level is self._level:
            return
        self._level = level
        self._vigilance.is_relaxed = level is Level.RELAXED
        if level is Level.ASLEEP:
            self._end_tasks()
        elif not self._tasks:
            self._tasks = [asyncio.create_task(self._run(probe)) for probe in self._probes]

    def forget_quiet(self) -> None:
        self._track = forget_quiet(self._track)

    def statuses(self) -> tuple[ProbeStatus, ...]:
        running = tuple(self._status(probe.name) for probe in self._probes)
        return running + tuple(ProbeStatus(name, ProbeState.OFF) for name in self._switched_off)

    async def close(self) -> None:
        tasks = self._tasks
        self._end_tasks()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []
        self._level = Level.ASLEEP
        self._track = Track()

    def _status(self, name: str) -> ProbeStatus:
        if self._level is Level.ASLEEP:
            return ProbeStatus(name, ProbeState.ASLEEP)
        if name in self._problems:
            return ProbeStatus(name, ProbeState.UNAVAILABLE, self._problems[name])
        seen = self._track.seen.get(name, ())
        if seen:
            return ProbeStatus(name, ProbeState.SEEN, ", ".join(sighting.who for sighting in seen))
        return ProbeStatus(name, ProbeState.WATCHING)

    async def _run(self, probe: Probe) -> None:
        def report(sightings: tuple[Sighting, ...]) -> None:
            self._heard(probe.name, sightings)

        while True:
            try:
                await probe.watch(report, self._vigilance)
            except ProbeUnavailableError as error:
                self._note_problem(probe.name, str(error))
            except Exception as error:  # the edge: one probe must not take the others down
                log.exception("probe %s failed", probe.name)
                self._note_problem(probe.name, f"failed ({type(error).__name__})")
            await asyncio.sleep(RETRY_S)

    def _heard(self, name: str, sightings: tuple[Sighting, ...]) -> None:
        if not sightings and not self._track.seen.get(name) and name not in self._problems:
            return  # the usual look, several times a second
        was_broken = self._problems.pop(name, None) is not None
        before, seen_before = self._track.presence, self._track.seen.get(name, ())
        self._track = observe(self._track, name, sightings, self._clock(), likely_interval_s=self._likely_interval_s)
        if was_broken or self._track.presence != before or seen_before != sightings:
            self._on_change()

    def _note_problem(self, name: str, problem: str) -> None:
        if self._problems.get(name) != problem:
            log.info("probe %s: %s", name, problem)
        self._heard(name, ())
        self._problems[name] = problem
        self._on_change()
