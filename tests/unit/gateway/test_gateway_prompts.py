"""How a conversation becomes a prompt by the model's chat template, in bounded child processes."""

import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.answers.completion import (
    TextTokenizer,
)
from potluck_gateway.answers.prompts import Prompts, plain_prompt
from potluck_gateway.answers.templates import BoundedRenderer, TemplateLimits
from potluck_gateway.exchange import (
    ChatMessage,
    ChatRequest,
    Tool,
    ToolCall,
    Tools,
)

from potluck.errors import UsageError

ASKED = (ChatMessage("user", "Hello"),)


def test_of_a_conversation_that_is_far_too_long_only_the_beginning_is_read() -> None:
    text = TextTokenizer(resource(DEMO_MODEL))
    text.tokenizer.chat_template = EVERYTHING
    prompts, read = Prompts(text, 100), []
    tokenize = text.tokenizer._encode_plus
    text.tokenizer._encode_plus = lambda text, **more: (read.append(len(text)), tokenize(text, **more))[1]
    for words, is_read in ((20, True), (10_000, False)):
        tokens = prompts.prepare(ChatRequest((ChatMessage("user", "again " * words),))).tokens
        assert (tokens.device.type == "cpu") is is_read
        assert words < tokens.shape[1] < 3 * words
    assert max(read) < 2000


def test_a_model_without_a_template_goes_on_from_a_script() -> None:
    assert plain_prompt(ASKED) == "Hello"
    turns = (("system", "Be kind."), ("user", "Hi"), ("assistant", "Yes?"), ("user", "Bye"))
    talk = tuple(ChatMessage(role, text) for role, text in turns)
    assert plain_prompt(talk) == "System: Be kind.\nUser: Hi\nAssistant: Yes?\nUser: Bye\nAssistant:"


def prompt_by(template: str | None, *messages: ChatMessage, **asked: Any) -> str:
    """Return the prompt that a template makes, with the demo model's tokenizer."""
    text = TextTokenizer(resource(DEMO_MODEL))
    text.tokenizer.chat_template = template
    tokens = Prompts(text).prepare(ChatRequest(messages or ASKED, **asked)).tokens
    return text.decode(tokens[0].tolist())


EVERYTHING = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"


NO_SYSTEM = "{% for m in messages %}{{ m.content if m.role != 'system' }}\n{% endfor %}"


FIRST_ONLY = """{% for m in messages %}
{%- if m.role == 'system' and loop.index0 %}{{ raise_exception('a system message must be the first') }}{% endif %}
{%- if loop.index0 and m.role == loop.previtem.role %}{{ raise_exception('roles must alternate') }}{% endif %}
{{- m.role }}: {{ m.content }}
{% endfor %}"""


TALK = (
    ChatMessage("system", "Be kind."),
    ChatMessage("user", "Hi"),
    ChatMessage("assistant", "Yes?"),
    ChatMessage("system", "Be brief."),
    ChatMessage("user", "Bye"),
)


@pytest.mark.parametrize(
    ("template", "prompt"),
    [
        (EVERYTHING, "system: Be kind.\nuser: Hi\nassistant: Yes?\nsystem: Be brief.\nuser: Bye\n"),
        (FIRST_ONLY, "system: Be kind.\nuser: Hi\nassistant: Yes?\nuser: Be brief.\n\nBye\n"),
        (NO_SYSTEM, "Be kind.\n\nHi\nYes?\nBe brief.\n\nBye\n"),
    ],
)
def test_system_messages_without_a_place_join_the_next_message_of_the_user(template: str, prompt: str) -> None:
    assert prompt_by(template, *TALK) == prompt


TOOLS = Tools((Tool("add", {"type": "object", "properties": {}}, "Adds."),))


CALLED = (
    ChatMessage("system", "Be kind."),
    ChatMessage("user", "1 + 2?"),
    ChatMessage("assistant", "", (ToolCall("call_1", "add", '{"a": 1}'),), thinking="Easy."),
    ChatMessage("tool", "3", call_id="call_1"),
)


@pytest.mark.parametrize("template", [None, EVERYTHING, FIRST_ONLY, NO_SYSTEM])
def test_tools_calls_and_results_are_texts_where_a_template_knows_none(template: str | None) -> None:
    prompt = prompt_by(template, *CALLED, tools=TOOLS)
    for said in ("Be kind.", "1 + 2?", '"description": "Adds."', '{"name": "add", "arguments": {"a": 1}}', "3"):
        assert said in prompt
    assert "call_1" not in prompt


