"""What of a later turn the servers know already, in whatever shape a program sends back what it was answered.

The templates lay out a conversation as four families do: with the thinking of the newest question (Qwen3, GLM), with
that of calls alone (gpt-oss), with all of it, and with none (DeepSeek).
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from potluck_gateway.answers.completion import TextTokenizer
from potluck_gateway.answers.swarm_chat import SwarmChat
from potluck_gateway.exchange import ChatRequest
from potluck_gateway.formats.anthropic import MessageFormat, parse_message_request
from potluck_gateway.formats.openai import ChatFormat, parse_chat
from potluck_gateway.formats.responses import ResponseFormat, parse_response_request
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import GenerationConfig, LlamaConfig, PreTrainedTokenizerFast

Fields = dict[str, Any]
_POSITIONS = 1 << 16
_TAGS = (
    *("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"),
    *("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>", "<|constrain|>"),
)
_ENDS = ("<|im_end|>", "<|call|>", "<|return|>")
_TOOLS_SAID = "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
_LAST = (
    "{% set last = namespace(at=0) %}{% for m in messages %}{% if m.role == 'user' %}"
    "{% set last.at = loop.index0 %}{% endif %}{% endfor %}"
)
_CALLS = (
    '{% for c in m.tool_calls or [] %}\n<tool_call>\n{"name": "{{ c.function.name }}", "arguments": '
    "{{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}"
)


def _marked(condition: str, *, opens: str = "") -> str:
    """Return a template that shows thinking where `condition` holds."""
    return (
        _TOOLS_SAID + _LAST + "{% for m in messages %}<|im_start|>{{ m.role }}\n"
        "{% if m.role == 'assistant' and ("
        + condition
        + ") %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"
        "{{ m.content }}" + _CALLS + "<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n" + opens + "{% endif %}"
    )


_CHANNELS = (
    "{% if tools %}<|start|>developer<|message|>{{ tools | tojson }}<|end|>{% endif %}"
    + _LAST
    + "{% for m in messages %}"
    "{% if m.role == 'assistant' and m.tool_calls %}{% if m.thinking and loop.index0 > last.at %}"
    "<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{% endif %}<|start|>assistant"
    "<|channel|>commentary to=functions.{{ m.tool_calls[0].function.name }} <|constrain|>json<|message|>"
    "{{ m.tool_calls[0].function.arguments | tojson }}<|call|>"
    "{% elif m.role == 'assistant' %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>"
    "{% else %}<|start|>{{ m.role }}{{ m.name if m.role == 'tool' }}<|message|>{{ m.content }}<|end|>{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
TEMPLATES = {
    "thinking since the question": _marked("m.reasoning_content and loop.index0 > last.at"),
    "all thinking": _marked("m.reasoning_content", opens="<think>\n"),
    "no thinking": _marked("false", opens="<think>\n"),
    "channels": _CHANNELS,
}
CALL = ("bash", {"command": "ls  -l", "deep": {"b": [1, 2.5], "a": None}})
ANSWERS = (  # thinking, text, whether it calls
    ("I need to look. " * 40, "", True),
    ("Once more. " * 40, "I'll look again.", True),
    ("That was it. " * 40, "There is one file.", False),
    ("Easy. " * 60, "It is called 1.txt.", False),
    ("Done.", "Goodbye.", False),
)
QUESTIONS = {
    0: "What is in the folder? " * 8,
    3: "What is it called?",
    4: "Thanks.",
}  # number of the answer -> question


class Scripted:
    """A model that writes `ANSWERS`, and sessions that know what they have seen."""

    def __init__(self, tokenizer: Any, template: str) -> None:
        self.config = LlamaConfig(
            vocab_size=len(tokenizer),
            max_position_embeddings=_POSITIONS,
            eos_token_id=[tokenizer.convert_tokens_to_ids(end) for end in _ENDS],
        )
        self.generation_config = GenerationConfig()
        self.prompts: list[list[int]] = []
        self.seen: list[int] = []  # the newest prompt and answer
        self._tokenizer, self._template = tokenizer, template

    def tell_waits(self, on_wait: object) -> None:
        """Do nothing, because it never waits."""

    def longest_session(self) -> int:
        return _POSITIONS

    @contextmanager
    def session(self, **_: Any) -> Iterator[SimpleNamespace]:
        made = SimpleNamespace(position=0, route=lambda: ())
        made.rewind = lambda position: setattr(made, "position", position)
        yield made

    def generate(self, prompt: torch.Tensor, *, streamer: Any, session: Any, **_: Any) -> None:
        """Shapes: prompt [1, tokens], int64."""
        answer = self._tokenizer.encode(self._written(*ANSWERS[len(self.prompts)]))
        self.prompts.append(prompt[0].tolist())
        self.seen = self.prompts[-1] + answer
        session.position = len(self.seen) - 1
        for tokens in (prompt, *map(torch.tensor, ([token] for token in answer))):
            streamer.put(tokens)
        streamer.end()

    def _written(self, thinking: str, text: str, calls: bool) -> str:
        name, arguments = CALL
        if self._template == _CHANNELS:
            said = f"<|channel|>final<|message|>{text}<|return|>"
            called = (
                f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{json.dumps(arguments)}<|call|>"
            )
            return f"<|channel|>analysis<|message|>{thinking}<|end|><|start|>assistant" + (called if calls else said)
        opened = "" if "add_generation_prompt %}<|im_start|>assistant\n<think>" in self._template else "<think>\n"
        call = f"\n<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>" if calls else ""
        return f"{opened}{thinking}\n</think>\n\n{text}{call}<|im_end|>"


@dataclass
class Program:
    """A program that asks the questions one after another, and sends back in its own shape what it was answered."""

    chat: SwarmChat
    shape: str
    owner: str = "ana"
    history: list[Fields] = field(default_factory=list)

    def ask(self, parse: Callable[[bytes], ChatRequest], form: Any, name: str, **more: Any) -> tuple[Fields, int]:
        """Return the answer, and how many tokens of the prompt the servers had."""
        body = json.dumps({"model": "m", name: self.history, **more}).encode()
        asked = replace(parse(body), owner=self.owner)
        answer = self.chat.answer(asked, lambda _: None)
        return form("m", asked).whole((answer,)), answer.cached_tokens


_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
_RESULT = {"files": ["1.txt"]}


def _spaced(arguments: str) -> str:
    return json.dumps(json.loads(arguments), separators=(" , ", " : "))


def _chat(program: Program) -> int:
    tool = {"type": "function", "function": {"name": "bash", "parameters": _SCHEMA}}
    said, cached = program.ask(parse_chat, ChatFormat, "messages", tools=[tool])
    message = said["choices"][0]["message"]
    thinking = message.pop("reasoning_content")
    del message["reasoning"]
    if program.shape in ("reasoning_content", "reasoning"):
        message[program.shape] = thinking
    elif program.shape == "in the content":
        message["content"] = f"<think>\n{thinking}\n</think>\n\n{message['content'] or ''}"
    elif program.shape == "parts":
        message["content"] = [{"type": "text", "text": message["content"] or ""}]
    program.history.append(message)
    for call in message.get("tool_calls", ()):
        if program.shape != "reasoning_content":
            call["id"] = f"new-{call['id']}"
            call["function"]["arguments"] = _spaced(call["function"]["arguments"])
        result: Any = json.dumps(_RESULT)
        if program.shape == "parts":
            result = [{"type": "text", "text": result}]
        elif program.shape == "nothing":
            result = _RESULT
        program.history.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return cached


def _messages(program: Program) -> int:
    tool, thinking = {"name": "bash", "input_schema": _SCHEMA}, {"type": "enabled", "budget_tokens": 1024}
    said, cached = program.ask(parse_message_request, MessageFormat, "messages", tools=[tool], thinking=thinking)
    kept = [one for one in said["content"] if program.shape == "blocks" or one["type"] != "thinking"]
    program.history.append({"role": "assistant", "content": kept})
    for call in kept:
        if call["type"] == "tool_use":
            parts = [{"type": "text", "text": json.dumps(_RESULT)}]
            result = {"type": "tool_result", "tool_use_id": call["id"], "content": parts}
            program.history.append({"role": "user", "content": [result]})
    return cached


def _responses(program: Program) -> int:
    tool = {"type": "function", "name": "bash", "parameters": _SCHEMA}
    said, cached = program.ask(parse_response_request, ResponseFormat, "input", tools=[tool])
    for item in said["output"]:
        if item["type"] == "reasoning" and program.shape == "nothing":
            continue
        if item["type"] == "reasoning" and program.shape == "empty items":
            item["content"] = []
        program.history.append(item)
        if item["type"] == "function_call":
            output: Any = json.dumps(_RESULT)
            if program.shape == "nothing":
                output = [{"type": "input_text", "text": output}]
            program.history.append({"type": "function_call_output", "call_id": item["call_id"], "output": output})
    return cached


SHAPES = [
    *((_chat, shape) for shape in ("reasoning_content", "reasoning", "in the content", "parts", "nothing")),
    *((_messages, shape) for shape in ("blocks", "nothing")),
    *((_responses, shape) for shape in ("items", "empty items", "nothing")),
]


def _text(folder: Path, template: str) -> TextTokenizer:
    """Return a tokenizer with a token for each byte and each tag."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(tag, special=True) for tag in _TAGS if tag.startswith("<|")])
    made.add_tokens([AddedToken(tag, normalized=False) for tag in _TAGS if not tag.startswith("<|")])
    PreTrainedTokenizerFast(tokenizer_object=made, eos_token=_ENDS[0], chat_template=template).save_pretrained(folder)
    return TextTokenizer(folder)


def _shared(one: list[int], other: list[int]) -> int:
    both = zip(one, other, strict=False)
    return next((index for index, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))


def _talk(program: Program, model: Scripted, turn: Callable[[Program], int]) -> list[tuple[int, int]]:
    """Return for each answer how many tokens of its prompt were known, and how many can be."""
    found = []
    for number in range(len(ANSWERS)):
        if number in QUESTIONS:
            program.history.append({"role": "user", "content": QUESTIONS[number]})
        before = model.seen[:-1]
        cached = turn(program)
        found.append((cached, _shared(before, model.prompts[-1])))
    return found


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_turn_is_the_same_prompt_in_every_shape_and_computes_only_what_differs(name: str, tmp_path: Path) -> None:
    text = _text(tmp_path, TEMPLATES[name])
    usual: dict[Any, list[list[int]]] = {}
    for turn, shape in SHAPES:
        model = Scripted(text.tokenizer, TEMPLATES[name])
        for cached, most in _talk(Program(SwarmChat(model, text, max_tokens=5000), shape), model, turn):
            assert cached == most, f"{turn.__name__}, {shape}"
        assert model.prompts == usual.setdefault(turn, model.prompts), f"{turn.__name__}, {shape}"
