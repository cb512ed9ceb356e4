"""What the gateway tells beside answers: its models, health and metrics, and embeddings."""

import base64
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.words_model import Words, exchange, running, send, server_of
from potluck_gateway.server import GatewayServer
from prometheus_client.parser import text_string_to_metric_families

CHAT = "/v1/chat/completions"
HELLO = {"messages": [{"role": "user", "content": "Hello"}]}
EMBEDDINGS = "/v1/embeddings"


@pytest.fixture
def server() -> Iterator[GatewayServer]:
    model = Words("Guten ", "Tag")
    model.may_end.set()
    with running(server_of(model), model) as made:
        yield made


def get(server: GatewayServer, path: str) -> Any:
    return send(server, b"", path=path, method="GET")[1]


def test_models_are_listed_with_their_lengths(server: GatewayServer) -> None:
    found = get(server, "/v1/models")
    (entry,) = found["data"]
    assert (entry["id"], entry["context_length"], entry["max_model_len"], entry["max_completion_tokens"]) == (
        *("words", 1000, 1000, 100),
    )
    assert entry["created"] > 1_700_000_000
    assert (found["first_id"], found["last_id"], found["has_more"]) == ("words", "words", False)
    assert get(server, "/v1/models/words") == entry


def test_the_gateway_tells_that_it_lives(server: GatewayServer) -> None:
    assert get(server, "/health") == {"status": "ok"}
    assert exchange(server, b"", path="/health", method="HEAD")[0].status == 200


def test_metrics_count_requests_and_tokens_and_take_no_label_from_a_caller(server: GatewayServer) -> None:
    send(server, {"messages": [{"role": "user", "content": "Hello"}], "stream": False}, path="/api/chat")
    exchange(server, {"prompt": "Hello"}, path="/api/generate")
    send(server, HELLO, path="/v1/made/up")
    _, page = exchange(server, b"", path="/metrics", method="GET")
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
    }
    assert found["potluck_gateway_requests_total", "/api/chat", "200"] == 1
    assert found["potluck_gateway_requests_total", "other", "404"] == 1
    assert (found["potluck_gateway_tokens_total", "prompt"], found["potluck_gateway_tokens_total", "answer"]) == (2, 6)
    assert (found["potluck_gateway_open",], found["potluck_gateway_waiting",]) == (1, 0)
    assert "made" not in page.decode()


def test_the_limit_of_an_answer_is_told_when_the_caller_named_none(server: GatewayServer) -> None:
    asked: dict[str, Any] = {"prompt": "Hello", "stream": False}
    answer, _ = exchange(server, asked, path="/api/generate")
    assert answer.headers["X-Potluck-Max-Tokens"] == "100"
    answer, _ = exchange(server, asked | {"options": {"num_predict": 5}}, path="/api/generate")
    assert answer.headers["X-Potluck-Max-Tokens"] is None


@pytest.mark.parametrize(
    ("given", "lengths"),
    [("abc", [3]), (["a", "bc"], [1, 2]), ([5, 6, 7], [3]), ([[5], [6, 7]], [1, 2]), (["a", [6, 7]], [1, 2])],
)
def test_texts_and_tokens_are_embedded(server: GatewayServer, given: Any, lengths: list[int]) -> None:
    _, answer = send(server, {"input": given}, path=EMBEDDINGS)
    assert [4 * entry["embedding"][0] / entry["embedding"][1] for entry in answer["data"]] == pytest.approx(lengths)


def test_a_vector_is_cut_and_scaled_to_the_length_that_was_asked_for(server: GatewayServer) -> None:
    _, answer = send(server, {"input": "abc", "dimensions": 2, "encoding_format": "base64"}, path=EMBEDDINGS)
    assert struct.unpack("<2f", base64.b64decode(answer["data"][0]["embedding"])) == pytest.approx((0.6, 0.8))
    _, answer = send(server, {"input": ["abc"], "dimensions": 2}, path="/api/embed")
    assert answer["embeddings"] == [pytest.approx([0.6, 0.8])]
    assert send(server, {"prompt": "abc"}, path="/api/embeddings")[1]["embedding"] == [0.6, 0.8, 0.0, 0.0]
    assert send(server, {"model": "words"}, path="/api/embed")[1]["embeddings"] == []


@pytest.mark.parametrize(
    "fields", [{"input": ""}, {"input": []}, {"input": [1, "a"]}, {"input": [-1]}, {"input": "a", "dimensions": 5}]
)
def test_what_cannot_be_embedded_is_refused(server: GatewayServer, fields: dict[str, Any]) -> None:
    assert send(server, fields, path=EMBEDDINGS)[0] == 400
