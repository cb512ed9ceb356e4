"""Requests of programs to a gateway, each over a connection of its own: what they hear, and when."""

from __future__ import annotations

import http.client
import json
import random
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from potluck_control.resources import DEMO_MODEL, resource
from transformers import AutoTokenizer

from benchmarks.programs.cases import TOOL_TEMPLATE
from benchmarks.programs.gateway import KEY

CHAT, COMPLETIONS, EMBEDDINGS = "chat/completions", "completions", "embeddings"
TEMPLATE = TOOL_TEMPLATE + "{% if enable_thinking %}<think>{% endif %}"  # the template of the models that are asked
_TOKENS = range(300, 1000)  # numbers of plain tokens
_PIECE_BYTES = 1 << 16
_WHOLE_STREAM = b"data: [DONE]\n\n"

Body = dict[str, Any]


def chat(text: str, max_tokens: int, **more: object) -> Body:
    """Return a request for a stream of as many tokens."""
    talk = [{"role": "user", "content": text}]
    limits = {"max_tokens": max_tokens, "ignore_eos": True, "stream_options": {"include_usage": True}}
    return {"model": "", "messages": talk, "stream": True, **limits, **more}


def forced_call(text: str, max_tokens: int, **more: object) -> Body:
    """Return a request for a call whose only argument is a text that doesn't end."""
    parameters = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    tool = {"type": "function", "function": {"name": "write", "parameters": parameters}}
    return chat(text, max_tokens, tools=[tool], tool_choice="required", logit_bias=_no_quotes(), **more)


def prompt(length: int, max_tokens: int, seed: int) -> Body:
    """Return a request that has a prompt of `length` tokens, which no other seed has."""
    return {"model": "", "prompt": tokens(length, seed), "max_tokens": max_tokens, "stream": True, "ignore_eos": True}


def tokens(length: int, seed: int) -> list[int]:
    return random.Random(seed).choices(_TOKENS, k=length)


@cache
def _no_quotes() -> dict[str, int]:
    """Return a bias that keeps a text in JSON from its end, where anything else may follow."""
    tokenizer = AutoTokenizer.from_pretrained(resource(DEMO_MODEL))
    return {str(number): -100 for token, number in tokenizer.get_vocab().items() if '"' in token or "\\" in token}


@dataclass(slots=True)
class Heard:
    """What a program has heard of the answer to one request.

    Attributes:
        status: 0 while there is none.
        times_s: when the head and each piece of the body came, since the request.
    """

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    times_s: list[float] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    problem: str = ""

    @property
    def is_whole(self) -> bool:
        return self.status == 200 and not self.problem and self.body.endswith(_WHOLE_STREAM)

    def answer_tokens(self) -> int:
        """Return how many tokens a whole answer to a chat says that it has."""
        last = self.body.removesuffix(_WHOLE_STREAM).strip().rpartition(b"data: ")[2]
        return int(json.loads(last)["usage"]["completion_tokens"])

    def longest_silence_s(self, until_s: float) -> float:
        times = [0.0, *self.times_s, *([] if self.is_whole or self.problem else [until_s])]
        return max(b - a for a, b in pairwise(times))


class Caller:
    """A program that sends one request."""

    def __init__(
        self, url: str, path: str, body: Body, *, patience_s: float = 120.0, connecting: socket.socket | None = None
    ) -> None:
        """`patience_s`: for each piece of the answer. `connecting`: the socket; None: a new one."""
        place = urlsplit(url)
        self.heard = Heard()
        self._path, self._body = f"{place.path}/{path}", json.dumps(body)
        self._connection = http.client.HTTPConnection(place.netloc, timeout=patience_s)
        self._connection.sock = connecting
        self._socket: socket.socket | None = None
        self._begun = 0.0

    def send(self) -> None:
        """Send the request, unless that was done. Raises OSError."""
        if self._begun:
            return
        self._begun = time.monotonic()
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "Connection": "close"}
        self._connection.request("POST", self._path, self._body, headers)
        self._socket = self._connection.sock

    def pieces(self) -> Iterator[bytes]:
        """Yield nothing when the head has come, then each piece of the body. Raises OSError, HTTPException."""
        response, piece = self._connection.getresponse(), b""
        self.heard.status, self.heard.headers = response.status, {k.lower(): v for k, v in response.getheaders()}
        while True:
            self.heard.times_s.append(time.monotonic() - self._begun)
            self.heard.body += piece
            yield piece
            if not (piece := response.read1(_PIECE_BYTES)):
                return

    def listen(self, at_most_s: float) -> Heard:
        """Send the request, return what is heard in `at_most_s` seconds, and leave."""
        until = time.monotonic() + at_most_s
        try:
            self.send()
            for _ in self.pieces():
                if time.monotonic() > until:
                    break
        except (OSError, http.client.HTTPException) as error:
            self.heard.problem = "" if isinstance(error, TimeoutError) else type(error).__name__
        self.leave()
        return self.heard

    def leave(self) -> None:
        """Close the connection, as the system does for a program that ends."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()


def hear(url: str, path: str, body: Body, *, at_most_s: float = 120.0) -> Heard:
    """Return what a program hears in `at_most_s` seconds, until it leaves."""
    return Caller(url, path, body, patience_s=at_most_s).listen(at_most_s)
