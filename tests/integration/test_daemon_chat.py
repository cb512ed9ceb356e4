"""A real daemon with a real swarm: chat through its gateway, what that adds up to, and what is left of it."""

import json
import signal
from collections.abc import Iterator
from subprocess import PIPE

import psutil
import pytest
from helpers.daemon_process import LOOPBACK, WAIT_S, DaemonProcess, giving_up_after
from helpers.discreet_logs import assert_discreet
from potluck_control.api import schema
from potluck_control.methods import earnings, gateway, models, swarms
from potluck_control.methods.gateway import GatewayState
from potluck_control.states import State
from potluck_gateway.client import ask
from potluck_gateway.exchange import ChatMessage

from potluck.membership.joined import JoinedSwarms
from tests.helpers.fork_server import start_python

PROMPT = "Count from 7 to 18, and stop at 12:"


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """It serves a swarm of its own."""
    with DaemonProcess(f"{LOOPBACK}[gateway]\nport = 0\n", options=["--verbose"]) as made:
        made.client.call(schema.CREATE)
        made.wait_for(_serves_everything)
        yield made


def _serves_everything(status: schema.Status) -> bool:
    return status.state == State.SERVING and 0 not in _coverage(status)


def _coverage(status: schema.Status) -> tuple[int, ...]:
    return status.swarm.coverage if status.swarm is not None and status.swarm.coverage else (0,)


def _has_measured_speed(status: schema.Status) -> bool:
    speed = status.swarm.speed_for_you if status.swarm is not None else None
    return speed is not None and speed.is_measured and speed.tokens_per_s > 0


def said_by(daemon: DaemonProcess, *command: str) -> str:
    done = daemon.command(*command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_own_chat_tells_how_fast_answers_come_and_counts_nothing_as_given(daemon: DaemonProcess) -> None:
    assert json.loads(said_by(daemon, "chat", "--json", "--max-tokens", "30", PROMPT))["message"] == PROMPT
    status = daemon.client.call(gateway.STATUS)
    assert (status.state, status.model) == (GatewayState.READY, "demo-model")
    assert "".join(ask(status, [ChatMessage("user", PROMPT)], max_tokens=4)) is not None
    daemon.wait_for(_has_measured_speed)
    after = daemon.client.call(earnings.SUMMARY).total
    assert after.served_s > 0
    assert (after.tokens, daemon.status().tokens_today) == (0, 0)
    served = daemon.client.call(models.LIST).served
    assert served is not None
    assert (served.device, served.streamed_blocks) == ("cpu", 0)


def test_ctrl_c_stops_an_answer_and_the_conversation_goes_on(daemon: DaemonProcess) -> None:
    said_by(daemon, "gateway", "start")
    gateways = [each for each in daemon.processes() if "potluck_gateway" in each.cmdline()]
    answering = min(gateways, key=psutil.Process.create_time)  # the other one renders chat templates
    with start_python(
        ["-m", "potluck_cli.entry", "chat", "--max-tokens", "8"],
        env=daemon.environment,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        bufsize=0,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None

        def read_to_prompt() -> bytes:
            said = b""
            while not said.endswith(b"\n> "):
                said += (byte := process.stdout.read(1))
                assert byte, process.stderr.read()
            return said

        with giving_up_after(WAIT_S, process):
            read_to_prompt()
            answering.suspend()  # no answer is over before it is interrupted
            try:
                process.stdin.write(PROMPT.encode() + b"\n")
                while not psutil.Process(process.pid).net_connections("tcp"):
                    assert process.poll() is None
                process.send_signal(signal.SIGINT)
                read_to_prompt()
            finally:
                answering.resume()
            process.stdin.write(PROMPT.encode() + b"\n")
            assert len(read_to_prompt()) > len("\n> ")
            process.stdin.close()  # as Ctrl-D
            assert process.wait() == 0
            assert process.stderr.read() == b""


def test_a_demo_is_started_once_however_often_it_is_asked_for(daemon: DaemonProcess) -> None:
    assert json.loads(said_by(daemon, "start", "--demo", "--json"))["swarm"] == "home"
    assert [swarm.name for swarm in daemon.client.call(swarms.LIST).swarms] == ["home"]


def test_nothing_of_a_chat_is_in_the_log_that_says_what_happens(daemon: DaemonProcess) -> None:
    answer = json.loads(said_by(daemon, "generate", "--json", "--max-new-tokens", "16", PROMPT))["completion"]
    token = daemon.client.call(gateway.STATUS).token
    status = daemon.status()
    assert status.swarm is not None
    invite = daemon.client.call(schema.INVITE, schema.InviteParams(people=1)).invite
    places = (daemon.folder / "config" / "potluck" / "swarms.json", daemon.state_folder / "identity.key")
    (membership,) = JoinedSwarms(*places).load().values()
    seeds = [seed.hex() for seed in (membership.person_seed, membership.founder_seed) if seed is not None]
    assert len(seeds) == 2
    log = daemon.log()
    assert_discreet(log, (PROMPT, answer), (token, invite[10:60], str(status.swarm.peer_id), *seeds))
    assert all(words in log for words in ("DEBUG", "serving", "engine: "))
    assert token not in " ".join(word for process in daemon.processes() for word in _words(process))


def _words(process: psutil.Process) -> list[str]:
    """What others can read of a process."""
    try:
        return [*process.cmdline(), *process.environ().values()]
    except psutil.Error:
        return []


def test_nothing_outlives_a_killed_daemon_and_the_next_one_has_what_was_counted(
    daemon: DaemonProcess,
) -> None:
    said_by(daemon, "generate", "--max-new-tokens", "4", PROMPT)
    told = daemon.client.call(earnings.SUMMARY).total
    words = " ".join(word for process in daemon.processes() for word in process.cmdline())
    assert all(name in words for name in ("p2pd", "potluck_engine", "potluck_gateway"))
    daemon.kill()
    assert daemon.wait_all_gone() == []
    assert daemon.socket.exists()  # what a kill leaves behind is no obstacle
    daemon.start()
    assert daemon.client.call(earnings.SUMMARY).total.served_s >= told.served_s > 0
    daemon.wait_for(lambda now: now.engine.pid is not None)
