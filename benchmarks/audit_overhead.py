"""What audits cost all who take part: `audit_overhead`.

Three people serve the same blocks. A client has windows audited as it is usual for servers with a record, and none, in
turns. All answers come from the founder's server, because servers differ by more than audits cost. Compared is the CPU
time of all processes, with p2pd; the worse of a model without experts and one with them counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack
from unittest.mock import patch

from potluck_gateway.answers.completion import Options, complete

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalSwarm
from benchmarks.loops import PROMPT_TOKENS, cpu_ratio, generate, prompt, swarm_model
from benchmarks.models import checkpoint
from potluck.audit.choices import CLEAN_AUDITS, WINDOW_TOKENS, audit_chance
from potluck.client import ClientConfig
from potluck.client.servers import Servers
from potluck.protocol.blocks import PeerId, Span
from potluck.routing.route import Needs, Route

_HIDDEN, _NUM_BLOCKS = 512, 4
_NUM_EXPERTS, _CHOICES = 8, 2
_PEOPLE = ("Anne", "Ben")  # and the founder
_TOKENS = 96  # of one answer
_TURNS = 2  # answers of each side in a pair
_WARMING = 20  # prompts that are all audited: enough to learn how far honest windows are apart
_ALLOWED = 0.01  # above the target, for the interval's upper end
_REACH = 1.01
_BYTES_REACH = 0.0035  # three thousandths, rounded


def audit_overhead(soak: bool) -> Measured:
    found = [_overhead(100 if soak else 18, experts) for experts in (0, _NUM_EXPERTS)]
    worst = max(found, key=lambda each: each.value)
    detail = {
        name: each.detail | {"ratio": round(each.value, 4)}
        for name, each in zip(("dense", "experts"), found, strict=True)
    }
    return Measured(worst.value, detail, holds=all(each.holds for each in found))


def _overhead(pairs: int, num_experts: int) -> Measured:
    folder, whole = checkpoint(_HIDDEN, _NUM_BLOCKS, num_experts=num_experts), Span(0, _NUM_BLOCKS)
    with ExitStack() as stack:
        swarm = stack.enter_context(LocalSwarm(folder, [whole]))
        for person in _PEOPLE:
            swarm.join(person)
        others = [swarm.add_engine_of(person, whole) for person in _PEOPLE]
        for engine in others:
            engine.wait_online()
        model = stack.enter_context(swarm_model(swarm, folder))
        audits = model._client.audits
        stack.enter_context(_avoiding(model._client.servers, {engine.peer_id for engine in others}))
        with _chances(lambda *_: 1.0):
            for number in range(_WARMING):
                windows = prompt(number, tokens=2 * WINDOW_TOKENS)
                complete(model, windows, Options(1, min_new_tokens=1), lambda _: None)
        stack.enter_context(_chances(lambda _, window: audit_chance(CLEAN_AUDITS, window)))
        before = model.audits().audited

        def answer(choice: str) -> None:
            with patch.object(audits, "_config", ClientConfig(audits=choice)):
                generate(model, _TOKENS)
                model._client.run(audits._background.wait())

        value, upper, ms = cpu_ratio(["on", "off"], pairs, answer, turns=_TURNS)
        report = model.audits()
    share = _bytes_share(num_experts)
    detail = {
        "upper_end": round(upper, 4),
        "cpu_ms_a_step": round(ms / _TURNS / _TOKENS, 2),
        "audits": report.audited - before,
        "undecided": report.undecided,
        "withheld": report.withheld,
        "bytes_share": round(share, 5),
        "pairs": pairs,
    }
    is_right = not report.wrong and not report.withheld and share <= _BYTES_REACH
    return Measured(value, detail, holds=upper <= _REACH + _ALLOWED and is_right)


def _bytes_share(num_experts: int) -> float:
    """Return the bytes that audits of one answer are expected to take, over those of its steps, hidden states alone."""
    total = PROMPT_TOKENS + _TOKENS
    stops = [*range(WINDOW_TOKENS, total, WINDOW_TOKENS), total]
    a_token = 4 * _HIDDEN
    choices = 2 * 2 * _NUM_BLOCKS * _CHOICES if num_experts else 0  # of each token, from one server and to the other
    spent, start = 0.0, 0
    for stop in stops:
        chance = audit_chance(CLEAN_AUDITS, range(start, stop))
        spent += chance * (stop * (a_token + choices) + (stop - start) * a_token)
        start = stop
    return spent / (2 * total * a_token)


def _avoiding(servers: Servers, peers: set[PeerId]) -> AbstractContextManager[object]:
    """Have sessions go elsewhere; audits may still ask these peers."""
    draw = servers._draw

    def draw_others(span: Span, needs: Needs, unwanted: Collection[PeerId], *, draws: int) -> list[Route]:
        return draw(span, needs, {*unwanted, *peers}, draws=draws)

    return patch.object(servers, "_draw", draw_others)


def _chances(chance: Callable[[int, range], float]) -> AbstractContextManager[object]:
    """Audit each window with this chance, whatever record a server has."""
    return patch("potluck.client.audits.auditing.audit_chance", chance)
