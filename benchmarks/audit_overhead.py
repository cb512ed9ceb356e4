"""What audits cost all who take part: `audit_overhead`.

Three people serve the same blocks. One client has windows audited as it is usual for servers with a record, the other
one has none audited. They take turns. Compared is the CPU time of all processes, with p2pd.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

from potluck_gateway.completion import Options, complete

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalSwarm
from benchmarks.loops import PROMPT_TOKENS, cpu_ratio, generate, prompt, swarm_model
from benchmarks.models import checkpoint
from potluck.audit import CLEAN_AUDITS, WINDOW_TOKENS, audit_chance
from potluck.client import ClientConfig
from potluck.protocol.blocks import Span

_HIDDEN, _NUM_BLOCKS = 512, 4
_PEOPLE = ("Anne", "Ben")  # and the founder
_TOKENS = 96  # of one answer
_TURNS = 2  # answers of each side in a pair
_WARMING = 20  # prompts, about half of them audited: enough to learn how far honest windows are apart
_ALLOWED = 0.01  # above the target, for the interval's upper end
_REACH = 1.01


def audit_overhead(soak: bool) -> Measured:
    pairs = 100 if soak else 30
    folder, whole = checkpoint(_HIDDEN, _NUM_BLOCKS), Span(0, _NUM_BLOCKS)
    with ExitStack() as stack:
        swarm = stack.enter_context(LocalSwarm(folder, [whole]))
        for person in _PEOPLE:
            swarm.join(person)
        for engine in [swarm.add_engine_of(person, whole) for person in _PEOPLE]:
            engine.wait_online()
        audited, plain = (
            stack.enter_context(swarm_model(swarm, folder, ClientConfig(audits=audits))) for audits in ("on", "off")
        )
        with _audit_chance(1.0):
            for number in range(_WARMING):
                windows = prompt(number, tokens=2 * WINDOW_TOKENS)
                complete(audited, windows, Options(1, min_new_tokens=1), lambda _: None)
        stack.enter_context(_audit_chance(audit_chance(CLEAN_AUDITS)))
        before = audited.audits().audited

        def answer(model: Any) -> None:
            generate(model, _TOKENS)

        value, upper, ms = cpu_ratio([audited, plain], pairs, answer, turns=_TURNS)
        report = audited.audits()
    ends = range(WINDOW_TOKENS, PROMPT_TOKENS + _TOKENS, WINDOW_TOKENS)  # tokens that an audit of each window carries
    detail = {
        "upper_end": round(upper, 4),
        "cpu_ms_a_step": round(ms / _TURNS / _TOKENS, 2),
        "audits": report.audited - before,
        "undecided": report.undecided,
        "bytes_share": round(audit_chance(CLEAN_AUDITS) * sum(ends) / (PROMPT_TOKENS + _TOKENS), 4),
        "pairs": pairs,
    }
    return Measured(value, detail, holds=upper <= _REACH + _ALLOWED and not report.wrong)


def _audit_chance(chance: float) -> AbstractContextManager[object]:
    """Audit each window with this chance, whatever record a server has."""
    return patch("potluck.client.audits.audit_chance", lambda _: chance)
