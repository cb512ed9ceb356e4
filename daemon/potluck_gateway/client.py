"""Sends a conversation or a prompt to a gateway, for the command line. The app uses Qt's HTTP client instead."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec import convert
from potluck_control.methods.gateway import GatewayStatus

from potluck.errors import PotluckError, SwarmError, UsageError
from potluck.sentences import Sentence, sentence
from potluck_gateway.exchange import COMMENT, ChatMessage

_TIMEOUT_S = 60.0  # longest wait for a part or a sign of life; one comes every few seconds
_EVENT = b"data: {"
OnText = Callable[[str], None]


def ask(
    gateway: GatewayStatus,
    messages: Sequence[ChatMessage],
    *,
    on_wait: OnText = lambda _: None,
    **limits: float | None,
) -> Iterator[str]:
    """Yield the parts of the answer as they arrive.

    Args:
        on_wait: gets a sentence when the answer has to wait for servers.
        limits: `max_tokens`, and `max_wait_s` for blocks that nobody serves. None takes the gateway's.

    Raises:
        PotluckError: the gateway refuses, gives up or hangs up.
    """
    body = [{"role": message.role, "content": message.content} for message in messages]
    for choice in _choices(gateway, "chat/completions", {"messages": body, **limits}, on_wait):
        yield choice["delta"].get("content") or ""


def complete(
    gateway: GatewayStatus,
    prompt: str,
    *,
    on_text: OnText,
    on_wait: OnText = lambda _: None,
    **options: float | None,
) -> dict[str, Any]:
    """Complete a prompt and return `Answer.details`. `on_text` gets each new part. Raises PotluckError as `ask`.

    `options`: those of `ask`, `temperature` and `seed`.
    """
    details: dict[str, Any] = {}
    for choice in _choices(gateway, "completions", {"prompt": prompt, "with_details": True, **options}, on_wait):
        on_text(choice["text"])
        details = choice.get("potluck", details)
    return details


def _choices(gateway: GatewayStatus, path: str, body: dict[str, Any], on_wait: OnText) -> Iterator[dict[str, Any]]:
    """Yield the pieces of a streamed answer's choice. Raises PotluckError."""
    place = urlsplit(gateway.url)
    headers = {"Authorization": f"Bearer {gateway.token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=_TIMEOUT_S)
    try:
        connection.request("POST", f"{place.path}/{path}", json.dumps(body | {"stream": True}), headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise _failure(answer.status, json.loads(answer.read()))
        for line in answer:
            if line.startswith(COMMENT.encode()):
                if text := line.decode().removeprefix(COMMENT).strip():
                    on_wait(text)
            elif line.startswith(_EVENT):
                event = json.loads(line[len(_EVENT) - 1 :])
                if "error" in event:
                    raise _failure(answer.status, event)
                yield from event["choices"]
    except (OSError, ValueError, TypeError, KeyError, http.client.HTTPException) as error:
        raise PotluckError(
            f"the gateway hung up: {error or type(error).__name__}", hint=sentence("try again")
        ) from error
    finally:
        connection.close()


def _failure(status: int, body: dict[str, Any]) -> PotluckError:
    """Return the gateway's error, which may also come in a stream that began well."""
    kind = SwarmError if status in (200, 429, 503) else UsageError if status < 500 else PotluckError
    return kind(convert(body["error"]["potluck"], Sentence))
