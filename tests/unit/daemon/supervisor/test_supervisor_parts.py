import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from helpers.launches import launch_of
from msgspec import structs
from potluck_control.api.schema import OneMore, SpeedForYou, SwarmStatus
from potluck_control.methods.members import SeenServer
from potluck_control.places import Places
from potluck_control.processes import engine_messages
from potluck_control.processes.engine_report import NetworkReport
from potluck_control.processes.launch_spec import LaunchSpec
from potluck_control.settings import ServeSettings, Settings
from potluck_daemon.policy.model import Phase
from potluck_daemon.reporting.status import notices, swarm_status
from potluck_daemon.settings.configuration import Configuration
from potluck_daemon.settings.state import RememberedState, StateFile, TimedAnswer
from potluck_daemon.settings.store import Loaded
from potluck_daemon.supervisor.facts import EngineFacts
from potluck_daemon.supervisor.failures import LONGEST_DELAY_S, MAX_LETTERS, EngineExit, delay_s, diagnose
from potluck_daemon.supervisor.process import EngineProcess
from potluck_daemon.supervisor.supervisor import Supervisor

from potluck.membership.membership import Membership
from potluck.protocol.blocks import Span
from potluck.protocol.codec import CodecError
from potluck.protocol.swarm import Swarm
from potluck.sentences import NOTHING, verbatim

SWARM = Swarm("s", "m", 4, "s", founder_key=b"k" * 32)
LAUNCH = LaunchSpec(Membership(SWARM), "/m", Path("/run"))
CRASH = (
    "Fatal Python error: Bus error",
    "",
    "Thread 0x00007f7875a676c0 (most recent call first):",
    '  File "/usr/lib/python3/threading.py", line 982 in run',
    "  ...",
)  # as faulthandler writes it


def test_each_message_survives_the_pipe() -> None:
    for message in (
        engine_messages.Launch(
            launch_of("/m", Path("/run"), Membership(SWARM), blocks="0:4", listen=("/ip4/0.0.0.0/tcp/0",))
        ),
        engine_messages.Stop(),
        engine_messages.Online("12D3", ("/ip4/1.2.3.4/tcp/1",), Span(0, 4), 1.5),
        engine_messages.SwarmServers(
            (SeenServer("12D3", 0, 4, "online", 1.5, 0.02), SeenServer("12D4", 4, 8, "offline", 0.0))
        ),
        engine_messages.EngineReport(1, 2, 3, 4, 5, None, (1, 0), 2.5),
    ):
        line = engine_messages.encode(message)
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        assert engine_messages.decode(line) == message


def test_a_kind_of_a_newer_version_is_ignored_and_a_broken_line_refused() -> None:
    assert engine_messages.decode(b'{"kind":"Dance","x":1}\n') is None
    for line in (b"\n", b"[]\n", b'{"kind":3}\n', b'{"kind":"Hello"}\n', b"Traceback (most recent call last):\n"):
        with pytest.raises(CodecError):
            engine_messages.decode(line)


def test_the_membership_key_does_not_show_in_a_launch_that_is_logged() -> None:
    assert "secret" not in repr(LaunchSpec(Membership(SWARM), "/m", Path("/run")))


def test_waiting_grows_to_a_limit_and_begins_later_after_a_failure_that_explained_itself() -> None:
    delays = [delay_s(failures, explained=False) for failures in range(1, 50)]
    assert delays == sorted(delays)
    assert (delays[0], delays[-1]) == (1, LONGEST_DELAY_S)
    assert delay_s(1, explained=True) >= 30


