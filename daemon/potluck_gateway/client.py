"""Asks a gateway for the command line: a conversation or a prompt in, the parts of an answer out. The app uses Qt."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from msgspec import convert
from potluck_control.methods.gateway import GatewayStatus

from potluck.errors import PotluckError, SwarmError, UsageError
from potluck.protocol.codec import CodecError, decode, encode
from potluck.sentences import Sentence, sentence
from potluck_gateway.answers.answer import AnswerDetails
from potluck_gateway.requests import COMMENT, ChatMessage

_TIMEOUT_S = 60.0  # for a part or a sign of life, of which there is one every few seconds
_TRY_LATER = (429, 503)
OnText = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class CompletionOptions:
    """Says how a prompt goes on. `max_wait_s`: how long to wait for blocks that nobody serves."""

    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None
    max_wait_s: float | None = None


def ask(
    gateway: GatewayStatus,
    messages: Sequence[ChatMessage],
    *,
    max_tokens: int | None = None,
    max_wait_s: float | None = None,
    on_wait: OnText = lambda _: None,
) -> Iterator[str]:
    """Yield the parts of the answer as they arrive.

    Args:
        max_wait_s: for blocks that nobody serves; None takes the gateway's.
        on_wait: gets a sentence when the answer has to wait for servers.

    Raises:
        PotluckError: the gateway refuses, gives up or hangs up.
    """
    body = {
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "max_tokens": max_tokens,
        "max_wait_s": max_wait_s,
    }
    for event in _events(gateway, "chat/completions", body, on_wait):
        for choice in event["choices"]:
            yield choice["delta"].get("content") or ""


def complete(
    gateway: GatewayStatus,
    prompt: str,
    options: CompletionOptions,
    *,
    on_text: OnText,
    on_wait: OnText = lambda _: None,
) -> AnswerDetails:
    """Let the prompt go on, and return how it was done. `on_text` gets each new part. Raises PotluckError as `ask`."""
    body = {"prompt": prompt, **asdict(options), "with_details": True}
    details: Any = None
    for event in _events(gateway, "completions", body, on_wait):
        for choice in event["choices"]:
            on_text(choice["text"])
            details = choice.get("potluck", details)
    try:
        return decode(AnswerDetails, encode(details))
    except CodecError as error:
        raise PotluckError("the gateway is of another version", hint="potluck gateway stop, then try again") from error


def _events(gateway: GatewayStatus, path: str, body: dict[str, Any], on_wait: OnText) -> Iterator[dict[str, Any]]:
    """Yield the events of a streamed answer. Raises PotluckError."""
    place = urlsplit(gateway.url)
    sent = {name: value for name, value in body.items() if value is not None} | {"stream": True}
    headers = {"Authorization": f"Bearer {gateway.token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=_TIMEOUT_S)
    try:
        connection.request("POST", f"{place.path}/{path}", json.dumps(sent), headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise _refusal(answer.status, answer.read())
        yield from _parsed(answer, on_wait)
    except (OSError, http.client.HTTPException) as error:
        raise PotluckError(
            f"the gateway hung up: {error or type(error).__name__}", hint=sentence("try again")
        ) from error
    finally:
        connection.close()


def _parsed(answer: http.client.HTTPResponse, on_wait: OnText) -> Iterator[dict[str, Any]]:
    for line in answer:
        if line.startswith(COMMENT.encode()):
            if said := line.decode().removeprefix(COMMENT).strip():
                on_wait(said)
            continue
        data = line.removeprefix(b"data: ").strip()
        if not data or data == b"[DONE]":
            continue
        event = json.loads(data)
        if "error" in event:
            raise SwarmError(_said(event))
        yield event


def _refusal(status: int, body: bytes) -> PotluckError:
    try:
        said = _said(json.loads(body))
    except (ValueError, KeyError, TypeError):
        said = sentence("the gateway refused the request")
    if status in _TRY_LATER:
        return SwarmError(said)
    return UsageError(said) if 400 <= status < 500 else PotluckError(said)


def _said(event: dict[str, Any]) -> Sentence:
    """Return what an error says. Raises ValueError, KeyError and TypeError."""
    return convert(event["error"]["potluck"], Sentence)
