"""Training through two servers.

By wall time, because while one micro-batch is at the second server, the first one computes the next. Other work on the
machine spoils this: servers compute such calls at the lowest priority.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.figures import Measured, figure
from benchmarks.setup.generation import in_turn, median_ratio, rounded, swarm_model
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.models import checkpoint, local_model
from potluck.client import PromptTuning
from potluck.protocol.blocks import Span

_HIDDEN_SIZE, _SPANS = 512, (Span(0, 4), Span(4, 8))
_ROWS, _TOKENS, _PROMPT_TOKENS = 8, 128, 16
_MOST_OFF = 1e-3
"""How far gradients may be off, relative to their norm: rows of other batches add up in another order."""


@figure("tune_512", unit="ratio", reach=1.25, shown=True)
def tune_512(soak: bool) -> Measured:
    """Wall time of a step of prompt tuning over two servers, over that of the local model with frozen weights.

    The step is a forward, the loss, a backward and the optimiser's step for 8 rows of 128 tokens at hidden size 512.
    """
    ids = torch.randint(1, 1000, (_ROWS, _TOKENS - _PROMPT_TOKENS), generator=torch.Generator().manual_seed(0))
    folder = checkpoint(_HIDDEN_SIZE, _SPANS[-1].end)
    with LocalSwarm(folder, _SPANS) as swarm, swarm_model(swarm, folder) as model:
        prompt = PromptTuning(model, _PROMPT_TOKENS).prompt.detach()
        local = local_model(folder).requires_grad_(False)
        runs = {name: partial(_Tuning(each, prompt).step, ids) for name, each in (("swarm", model), ("local", local))}
        ours, theirs = runs["swarm"](), runs["local"]()
        off = float((ours - theirs).norm() / theirs.norm())
        times = in_turn(runs, 20 if soak else 7)
    return Measured(median_ratio(times["swarm"], times["local"]), {"ms": rounded(times), "off": off}, off < _MOST_OFF)


class _Tuning:
    """Prompt tuning of a model that begins with this prompt."""

    def __init__(self, model: Any, prompt: Tensor) -> None:
        self._model = model
        self._prompt = torch.nn.Parameter(prompt.clone())
        self._optimizer = torch.optim.Adam([self._prompt], lr=1e-3)

    def step(self, ids: Tensor) -> Tensor:
        """Return the gradient of the prompt [prompt_tokens, hidden_size]."""
        text = self._model.get_input_embeddings()(ids)
        embedded = torch.cat([self._prompt.expand(len(ids), -1, -1), text], dim=1)
        labels = torch.cat([ids.new_full((len(ids), _PROMPT_TOKENS), -100), ids], dim=1)
        self._optimizer.zero_grad()
        self._model(inputs_embeds=embedded, labels=labels, use_cache=False).loss.backward()
        self._optimizer.step()
        assert self._prompt.grad is not None
        return self._prompt.grad.clone()
