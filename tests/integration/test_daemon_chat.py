"""A real daemon with a real swarm: chat through its gateway, what that adds up to, and the way back to nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest
from helpers.daemon_process import LOOPBACK, WAIT_S, DaemonProcess, giving_up_after
from potluck_cli.main import EXIT_USAGE
from potluck_control import schema
from potluck_control.methods import contribution, gateway, models, settings, swarms
from potluck_control.methods.gateway import GatewayState
from potluck_control.methods.settings import Change, SetParams
from potluck_control.states import State
from potluck_gateway.client import ask
from potluck_gateway.requests import ChatMessage

PROMPT = "Count from 7 to 18:"


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with DaemonProcess(LOOPBACK) as made:
        made.client.call(schema.CREATE)
        made.wait_for(_serves_everything)
        yield made


def _serves_everything(status: schema.Status) -> bool:
    return status.state == State.SERVING and 0 not in _coverage(status)


def _coverage(status: schema.Status) -> tuple[int, ...]:
    return status.swarm.coverage if status.swarm is not None and status.swarm.coverage else (0,)


def chat(daemon: DaemonProcess) -> str:
    """What the command says about its chat."""
    done = daemon.command("chat", "--json", "--max-tokens", "8", PROMPT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_chat_answers_and_is_counted(daemon: DaemonProcess) -> None:
    before, counted = daemon.client.call(contribution.NOW).total, daemon.status().tokens_today
    assert json.loads(chat(daemon))["message"] == PROMPT
    status = daemon.client.call(gateway.STATUS)
    assert (status.state, status.model) == (GatewayState.READY, "demo-model")
    assert "".join(ask(status, [ChatMessage("user", PROMPT)], max_tokens=4)) is not None
    daemon.wait_for(lambda now: now.tokens_today > counted)
    after = daemon.client.call(contribution.NOW).total
    assert after.tokens > before.tokens
    assert after.served_s > 0
    served = daemon.client.call(models.LIST).served
    assert served is not None
    assert (served.device, served.streamed_blocks) == ("cpu", 0)


def test_generate_uses_the_warm_client_and_says_which_servers_took_part(daemon: DaemonProcess) -> None:
    chat(daemon)
    token = daemon.client.call(gateway.STATUS).token
    done = daemon.command("generate", "--json", "--max-new-tokens", "4", PROMPT)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["prompt"], len(said["tokens"]), len(said["route"])) == (PROMPT, 4, 1)
    assert said["route"][0]["blocks"] == "0:12"
    assert daemon.client.call(gateway.STATUS).token == token  # the same process answered
    plain = daemon.command("generate", "--max-new-tokens", "4", PROMPT)
    assert plain.stdout == said["completion"] + "\n"


@pytest.mark.parametrize(("prompt", "words"), [("", "the prompt is empty"), ("x " * 3000, "the prompt has")])
def test_generate_says_what_is_wrong_with_a_prompt(daemon: DaemonProcess, prompt: str, words: str) -> None:
    done = daemon.command("generate", prompt)
    assert (done.returncode, words in done.stderr) == (EXIT_USAGE, True)


@pytest.fixture
def as_in_a_terminal() -> Iterator[None]:
    """Let commands notice Ctrl-C: what a script starts in the background ignores it, and so do its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("as_in_a_terminal")
def test_ctrl_c_stops_an_answer_and_the_conversation_goes_on(daemon: DaemonProcess) -> None:
    chat(daemon)  # the gateway runs
    gateways = [each for each in daemon.processes() if "potluck_gateway" in each.cmdline()]
    answering = min(gateways, key=psutil.Process.create_time)  # the other one renders chat templates
    with subprocess.Popen(
        [sys.executable, "-m", "potluck_cli.entry", "chat", "--max-tokens", "8"],
        env=daemon.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
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
    done = daemon.command("start", "--demo", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["swarm"] == "home"
    assert [swarm.name for swarm in daemon.client.call(swarms.LIST).swarms] == ["home"]


def test_nothing_of_it_is_in_the_log(daemon: DaemonProcess) -> None:
    chat(daemon)
    status = daemon.client.call(gateway.STATUS)
    log = daemon.log()
    assert PROMPT not in log
    assert status.token
    assert status.token not in log
    arguments = " ".join(word for process in daemon.processes() for word in _words(process))
    assert status.token not in arguments


def _words(process: psutil.Process) -> list[str]:
    """What others can read of a process."""
    try:
        return [*process.cmdline(), *process.environ().values()]
    except psutil.Error:
        return []


def test_a_setting_is_live_and_memory_is_freed_at_once(daemon: DaemonProcess) -> None:
    changed = daemon.client.call(settings.SET, SetParams((Change("limits.price_kwh", 1.0),)))
    assert daemon.client.call(contribution.NOW).total.cost is not None
    daemon.client.call(settings.SET, SetParams(changed.undo))
    assert daemon.client.call(contribution.NOW).total.cost is None
    daemon.client.call(schema.PAUSE, schema.PauseParams(600))
    daemon.wait_for(lambda status: status.state == State.PAUSED and status.engine.pid is None)
    daemon.client.call(schema.RESUME)
    daemon.wait_for(_serves_everything)


def test_the_gateway_ends_with_the_daemon(daemon: DaemonProcess) -> None:
    daemon.client.call(gateway.STOP)  # one from before looks for the engine at its old port, and here each has any
    counted = daemon.status().tokens_today
    chat(daemon)
    daemon.wait_for(lambda now: now.tokens_today > counted)
    told = daemon.client.call(contribution.NOW).total
    daemon.client.call(swarms.LEAVE, swarms.LeaveParams("home"))
    assert daemon.client.call(swarms.LIST).swarms == ()
    assert daemon.client.call(gateway.STATUS).state is GatewayState.READY
    daemon.kill()
    assert daemon.wait_all_gone() == []
    daemon.start()
    assert daemon.client.call(contribution.NOW).total.tokens >= told.tokens > 0
