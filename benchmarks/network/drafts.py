"""Drafted tokens: how much faster they make generation on an emulated internet, and that they change no token.

    known      what the demo model answers to prompts of its own kinds
    code       the rest of source files, token by token
    unseen     the rest of prose, likewise

The model is made to write code and prose that it was never taught, by a step that leaves only the next token of the
text; everything else, drafts and their checks included, is as always. The emulated internet needs root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from potluck_control.resources import DEMO_DRAFT, DEMO_MODEL, resource
from potluck_gateway.answers.completion import Completion, Options, TextTokenizer, complete
from potluck_gateway.exchange import Sampling
from transformers import LogitsProcessor
from transformers.generation.logits_process import TopKLogitsWarper

from benchmarks.figures import Measured, figure
from benchmarks.network.far_swarm import far_swarm
from benchmarks.setup.generation import swarm_model
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.models import local_model
from potluck.checkpoint.source import open_checkpoint
from potluck.client.drafting.draft_model import load_draft
from potluck.client.drafting.payoff import DraftCost, StepTimes
from potluck.protocol.blocks import Span
from tests.helpers.internet import Link

_SPANS = (Span(0, 4), Span(4, 8), Span(8, 12))
_TOKENS = 48  # new ones of each text, and twice as many of those that are written
_SCRIPT_PROMPT_TOKENS = 384
_SAMPLES, _TOP_K = 400, 6
_LEAST_EXPECTED = 5.0  # expected draws in a cell of the chi-square test; smaller cells are joined
_KNOWN = (
    "User: what is potluck?\nAssistant:",
    "Count from 7 to 18:",
    "Repeat: soup Paris Ana onion Tuesday cake Rome Hugo. Again:",
)
_TEXTS = Path(__file__).parents[1] / "texts"  # excerpts of files of this repository, as they were on 30 November 2026
_CODE = ("figures", "generate")
_UNSEEN = ("security", "contributing")
_NOT_LEARNED = {  # the six texts of decision 0047, which the demo model's drafting model did not learn
    "prose": (*_UNSEEN, "costs"),
    "code": (*_CODE, "hop"),
}

_Texts = Mapping[str, Sequence[tuple[torch.Tensor, Options]]]  # kind of text -> texts


class Written(LogitsProcessor):  # type: ignore[misc]
    """Leaves only the next token of a text."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = tokens

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Shapes: input_ids [1, tokens] int64, scores [1, vocabulary]."""
        token = self._tokens[input_ids.shape[1]]
        return torch.full_like(scores, -torch.inf).scatter_(1, torch.tensor([[token]]), 0.0)


@figure("speculative_100ms", unit="ratio", reach=3.6, better="higher", shown=True)
def at_100_ms(soak: bool) -> Measured:
    """Tokens a second with drafts over those without, through three servers at 100 ms round trips.

    The mean of the demo model's own answers, of code and of prose that the demo model is made to write. `detail`
    has the worst text, which must reach 0.98. Needs root.
    """
    return _speed(100, soak)


@figure("speculative_30ms", unit="ratio", reach=2.8, better="higher")
def at_30_ms(soak: bool) -> Measured:
    """Tokens a second with drafts over those without, through three servers at 30 ms round trips.

    Needs root.
    """
    return _speed(30, soak)


@figure("draft_model_real", unit="ratio", reach=1.6, better="higher")
def drafting_model(soak: bool) -> Measured:
    """Tokens a second with the demo's drafting model over those without drafts, on text that it did not learn, 100 ms
    round trips.

    The lower mean of three texts of prose and three of code, those of decision 0047. Needs root.
    """
    folder = resource(DEMO_MODEL)
    text = TextTokenizer(folder)
    texts = {kind: [_written(text, name) for name in names] for kind, names in _NOT_LEARNED.items()}
    with far_swarm(folder, _SPANS, Link(0.001)) as far, swarm_model(far.swarm, folder) as model:
        model.draft_with(load_draft(open_checkpoint(str(resource(DEMO_DRAFT)))))
        far.set_round_trips(100)
        means, detail = _means(model, texts, 3 if soak else 1)
    return Measured(min(means.values()), detail)


@figure("speculative_exact", unit="tokens", reach=0, shown=True)
def exact(soak: bool) -> Measured:
    """Greedy tokens that differ with drafts, of 1,000 (10,000 in soak), three servers; drawn tokens of the same seed in
    `detail`.
    """
    folder, wanted = resource(DEMO_MODEL), 10_000 if soak else 1_000
    texts = _texts(folder)
    differing = {"greedy": 0, "drawn": 0}
    steps = {"plain": 0, "drafts": 0}
    compared = 0
    with (
        LocalSwarm(folder, _SPANS) as swarm,
        swarm_model(swarm, folder) as model,
        mock.patch.object(
            StepTimes, "estimate", return_value=DraftCost(1.0, 0.0, 0.001)
        ),  # drafts pay even without any delay
    ):
        for seed in range(wanted):
            for prompt, _ in texts["known"] + texts["code"] + texts["unseen"]:
                for name, options in (
                    ("greedy", Options(_TOKENS, min_new_tokens=_TOKENS)),
                    ("drawn", Options(_TOKENS, min_new_tokens=_TOKENS, sampling=Sampling(0.7, seed=seed))),
                ):
                    cut = prompt[:, seed % 8 :] if prompt.shape[1] > 16 else prompt
                    plain = _complete(model, cut, options, steps, "plain")
                    drafted = _complete(model, cut, replace(options, drafts=True), steps, "drafts")
                    same = sum(one == other for one, other in zip(plain.tokens, drafted.tokens, strict=False))
                    differing[name] += max(len(plain.tokens), len(drafted.tokens)) - same
                    compared += len(plain.tokens) if name == "greedy" else 0
            print(f"{compared} greedy tokens: {differing}, steps {steps}", flush=True)
            if compared >= wanted:
                break
        chi_square = _sampled(model, folder, texts["unseen"][0][0])
    detail = {"differing": differing, "tokens": compared, "steps": steps, "chi_square": chi_square}
    return Measured(float(differing["greedy"]), detail, holds=chi_square["p"] > 0.01)


def _sampled(model: Any, folder: Path, prompt: torch.Tensor) -> dict[str, float]:
    """Compare how often three tokens are drawn with drafts with how often the model alone draws them.

    Shapes: prompt [1, tokens]. The first token comes from the prompt's step, the others are drafted or not.
    """
    options = Options(3, min_new_tokens=3, sampling=Sampling(1.0), steps=(TopKLogitsWarper(_TOP_K),), drafts=True)
    steps = {"drafts": 0}
    drawn = Counter(tuple(_complete(model, prompt, options, steps, "drafts").tokens) for _ in range(_SAMPLES))
    cells, rest_seen, rest_expected = list[tuple[float, float]](), 0.0, 0.0
    expected = _chances(local_model(folder), prompt, 3)
    for tokens, chance in expected.items():
        if chance * _SAMPLES >= _LEAST_EXPECTED:
            cells.append((drawn[tokens], chance * _SAMPLES))
        else:
            rest_seen, rest_expected = rest_seen + drawn[tokens], rest_expected + chance * _SAMPLES
    if rest_expected >= _LEAST_EXPECTED:
        cells.append((rest_seen, rest_expected))
    assert drawn.keys() <= expected.keys()
    statistic = sum((seen - wanted) ** 2 / wanted for seen, wanted in cells)
    freedom = len(cells) - 1
    p = torch.special.gammaincc(torch.tensor(freedom / 2), torch.tensor(statistic / 2))
    return {"p": round(float(p), 4), "cells": len(cells), "samples": _SAMPLES, "steps": steps["drafts"]}


def _chances(model: Any, prompt: torch.Tensor, count: int) -> dict[tuple[int, ...], float]:
    """Return the chance of each sequence of `count` tokens after `prompt` [1, tokens], drawn from the best few."""
    rows, chances = prompt, torch.ones(1)
    for _ in range(count):
        with torch.inference_mode():
            logits = model(rows).logits[:, -1]
            logits[:, model.config.eos_token_id] = -torch.inf  # what `min_new_tokens` does
            best = logits.topk(_TOP_K)  # [rows, few]
        chances = (chances[:, None] * best.values.softmax(-1)).flatten()
        rows = torch.cat([rows.repeat_interleave(_TOP_K, dim=0), best.indices.reshape(-1, 1)], dim=1)
    sequences = rows[:, prompt.shape[1] :].tolist()
    return {tuple(tokens): float(chance) for tokens, chance in zip(sequences, chances, strict=True)}


def _speed(round_trip_ms: float, soak: bool) -> Measured:
    folder = resource(DEMO_MODEL)
    with far_swarm(folder, _SPANS, Link(0.001)) as far, swarm_model(far.swarm, folder) as model:
        far.set_round_trips(round_trip_ms)
        means, detail = _means(model, _texts(folder), 3 if soak else 1)
    return Measured(sum(means.values()) / len(means), detail, holds=detail["worst"] >= 0.98)


def _means(model: Any, texts: _Texts, rounds: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the mean ratio of each kind of text, and what a figure tells besides."""
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for kind, number, ratio in _ratios(model, texts):
            found.setdefault(kind, []).append(ratio)
            print(f"{kind}: {number} {ratio:.2f}", flush=True)
    means = {kind: sum(ratios) / len(ratios) for kind, ratios in found.items()}
    detail = {
        "kinds": {kind: round(mean, 2) for kind, mean in means.items()},
        "worst": round(min(min(ratios) for ratios in found.values()), 3),
        "texts": {kind: [round(ratio, 2) for ratio in ratios] for kind, ratios in found.items()},
    }
    return means, detail


