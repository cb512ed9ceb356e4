"""The gateway over real sockets, before a model that is a list of words."""

import http.client
import json
import random
import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, suppress
from multiprocessing.connection import wait as wait_for
from typing import Any

import pytest
from helpers.words_model import DETAILS, TOKEN, WAITING, Words, exchange, running, send, server_of
from potluck_control.methods.gateway import GatewayState, GatewayStatus
from potluck_gateway import access
from potluck_gateway.client import ask, complete
from potluck_gateway.exchange import Answer, AnswerPart, ChatMessage, ContextLengthError, Embeddings, Prompt
from potluck_gateway.server import AnsweredRequest, GatewayServer

from potluck.client.loop import on_cancel
from potluck.errors import PotluckError, SwarmError, UsageError

CHAT = "/v1/chat/completions"
HELLO = {"messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
def model() -> Words:
    made = Words("Guten ", "Tag ", "ä")
    made.may_end.set()
    return made


@pytest.fixture
def asked() -> list[int]:
    return []


@pytest.fixture
def server(model: Words, asked: list[int]) -> Iterator[GatewayServer]:
    with running(server_of(model, lambda: asked.append(1)), model) as made:
        yield made


def streamed(server: GatewayServer, **more: Any) -> list[dict[str, Any]]:
    _, said = exchange(server, HELLO | {"stream": True, "stream_options": {"include_usage": True}} | more)
    return [json.loads(event[6:]) for event in said.decode().split("\n\n") if event.startswith("data: {")]


def ready(server: GatewayServer, token: str = TOKEN) -> GatewayStatus:
    return GatewayStatus(GatewayState.READY, server.url, token)


def test_a_conversation_is_answered_with_counts(server: GatewayServer, model: Words, asked: list[int]) -> None:
    status, answer = send(server, HELLO)
    assert status == 200
    assert answer["choices"][0]["message"] == {"role": "assistant", "refusal": None, "content": "Guten Tag ä"}
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert [answer["usage"][f"{name}_tokens"] for name in ("prompt", "completion", "total")] == [1, 3, 4]
    assert [one.messages for one in model.asked] == [(ChatMessage("user", "Hello"),)]
    assert asked


def test_an_answer_is_streamed_part_by_part(server: GatewayServer, model: Words) -> None:
    waits: list[str] = []
    parts = ask(ready(server), [ChatMessage("user", "Hello")], max_wait_s=7.5, on_wait=waits.append)
    assert list(parts)[1:4] == ["Guten ", "Tag ", "ä"]
    assert waits == [str(WAITING)]
    assert model.asked[0].max_wait_s == 7.5


def test_a_prompt_is_completed_with_its_tokens_and_servers(server: GatewayServer, model: Words) -> None:
    parts: list[str] = []
    waits: list[str] = []
    options = {"max_tokens": 50, "temperature": 0.7, "seed": 3, "max_wait_s": 7.5}
    details = complete(ready(server), "Once", on_text=parts.append, on_wait=waits.append, **options)
    assert ("".join(parts), details) == ("Guten Tag ä", DETAILS)
    assert waits == [str(WAITING)]
    asked = model.asked[0]
    assert (asked.prompts, asked.max_tokens) == (("Once",), 50)
    assert (asked.sampling.temperature, asked.sampling.seed) == (0.7, 3)
    assert (asked.max_wait_s, asked.with_details) == (7.5, True)


def test_a_program_gets_no_details_unless_it_asks(server: GatewayServer) -> None:
    body = {"prompt": "Once"}
    assert "potluck" not in send(server, body, path="/v1/completions")[1]["choices"][0]
    details = send(server, body | {"with_details": True}, path="/v1/completions")[1]["choices"][0]["potluck"]
    assert details["tokens"] == [7, 8, 9]
    assert details["route"][1] == {"peer_id": "12D3KooX", "name": "ana", "blocks": "4:12"}


def test_all_parts_of_an_answer_carry_its_id_and_no_other_answer_does(server: GatewayServer) -> None:
    first, second = (streamed(server) for _ in range(2))
    assert len(first) == 6  # who speaks, three words, the end, the counts
    assert len({(part["id"], part["created"]) for part in first}) == 1
    assert first[0]["id"] != second[0]["id"]


def test_each_whole_answer_is_counted_for_its_key(model: Words) -> None:
    answered: list[AnsweredRequest] = []
    made = server_of(model, on_answered=answered.append)
    with running(made, model) as server:
        send(server, HELLO)
        streamed(server)
        send(server, {"prompt": "Hello", "stream": False}, path=f"/{TOKEN}/api/generate", Authorization="")
        send(server, {"messages": "nonsense"})
    assert [(each.key, each.model, each.tokens) for each in answered] == [(TOKEN, "words", 4)] * 3


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": ""}, 401),
        ({"Origin": "http://evil.example"}, 403),
        ({"Referer": "http://evil.example/x"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:80"}, 421),
    ],
)
def test_strangers_are_refused(
    server: GatewayServer, model: Words, asked: list[int], headers: dict[str, str], status: int
) -> None:
    assert send(server, HELLO, **headers)[0] == status
    assert model.asked == asked == []


@pytest.mark.parametrize(
    ("headers", "setting"),
    [({"Origin": "http://evil.example"}, "gateway.origins"), ({"Host": "evil.example"}, "gateway.hosts")],
)
def test_a_refusal_names_the_setting_that_would_allow_it(
    server: GatewayServer, headers: dict[str, str], setting: str
) -> None:
    assert setting in send(server, HELLO, **headers)[1]["error"]["message"]


@pytest.mark.parametrize(
    "headers",
    [
        *({"Authorization": f"{scheme} {TOKEN}"} for scheme in ("Bearer", "bearer", "BEARER ")),
        *({"Authorization": shown, name: TOKEN} for name in ("x-api-key", "api-key") for shown in ("", "Bearer dummy")),
    ],
)
def test_a_key_is_found_wherever_a_client_puts_it(server: GatewayServer, headers: dict[str, str]) -> None:
    assert send(server, HELLO, **headers)[0] == 200


@pytest.mark.parametrize(("method", "path"), [("GET", "/health"), ("HEAD", "/")])
def test_a_probe_needs_no_key_and_keeps_nothing_awake(
    server: GatewayServer, asked: list[int], method: str, path: str
) -> None:
    probe = {"path": path, "method": method, "Authorization": ""}
    assert exchange(server, b"", **probe)[0].status not in (401, 403, 421)
    assert exchange(server, b"", Host="evil.example", **probe)[0].status == 421
    assert asked == []


PAGE = "chrome-extension://abcdef"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, x-any"}


def test_named_hosts_and_pages_are_let_in_and_no_others(model: Words) -> None:
    with running(server_of(model, hosts=("host.docker.internal",), origins=(PAGE,)), model) as server:
        assert send(server, HELLO, Host="Host.docker.internal:8737")[0] == 200
        assert send(server, HELLO, Host="evil.example")[0] == 421
        for given, status in (({}, 200), ({"Authorization": ""}, 401)):
            answer, _ = exchange(server, HELLO, Origin=PAGE, Referer=f"{PAGE}/index.html", **given)
            assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (status, PAGE)
        for origin in ("null", "*", f"{PAGE}g", PAGE.upper(), "http://evil.example"):
            answer, _ = exchange(server, HELLO, Origin=origin)
            assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (403, None)
        assert send(server, HELLO, Referer=f"{PAGE}/")[0] == 403


def test_the_preflight_of_a_named_page_needs_no_key(model: Words) -> None:
    near = PREFLIGHT | {"Access-Control-Request-Private-Network": "true", "Authorization": ""}
    with running(server_of(model, origins=(PAGE,)), model) as server:
        answer, _ = exchange(server, b"", method="OPTIONS", Origin=PAGE, **near)
        assert answer.status == 200
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE
        assert answer.headers["Access-Control-Allow-Private-Network"] == "true"
        assert "POST" in answer.headers["Access-Control-Allow-Methods"]
        assert answer.headers["Access-Control-Allow-Headers"] == PREFLIGHT["Access-Control-Request-Headers"]
        answer, _ = exchange(server, b"", method="OPTIONS", Origin="http://evil.example", **near)
        assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (400, None)


@pytest.mark.parametrize(
    "body",
    [
        *(b"{", [], {"messages": []}, {"messages": ["x"]}, {"messages": [{"content": "x"}]}, b"\xff", b"[" * 100_000),
        *({"messages": [{"role": "user", "content": 5}]}, HELLO | {"temperature": "hot"}, HELLO | {"max_tokens": -3}),
        *(HELLO | {"stop": [1]}, HELLO | {"n": 129}, HELLO | {"n": 0}, HELLO | {"logprobs": 1}),
        *(HELLO | {"logprobs": True, "top_logprobs": 21}),
        *(HELLO | {"logit_bias": bias} for bias in ({"word": 1}, {"5": 101}, [5])),
        *(HELLO | {"tools": 5}, HELLO | {"tools": [5]}, HELLO | {"model": 5}, HELLO | {"continue_final_message": True}),
        *(HELLO | {"temperature": number} for number in (float("nan"), float("inf"), -1, 1e400)),
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
    ],
)
def test_a_request_that_is_not_understood_says_why(server: GatewayServer, body: object) -> None:
    status, answer = send(server, body)
    assert (status, bool(answer["error"]["message"])) == (400, True)
    assert send(server, HELLO)[0] == 200


def test_other_models_other_paths_and_too_much_are_refused(server: GatewayServer) -> None:
    assert send(server, HELLO, path="/v1/files")[0] == 404
    assert send(server, b"", path="/v1/models/words", method="DELETE")[0] == 404
    assert send(server, HELLO | {"model": "other"})[0] == 404
    assert send(server, HELLO, Content_Length=str(1 << 30))[0] == 413


def test_a_failure_of_the_swarm_is_told_before_and_in_a_stream(server: GatewayServer, model: Words) -> None:
    model.failure = SwarmError("nobody serves block 3", hint="wait")
    status, answer = send(server, HELLO)
    assert (status, answer["error"]["message"]) == (503, "nobody serves block 3 (wait)")
    with pytest.raises(PotluckError, match="nobody serves block 3"):
        list(ask(ready(server), [ChatMessage("user", "Hello")]))
    with pytest.raises(PotluckError, match="wrong key"):
        list(ask(ready(server, "wrong"), [ChatMessage("user", "Hello")]))


@pytest.mark.parametrize(
    ("failure", "status", "code", "is_streamed"),
    [
        (KeyError("of the gateway's own"), 500, None, True),
        (ContextLengthError("too long"), 400, "context_length_exceeded", True),
        (UsageError("the template refuses"), 400, None, False),
        (SwarmError("nobody serves block 3"), 503, None, True),
    ],
)
def test_a_failure_before_the_first_part_has_its_own_status(
    server: GatewayServer, model: Words, failure: Exception, status: int, code: str | None, is_streamed: bool
) -> None:
    model.early_failure = failure
    answer, said = exchange(server, HELLO | {"stream": is_streamed})
    assert (answer.status, json.loads(said)["error"]["code"]) == (status, code)
    assert bool(answer.headers["Retry-After"]) == (status == 503)
    with pytest.raises(PotluckError) as raised:  # in a command
        complete(ready(server), "Once", on_text=lambda _: None)
    assert type(raised.value) is {400: UsageError, 500: PotluckError, 503: SwarmError}[status]


def test_a_field_without_effect_is_named_in_the_answer(server: GatewayServer) -> None:
    answer, _ = exchange(server, HELLO | {"user": "me", "store": False, "é\r\n": 1, "verbosity": None})
    assert (answer.status, answer.headers["X-Potluck-Ignored"]) == (200, "store, user, ???")


def test_each_choice_has_its_own_seed_and_the_prompt_counts_once(server: GatewayServer, model: Words) -> None:
    status, answer = send(server, HELLO | {"n": 3, "seed": 5})
    assert status == 200
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert sorted(one.sampling.seed or 0 for one in model.asked) == [5, 6, 7]
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (1, 9)


def test_choices_are_streamed_with_their_index(server: GatewayServer) -> None:
    *parts, counts = streamed(server, n=2)
    choices = [part["choices"][0] for part in parts]
    for index in range(2):
        mine = [choice for choice in choices if choice["index"] == index]
        assert mine[0]["delta"]["role"] == "assistant"
        assert "".join(choice["delta"].get("content", "") for choice in mine) == "Guten Tag ä"
        assert [choice["finish_reason"] for choice in mine][-1] == "stop"
    assert counts["usage"]["completion_tokens"] == 6


def asking(server: GatewayServer, body: object = HELLO) -> http.client.HTTPConnection:
    """Ask for an answer, and don't read it."""
    made = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    made.request("POST", CHAT, json.dumps(body), {"Authorization": f"Bearer {TOKEN}"})
    return made


def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        time.sleep(0.01)


def test_a_client_that_goes_away_ends_its_generation(server: GatewayServer, model: Words) -> None:
    model.may_end.clear()
    parts = ask(ready(server), [ChatMessage("user", "Hello")])
    next(parts)
    parts.close()  # type: ignore[attr-defined]
    assert model.is_cut.wait(60)


class Blocked(Words):
    """Waits for servers with its first request, as a prefill or an embedding does, until the client is gone."""

    def __init__(self) -> None:
        super().__init__("Guten ", "Tag")
        self.may_end.set()
        self.is_blocked = threading.Event()

    def answer(self, *given: Any) -> Answer:
        self._wait()
        return super().answer(*given)

    def embed(self, texts: Sequence[Prompt], *, is_cut: bool = False) -> Embeddings:
        self._wait()
        return Embeddings(([1.0],), 1)

    def _wait(self) -> None:
        if not self.is_blocked.is_set():
            is_over = threading.Event()
            with on_cancel(is_over.set):
                self.is_blocked.set()
                is_over.wait()
            raise BrokenPipeError


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *((CHAT, HELLO), (CHAT, HELLO | {"stream": True}), ("/v1/embeddings", {"input": "Hello"})),
    ],
)
def test_a_client_that_goes_away_while_servers_compute_frees_its_place(path: str, body: dict[str, Any]) -> None:
    model = Blocked()
    with running(server_of(model, at_once=1), model) as server:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
            connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {TOKEN}"})
            assert model.is_blocked.wait(60)
        answer, _ = exchange(server, body, path=path)
        assert answer.status == 200


