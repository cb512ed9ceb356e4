"""A shorter way through the blocks for the step that matters most: one token, plain attention over a cache.

The family's inner forward spends a good part of a millisecond a step on masks, configuration look-ups and output
objects that come out the same every time. While a span is loaded, one decode step is watched: if everything that the
family handed to its layers is a constant, the cache, the position or the rotary tables of that position, the same
arguments can be made directly, and the layers are given exactly what they would have been given. Any other family, and
any step that is not of this kind, takes the family's own way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from potluck.checkpoint.cache import GrowingLayer, KvCache

_CACHE, _POSITIONS, _ROTARY = object(), object(), object()
_FIRST_POSITIONS = 4096


class DecodePath:
    """Calls the layers for one new token; made by `watch_decode` where the family allows it."""

    def __init__(
        self, layers: list[nn.Module], templates: list[dict[str, Any]], rotary: Callable[..., Any] | None
    ) -> None:
        self._rotary = rotary
        self._calls = [
            (
                layer,
                {
                    key: value
                    for key, value in call.items()
                    if not any(value is kind for kind in (_CACHE, _POSITIONS, _ROTARY))
                },
                [key for key, value in call.items() if value is _CACHE],
                [key for key, value in call.items() if value is _POSITIONS],
                [key for key, value in call.items() if value is _ROTARY],
            )
            for layer, call in zip(layers, templates, strict=True)
        ]
        self._positions = torch.empty((1, 0), dtype=torch.int64)

    def __call__(self, hidden: Tensor, cache: KvCache) -> Tensor:
        """Shapes: hidden [batch, 1, hidden_size]; returns the last layer's output, of the same shape."""
        length = cache.length
        if length >= self._positions.shape[1]:
            self._positions = torch.arange(max(_FIRST_POSITIONS, 2 * length), device=hidden.device)[None]
        positions = self._positions[:, length : length + 1]
        tables = self._rotary(hidden, position_ids=positions) if self._rotary is not None else None
        output: Any = hidden
        for layer, constants, caches, position_keys, table_keys in self._calls:
            kwargs = dict(constants)
            for key in caches:
                kwargs[key] = cache
            for key in position_keys:
                kwargs[key] = positions
            for key in table_keys:
                kwargs[key] = tables
            output = layer(output, **kwargs)
            if isinstance(output, tuple):
                output = output[0]
        result: Tensor = output
        return result


def fits(cache: KvCache) -> bool:
    """Only plain attention over all tokens needs no mask at every length."""
    return all(type(layer) is GrowingLayer for layer in cache.layers)


def watch_decode(
    decoder: Any, layers: list[nn.Module], calls: list[dict[str, Any]], cache: KvCache, hidden: Tensor, length: int
) -> DecodePath | None:
    """The path that makes the arguments seen in `calls`, or None where they hold anything else.

    Args:
        calls: keyword arguments of each layer, but for its hidden state, in a step of one token that began at `length`.
    """
    rotary = getattr(decoder, "rotary_emb", None)
    positions = torch.tensor([[length]], device=hidden.device)
    try:
        tables = rotary(hidden, position_ids=positions) if rotary is not None else None
    except TypeError:  # families whose tables depend on the kind of layer
        return None
    templates = []
    for call in calls:
        kwargs = {}
        for key, value in call.items():
            kind = _kind_of(value, cache, positions, tables)
            if kind is None:
                return None
            kwargs[key] = value if kind is _CONSTANT else kind
        templates.append(kwargs)
    return DecodePath(layers, templates, rotary)


_CONSTANT = object()


def _kind_of(value: Any, cache: KvCache, positions: Tensor, tables: Any) -> object | None:
    if value is None or isinstance(value, bool | str):  # a number might be a length that looks constant
        return _CONSTANT
    if value is cache:
        return _CACHE
    if isinstance(value, Tensor):
        same = value.shape == positions.shape and value.dtype == positions.dtype and torch.equal(value, positions)
        return _POSITIONS if same else None
    if isinstance(value, tuple) and isinstance(tables, tuple) and len(value) == len(tables):
        same = all(
            isinstance(one, Tensor) and torch.equal(one, other) for one, other in zip(value, tables, strict=True)
        )
        return _ROTARY if same else None
    return None