def test_each_end_has_a_sentence() -> None:
    for end, words in (
        (
            EngineExit(1, failed=engine_messages.Failed(verbatim("no checkpoint"), verbatim("download it"))),
            "no checkpoint (download it)",
        ),
        (EngineExit(-9, killed_because=verbatim("it stopped answering")), "it stopped answering"),
        (EngineExit(-signal.SIGKILL), "Memory ran out, so the engine starts again with less"),
        (EngineExit(-signal.SIGKILL, memory_kills=1), "Memory ran out, so the engine starts again with less"),
        (EngineExit(-signal.SIGKILL, memory_kills=0), "killed by another program"),
        (EngineExit(-signal.SIGSEGV, ["cuda said no"]), "SIGSEGV: cuda said no"),
        (
            EngineExit(-signal.SIGBUS, [*CRASH, "Extension modules: torch._C (total: 1)"]),
            "SIGBUS: Fatal Python error: Bus error",
        ),
        (EngineExit(-signal.SIGTERM), "SIGTERM"),
        (EngineExit(-200), "signal 200"),
        (EngineExit(1, ["Traceback", "ModuleNotFoundError: No module named 'torch'"]), "extra `engine`"),
        (EngineExit(1, ["RuntimeError: CUDA out of memory."]), "Memory ran out"),
        (EngineExit(1, ["x", "ValueError: odd", ""]), "code 1: ValueError: odd"),
        (EngineExit(1), "code 1"),
        (EngineExit(1, ["x" * 10_000]), "xxx"),
        (EngineExit(0), "by itself"),
    ):
        said = str(diagnose(end))
        assert words in said
        assert len(said) <= MAX_LETTERS + 100
        assert "\n" not in said


def test_what_it_serves_is_said_once_a_move_and_not_once_a_block_and_what_it_waits_for_until_it_goes_on() -> None:
    supervisor = Supervisor(lambda: None)
    loading = engine_messages.Moving(Span(0, 1), Span(0, 4), verbatim("nobody serves them"))
    leaving = engine_messages.Moving(Span(0, 4), Span(4, 8), verbatim("they lack servers"))
    for end, moving, said in (
        (1, loading, "layer 1 of m (loading 1-4)"),
        (2, loading, "layer 1 of m (loading 1-4)"),
        (4, loading, "layers 1-4 of m"),
        (4, None, "layers 1-4 of m"),
        (4, leaving, "layers 1-4 of m (moving to 5-8)"),
    ):
        supervisor.facts = EngineFacts(span=Span(0, end), moving=moving)
        assert str(supervisor.view(LAUNCH, "").serving) == said
    for waiting in (engine_messages.Waiting(verbatim("no bootstrap peer answers")), engine_messages.Waiting()):
        supervisor._apply(waiting)
        assert supervisor.view(LAUNCH, "").waiting == waiting


def test_a_file_that_changed_is_a_notice_while_its_blocks_are_served() -> None:
    supervisor, said = Supervisor(lambda: None), []
    for is_served in (True, False):
        supervisor.facts = EngineFacts(changed_file=engine_messages.FilesChanged("model.safetensors", is_served))
        told = [str(notice) for notice in notices(supervisor.facts, engine_messages.EngineReport())]
        said.append((supervisor.view(LAUNCH, "").lacking, told))
    notice = "model.safetensors changed on disk. You still serve what was loaded from it."
    assert said == [("", [notice]), ("model.safetensors", [])]


async def test_what_is_known_of_a_swarm_is_not_taken_for_another_one_or_another_model() -> None:
    supervisor = Supervisor(lambda: None)
    supervisor._set_launch(LAUNCH)
    supervisor._phase = Phase.JOINING
    here, there = (SeenServer(peer, 0, 4, "online", 1.5) for peer in ("12D3", "12D4"))
    for message in (
        engine_messages.Online("12D3", ("/ip4/1.2.3.4/tcp/1",), Span(0, 4), 1.5),
        engine_messages.EngineReport(coverage=(1, 1, 1, 1), network=NetworkReport("direct", 1, 1)),
        engine_messages.SwarmServers((here, there)),
        engine_messages.Nearby(("10.0.0.2:1",)),
        engine_messages.Moving(Span(0, 4), Span(2, 6), verbatim("they lack servers")),
        engine_messages.Placed("cpu", "float32", "none", 4, 0, 9, 0, NOTHING),
    ):
        supervisor._apply(message)
    other, renewed = replace(SWARM, founder_key=b"o" * 32), replace(SWARM, model="n", prefix="s-n")
    assert supervisor.facts_of(SWARM) == supervisor.facts
    assert supervisor.facts_of(other) == supervisor.facts_of(None) == EngineFacts()
    kept = supervisor.facts_of(renewed)
    assert kept == EngineFacts(SWARM, peer_id="12D3", addresses=("/ip4/1.2.3.4/tcp/1",), nearby=kept.nearby)
    assert [supervisor.has_reached(swarm) for swarm in (SWARM, renewed, other, None)] == [True, True, False, False]
    supervisor._phase = Phase.OFFLOADED
    paused = supervisor.facts_of(SWARM)
    assert (paused.span, paused.servers) == (None, engine_messages.SwarmServers((there,)))
    assert paused.report == supervisor.facts.report
    supervisor._phase = Phase.ENDED
    supervisor._set_launch(replace(LAUNCH, membership=Membership(other)))
    assert supervisor.facts == EngineFacts(other)
    supervisor._cancel_deadline()


