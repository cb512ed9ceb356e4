"""Agents in conversations of ten turns through the gateway: `agent_turns`.

The ordinary run sends what agents send (`agent_shapes`), before a scripted model with three kinds of chat templates.
The soak also runs the agents themselves (`agent_clients`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import anthropic
import httpx
import ollama
import openai

from benchmarks.figures import Measured, figure
from benchmarks.programs.agent_clients import conversations_of_agents
from benchmarks.programs.agent_shapes import Clients, Heard, Program, clients_of, programs
from benchmarks.programs.scripted_model import (
    BROKEN,
    FAILING,
    FORGOTTEN,
    TEMPLATES,
    TURNS,
    ScriptedModel,
    Written,
    question,
    scripted_gateway,
)

_ENDS = (
    {"stop", "end_turn", "completed"},
    {"tool_calls", "tool_use", "completed", "stop"},
)  # templates without calls, and with them
_FAILURES = (AssertionError, ValueError, httpx.HTTPError, openai.OpenAIError, anthropic.AnthropicError)


@figure("agent_turns", unit="conversations", reach=0, shown=True)
def stopped(soak: bool) -> Measured:
    """Conversations of ten turns that stop early: what agents send, read by the official clients, before a scripted
    model.

    In soak also Claude Code, Codex, Continue, OpenCode, aider and Python's agents themselves, installed from the
    registries (or kept in `$POTLUCK_AGENTS`) and run in a network namespace without a network.
    """
    found = replayed() | (conversations_of_agents() if soak else {})
    why = {name: problem for name, problem in found.items() if problem}
    return Measured(float(len(why)), {"conversations": len(found), "stopped": why})


def replayed(kinds: Iterable[str] = TEMPLATES, turns: int = TURNS) -> dict[str, str]:
    """Return for each conversation why it stopped; nothing if it didn't."""
    found = {}
    for kind in kinds:
        with scripted_gateway(TEMPLATES[kind]) as (url, model), clients_of(url) as clients:
            assert httpx.head(url).is_success, "HEAD / without a key fails"  # Claude Code and programs of Ollama ask
            for program in programs():
                found[f"{program.name}, template that {kind}"] = _converse(program, clients, model, turns)
    return found


def _converse(program: Program, clients: Clients, model: ScriptedModel, turns: int) -> str:
    number = 0
    try:
        for number in range(1, turns + 1):
            _turn(program, clients, model, number)
    except (*_FAILURES, ollama.ResponseError) as error:
        return f"turn {number}: {type(error).__name__} {error}"
    return ""


def _turn(program: Program, clients: Clients, model: ScriptedModel, number: int) -> None:
    """Ask a question, and go on until there are no more calls. Raises as a program would fail."""
    program.history.append({"role": "user", "content": question(number)})
    nudges = [] if program.nudge is None else [program.nudge]
    while True:
        heard = program.ask(clients)
        _check(heard, model.written, hears_thinking=program.hears_thinking)
        if nudges and not heard.text and not heard.calls:
            program.history.append(nudges.pop())  # replaces the empty answer
            continue
        program.history += heard.items
        if not heard.calls:
            break
        for call in heard.calls:
            result = "ls: no such folder" if number == FAILING else f"{number}.txt 🎉"
            program.result(call, result, is_error=number == FAILING)
    if number == BROKEN:
        program.cut_call()


def _check(heard: Heard, written: Written, *, hears_thinking: bool) -> None:
    """Raise AssertionError unless the program has read what the model has written."""
    if written.is_broken:  # the markup may be shown, but the conversation must go on
        assert heard.text or heard.calls, "nothing came of a broken call"
        return
    calls = tuple((call.name, json.loads(call.arguments)) for call in heard.calls)
    thinking = written.thinking if hears_thinking else ""
    assert FORGOTTEN not in heard.text, heard.text
    assert heard.text.strip() == written.text, f"text {heard.text[:200]!r} is not {written.text[:200]!r}"
    assert calls == written.calls, f"calls {calls} are not {written.calls}"
    assert heard.thinking.strip() == thinking, f"thinking {heard.thinking!r} is not {thinking!r}"
    assert heard.end in _ENDS[bool(calls)], f"it ended with {heard.end}"
