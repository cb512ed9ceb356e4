"""What audits cost all who take part: `audit_overhead`.

Three people serve the same blocks. Of two clients one has windows audited as it is usual for servers with a record, the
other has none. They take turns. Compared is the CPU time of all processes, with p2pd.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalSwarm
from benchmarks.loops import PROMPT_TOKENS, cpu_ratio, generate, swarm_model
from benchmarks.models import checkpoint
from potluck.audit import CLEAN_AUDITS, WINDOW_TOKENS, audit_chance
from potluck.client import ClientConfig
from potluck.protocol.blocks import Span

_HIDDEN, _NUM_BLOCKS = 512, 4
_PEOPLE = ("Anne", "Ben")  # and the founder
_TOKENS = 160  # of one answer
_TURNS = 1  # answers of each side in a pair
_MOST_WARMING = 60  # answers
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
        _earn_records(audited)
        before = audited.audits().audited
        value, upper, ms = cpu_ratio([audited, plain], pairs, lambda model: generate(model, _TOKENS), turns=_TURNS)
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


def _earn_records(model: Any) -> None:
    """Generate until the servers of all people have been audited often enough to have a record."""
    for _ in range(_MOST_WARMING):
        if model.audits().audited >= CLEAN_AUDITS * (1 + len(_PEOPLE)):
            return
        generate(model, _TOKENS)