def test_a_template_gets_tools_results_with_their_names_thoughts_and_ids_as_it_takes_them() -> None:
    template = """{{ tools | tojson }}{% for m in messages %}
{{ m.role }}: {{ m.reasoning_content }} {{ m.content }} {{ m.name }} {{ m.tool_call_id }}
{%- for call in m.tool_calls or [] %}<tool_call>{"name": "{{ call.function.name }}", "arguments": {{
call.function.arguments | tojson }}}</tool_call>{% if call.id | length != 9 %}{{ raise_exception('id') }}{% endif %}
{%- endfor %}{% endfor %}"""
    prompt = prompt_by(template, *CALLED, tools=TOOLS)
    assert '"name": "add", "arguments": {"a": 1}' in prompt
    assert "assistant: Easy." in prompt
    assert "tool:  3 add" in prompt
    assert '[{"type": "function"' in prompt


def test_a_models_own_template_is_used_and_may_refuse() -> None:
    text = TextTokenizer(resource(DEMO_MODEL))
    assert prompt_by(text.tokenizer.chat_template) == "User: Hello\nAssistant:"
    assert prompt_by(None) == "Hello"
    assert prompt_by("{{ mood }} {{ messages[0].content }}", template_kwargs={"mood": "calm"}) == "calm Hello"
    with pytest.raises(UsageError, match="roles must alternate"):
        prompt_by("{{ raise_exception('roles must alternate') }}")
    with pytest.raises(UsageError, match="cannot set tokenize"):
        prompt_by(EVERYTHING, template_kwargs={"tokenize": True})


@pytest.mark.parametrize(
    "template",
    [
        "{% set n = namespace(t='x') %}{% for a in range(60) %}{% set n.t = n.t + n.t %}{% endfor %}{{ n.t }}",
        "{{ 9 ** (9 ** 9) }}",
    ],
    ids=["huge text", "huge number"],
)
def test_a_template_that_needs_too_much_is_refused(template: str) -> None:
    text = TextTokenizer(resource(DEMO_MODEL))
    text.tokenizer.chat_template = template
    told = [{"role": "user", "content": "Hello"}]
    limits = TemplateLimits(compute_s=0, more_bytes=1 << 26)
    with pytest.raises(UsageError, match="too much time or memory"):
        BoundedRenderer(lambda: text.tokenizer.apply_chat_template(told, tokenize=False), limits)()


def test_a_text_may_be_long_but_not_endless() -> None:
    write = BoundedRenderer("ä".__mul__)
    assert write(500_000) == "ä" * 500_000
    bounded = BoundedRenderer("x".__mul__, TemplateLimits(text_bytes=1000))
    with pytest.raises(UsageError, match="too much"):
        bounded(100_000)
    assert bounded(1000) == "x" * 1000


def test_templates_are_rendered_in_two_processes_that_are_replaced_when_they_end() -> None:
    def render(number: int) -> str:
        if number < 0:
            raise ValueError("below zero")
        return f"{os.getpid()} {number}"

    renderer = BoundedRenderer(render)
    (process,) = {int(renderer(1).split()[0]) for _ in range(3)}  # one is enough until several ask
    with ThreadPoolExecutor(8) as threads:
        said = [text.split() for text in threads.map(renderer, range(40))]
    assert [int(number) for _, number in said] == list(range(40))
    processes = {process, *(int(pid) for pid, _ in said)}
    assert len(processes) <= 2
    assert os.getpid() not in processes
    with pytest.raises(UsageError, match="below zero"):
        renderer(-1)
    for pid in processes:
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert int(renderer(1).split()[0]) not in (*processes, os.getpid())


def test_a_conversation_does_not_wait_for_the_template_of_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()  # the child closes what it inherits

        def render(waits: bool) -> str:
            if waits:
                with socket.create_connection(address) as held:
                    held.recv(1)
            return "done"

        renderer = BoundedRenderer(render)
        with ThreadPoolExecutor(1) as thread:
            slow = thread.submit(renderer, True)
            held, _ = server.accept()
            with held:
                assert (renderer(False), slow.done()) == ("done", False)
            assert slow.result() == "done"


def test_the_process_of_templates_keeps_nothing_of_its_parent_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        renderer = BoundedRenderer(lambda: " ".join(sorted(os.listdir("/proc/self/fd"))))
        open_files = renderer().split()
        assert str(server.fileno()) not in open_files
    assert len(open_files) == 5, "standard streams, the connection, and the folder that is listed"