def _ratios(model: Any, texts: _Texts) -> Iterator[tuple[str, int, float]]:
    """Yield kind, number of the text, and tokens a second with drafts over those without, one after the other."""
    steps = {"plain": 0, "drafts": 0}
    for kind, given in texts.items():
        for number, (prompt, options) in enumerate(given):
            plain = _complete(model, prompt, options, steps, "plain")
            drafted = _complete(model, prompt, replace(options, drafts=True), steps, "drafts")
            assert drafted.tokens == plain.tokens
            yield kind, number, drafted.tokens_per_s / plain.tokens_per_s


def _complete(model: Any, prompt: torch.Tensor, options: Options, steps: dict[str, int], name: str) -> Completion:
    done = complete(model, prompt, options, lambda _: None)
    steps[name] += model.last_route()[0].hops[0].steps
    return done


def _texts(folder: Path) -> dict[str, list[tuple[torch.Tensor, Options]]]:
    """Return prompts [1, tokens] and options of each kind of text."""
    text = TextTokenizer(folder)
    known = [(text.encode(prompt), Options(_TOKENS)) for prompt in _KNOWN]
    return {
        "known": known,
        "code": [_written(text, name) for name in _CODE],
        "unseen": [_written(text, name) for name in _UNSEEN],
    }


def _written(text: TextTokenizer, name: str) -> tuple[torch.Tensor, Options]:
    """Return an excerpt's beginning as a prompt, and options that make a model write what follows."""
    tokens = text.encode((_TEXTS / f"{name}.txt").read_text())[0, : _SCRIPT_PROMPT_TOKENS + 2 * _TOKENS]
    options = Options(2 * _TOKENS, min_new_tokens=2 * _TOKENS, steps=(Written(tokens.tolist()),))
    return tokens[None, :_SCRIPT_PROMPT_TOKENS], options
