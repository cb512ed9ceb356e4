"""What a conversation keeps of an answer that Ctrl-C stopped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from potluck_cli import chat
from potluck_cli.chat import AnswerLimits
from potluck_control.methods.gateway import GatewayState, GatewayStatus
from potluck_gateway.requests import ChatMessage

ASKED = (ChatMessage("user", "Who are you?"),)


@pytest.mark.parametrize(
    ("parts", "kept"), [(("I ", "am"), (*ASKED, ChatMessage("assistant", "I am"))), ((), ())], ids=["begun", "no word"]
)
def test_a_stopped_answer_is_kept_as_far_as_it_came(
    parts: tuple[str, ...], kept: tuple[ChatMessage, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **options: object) -> Iterator[str]:
        yield from parts
        raise KeyboardInterrupt

    monkeypatch.setattr(chat, "ask", interrupted)
    assert chat._continued(GatewayStatus(GatewayState.READY), ASKED, AnswerLimits(None, 1.0)) == kept
