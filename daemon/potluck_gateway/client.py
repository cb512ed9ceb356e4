"""Asks a gateway for the command line: a conversation in, the parts of an answer out. The app uses Qt instead."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

from potluck_control.methods.gateway import GatewayStatus

from potluck.errors import PotluckError
from potluck_gateway.requests import COMMENT, ChatMessage

_TIMEOUT_S = 300.0  # for one part, besides a wait for servers; the first needs the whole prompt


def ask(
    gateway: GatewayStatus,
    messages: Sequence[ChatMessage],
    *,
    max_tokens: int | None = None,
    max_wait_s: float | None = None,
    on_wait: Callable[[str], None] = lambda _: None,
) -> Iterator[str]:
    """Yield the parts of the answer as they arrive.

    Args:
        max_wait_s: for blocks that nobody serves; None takes the gateway's.
        on_wait: gets a sentence when the answer has to wait for servers.

    Raises:
        PotluckError: the gateway refuses, gives up or hangs up.
    """
    place = urlsplit(gateway.url)
    body = {
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "stream": True,
        **({"max_tokens": max_tokens} if max_tokens is not None else {}),
        **({"max_wait_s": max_wait_s} if max_wait_s is not None else {}),
    }
    headers = {"Authorization": f"Bearer {gateway.token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=_TIMEOUT_S + (max_wait_s or 0.0))
    try:
        connection.request("POST", f"{place.path}/chat/completions", json.dumps(body), headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise PotluckError(_error(answer.read()))
        yield from _parts(answer, on_wait)
    except (OSError, http.client.HTTPException) as error:
        raise PotluckError(f"the gateway hung up: {error or type(error).__name__}", hint="try again") from error
    finally:
        connection.close()


def _parts(answer: http.client.HTTPResponse, on_wait: Callable[[str], None]) -> Iterator[str]:
    for line in answer:
        if line.startswith(COMMENT.encode()):
            on_wait(line.decode().removeprefix(COMMENT).strip())
            continue
        data = line.removeprefix(b"data: ").strip()
        if not data or data == b"[DONE]":
            continue
        event = json.loads(data)
        if "error" in event:
            raise PotluckError(str(event["error"].get("message")))
        for choice in event["choices"]:
            yield choice["delta"].get("content") or ""


def _error(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return "the gateway refused the request"
