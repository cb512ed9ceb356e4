"""Makes the arguments that a family's layers are called with, for packed tokens at any positions.

The family's own loop makes them: while its layers only record their arguments and pass the hidden state on, it makes
positions, rotary tables and whatever else the family needs. That takes a good part of a millisecond, so steps make the
same arguments directly: constants, the cache, the positions, and tables for these positions. Loading a span learns how
and compares both ways (see `potluck.blocks.trial`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional arguments after the hidden state, and keyword arguments, of one layer."""

Watch = Callable[[Tensor, Tensor | None, Any], list[Call]]
"""Runs the family's loop without its layers: (hidden [1, tokens, hidden_size], positions [1, tokens], cache)."""

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
        self._templates: list[Call] = []  # without duplicates
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


def learn_calls(decoder: Any, watch: Watch, hidden: Tensor, positions: Tensor, cache: Any) -> LayerCalls:
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
        if same(value, positions):
            return _Made(_POSITIONS)
        for table, result in zip(tables, made, strict=True):
            if result is not None and same(value, result):
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
    return all(same(torch.cat(rows, dim=1), whole) for whole, *rows in zip(packed, *alone, strict=True))


def same(one: Any, other: Any) -> bool:
    """Return whether two arguments are equal to the last bit."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
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