def test_a_caller_that_leaves_while_others_are_answered_is_forgotten() -> None:
    model = Words("Guten ", "Tag")
    model.may_begin.clear()
    with running(server_of(model, at_once=1), model) as server, ThreadPoolExecutor(1) as pool:
        first = pool.submit(send, server, HELLO)
        until(lambda: bool(model.asked))
        assert send(server, HELLO | {"model": "words"}, path="/v1/messages/count_tokens") == (200, {"input_tokens": 1})
        with closing(asking(server)):
            until(lambda: server._answering.num_waiting == 1)
        until(lambda: server._answering.num_waiting == 0)
        model.may_begin.set()
        model.may_end.set()
        assert first.result()[0] == 200
        assert send(server, HELLO)[0] == 200
    assert len(model.asked) == 2


def test_a_caller_that_reads_nothing_ends_its_generation(
    server: GatewayServer, model: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "SOCKET_TIMEOUT_S", 0.01)
    model.parts[0] = AnswerPart("a" * (1 << 25))
    model.may_end.clear()
    with closing(asking(server, HELLO | {"stream": True})):
        assert model.is_cut.wait(60)


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_strangers_keep_no_caller_out_however_many_come_at_once(
    many_files: None, server: GatewayServer, model: Words
) -> None:
    """Seeded: strangers send nothing, a byte, half a request, or a part of a large head."""
    rng = random.Random(14)
    pieces = (b"", b"G", b"POST /v1 HTTP/1.1\r\nContent-Length: 9", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 90)
    model.may_accept.clear()
    server.access.proof_timeout_s = 600.0
    with ExitStack() as stack:

        def connect() -> http.client.HTTPConnection:
            made = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)))
            made.connect()
            return made

        for _ in range(300):
            connect().sock.sendall(rng.choice(pieces))
        callers = [connect() for _ in range(200)]
        for caller in callers:
            caller.request("POST", CHAT, json.dumps(HELLO), {"Authorization": f"Bearer {TOKEN}"})
        until(lambda: len(wait_for([caller.sock for caller in callers])) == 200 - 2 * 64)
        model.may_accept.set()
        answers = [caller.getresponse() for caller in callers]
    assert Counter(answer.status for answer in answers) == {200: 128, 429: 72}
    assert {answer.headers["Retry-After"] for answer in answers} == {None, "5"}


