"""The watch over probes that are scripted: what it shows, what it survives, what it forgets."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from helpers.made_processes import Clock
from potluck_control.api.schema import ProbeState, ProbeStatus
from potluck_control.settings import Settings, WhenSettings, YieldSettings
from potluck_control.states import Certainty, Reason
from potluck_daemon.presence.agents import MAX_SOURCES, AgentReports
from potluck_daemon.presence.lookout import probes_for
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import (
    Probe,
    ProbeFailedError,
    ProbeUnavailableError,
    Report,
    Sighting,
    Situation,
    Surroundings,
)
from potluck_daemon.presence.watch import Watch

from potluck.errors import UsageError
from potluck.sentences import verbatim

GAME = Sighting(Reason.GAME, "Hades", app="hades")
LISTED = Sighting(Reason.EXCLUSIVE_APP, "hades", app="hades")


class Scripted:
    """Reports, or raises, what it is given."""

    def __init__(self, name: str = "scripted") -> None:
        self.name = verbatim(name)
        self.situation: Situation | None = None
        self._steps: asyncio.Queue[tuple[Sighting, ...] | Exception] = asyncio.Queue()

    def then(self, step: tuple[Sighting, ...] | Exception) -> None:
        self._steps.put_nowait(step)

    async def watch(self, report: Report, situation: Situation) -> None:
        self.situation = situation
        while True:
            step = await self._steps.get()
            if isinstance(step, Exception):
                raise step
            report(step)


class Watched:
    def __init__(self, *probes: Probe, never: tuple[str, ...] = ()) -> None:
        self.clock = Clock()
        self.changed = asyncio.Event()
        self.watch = Watch(
            probes,
            self.changed.set,
            likely_interval_s=1.0,
            never=never,
            clock=self.clock,
            retry_s=0.01,
            cancel_again_s=0.001,
        )

    async def until(self, wanted: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not wanted():
                self.changed.clear()
                await self.changed.wait()

    def state(self, number: int = 0) -> ProbeStatus:
        return self.watch.statuses()[number]


@asynccontextmanager
async def awake(watched: Watched) -> AsyncIterator[Watched]:
    watched.watch.set_awake(True)
    try:
        yield watched
    finally:
        await watched.watch.close()


async def test_a_probe_that_cannot_work_is_shown_as_such_and_disturbs_no_other() -> None:
    broken, other = Scripted("broken"), Scripted("other")
    async with awake(Watched(broken, other)) as watched:
        for error, state, detail in (
            (ProbeUnavailableError("no battery"), ProbeState.UNAVAILABLE, "no battery"),
            (ProbeFailedError("it hangs"), ProbeState.FAILED, "it hangs"),
            (ZeroDivisionError("a bug"), ProbeState.FAILED, "ZeroDivisionError"),
        ):
            broken.then((GAME,))
            await watched.until(lambda: bool(watched.watch.presence.evidence))
            broken.then(error)
            shown = ProbeStatus(verbatim("broken"), state, verbatim(detail))
            await watched.until(lambda shown=shown: watched.state() == shown)
            assert watched.watch.presence.evidence == ()
        other.then((GAME,))
        await watched.until(lambda: bool(watched.watch.presence.evidence))


async def test_a_probe_that_failed_is_tried_again_after_a_while_and_what_it_sees_is_shown() -> None:
    probe = Scripted()
    async with awake(Watched(probe)) as watched:
        probe.then(ProbeUnavailableError("no desktop"))
        await watched.until(lambda: watched.state().state is ProbeState.UNAVAILABLE)
        probe.then((GAME,))
        await watched.until(lambda: bool(watched.watch.presence.evidence))
        assert watched.state() == ProbeStatus(verbatim("scripted"), ProbeState.SEEN, verbatim("Hades"))


async def test_it_is_settled_when_each_probe_has_looked_or_cannot_or_time_is_up() -> None:
    first, second = Scripted("first"), Scripted("second")
    watched = Watched(first, second)
    assert not watched.watch.is_settled
    async with awake(watched):
        first.then(())
        await watched.until(lambda: watched.state(0).state is ProbeState.WATCHING and watched.changed.is_set())
        assert not watched.watch.is_settled
        second.then(ProbeUnavailableError("not here"))
        await watched.until(lambda: watched.watch.is_settled)
        watched.watch.set_awake(False)
        assert not watched.watch.is_settled
        watched.watch.set_awake(True)
        assert not watched.watch.is_settled
        watched.clock.now += 10
        assert watched.watch.is_settled


async def test_it_is_settled_after_a_second_look_at_what_is_likely() -> None:
    probe = Scripted()
    async with awake(Watched(probe)) as watched:
        for is_confirmed in (False, True):
            watched.changed.clear()
            probe.then((replace(GAME, certainty=Certainty.LIKELY),))
            await watched.changed.wait()
            assert watched.watch.is_settled is bool(watched.watch.presence.evidence) is is_confirmed
            watched.clock.now += 1


async def test_the_never_list_holds_for_every_probe_but_not_against_the_always_list() -> None:
    probe = Scripted()
    async with awake(Watched(probe, never=("Hades",))) as watched:
        probe.then((GAME,))
        probe.then((GAME, LISTED))
        await watched.until(lambda: bool(watched.watch.presence.evidence))
        assert [item.reason for item in watched.watch.presence.evidence] == [Reason.EXCLUSIVE_APP]


async def test_asleep_it_forgets_what_it_saw_and_runs_nothing() -> None:
    probe = Scripted()
    async with awake(Watched(probe)) as watched:
        probe.then((GAME,))
        await watched.until(lambda: bool(watched.watch.presence.evidence))
        watched.watch.set_awake(False)
        assert watched.watch.presence.evidence == ()
        assert watched.state().state is ProbeState.ASLEEP


# --- agents ----------------------------------------------------------------------------------------------------------


async def test_a_report_of_an_agent_is_evidence_until_it_expires_or_the_same_agent_takes_it_back() -> None:
    clock = Clock()
    agents = AgentReports(clock, repeat_s=0.01)
    async with awake(Watched(agents)) as watched:
        for source in ("one", "two"):
            agents.add(source, Sighting(Reason.GAME, source), lifetime_s=10)
        await watched.until(lambda: len(watched.watch.presence.evidence) == 2)
        agents.add("one", GAME, lifetime_s=0)
        await watched.until(lambda: [item.who for item in watched.watch.presence.evidence] == ["two"])
        clock.now += 10
        await watched.until(lambda: not watched.watch.presence.evidence)


async def test_a_likely_report_counts_when_it_lasts() -> None:
    agents = AgentReports(Clock(), repeat_s=0.01)
    async with awake(Watched(agents)) as watched:
        agents.add("windows tray", Sighting(Reason.FULL_SCREEN, "a game", Certainty.LIKELY), lifetime_s=60)
        await watched.until(lambda: watched.state().state is ProbeState.SEEN)
        assert watched.watch.presence.evidence == ()
        watched.clock.now += 1
        await watched.until(lambda: bool(watched.watch.presence.evidence))


def test_agents_are_bounded_in_number_and_in_what_they_may_say() -> None:
    clock = Clock()
    agents = AgentReports(clock)
    with pytest.raises(UsageError, match="cannot report"):
        agents.add("x", Sighting(Reason.SHUTDOWN, "x"), lifetime_s=60)
    for number in range(MAX_SOURCES):
        agents.add(f"agent {number}", GAME, lifetime_s=60)
    with pytest.raises(UsageError, match="too many"):
        agents.add("one more", GAME, lifetime_s=60)
    agents.add("agent 0", GAME, lifetime_s=60)  # those that are known may repeat theirs
    clock.now += 60
    agents.add("one more", GAME, lifetime_s=60)


# --- which probes ----------------------------------------------------------------------------------------------------


def names(settings: Settings) -> tuple[set[str], set[str]]:
    probes, off = probes_for(settings, Surroundings(environment={}), AgentReports(), NvmlReader())
    return {str(probe.name) for probe in probes}, set(map(str, off))


def test_what_the_user_does_not_mind_is_not_looked_at_and_by_default_all_that_needs_no_list_and_no_cap() -> None:
    on, off = names(Settings())
    assert off == {"Power"}
    assert {"GameMode", "Temperature"} <= on
    when = WhenSettings(on_battery=True, on_metered=True, active_percent=100)
    no_programs = YieldSettings(steam=False, gamescope=False, wine=False)
    on, off = names(Settings(when=when, yield_=no_programs))
    assert off >= {"Battery", "Metered network", "Running programs", "Idle time (X11)"}
    assert "Logins and screen lock" in on
    on, _ = names(Settings(yield_=replace(no_programs, always=("blender",))))
    assert "Running programs" in on


class Stubborn:
    """Answers a cancellation with an error or loses it, as a library does that connects or meets a result."""

    name = verbatim("stubborn")

    def __init__(self, fails: bool) -> None:
        self.fails = fails

    async def watch(self, report: Report, situation: Situation) -> None:
        report(())
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self.fails:
                raise ProbeFailedError("interrupted") from None
        await asyncio.Event().wait()


async def test_a_probe_that_fails_when_it_is_ended_or_loses_its_cancellation_does_not_hold_the_end_up() -> None:
    for fails in (True, False):
        watched = Watched(Stubborn(fails))
        watched.watch.set_awake(True)
        await watched.changed.wait()
        async with asyncio.timeout(60):
            await watched.watch.close()