def test_what_was_remembered_of_a_swarm_is_shown_for_that_one_and_its_model_alone() -> None:
    report = engine_messages.EngineReport(coverage=(1, 1, 1, 1), one_more=OneMore((0, 2), 0.5), expected_tps=7.0)
    facts = EngineFacts(span=Span(0, 2)).after(report, 1.0)

    def shown(swarm: Swarm, facts: EngineFacts, state: RememberedState) -> SwarmStatus:
        found = swarm_status(swarm, facts, state, 200.0, age_s=0.0)
        assert found is not None
        return found

    known = shown(SWARM, facts, RememberedState())
    assert (known.is_live, known.span, known.speed_for_you) == (True, (0, 2), SpeedForYou(7.0, is_measured=False))
    later = RememberedState(swarm=known)
    old = structs.replace(known, name="mine", is_live=False, span=None, one_more=None, speed_for_you=None)
    old = structs.replace(old, coverage=(0, 0, 1, 1))  # without this computer
    for earlier in (EngineFacts(), replace(facts, span=None, is_live=False)):  # before the daemon started, and since
        assert shown(replace(SWARM, name="mine"), earlier, later) == old
    mine = RememberedState(swarm=known, answers=(TimedAnswer(SWARM.prefix, 199.0, 10, 1.0),))
    assert shown(SWARM, EngineFacts(), mine).speed_for_you is None, "nobody else serves the first blocks"
    whole = replace(mine, swarm=structs.replace(known, coverage=(2, 2, 1, 1)))
    assert shown(SWARM, EngineFacts(), whole).speed_for_you == SpeedForYou(10.0, is_measured=True)
    for other in (replace(SWARM, prefix="s-2"), replace(SWARM, prefix="s-3", model="n")):
        fresh = SwarmStatus("s", other.model, 4, prefix=other.prefix)
        assert shown(other, EngineFacts(), later) == fresh


async def test_a_report_of_an_engine_that_serves_wakes_nobody_unless_it_matters() -> None:
    wakes: list[int] = []
    supervisor = Supervisor(lambda: wakes.append(1))
    for phase, report, num_wakes in (
        (Phase.ONLINE, engine_messages.EngineReport(), 0),
        (
            Phase.ONLINE,
            engine_messages.EngineReport(memory_used_bytes=5, coverage=(1, 1)),
            0,
        ),  # shown when somebody looks
        (Phase.ONLINE, engine_messages.EngineReport(sessions=1), 1),
        (Phase.ONLINE, engine_messages.EngineReport(sessions=1, total_tokens=3), 2),
        (Phase.ONLINE, engine_messages.EngineReport(sessions=1, total_tokens=3), 2),
        (Phase.OFFLOADED, engine_messages.EngineReport(memory_used_bytes=7), 3),  # it may fit in again
    ):
        supervisor._phase = phase
        supervisor._apply(report)
        assert supervisor.facts.report == report
        assert len(wakes) == num_wakes
    assert supervisor.facts.is_live
    supervisor._ended(EngineExit(0))
    assert not supervisor.facts.is_live, "the next engine has to look first"