def test_a_stranger_that_is_late_or_sends_too_much_is_ended(server: GatewayServer) -> None:
    server.access.proof_timeout_s = 600.0
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as stranger:
        with suppress(OSError):
            stranger.sendall(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 90_000)
        assert _is_ended(stranger)
    server.access.proof_timeout_s = 0.0
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as stranger:
        assert _is_ended(stranger)


def test_the_oldest_stranger_gives_way_to_too_many_but_no_caller_does(
    model: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "_MAX_UNPROVED", 4)
    with running(server_of(model), model) as server, ExitStack() as stack:
        server.access.proof_timeout_s = 600.0
        caller = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)))
        for _ in range(2):
            caller.request("GET", "/v1/models", headers={"Authorization": f"Bearer {TOKEN}"})
            with caller.getresponse() as answer:
                assert (answer.status, bool(answer.read())) == (200, True)
            strangers = [
                stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60)) for _ in range(5)
            ]
            assert _is_ended(strangers[0])


def _is_ended(connection: socket.socket) -> bool:
    with suppress(ConnectionResetError):
        while connection.recv(1000):
            pass
    return True


def test_a_key_may_stand_before_the_path_for_programs_that_send_no_headers(server: GatewayServer) -> None:
    assert send(server, HELLO, path=f"/{TOKEN}/v1/chat/completions", Authorization="")[0] == 200
    assert send(server, HELLO, path="/guess/v1/chat/completions", Authorization="")[0] == 401


