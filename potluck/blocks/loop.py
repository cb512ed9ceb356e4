"""The family's own loop over the layers of a span.

The bare decoder keeps only the span's layers; its own inner forward makes masks, positions and whatever else the family
needs. The first layer receives the incoming hidden state instead of the output of the missing embeddings, and the last
layer's output is taken before the missing final norm. Both happen in the layers' `forward`, which is cheaper than
hooks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from potluck.blocks.accelerators import made_current
from potluck.blocks.cache import KvCache
from potluck.blocks.calls import Call
from potluck.blocks.routing import Routers
from potluck.blocks.streaming import enter_again
from potluck.blocks.weights import SpanWeights
from potluck.checkpoint.families import NEEDS_POSITIONS, cache_name, takes_use_cache
from potluck.protocol.blocks import Span


@dataclass(slots=True)
class _Pass:
    """What one pass through the loop does with the layers.

    Attributes:
        hidden: given to the first layer in place of embeddings.
        prompts: [blocks, batch or 1, prompt_tokens, hidden_size], added to the first tokens of each layer's input.
        heard: collects each layer's input and output; None where nobody asked for them.
        output: of the latest layer.
    """

    hidden: Tensor
    prompts: Tensor | None = None
    heard: list[tuple[Tensor, Tensor]] | None = None
    output: Tensor | None = None


class FamilyLoop:
    """Runs the layers of `span` in the family's loop. It is not re-entrant: make one call at a time.

    Attributes:
        routers: know which experts the layers choose.
        weights: says where the weights are; streamed ones are fetched before their layer computes.
    """

    def __init__(self, decoder: Any, layers: nn.ModuleList, span: Span, weights: SpanWeights) -> None:
        self.decoder = decoder
        self.layers = layers
        self.span = span
        self.weights = weights
        self.routers = Routers(layers)
        self.hidden_size: int = decoder.config.hidden_size
        self.dtype: torch.dtype = decoder.dtype
        self.device: torch.device = next(decoder.parameters()).device
        self._cache_name = cache_name(decoder)
        self._pass: _Pass | None = None  # None while a runner calls the layers one by one
        self._watched: list[Call] | None = None
        self._returns_tuple = False
        for index, layer in enumerate(layers):
            layer.forward = self._wrapped(index, layer.forward)

    def run(
        self,
        hidden: Tensor,
        cache: KvCache | None,
        prompts: Tensor | None = None,
        heard: list[tuple[Tensor, Tensor]] | None = None,
    ) -> Tensor:
        """Run the layers as `BlockSpan.forward` describes; `heard` gets the input and output of each."""
        self._pass = this = _Pass(hidden, prompts, heard)
        try:
            self._call(hidden, cache, self._positions(hidden, cache))
        finally:
            self._pass = None
        if cache is not None:
            cache.length += hidden.shape[1]
            if self.routers:
                self.routers.begin()
                self.routers.collect(hidden.shape[0] * hidden.shape[1], range(len(self.layers)))
        self.routers.noted.clear()
        assert this.output is not None
        return this.output

    def watch(self, hidden: Tensor, positions: Tensor | None, cache: Any) -> list[Call]:
        """Return what the loop passes to each layer besides the hidden state. The layers compute nothing meanwhile."""
        self._watched = []
        try:
            self._call(hidden, cache, positions)
            return self._watched
        finally:
            self._watched = None

    def _call(self, hidden: Tensor, cache: Any, positions: Tensor | None) -> None:
        others: dict[str, Any] = {} if positions is None else {"position_ids": positions}
        others["use_cache"] = cache is not None and takes_use_cache(self.decoder.config)
        others[self._cache_name] = cache
        with made_current(self.device):
            # Some families scale their embeddings in place, but the layers must get the original.
            self.decoder(inputs_embeds=hidden.clone(), **others)

    def _positions(self, hidden: Tensor, cache: KvCache | None) -> Tensor | None:
        """Return positions [1, tokens] for a family that does not count them from its cache."""
        if cache is None or self.decoder.config.model_type not in NEEDS_POSITIONS:
            return None
        return torch.arange(cache.length, cache.length + hidden.shape[1], device=hidden.device)[None]

    def _wrapped(self, index: int, own_forward: Callable[..., Any]) -> Callable[..., Any]:
        block = self.span.start + index
        stream = self.weights.stream if self.weights.is_streamed(block) else None

        def forward(*args: Any, **kwargs: Any) -> Any:
            hidden, others = (args[0], args[1:]) if args else (kwargs.pop("hidden_states"), ())
            if self._watched is not None:
                self._watched.append((others, kwargs))
                return (hidden,) if self._returns_tuple else hidden
            this = self._pass
            if this is not None:
                self.routers.running = index
                hidden = this.hidden if index == 0 else hidden
                hidden = hidden if this.prompts is None else _add_prompt(hidden, this.prompts[index])
            if stream is not None:
                stream.enter(block)
            output = own_forward(hidden, *others, **kwargs)
            if stream is not None:
                output = enter_again(stream, block, output)
            if this is not None:
                self._returns_tuple = isinstance(output, tuple)
                this.output = output[0] if self._returns_tuple else output
                if this.heard is not None:
                    this.heard.append((hidden, this.output))
            return output

        return forward


def _add_prompt(hidden: Tensor, prompt: Tensor) -> Tensor:
    """Return hidden [batch, tokens, hidden_size] plus prompt [batch or 1, p, hidden_size] at its first p tokens."""
    tokens = prompt.shape[1]
    return torch.cat((hidden[:, :tokens] + prompt, hidden[:, tokens:]), dim=1)
