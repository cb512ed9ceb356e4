"""Agents in conversations of ten turns through the gateway: `agent_turns`.

The ordinary run sends what agents send (`agent_shapes`), before a scripted model and three kinds of chat templates.
"""

from __future__ import annotations

import json

import httpx

from benchmarks.agent_shapes import Heard, Program, programs
from benchmarks.figures import Measured
from benchmarks.scripted_model import (
    BROKEN,
    EMPTY,
    FAILING,
    NUDGE,
    TEMPLATES,
    TURNS,
    ScriptedModel,
    Written,
    scripted_gateway,
)

_TIMEOUT_S = 60.0
_ENDS = {"stop", "end_turn", "completed"}, {"tool_calls", "tool_use", "completed", "stop"}  # without calls, and with


def stopped(soak: bool) -> Measured:
    """Conversations that stop before their last turn has its answer."""
    why: dict[str, str] = {}
    num = 0
    for kind, template in TEMPLATES.items():
        with scripted_gateway(template) as (url, model), httpx.Client(base_url=url, timeout=_TIMEOUT_S) as client:
            for program in programs():
                num += 1
                if (problem := converse(program, client, model)) is not None:
                    why[f"{program.name}, template that {kind}"] = problem
    return Measured(float(len(why)), {"conversations": num, "stopped": why})


def converse(program: Program, client: httpx.Client, model: ScriptedModel, turns: int = TURNS) -> str | None:
    """Return why a conversation stops; None if it doesn't."""
    number = 0
    try:
        program.probe(client)
        for number in range(1, turns + 1):
            _turn(program, client, model, number)
    except (AssertionError, httpx.HTTPError, KeyError, ValueError) as error:
        return f"turn {number}: {type(error).__name__} {error}"
    return None


def _turn(program: Program, client: httpx.Client, model: ScriptedModel, number: int) -> None:
    """Ask a question, and go on until there are no more calls. Raises as a program would fail."""
    program.question(f"Question {number} of {TURNS}: what is in the folder?")
    has_nudged = False
    while True:
        heard = program.ask(client)
        _check(heard, model.written)
        program.keep(heard)
        for call in heard.calls:
            result = "ls: no such folder" if number == FAILING else f"{number}.txt, and a letter cut in two: \ud83c"
            program.result(call, result, is_error=number == FAILING)
        if number == EMPTY and program.nudges and not heard.calls and not has_nudged:
            has_nudged = True
            program.question(f"[Your previous response had {NUDGE}.]")
        elif not heard.calls:
            break
    if number == BROKEN:
        program.cut_call()


def _check(heard: Heard, written: Written) -> None:
    """Raise AssertionError unless the program has read what the model has written."""
    if written.is_broken:  # the markup may be shown, but the conversation must go on
        assert heard.text or heard.calls, "nothing came of a broken call"
        return
    calls = tuple((call.name, json.loads(call.arguments)) for call in heard.calls)
    assert heard.text.strip() == written.text, f"text {heard.text[:200]!r} is not {written.text[:200]!r}"
    assert calls == written.calls, f"calls {calls} are not {written.calls}"
    assert heard.thinking.strip() in written.thinking, f"thinking {heard.thinking!r} is not {written.thinking!r}"
    assert heard.end in _ENDS[bool(calls)], f"it ended with {heard.end}"
