"""Ollama's chat, generate and probes: what a request says to the model, and what programs read of the answers."""

import json
from typing import Any

import pytest
from helpers.words_model import Words, exchange, send
from potluck_gateway.exchange import ANY_OBJECT, BadRequestError, ChatMessage, ChatRequest, ToolCall
from potluck_gateway.formats.ollama import parse_ollama
from potluck_gateway.server import GatewayServer

HELLO = {"messages": [{"role": "user", "content": "Hello"}]}


def parse(**fields: Any) -> ChatRequest:
    return parse_ollama(json.dumps(fields).encode())


def test_thinking_text_and_calls_are_streamed_and_then_counted(server: GatewayServer) -> None:
    _, said = exchange(server, HELLO, path="/api/chat")
    *parts, last = [json.loads(line) for line in said.splitlines()]
    assert not any(part["done"] for part in parts)
    assert [part["message"].get("thinking", part["message"]["content"]) for part in parts if part["message"]] == [
        *("", "Hm", ".", "Guten ", "Tag", "")
    ]
    assert parts[-1]["message"]["tool_calls"][0]["function"] == {"index": 0, "name": "add", "arguments": {"a": 1}}
    assert (last["done"], last["done_reason"], last["prompt_eval_count"], last["eval_count"]) == (True, "stop", 1, 3)
    assert all(last[f"{what}_duration"] > 0 for what in ("total", "prompt_eval", "eval"))


@pytest.mark.parametrize(("path", "body"), [("/api/chat", HELLO), ("/api/generate", {"prompt": "Hello"})])
def test_a_whole_answer_has_the_thinking_beside_the_text(server: GatewayServer, path: str, body: Any) -> None:
    _, answer = send(server, body | {"stream": False}, path=path)
    said = answer["message"] if path == "/api/chat" else answer | {"content": answer["response"]}
    assert (said["content"], said["thinking"], answer["done"]) == ("Guten Tag", "Hm.", True)


@pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
def test_a_request_that_only_loads_the_model_is_done_at_once(server: GatewayServer, model: Words, path: str) -> None:
    for is_streamed in (True, False):
        status, answer = send(server, {"model": "words:latest", "keep_alive": "5m", "stream": is_streamed}, path=path)
        assert (status, answer["done"], answer["done_reason"]) == (200, True, "load")
    assert model.asked == []


def test_probes_tell_what_the_model_is_and_can_do(server: GatewayServer) -> None:
    assert exchange(server, b"", path="/", method="GET")[1] == b"Ollama is running"
    assert exchange(server, b"", path="/", method="HEAD")[0].status == 200
    assert send(server, b"", path="/api/version", method="GET")[1]["version"] >= "0.12"
    for path in ("/api/tags", "/api/ps"):
        (entry,) = send(server, b"", path=path, method="GET")[1]["models"]
        assert (entry["name"], len(entry["digest"])) == ("words", 64)
    assert entry["context_length"] == 1000
    shown = send(server, {"model": "words:latest"}, path="/api/show")[1]
    assert shown["capabilities"] == ["completion", "tools", "thinking", "embedding"]
    info = shown["model_info"]
    assert (info["general.architecture"], info["words.context_length"], info["words.embedding_length"]) == (
        *("words", 1000, 4),
    )


def test_a_refusal_has_ollamas_shape(server: GatewayServer) -> None:
    status, answer = send(server, HELLO | {"model": "llama3"}, path="/api/chat")
    assert (status, answer) == (404, {"error": "the model here is words, not llama3"})


@pytest.mark.parametrize(
    ("think", "wanted"),
    [
        (None, {}),
        (False, {"enable_thinking": False, "thinking": False}),
        ("high", {"enable_thinking": True, "thinking": True, "reasoning_effort": "high"}),
    ],
)
def test_think_reaches_the_chat_template(think: Any, wanted: dict[str, Any]) -> None:
    assert parse(**HELLO, think=think).template_kwargs == wanted


def test_options_are_read_and_those_for_ollamas_engine_named() -> None:
    options = {"temperature": 0.5, "top_k": 4, "min_p": 0.1, "repeat_penalty": 1.1, "seed": 3, "stop": ["END"]}
    asked = parse(**HELLO, options=options | {"num_predict": 7, "num_ctx": 9}, format="json", keep_alive=-1)
    sampling = asked.sampling
    assert (sampling.temperature, sampling.top_k, sampling.min_p, sampling.repetition_penalty) == (0.5, 4, 0.1, 1.1)
    assert (sampling.seed, asked.stop, asked.max_tokens, asked.schema) == (3, ("END",), 7, ANY_OBJECT)
    assert (asked.ignored, asked.is_streamed) == (("keep_alive", "num_ctx"), True)


@pytest.mark.parametrize("num_predict", [-2, -1, 0])
def test_an_answer_without_a_limit_has_none(num_predict: int) -> None:
    assert parse(**HELLO, options={"num_predict": num_predict}).max_tokens is None


def test_calls_and_results_come_back_as_history() -> None:
    asked = parse(
        messages=[
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]},
            {"role": "tool", "tool_name": "add", "content": "3"},
        ]
    )
    assistant, result = asked.messages
    assert assistant.calls == (ToolCall("call_0_0", "add", '{"a": 1}'),)
    assert (result.role, result.content) == ("tool", "3")


def test_a_prompt_is_a_users_message_unless_it_is_raw() -> None:
    message = parse(prompt="Hello", system="Be kind.").messages
    assert message == (ChatMessage("system", "Be kind."), ChatMessage("user", "Hello"))
    raw = parse(prompt="Hello", raw=True)
    assert (raw.messages, raw.prompts) == ((), ("Hello",))


@pytest.mark.parametrize("field", [{"suffix": "x"}, {"template": "x"}, {"images": ["AA=="]}, {"format": "xml"}])
def test_what_would_change_the_meaning_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(BadRequestError):
        parse(prompt="Hello", **field)
