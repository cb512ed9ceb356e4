"""Whether `potluck generate` asks the daemon's warm client or starts one of its own, and what it prints."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from potluck_cli import options as command_options
from potluck_cli.everyday import chat
from potluck_cli.main import main
from potluck_cli.model import generate
from potluck_cli.options import model_of
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, GatewayStatus
from potluck_control.settings import ServeSettings, Settings
from potluck_gateway.exchange import ChatMessage

from potluck.errors import NetworkError
from potluck.membership.joined import JoinedSwarms
from potluck.protocol.swarm import new_swarm

READY = GatewayStatus(GatewayState.READY, "http://127.0.0.1:1/v1", "token", "friends")
HOP = {"peer_id": "12D3KooWRvncUWcApqk4", "name": None, "blocks": "0:4"}
DETAILS = {"tokens": [1, 2], "tokens_per_s": 3.5, "route": [HOP]}
RESULT = generate.Generated("Once", " upon a time", (1, 2), 3.5, ())


class Daemon:
    """A daemon whose gateway goes through these states."""

    def __init__(self, *states: GatewayStatus) -> None:
        self.states = list(states)

    def call(self, method: object, params: object = None) -> Any:
        if method in (gateway.START, gateway.STATUS):
            return self.states.pop(0) if len(self.states) > 1 else self.states[0]
        raise AssertionError(method)


@pytest.fixture
def way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """Returns which way the command goes with these arguments: the gateway, or a client of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    JoinedSwarms().create(new_swarm("friends", "demo-model", 4), is_open=True)

    def go(*arguments: str, state: GatewayStatus | None = READY) -> str:
        monkeypatch.setattr(generate, "hello_or_none", lambda: state)
        monkeypatch.setattr(generate, "daemon", lambda: Daemon(*([state] if state else [])))
        monkeypatch.setattr(generate, "_by_own_client", lambda *_: ways.append("own") or RESULT)
        monkeypatch.setattr(generate, "_by_gateway", lambda *_: ways.append("gateway") or RESULT)
        ways: list[str] = []
        assert main(["generate", *arguments, "Once"]) == 0
        return ways[0]

    return go


def test_a_running_daemon_answers_warm(way: Callable[..., str]) -> None:
    assert way() == "gateway"
    assert way(state=structs.replace(READY, state=GatewayState.STOPPED, swarm="")) == "gateway"
    assert way(state=structs.replace(READY, state=GatewayState.STOPPED, swarm="family")) == "gateway"


def test_what_the_gateway_does_not_have_needs_a_client_of_its_own(way: Callable[..., str]) -> None:
    for options, state in (
        (("--model", "."), READY),
        (("--quantization", "int8"), READY),
        (("--adapter", "a"), READY),
        ((), None),  # no daemon
        ((), structs.replace(READY, swarm="family")),
        ((), structs.replace(READY, state=GatewayState.STARTING, swarm="family")),  # it is left alone
    ):
        assert way(*options, state=state) == "own"


def test_an_empty_prompt_is_refused_before_anything_starts(way: Callable[..., str], capsys: Any) -> None:
    assert main(["generate", ""]) == 2
    assert "the prompt is empty" in capsys.readouterr().err


def test_parts_are_shown_as_they_come_and_the_rest_once(
    way: Callable[..., str], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    by_gateway = generate._by_gateway

    def complete(*_: object, on_text: Callable[[str], None], **_options: object) -> dict[str, Any]:
        on_text(" upon")
        on_text(" a time")
        return DETAILS

    way()
    monkeypatch.setattr(generate, "complete_by_gateway", complete)
    monkeypatch.setattr(generate, "wait_until_ready", lambda *_, **__: READY)
    monkeypatch.setattr(generate, "_by_gateway", by_gateway)
    for streams in ("--stream", "--no-stream"):
        capsys.readouterr()
        assert main(["generate", streams, "Once"]) == 0
        assert capsys.readouterr().out == " upon a time\n"
    assert main(["generate", "--json", "Once"]) == 0
    assert '"name": "...UWcApqk4"' in capsys.readouterr().out


def test_a_member_that_does_not_answer_is_waited_for_as_long_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "wait_until_found", lambda _: None)
    waiting = structs.replace(READY, state=GatewayState.STARTING, step="Can't join", is_waiting=True)
    with pytest.raises(NetworkError, match="Can't join"):
        chat.wait_until_ready(Daemon(waiting), "friends", max_wait_s=0.0)  # type: ignore[arg-type]
    failed = structs.replace(waiting, state=GatewayState.FAILED, problem="nobody answers")
    with pytest.raises(NetworkError, match="nobody answers"):
        chat.wait_until_ready(Daemon(waiting, failed), "friends")  # type: ignore[arg-type]
    assert chat.wait_until_ready(Daemon(waiting, READY), "friends") == READY  # type: ignore[arg-type]


# -- conversations -----------------------------------------------------------------------------------------------------

ASKED = (ChatMessage("user", "Who are you?"),)


def test_a_stopped_answer_is_kept_as_far_as_it_came() -> None:
    parts: list[str] = []

    def interrupted(_: object) -> Iterator[str]:
        yield from parts
        raise KeyboardInterrupt

    for parts[:], kept in ((("I ", "am"), (*ASKED, ChatMessage("assistant", "I am"))), ((), ())):
        assert chat._continued(interrupted, ASKED) == kept


def test_the_copy_that_the_settings_name_is_used_for_its_swarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "big-model"
    copy.mkdir()
    monkeypatch.setattr(command_options, "own_settings", lambda: Settings(serve=ServeSettings(checkpoint=str(copy))))
    for name, place in (("big-model", str(copy)), ("owner/big-model", str(copy)), ("owner/other", "owner/other")):
        assert model_of(None, new_swarm("friends", name, 4, "main")) == place
