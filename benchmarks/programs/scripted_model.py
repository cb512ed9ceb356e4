"""A model that writes what a script says, token by token, in place of a swarm's: for `agent_turns`.

Everything around it is the gateway's own. The model reads its prompt, as the chat template has made it, for the number
of the question, the tools, and what has happened since. It answers with a thought and a call, and after the results
with a text. Each of the ten questions has a difficulty of its own.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from potluck_control.processes.gateway_messages import GatewaySwarm
from potluck_gateway.answers.completion import TextTokenizer
from potluck_gateway.answers.swarm_chat import SwarmChat
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import GenerationConfig, LlamaConfig, PreTrainedTokenizerFast

from benchmarks.programs.gateway import serving
from potluck.membership.membership import Membership
from potluck.protocol.swarm import new_swarm

MODEL = "scripted"
TURNS = 10
PARALLEL, FAILING, BROKEN, EMPTY, NAMED, SPOKEN, AGAIN, LONG = 2, 3, 4, 5, 7, 8, 9, 10  # numbers of questions
FORGOTTEN = "I have forgotten"
_POSITIONS, _MOST = 1 << 20, 4096  # tokens of a text, and of an answer
_END = "<|im_end|>"
_TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
_USUAL = """\
{%- if tools %}<|im_start|>system
{% if messages[0].role == "system" %}{{ messages[0].content }}

{% endif %}Tools:{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
Write a call as <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call>.<|im_end|>
{% endif %}{% for message in messages %}{% if not (tools and loop.first and message.role == "system") -%}
<|im_start|>{{ message.role }}
{% if message.reasoning_content %}<think>
{{ message.reasoning_content }}
</think>

{% endif %}{{ message.content }}{% for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
_STRICT = """\
{% for message in messages %}{% if message.role != ("assistant" if loop.index0 % 2 else "user") -%}
{{ raise_exception("roles must alternate, and there is none for the system") }}{% endif %}<|im_start|>{{ message.role }}
{{ message.content | trim }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
TEMPLATES = {
    "knows tools and thinks": _USUAL,
    "opens the thought itself": _USUAL.removesuffix("{% endif %}") + "<think>\n{% endif %}",
    "knows neither tools nor the system": _STRICT,
}


@dataclass(frozen=True, slots=True)
class Written:
    """What the model wrote. A call is a name and its arguments."""

    thinking: str = ""
    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    is_broken: bool = False  # its calls are no JSON


def question(number: int) -> str:
    return f"Question {number} of {TURNS}: what is in the folder?"


class ScriptedModel:
    """Stands in for transformers' model of a swarm. Without tools it answers with a text at once."""

    def __init__(self, tokenizer: Any, template: str) -> None:
        self.config = LlamaConfig(
            vocab_size=len(tokenizer), max_position_embeddings=_POSITIONS, eos_token_id=tokenizer.eos_token_id
        )
        self.generation_config = GenerationConfig()
        self._tokenizer = tokenizer
        self._thinks = "<think>" in template
        self._opens = template.endswith("<think>\n{% endif %}")
        self.written = Written()  # the newest answer

    def tell_waits(self, on_wait: object) -> None:
        """Do nothing, because it never waits."""

    def longest_session(self) -> int:
        return _POSITIONS

    @contextmanager
    def session(self, **_: Any) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(position=0, rewind=lambda _: None, route=lambda: ())

    def generate(self, prompt: torch.Tensor, *, streamer: Any, max_new_tokens: int, **_: Any) -> None:
        """Shapes: prompt [1, tokens], int64."""
        self.written = self._answer(str(self._tokenizer.decode(prompt[0])))
        tokens: list[int] = self._tokenizer.encode(self._marked(self.written) + _END)
        streamer.put(prompt)
        for token in tokens[:max_new_tokens]:
            streamer.put(torch.tensor([token]))
        streamer.end()

    def _answer(self, prompt: str) -> Written:
        asked = list(re.finditer(r"Question (\d+) of", prompt))
        number = int(asked[-1][1]) if asked else 0
        since = prompt[asked[-1].end() :] if asked else prompt
        rounds = since.count("<|im_start|>assistant") - 1
        thinking = f"Question {number}. I have called {rounds} times." if self._thinks else ""
        tools = _offered(prompt)
        if tools and rounds < (2 if number == AGAIN else 1):
            if number == NAMED and self._thinks:
                thinking += " I could write <tool_call> here, but I won't."
            call = _call(tools, number, rounds)
            calls = (call, call) if number == PARALLEL else (call,)
            return Written(thinking, "I'll look." if number == SPOKEN else "", calls, number == BROKEN)
        if number == EMPTY and self.written.calls:  # asked again, it says something
            return Written(thinking)
        known = set(range(1, number)) - {EMPTY, BROKEN}  # a broken call may be shown, and nothing come after it
        lost = [f"answer {one}" for one in sorted(known) if f"Answer {one}:" not in prompt]
        if number == FAILING and tools and "no such" not in since.lower():
            lost.append("the result")
        said = f"{FORGOTTEN} {lost}" if lost else "héllo 🎉 and 中文, " + "again " * (200 if number == LONG else 1)
        return Written(thinking, f"Answer {number}: {said.strip()}.")

    def _marked(self, written: Written) -> str:
        """Return an answer with its tags."""
        opened = "" if self._opens else "<think>\n"
        thought = f"{opened}{written.thinking}\n</think>\n\n" if self._thinks else ""
        calls = [json.dumps({"name": name, "arguments": given}) for name, given in written.calls]
        tagged = [f"<tool_call>\n{call[:-4] if written.is_broken else call}\n</tool_call>" for call in calls]
        return thought + "\n".join([written.text, *tagged]).strip()


def _offered(prompt: str) -> dict[str, dict[str, Any]]:
    """Return the parameters of the tools that a prompt describes, by name."""
    found = {}
    for place in re.finditer(r'\{"type": "function"', prompt):
        tool = json.JSONDecoder().raw_decode(prompt, place.start())[0]["function"]
        found[tool["name"]] = tool["parameters"]
    return found


def _call(tools: dict[str, dict[str, Any]], number: int, rounds: int) -> tuple[str, dict[str, Any]]:
    """Return a harmless call of a tool that runs commands, or else of the first one."""
    runs = [name for name, fields in tools.items() if {"command", "cmd"} & fields.get("properties", {}).keys()]
    name = runs[0] if runs else next(iter(tools))
    text = "ls /nowhere" if number == FAILING else f"echo 'héllo 🎉 <b>{number}.{rounds}</b>'"
    return name, dict.fromkeys(tools[name].get("required", ()), text)


@contextmanager
def scripted_gateway(template: str) -> Iterator[tuple[str, ScriptedModel]]:
    """Run the gateway before a scripted model, and yield the gateway's address and the model."""
    with tempfile.TemporaryDirectory() as folder:
        _tokenizer(template).save_pretrained(folder)
        text = TextTokenizer(folder)
    model = ScriptedModel(text.tokenizer, template)
    chat = SwarmChat(model, text, max_tokens=_MOST)
    with serving(chat, GatewaySwarm(Membership(new_swarm("agents", MODEL, 1)), MODEL), max_tokens=_MOST) as url:
        yield url.removesuffix("/v1"), model


def _tokenizer(template: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer with a token for each byte and each tag, so that letters and tags come in pieces."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken("<|im_start|>", special=True), AddedToken(_END, special=True)])
    if "<think>" in template:
        made.add_tokens([AddedToken(tag, normalized=False) for tag in _TAGS])
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token=_END, chat_template=template)