async def test_an_engine_for_which_memory_ran_out_takes_less_until_it_is_set_otherwise_or_a_day_has_passed(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started_daemon() -> tuple[Configuration, Supervisor]:
        memory = StateFile(places.state_file)
        memory.load()
        configuration = Configuration(places, {}, memory, lambda: None)
        configuration._launch = LAUNCH
        supervisor = Supervisor(lambda: None, on_end=lambda is_short: is_short and configuration.halve_memory())
        return configuration, supervisor

    def percent(configuration: Configuration) -> int:
        assert configuration.launch is not None
        assert (configuration.launch.memory_percent == 100) is not any(
            "takes less" in str(n) for n in configuration.notices
        )
        return configuration.launch.memory_percent

    configuration, supervisor = started_daemon()
    assert percent(configuration) == 100
    full = configuration.launch
    for kills, expected in ((1, 50), (0, 50), (None, 25)):
        supervisor._ended(EngineExit(-signal.SIGKILL, memory_kills=kills))
        assert percent(configuration) == expected
    assert configuration.launch == full  # so that one which runs is not outdated when its size would be another
    again, _ = started_daemon()
    assert percent(again) == 25
    again.loaded = Loaded(Settings(serve=ServeSettings(num_blocks=2)))
    assert percent(again) == 100
    later = time.time() + 25 * 3600
    monkeypatch.setattr(time, "time", lambda: later)
    assert percent(configuration) == 100


async def test_an_engine_that_is_silent_is_killed_unless_somebody_stopped_it_and_nobody_needs_its_memory() -> None:
    wakes: list[int] = []
    with subprocess.Popen(["sleep", "600"]) as program, contextlib.ExitStack() as stack:  # noqa: ASYNC220 (it only starts)
        stack.callback(program.kill)
        for phase, is_spared in (
            (Phase.ONLINE, False),
            (Phase.ONLINE, True),  # stopped from here on
            (Phase.OFFLOADING, False),
            (Phase.STOPPING, False),
        ):
            if is_spared:
                program.send_signal(signal.SIGSTOP)
                await asyncio.to_thread(os.waitpid, program.pid, os.WUNTRACED)
            supervisor = Supervisor(lambda: wakes.append(1))
            engine = supervisor._engine = Mock(pid=program.pid)
            supervisor._phase = phase
            supervisor._miss(30.0, "it stopped answering")
            assert engine.kill.called is not is_spared
            assert supervisor.view(None, "").is_stopped is is_spared
            if is_spared:
                supervisor._apply(engine_messages.EngineReport())  # it goes on
                assert not supervisor.view(None, "").is_stopped
            supervisor._cancel_deadline()
    assert wakes


async def test_a_message_that_the_daemon_fails_at_ends_the_engine_with_that_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(message: engine_messages.Said) -> None:
        raise ValueError("no room")

    hello = engine_messages.encode(engine_messages.Hello(1))
    program = f"import os, sys, time; os.write(int(sys.argv[1].partition('=')[2]), {hello!r}); time.sleep(600)"
    engine = await EngineProcess.start([sys.executable, "-c", program], os.environ, fail)
    said = "The engine was ended because the daemon could not handle its message: no room"
    assert str(diagnose(await engine.ended)) == said
    assert "no room" in caplog.text
    caplog.clear()


def test_an_engine_hears_of_people_only_once_it_is_in_the_swarm() -> None:
    """Before that it waits for its launch, which says everything."""
    supervisor = Supervisor(lambda: None)
    for phase in Phase:
        engine = supervisor._engine = Mock()
        supervisor._phase = phase
        supervisor.send(engine_messages.Worth(()))
        assert engine.send.called is (phase not in (Phase.PREPARING, Phase.STARTING, Phase.STOPPING, Phase.ENDED))


def test_work_that_keeps_failing_in_the_engine_is_a_notice() -> None:
    report = engine_messages.EngineReport(failing=(verbatim("sending heartbeats (OSError: no room)"),))
    (notice,) = notices(EngineFacts(), report)
    assert "sending heartbeats (OSError: no room)" in str(notice)
    assert list(notices(EngineFacts(), engine_messages.EngineReport())) == []


def test_a_long_explanation_of_an_engine_is_one_line_of_bounded_length() -> None:
    said = diagnose(EngineExit(1, failed=engine_messages.Failed(verbatim("it failed: CUDA\n" * 600)))).text
    assert "\n" not in said
    assert len(said) < 400
