"""What a drafted token is worth when tokens are drawn: three ways to draft and check, counted with local models.

    likeliest   the drafter gives its likeliest token, which counts if the model draws the same one
    same noise  the drafter draws with the numbers that the model will draw with, and the rest is as above
    rejection   the drafter draws a token with chance q, which counts with probability min(1, p/q)

In the first two, tokens are those of plain decoding with the same seed. The demo model draws the texts. Given the token
that it drew, each way has an exact chance that the draft was the same, so nothing else here is random. The same noise
may be that of `torch.multinomial`, which is Gumbel's, or a number for the inverse of the distribution function.

Sources: rejection sampling, Leviathan et al. (arXiv 2211.17192); the chances with the same noise, Daliri, Musco and
Suresh (arXiv 2408.07978).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice
from typing import Any

import torch
from potluck_control.resources import DEMO_DRAFT, DEMO_MODEL, resource
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.figures import Measured
from benchmarks.speculation import unseen_prompts

_TEMPERATURES = (0.7, 1.0)
_DRAFT_TEMPERATURES = (1.0, 0.7, 0.5, 0.3)  # shares of the model's; a drafter may take the best
_WINDOW = 8  # drafted tokens in a round
_BATCH = 50
_MAX_NEW_TOKENS = 64
_Way = tuple[str, float]  # and the drafter's temperature


def acceptance(soak: bool) -> Measured:
    """How many more tokens a round rejection sampling gives than exact match does, the worst temperature."""
    model, draft = (AutoModelForCausalLM.from_pretrained(resource(name)).eval() for name in (DEMO_MODEL, DEMO_DRAFT))
    tokenizer = AutoTokenizer.from_pretrained(resource(DEMO_MODEL))
    documents = 2_000 if soak else 200
    prompts = {
        "demo": list(_demo_prompts(tokenizer, documents)),
        "prose": [ids[0] for ids in unseen_prompts()],
    }
    detail: dict[str, Any] = {}
    gain = 0.0
    for kind, given in prompts.items():
        for temperature in _TEMPERATURES:
            torch.manual_seed(0)
            chances = [
                _chances(model, draft, text, start, temperature) for text, start in _drawn(model, given, temperature)
            ]
            found = {way: _summary([chance[way] for chance in chances]) for way in chances[0]}
            best = {
                way: max((one for (name, _), one in found.items() if name == way), key=lambda one: one["window"])
                for way, _ in found
            }
            detail[f"{kind} {temperature}"] = best
            if kind == "demo":
                gain = max(gain, best["rejection"]["window"] / best["likeliest"]["window"])
    return Measured(gain, detail)


def _demo_prompts(tokenizer: Any, count: int) -> Iterator[Tensor]:
    folder = str(resource(DEMO_MODEL))
    sys.path.insert(0, folder)  # its scripts import each other by their bare names
    try:
        documents = import_module("corpus").documents(3, held_out=True)
    finally:
        sys.path.remove(folder)
    for document in islice(documents, count):
        yield tokenizer(document.prompt, return_tensors="pt").input_ids[0]


def _drawn(model: Any, prompts: Sequence[Tensor], temperature: float) -> Iterator[tuple[Tensor, int]]:
    """Yield texts [1, tokens] that the model drew, each with the length of its prompt."""
    end, pad = model.config.eos_token_id, model.config.pad_token_id
    for first in range(0, len(prompts), _BATCH):
        some = prompts[first : first + _BATCH]
        width = max(map(len, some))
        ids = torch.stack([torch.nn.functional.pad(each, (width - len(each), 0), value=pad) for each in some])
        drawn = model.generate(
            input_ids=ids,
            attention_mask=(ids != pad).long(),
            do_sample=True,
            temperature=temperature,
            top_k=0,
            top_p=1.0,
            max_new_tokens=_MAX_NEW_TOKENS,
        )
        for prompt, row in zip(some, drawn[:, width:], strict=True):
            ends = (row == end).nonzero()
            new = row[: int(ends[0]) + 1] if len(ends) else row
            yield torch.cat([prompt, new])[None], len(prompt)


def _chances(model: Any, draft: Any, text: Tensor, start: int, temperature: float) -> dict[_Way, Tensor]:
    """Return for each token of `text` [1, tokens] from `start` on how likely each way would have drafted it."""
    with torch.inference_mode():
        wanted, guessed = (each(text).logits[0, start - 1 : -1].double() / temperature for each in (model, draft))
    token = text[0, start:, None]
    chances = {("likeliest", 1.0): (guessed.argmax(1) == token[:, 0]).double()}
    p = wanted.softmax(-1).clamp(min=1e-30)  # [new tokens, vocabulary]
    drawn_p = p.gather(1, token)
    for share in _DRAFT_TEMPERATURES:
        q = (guessed / share).softmax(-1).clamp(min=1e-30)
        drawn_q = q.gather(1, token)
        gumbel = 1 / torch.maximum(p / drawn_p, q / drawn_q).sum(1)
        above_p, above_q = (each.cumsum(1).gather(1, token) for each in (p, q))
        overlap = torch.minimum(above_p, above_q) - torch.maximum(above_p - drawn_p, above_q - drawn_q)
        chances |= {
            ("rejection", share): (drawn_q / drawn_p).clamp(max=1)[:, 0],
            ("same noise", share): gumbel / drawn_p[:, 0],
            ("same noise, inverse", share): (overlap.clamp(min=0) / drawn_p)[:, 0],
        }
    return chances


def _summary(texts: Sequence[Tensor]) -> dict[str, float]:
    """Return the share of right drafts, and the tokens a round with windows and with drafts without end."""
    tokens = sum(map(len, texts))
    right = sum(float(text.sum()) for text in texts)
    rounds = sum(_rounds(text.tolist()) for text in texts)
    return {
        "right": round(right / tokens, 4),
        "window": round(tokens / rounds, 3),
        "endless": round(tokens / (tokens - right), 2),
    }


def _rounds(chances: Sequence[float]) -> float:
    """Return the expected number of rounds for a text whose tokens are drafted rightly with these chances."""
    begins = [1.0, *[0.0] * len(chances)]  # the chance that a round begins with this token
    for at in range(len(chances)):
        chance = begins[at]
        for place in range(at, min(at + _WINDOW, len(chances))):
            begins[place + 1] += chance * (1 - chances[place])
            chance *= chances[place]
        begins[min(at + _WINDOW + 1, len(chances))] += chance
    return sum(begins[:-1])