def test_a_taken_port_is_refused_and_had_at_once_when_it_is_free(model: Words) -> None:
    with running(server_of(model), model) as first:
        caller = http.client.HTTPConnection("127.0.0.1", first.port)
        caller.request("GET", "/health")
        assert caller.getresponse().status == 200
        with pytest.raises(UsageError, match=f"uses port {first.port}") as refused:
            server_of(model, port=first.port)
    assert "gateway.port" in (refused.value.hint or "")
    server_of(model, port=first.port)._socket.close()  # although the system still keeps the caller's connection
    caller.close()


@pytest.mark.parametrize(
    ("address", "host"), [("127.0.0.2", "127.0.0.2"), ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]"), ("::", "127.0.0.1")]
)
def test_it_listens_where_it_is_told_and_says_how_this_computer_reaches_it(
    model: Words, address: str, host: str
) -> None:
    with running(server_of(model, address=address), model) as server:
        assert server.url == f"http://{host}:{server.port}/v1"
        assert "".join(ask(ready(server), [ChatMessage("user", "Hello")])) == "Guten Tag ä"


def test_an_address_of_another_machine_is_refused_with_the_setting(model: Words) -> None:
    with pytest.raises(UsageError, match=r"gateway.address 192.0.2.7 cannot be listened on: [^()]*$"):
        server_of(model, address="192.0.2.7")


def test_as_many_requests_wait_in_order_as_are_answered_and_more_are_refused(model: Words) -> None:
    model.may_begin.clear()
    with running(server_of(model, at_once=1), model) as server, ThreadPoolExecutor(3) as pool:
        assert send(server, HELLO | {"n": 3})[0] == 400
        asked = [pool.submit(send, server, HELLO) for _ in range(3)]
        done, _ = wait(asked, return_when=FIRST_COMPLETED)
        model.may_begin.set()
        statuses = sorted(one.result()[0] for one in asked)
    assert [one.result()[0] for one in done] == [429]
    assert statuses == [200, 200, 429]
