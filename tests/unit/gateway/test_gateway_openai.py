"""OpenAI's formats: what a request says to the model, and what OpenAI's own client reads of the answers."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest
from helpers.words_model import TOKEN, call, thought
from potluck_gateway.exchange import (
    Answer,
    BadRequestError,
    ChatMessage,
    ChatRequest,
    Likely,
    Sampling,
    TokenScore,
    ToolCall,
)
from potluck_gateway.formats.anthropic import MessageFormat
from potluck_gateway.formats.ollama import OllamaFormat
from potluck_gateway.formats.openai import ChatFormat, CompletionFormat, parse_chat, parse_completion
from potluck_gateway.formats.responses import ResponseFormat, parse_response_request
from potluck_gateway.server import GatewayServer

HELLO: Any = [{"role": "user", "content": "Hello"}]
ADD = {"name": "add", "description": "Add.", "parameters": {"properties": {"a": {}}}}
IMAGE = {"type": "image_url", "image_url": {"url": "x"}}
TOOLS: Any = [{"type": "function", "function": ADD}, {"type": "function", "function": {"name": "clock"}}]


@pytest.fixture
def client(server: GatewayServer) -> Iterator[openai.OpenAI]:
    direct = openai.DefaultHttpxClient(trust_env=False)
    with openai.OpenAI(base_url=server.url, api_key=TOKEN, max_retries=0, http_client=direct) as made:
        yield made


def chat(**fields: Any) -> ChatRequest:
    return parse_chat(json.dumps({"messages": HELLO} | fields).encode())


def completion(**fields: Any) -> ChatRequest:
    return parse_completion(json.dumps({"prompt": "Once"} | fields).encode())


def response(**fields: Any) -> ChatRequest:
    return parse_response_request(json.dumps({"input": "Hello"} | fields).encode())


@pytest.mark.parametrize("is_streamed", [False, True])
def test_openais_client_reads_thinking_text_and_calls_of_a_chat(client: openai.OpenAI, is_streamed: bool) -> None:
    asked: Any = {"model": "words", "messages": HELLO, "tools": TOOLS}
    if is_streamed:
        with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
            answer: Any = stream.get_final_completion()
    else:
        answer = client.chat.completions.create(**asked)
    choice = answer.choices[0]
    assert (choice.message.content, choice.finish_reason) == ("Guten Tag", "tool_calls")
    assert (choice.message.reasoning_content, choice.message.reasoning) == ("Hm.", "Hm.")
    calls = [(one.id, one.function.name, json.loads(one.function.arguments)) for one in choice.message.tool_calls]
    assert calls == [("call_1", "add", {"a": 1}), ("call_2", "clock", {})]
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (1, 3)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_openais_client_reads_the_items_of_a_response_in_order(client: openai.OpenAI, is_streamed: bool) -> None:
    asked: Any = {"model": "words", "input": "Hello", "tools": [{"type": "function", **ADD}]}
    if is_streamed:
        with client.responses.stream(**asked) as stream:
            events = list(stream)
        assert [event.sequence_number for event in events] == list(range(len(events)))
        answer: Any = events[-1].response  # type: ignore[union-attr]
        done = [event for event in events if event.type == "response.output_item.done"]
        assert [event.output_index for event in done] == [0, 1, 2, 3]
        assert [(event.item.id, event.item.type) for event in done] == [(item.id, item.type) for item in answer.output]
        for kind in ("reasoning_text", "output_text", "function_call_arguments"):
            pieces = [event.delta for event in events if event.type == f"response.{kind}.delta"]  # type: ignore[union-attr]
            wholes = [event.model_dump() for event in events if event.type == f"response.{kind}.done"]
            assert "".join(pieces) == "".join(whole.get("text") or whole["arguments"] for whole in wholes)
    else:
        answer = client.responses.create(**asked)
    reasoning, message, function, other = answer.output
    assert [item.type for item in answer.output] == ["reasoning", "message", "function_call", "function_call"]
    assert (reasoning.content[0].text, message.content[0].text, answer.output_text) == ("Hm.", "Guten Tag", "Guten Tag")
    assert (function.call_id, function.name, json.loads(function.arguments)) == ("call_1", "add", {"a": 1})
    assert (other.call_id, other.name, other.arguments) == ("call_2", "clock", "{}")
    assert len({item.id for item in answer.output}) == 4
    assert (answer.status, answer.usage.output_tokens) == ("completed", 3)


def test_counts_tell_thinking_and_what_servers_knew_and_each_prompt_once() -> None:
    answers = tuple(Answer("a", "stop", prompt, 5, thinking_tokens=2, cached_tokens=1) for prompt in (3, 3, 4, 4))
    usage = ChatFormat("m", chat(n=2)).whole(answers)["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (7, 20, 27)
    assert usage["prompt_tokens_details"]["cached_tokens"] == 2
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 8
    usage = ResponseFormat("m", response()).whole(answers[:1])["usage"]
    assert usage["input_tokens_details"]["cached_tokens"] == 1
    assert usage["output_tokens_details"]["reasoning_tokens"] == 2


def test_an_answer_of_nothing_or_of_calls_alone_is_written_as_the_reference_says() -> None:
    nothing, calls = Answer("", "stop", 1, 0), Answer("", "tool_calls", 1, 2, calls=(ToolCall("call_1", "add", "{}"),))
    messages = [ChatFormat("m", chat()).whole((one,))["choices"][0]["message"] for one in (nothing, calls)]
    assert [message["content"] for message in messages] == ["", None]
    outputs = [ResponseFormat("m", response()).whole((one,))["output"] for one in (nothing, calls)]
    assert [[item["type"] for item in output] for output in outputs] == [["message"], ["function_call"]]


@pytest.mark.parametrize("reason", ["length", "stop"])
def test_a_call_that_breaks_off_is_incomplete_in_a_response(reason: str) -> None:
    written = ResponseFormat("m", response())
    said = written.part(call("{}")) + written.part(call('{"a": 1', ToolCall("call_2", "add", "")))
    answer = Answer("", reason, 1, 3, calls=(ToolCall("call_1", "add", "{}"),))
    lines = (said + written.end((answer,))).decode().splitlines()
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    done = [event["item"]["status"] for event in events if event["type"] == "response.output_item.done"]
    assert done == ["completed", "incomplete"]
    assert [event["arguments"] for event in events if event["type"].endswith("arguments.done")] == ["{}"]
    assert [item["status"] for item in events[-1]["response"]["output"]] == done


def test_a_call_that_the_model_broke_is_told_as_it_is_and_as_an_object_where_a_format_needs_one() -> None:
    answers = (Answer("", "tool_calls", 1, 1, calls=(ToolCall("c", "add", '{"a" 1}'),)),)
    said = ChatFormat("m", chat()).whole(answers)["choices"][0]["message"]["tool_calls"][0]
    assert said["function"]["arguments"] == '{"a" 1}'
    assert MessageFormat("m", chat()).whole(answers)["content"][0]["input"] == {"arguments": '{"a" 1}'}
    said = OllamaFormat("m", chat(), is_chat=True).whole(answers)["message"]["tool_calls"][0]
    assert said["function"]["arguments"] == {"arguments": '{"a" 1}'}


def test_a_failed_response_ends_with_what_was_whole() -> None:
    written = ResponseFormat("m", response())
    said = written.begin() + written.part(thought("Hm")) + written.part(call("{}"))
    said += written.failure(BadRequestError("nobody serves block 3", 503))
    last = json.loads(said.decode().split("data: ")[-1])
    assert (last["type"], last["response"]["error"]["message"]) == ("response.failed", "nobody serves block 3")
    assert [item["type"] for item in last["response"]["output"]] == ["reasoning"]


def test_a_request_is_read_as_the_references_say() -> None:
    asked = chat(
        messages=[
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        ],
        max_tokens=1000,
        temperature=0.5,
        top_p=1,
        top_k=-1,
        min_p=0.1,
        repetition_penalty=1.1,
        presence_penalty=None,
        logit_bias={"3": -100},
        stop="END",
        stop_token_ids=[5],
        ignore_eos=True,
        seed=7,
        n=1,
        stream=True,
        stream_options={"include_usage": True},
        user="someone",
    )
    assert asked == ChatRequest(
        (ChatMessage("system", "Be kind."), ChatMessage("user", "a\nb")),
        max_tokens=1000,
        sampling=Sampling(0.5, 1.0, 0, 0.1, 1.1, seed=7, logit_bias={3: -100.0}),
        stop=("END",),
        stop_tokens=(5,),
        ignores_end=True,
        is_streamed=True,
        with_usage=True,
        ignored=("user",),
    )


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, {}),
        ({"reasoning_effort": "low"}, {"reasoning_effort": "low", "enable_thinking": True, "thinking": True}),
        ({"reasoning_effort": "none"}, {"enable_thinking": False, "thinking": False}),
        ({"enable_thinking": False}, {"enable_thinking": False, "thinking": False}),
        ({"chat_template_kwargs": {"a": 1}}, {"a": 1}),
        (
            {"reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": False}},
            {"reasoning_effort": "high", "enable_thinking": False, "thinking": True},
        ),
    ],
)
def test_effort_and_switches_reach_the_template(fields: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert chat(**fields).template_kwargs == wanted
    if set(fields) == {"reasoning_effort"}:
        assert response(reasoning={"effort": fields["reasoning_effort"]}).template_kwargs == wanted


@pytest.mark.parametrize(
    ("parse", "fields", "limit"),
    [
        (chat, {}, None),
        (chat, {"max_tokens": 0}, 0),
        (chat, {"max_tokens": -1}, None),
        (chat, {"max_tokens": 5, "max_completion_tokens": 7.0}, 7),
        (completion, {}, 16),
        (completion, {"max_tokens": 0, "echo": True, "logprobs": 1}, 0),
        (completion, {"max_tokens": -1}, None),
        (response, {"max_output_tokens": 32000}, 32000),
        (response, {}, None),
    ],
)
def test_the_callers_limit_is_passed_on(
    parse: Callable[..., ChatRequest], fields: dict[str, Any], limit: int | None
) -> None:
    assert parse(**fields).max_tokens == limit


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        ("a", ("a",)),
        (["a", "b"], ("a", "b")),
        ([1, 2], ((1, 2),)),
        ([[1, 2], [3]], ((1, 2), (3,))),
        *(
            (broken, None)
            for broken in (None, "", [], [[]], ["a", ""], [1, "a"], [True], [-1], [[1], 2], 5, ["a"] * 129)
        ),
    ],
)
def test_a_prompt_is_a_text_tokens_or_several_of_these(prompt: Any, wanted: Any) -> None:
    if wanted is not None:
        assert completion(prompt=prompt).prompts == wanted
        return
    with pytest.raises(BadRequestError):
        completion(prompt=prompt)


def test_an_answer_goes_on_with_the_last_message_if_that_is_wanted() -> None:
    history = [*HELLO, {"role": "assistant", "content": "Gu"}]
    fields = {"continue_final_message": True}
    asked = chat(messages=history, **fields)
    assert (asked.continues, asked.ignored) == (True, ())
    assert not chat(messages=history).continues
    with pytest.raises(BadRequestError, match="continue_final_message needs"):
        chat(**fields)


NAMED = {"type": "function", "function": {"name": "add"}}


@pytest.mark.parametrize(
    ("choice", "offered", "must_call"),
    [
        (None, ["add", "clock"], []),
        ("auto", ["add", "clock"], []),
        ("required", ["add", "clock"], ["add", "clock"]),
        (NAMED, ["add", "clock"], ["add"]),
        ({"type": "function", "name": "add"}, ["add", "clock"], ["add"]),
    ],
)
def test_tools_are_offered_as_the_choice_says(choice: Any, offered: list[str], must_call: list[str]) -> None:
    asked = chat(tools=TOOLS, tool_choice=choice, parallel_tool_calls=False)
    assert asked.tools is not None
    assert [tool.name for tool in asked.tools.offered] == offered
    assert [tool.name for tool in asked.tools.must_call] == must_call
    assert not asked.tools.is_parallel


def test_functions_are_tools_and_other_kinds_are_left_out_and_named() -> None:
    for read, tools in ((chat, TOOLS), (response, [{"type": "function", **ADD}])):
        asked = read(tools=[{"type": "web_search"}, *tools, {"type": "namespace", "name": "a", "tools": []}])
        assert asked.tools is not None
        assert asked.ignored == ("tools[0]", f"tools[{len(tools) + 1}]")
    assert chat(tools=TOOLS, tool_choice="none").tools is None
    assert chat(tools=[{"type": "web_search"}]).tools is None
    assert chat(tools=TOOLS, response_format={"type": "json_object"}).schema is not None


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"tools": {"a": 1}}, None),
        ({"tools": [{"type": "function", "function": {"name": ""}}]}, None),
        ({"tools": [{"type": "function", "function": {"name": "a", "parameters": [1]}}]}, None),
        ({"tools": TOOLS, "tool_choice": "any"}, None),
        ({"tools": [], "tool_choice": "required"}, None),
        ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "sub"}}}, None),
        ({"modalities": ["text", "audio"]}, None),
        ({"guided_json": {"type": "object"}}, "unsupported_parameter"),
        ({"json_schema": {"type": "object"}}, "unsupported_parameter"),
        ({"response_format": {"type": "json_schema"}}, None),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "unsupported_content"),
        ({"messages": [*HELLO, {"role": "user", "content": "x", "images": ["AA=="]}]}, "unsupported_content"),
    ],
)
def test_what_would_change_the_meaning_is_refused(fields: dict[str, Any], code: str | None) -> None:
    with pytest.raises(BadRequestError) as raised:
        chat(**fields)
    assert raised.value.code == code


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 1, "logprobs": False, "top_logprobs": 0, "tools": [], "stop": None, "logit_bias": {}, "functions": []},
        {"modalities": ["text"], "response_format": {"type": "text"}, "tool_choice": "auto", "max_tokens": None},
        {"stream_options": None, "temperature": 1, "presence_penalty": 0},
    ],
)
def test_neutral_values_are_no_error_and_not_named(fields: dict[str, Any]) -> None:
    assert chat(**fields).ignored == ()


def test_fields_without_effect_are_named_and_no_more_than_some() -> None:
    named = ("prediction", "service_tier", "verbosity", "web_search_options")
    assert chat(**{name: {"a": 1} for name in named}).ignored == named
    asked = response(
        reasoning={"summary": "auto", "effort": None},
        text={"verbosity": "low"},
        store=False,
        include=["x"],
        metadata={},
    )
    assert asked.ignored == ("metadata", "store")
    assert len(chat(**{f"field_{n}": 1 for n in range(1000)}).ignored) < 100
    left = [*HELLO, {"role": "assistant", "content": [IMAGE] * 1000}]
    assert len(chat(messages=left, tools=[{"type": "a"}] * 1000).ignored) < 100


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ({"content": None}, ChatMessage("assistant", "")),
        ({}, ChatMessage("assistant", "")),
        ({"content": []}, ChatMessage("assistant", "")),
        ({"content": [{"type": "text", "text": None}, "a"]}, ChatMessage("assistant", "a")),
        ({"content": None, "refusal": "No."}, ChatMessage("assistant", "No.")),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, ChatMessage("assistant", "No.")),
        ({"content": "a", "reasoning": "Hm"}, ChatMessage("assistant", "a", thinking="Hm")),
        ({"content": "a", "reasoning_content": "Hm", "reasoning": "no"}, ChatMessage("assistant", "a", thinking="Hm")),
        ({"content": [{"type": "thinking", "thinking": "Hm"}]}, ChatMessage("assistant", "", thinking="Hm")),
        ({"content": [{"type": "redacted_thinking", "data": "x"}, IMAGE, 5]}, ChatMessage("assistant", "")),
        ({"content": "<think>\nHm\n</think>\n\na"}, ChatMessage("assistant", "a", thinking="Hm")),
        ({"content": "a <think>"}, ChatMessage("assistant", "a <think>")),
        ({"role": "robot", "content": "a", "name": "x"}, ChatMessage("user", "a")),
        ({"role": "tool", "name": "add", "content": {"sum": 3}}, ChatMessage("tool", '{"sum": 3}', call_id="add")),
        (
            {"role": "tool", "tool_call_id": "of no call", "content": "3"},
            ChatMessage("tool", "3", call_id="of no call"),
        ),
        ({"role": "tool", "tool_call_id": None, "content": [IMAGE]}, ChatMessage("tool", "")),
        ({"content": "a", "tool_calls": None}, ChatMessage("assistant", "a")),
        ({"content": "a", "tool_calls": [5, {}, {"function": {"name": 5}}]}, ChatMessage("assistant", "a")),
        ({"content": "\ud83d"}, ChatMessage("assistant", "\ufffd")),
        ({"content": "a\ud83d\ude00"}, ChatMessage("assistant", "a\U0001f600")),
    ],
)
def test_a_message_of_before_is_taken_as_it_is(message: dict[str, Any], wanted: ChatMessage) -> None:
    asked = chat(messages=[*HELLO, {"role": "assistant"} | message, {"role": "assistant", "content": "b"}, *HELLO])
    assert asked.messages[1] == wanted


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        *((empty, {}) for empty in ("", "  ", None, "{}", "null")),
        ('{"a": ', {"arguments": '{"a": '}),
        ("[1]", {"arguments": [1]}),
        ("[" * 100_000, {"arguments": "[" * 100_000}),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
    ],
)
def test_broken_arguments_of_a_call_are_passed_on_as_an_object(arguments: Any, wanted: dict[str, Any]) -> None:
    function = {"name": "add", "arguments": arguments}
    new = {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": function}]}
    item = {"type": "function_call", "call_id": "call_1", **function}
    asked = (chat(messages=[*HELLO, new, *HELLO]), response(input=[item]))
    calls = [one for request in asked for message in request.messages for one in message.calls]
    assert [(one.name, json.loads(one.arguments), bool(one.call_id)) for one in calls] == [("add", wanted, True)] * 2
    assert all(one.arguments.encode() for one in calls)


def test_items_of_a_response_become_the_messages_of_a_chat() -> None:
    called = {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": "{}", "status": "completed"}
    asked = response(
        instructions="Be kind.",
        input=[
            {
                "role": "user",
                "content": [{"type": "input_image", "image_url": "x"}, {"type": "input_text", "text": "Add."}],
            },
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So: "}]},
            called,
            called | {"call_id": "call_2"},
            {"type": "function_call_output", "call_id": "call_1", "output": "1"},
            {"type": "function_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "2"}]},
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "So"}]},
            {"type": "custom_tool_call", "call_id": "call_3", "name": "apply_patch", "input": "*** Begin"},
            {"type": "custom_tool_call_output", "call_id": "call_3", "output": [{"type": "input_image"}]},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            {"type": "item_reference", "id": "x"},
            {"role": "user", "content": "Go on."},
        ],
    )
    assert list(asked.messages) == [
        ChatMessage("system", "Be kind."),
        ChatMessage("user", "Add."),
        ChatMessage(
            "assistant", "So: ", (ToolCall("call_1", "add", "{}"), ToolCall("call_2", "add", "{}")), thinking="Hm"
        ),
        ChatMessage("tool", "1", call_id="call_1"),
        ChatMessage("tool", "2", call_id="call_2"),
        ChatMessage("assistant", "", (ToolCall("call_3", "apply_patch", '{"arguments": "*** Begin"}'),), thinking="So"),
        ChatMessage("tool", "", call_id="call_3"),
        ChatMessage("user", "Go on."),
    ]
    assert asked.ignored == ("input[0].content[0]", "input[9].content[0]", "input[10]", "input[11]")


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": 5},
        {"input": []},
        {"input": [5]},
        {"input": [{"content": "x"}]},
        {"instructions": 5},
        {"background": True},
        {"previous_response_id": "resp_1"},
        {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
    ],
)
def test_a_response_that_makes_no_sense_here_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadRequestError):
        response(**fields)


def test_scores_are_written_as_the_reference_says() -> None:
    scores = (TokenScore(b"a", -0.5, 0, (Likely(b"a", -0.5), Likely(b"\xc3", -1.0))),)
    first = {"token": "a", "logprob": -0.5, "bytes": [97]}
    second = {"token": "\ufffd", "logprob": -1.0, "bytes": [0xC3]}
    content = [first | {"top_logprobs": [first, second]}]
    (choice,) = ChatFormat("m", chat()).whole((Answer("a", "stop", 1, 1, scores),))["choices"]
    assert choice["logprobs"]["content"] == content
    (item,) = ResponseFormat("m", response()).whole((Answer("a", "stop", 1, 1, scores),))["output"]
    assert item["content"][0]["logprobs"] == content
    echoed = Answer("ba", "stop", 1, 1, (TokenScore(b"b", None, 0), *scores))
    (choice,) = CompletionFormat("m", completion()).whole((echoed,))["choices"]
    assert choice["logprobs"] == {
        "tokens": ["b", "a"],
        "token_logprobs": [None, -0.5],
        "top_logprobs": [None, {"a": -0.5, "\ufffd": -1.0}],
        "text_offset": [0, 0],
    }
    cut = TokenScore(b"\xe2", -2.0, 0, (Likely(b"\xc3", -1.0), Likely(b"\xc4", -1.5)))
    (choice,) = CompletionFormat("m", completion()).whole((Answer("", "stop", 1, 1, (cut,)),))["choices"]
    assert choice["logprobs"]["top_logprobs"] == [{"\ufffd": -1.0}], "the likeliest of those that read the same"
