"""Runs the family's own loop over the layers of a span, and learns how that loop calls them.

The bare decoder keeps only the span's layers; its own inner forward makes masks, positions and everything else that the
family needs. The first layer receives the incoming hidden state instead of the output of the missing embeddings, and
the last layer's output is kept before the missing final norm. Both happen in the layers' `forward`, which is cheaper
than hooks.

Steps of packed tokens call the layers directly. The loop's arguments for them take a good part of a millisecond to
make, so `LayerCalls` makes equal ones: constants, the cache, the positions, and tables for these positions. Loading a
span learns how and compares both ways (see `potluck.blocks.span.trial`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from potluck.blocks.accelerators import made_current
from potluck.blocks.cache.session_cache import KvCache
from potluck.blocks.span.expert_choices import Routers
from potluck.blocks.streaming.slots import enter_again
from potluck.blocks.streaming.weights import SpanWeights
from potluck.checkpoint.families import NEEDS_POSITIONS, accepts_use_cache, cache_name
from potluck.protocol.blocks import Span

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional arguments after the hidden state, and keyword arguments, of one layer."""

CallRecorder = Callable[[Tensor, Tensor | None, Any], list[Call]]
"""Runs the family's loop without its layers and returns their arguments. The parameters are hidden states [1, tokens,
hidden_size], positions [1, tokens] and the cache."""

Tables = Callable[[Tensor, Tensor], Any]
"""Makes rotary tables from (hidden, positions)."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A place in a template that each step fills with the cache, the positions or a table, by its index."""

    index: int


_CACHE, _POSITIONS, _FIRST_TABLE = range(3)


class LayerCalls:
    """Makes the arguments of all layers.

    Args:
        templates: one for each layer. Layers with equal templates receive the same objects.
    """

    def __init__(self, templates: list[Call], tables: list[Tables]) -> None:
        self._tables = tables
        self._templates: list[Call] = []  # each template once
        for template in templates:
            if template not in self._templates:
                self._templates.append(template)
        self._kinds = [self._templates.index(template) for template in templates]

    def make(self, hidden: Tensor, positions: Tensor, cache: Any) -> list[Call]:
        """Return each layer's arguments. Shapes: hidden [1, tokens, hidden_size], any values; positions [1, tokens]."""
        made = [cache, positions, *(tables(hidden, positions) for tables in self._tables)]

        def fill(value: Any) -> Any:
            return made[value.index] if isinstance(value, _Made) else value

        calls = [
            (tuple(fill(value) for value in args), {key: fill(value) for key, value in kwargs.items()})
            for args, kwargs in self._templates
        ]
        return [calls[kind] for kind in self._kinds]

    def has_a_row_for_each_token(self, hidden: Tensor, positions: Tensor) -> bool:
        """Return whether a token's row of all tables depends on its own position alone. Shapes: as in `make`."""
        return all(_is_joined(tables, hidden, positions) for tables in self._tables)


def learn_calls(decoder: Any, watch: CallRecorder, hidden: Tensor, positions: Tensor, cache: Any) -> LayerCalls:
    """Return how to make the layers' arguments directly.

    Shapes: hidden [1, tokens, hidden_size], positions [1, tokens]: several, different, and out of order.

    Raises:
        LookupError: the layers are given something else than constants, the cache, the positions and tables.
    """
    tables = _tables_of(decoder)
    made = [_try(table, hidden, positions) for table in tables]
    used: list[Tables] = []

    def place(value: Any) -> Any:
        is_empty = isinstance(value, Mapping) and not value
        if value is None or is_empty or isinstance(value, bool | str):  # a number could be a length
            return value
        if value is cache:
            return _Made(_CACHE)
        if are_equal(value, positions):
            return _Made(_POSITIONS)
        for table, result in zip(tables, made, strict=True):
            if result is not None and are_equal(value, result):
                if table not in used:
                    used.append(table)
                return _Made(_FIRST_TABLE + used.index(table))
        raise LookupError("the layers are given numbers that their positions don't explain")

    templates = [
        (tuple(place(value) for value in args), {key: place(value) for key, value in kwargs.items()})
        for args, kwargs in watch(hidden, positions, cache)
    ]
    return LayerCalls(templates, used)


def _is_joined(tables: Tables, hidden: Tensor, positions: Tensor) -> bool:
    """Return whether tables [1, tokens, dim], one or several, join those that are made for each token alone."""
    packed, *alone = (
        [made] if isinstance(made := tables(hidden[:, : each.shape[1]], each), Tensor) else list(made)
        for each in (positions, *positions.tensor_split(positions.shape[1], dim=1))
    )
    return all(are_equal(torch.cat(rows, dim=1), whole) for whole, *rows in zip(packed, *alone, strict=True))


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two arguments are equal to the last bit."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(are_equal(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(are_equal(one[key], other[key]) for key in one)
    return one is other or (type(one) is type(other) and not isinstance(one, Tensor) and bool(one == other))


def _tables_of(decoder: Any) -> list[Tables]:
    """Return every way in which a family might call its rotary module; `_try` rejects those that fail."""
    layer_types = dict.fromkeys(getattr(decoder.config, "layer_types", None) or ())
    found: list[Tables] = []
    for name, module in decoder.named_children():
        if "rotary" in name or "rope" in name:
            found.append(module)
            found.extend(_typed(module, kind) for kind in layer_types)
    return found


def _typed(module: Any, kind: str) -> Tables:
    """Return tables for one type of layer, as families with several types make them."""
    return lambda hidden, positions: module(hidden, positions, kind)


def _try(table: Tables, hidden: Tensor, positions: Tensor) -> Any:
    try:
        return table(hidden, positions)
    except (AttributeError, KeyError, TypeError):
        return None


@dataclass(slots=True)
class _Pass:
    """One pass through the loop.

    Attributes:
        hidden: the input of the first layer, in place of embeddings.
        prompts: [blocks, batch or 1, prompt_tokens, hidden_size], added to the first tokens of each layer's input.
        heard: collects each layer's input and output, if the caller wants them.
        output: the latest layer's.
    """

    hidden: Tensor
    prompts: Tensor | None = None
    heard: list[tuple[Tensor, Tensor]] | None = None
    output: Tensor | None = None


class FamilyLoop:
    """Runs the layers of `span` in the family's loop. It is not re-entrant: make one call at a time.

    Attributes:
        routers: record which experts the layers choose.
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
        """Return the arguments of each layer besides the hidden state. The layers compute nothing meanwhile."""
        self._watched = []
        try:
            self._call(hidden, cache, positions)
            return self._watched
        finally:
            self._watched = None

    def _call(self, hidden: Tensor, cache: Any, positions: Tensor | None) -> None:
        others: dict[str, Any] = {} if positions is None else {"position_ids": positions}
        others["use_cache"] = cache is not None and accepts_use_cache(self.decoder.config)
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
