"""A gateway server over real sockets, before a model that is a list of words."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from potluck_control.processes.gateway_messages import GatewaySwarm
from potluck_control.settings import GatewaySettings
from potluck_gateway.answers.models import LoadedModel, OfferedModels
from potluck_gateway.exchange import (
    Answer,
    AnswerBegun,
    AnswerEvent,
    AnswerPart,
    ChatRequest,
    Embeddings,
    ModelFacts,
    PartKind,
    Prompt,
    ToolCall,
)
from potluck_gateway.server import AnsweredRequest, GatewayServer

from potluck.client.session.reports import wait_text
from potluck.errors import PotluckError
from potluck.membership.membership import Membership
from potluck.protocol.blocks import Span
from potluck.protocol.swarm import new_swarm

TOKEN = "secret-token"
WAITING = wait_text((Span(1, 3), Span(5, 6)))
_ROUTE = [
    {"peer_id": "12D3KooW", "name": None, "blocks": "0:4"},
    {"peer_id": "12D3KooX", "name": "ana", "blocks": "4:12"},
]
DETAILS: Any = {"tokens": [7, 8, 9], "tokens_per_s": 12.5, "route": _ROUTE}


ADD = ToolCall("call_1", "add", "")


def thought(text: str) -> AnswerPart:
    return AnswerPart(text, kind=PartKind.THINKING)


def call(arguments: str, of: ToolCall = ADD) -> AnswerPart:
    return AnswerPart(arguments, kind=PartKind.CALL, call=of)


class Words:
    """Accepts a prompt from `may_accept` on, then says its words from `may_begin` on, and the last after `may_end`."""

    facts = ModelFacts(1000, 100, 4, "words", thinks=True)

    def __init__(self, *words: str | AnswerPart) -> None:
        self.parts = [AnswerPart(word) if isinstance(word, str) else word for word in words]
        self.asked: list[ChatRequest] = []
        self.failure: PotluckError | None = None  # before the last word
        self.early_failure: Exception | None = None  # before the first one
        self.may_accept, self.may_begin, self.may_end = threading.Event(), threading.Event(), threading.Event()
        self.may_accept.set()
        self.may_begin.set()
        self.is_cut = threading.Event()

    def prepare(self, request: ChatRequest) -> ChatRequest:
        self.may_accept.wait()
        if self.early_failure is not None:
            raise self.early_failure
        return request

    def answer(self, request: ChatRequest, tell: Callable[[AnswerEvent], None]) -> Answer:
        self.asked.append(request)
        tell(AnswerBegun(1))
        tell(WAITING)
        self.may_begin.wait()
        try:
            for part in self.parts[:-1]:
                tell(part)
            while not self.may_end.wait(0.01):
                tell(AnswerPart(""))
        except OSError:
            self.is_cut.set()
            raise
        if self.failure is not None:
            raise self.failure
        tell(self.parts[-1])
        calls = tuple(
            replace(call, arguments=self._said(PartKind.CALL, call))
            for call in dict.fromkeys(part.call for part in self.parts)
            if call is not None
        )
        reason = "tool_calls" if calls else "stop"
        details = DETAILS if request.with_details else None
        thinking = self._said(PartKind.THINKING)
        return Answer(self._said(PartKind.TEXT), reason, 1, 3, details=details, calls=calls, thinking=thinking)

    def _said(self, kind: PartKind, call: ToolCall | None = None) -> str:
        return "".join(part.text for part in self.parts if (part.kind, part.call) == (kind, call))

    def count(self, request: ChatRequest) -> int:
        return len(request.messages)

    def embed(self, texts: Sequence[Prompt], *, is_cut: bool = False) -> Embeddings:
        return Embeddings(tuple([float(len(text)), 4.0, 0.0, 0.0] for text in texts), len(texts))


def server_of(
    model: Words,
    on_asked: Callable[[], None] = lambda: None,
    on_answered: Callable[[AnsweredRequest], None] = lambda answered: None,
    **settings: Any,
) -> GatewayServer:
    """`settings`: those of `GatewaySettings`."""
    models = OfferedModels((offered("friends", "words"),), lambda _: LoadedModel(model, lambda: None))
    models.load(None).result()  # as the gateway's process does before it serves
    chosen = GatewaySettings(**{"port": 0, **settings})
    return GatewayServer(models, lambda key: key == TOKEN, on_asked, chosen, max_tokens=100, on_answered=on_answered)


def offered(swarm: str, model: str) -> GatewaySwarm:
    """A swarm that was joined, and the model that it serves."""
    return GatewaySwarm(Membership(new_swarm(swarm, model, 4)), model)


@contextmanager
def running(server: GatewayServer, model: Words) -> Iterator[GatewayServer]:
    """Run the server in a thread; at the end, let the model say its last words."""
    server._server.config.timeout_graceful_shutdown = 60  # a busy machine may need longer than a second for them
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        model.may_accept.set()
        model.may_begin.set()
        model.may_end.set()
        server.stop()
        thread.join()


def exchange(
    server: GatewayServer, body: object, *, path: str = "/v1/chat/completions", method: str = "POST", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    """Send a request with the key, unless `headers` say otherwise; return the answer and its body."""
    given = {"Authorization": f"Bearer {TOKEN}"} | {name.replace("_", "-"): text for name, text in headers.items()}
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body), given)
        answer = connection.getresponse()
        return answer, answer.read()


def send(server: GatewayServer, body: object, **how: str) -> tuple[int, Any]:
    answer, said = exchange(server, body, **how)
    return answer.status, json.loads(said)
