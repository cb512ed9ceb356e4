"""Makes the arguments that a family's layers are called with, for packed tokens at any positions.

The family's own loop makes them: while its layers only record their arguments and pass the hidden state on, it makes
positions, rotary tables and whatever else the family needs. That takes a good part of a millisecond a step. For most
families the same arguments can be made directly: constants, the cache, the positions, and tables for these positions,
which a CPU keeps. Loading a span tries out both ways (see `potluck.blocks.trial`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional arguments after the hidden state, and keyword arguments, of one layer."""

Watch = Callable[[Tensor, Tensor | None, Any], list[Call]]
"""Runs the family's loop without its layers: (hidden [1, tokens, hidden_size], positions [1, tokens], cache)."""

Tables = Callable[[Tensor, Tensor], Any]
"""Makes rotary tables from (hidden, positions)."""

_KEPT_POSITIONS: Final = 2**12  # 4 MiB for heads of 128 in float32; tables of later positions are made at each step
_LEAST_KEPT_POSITIONS: Final = 512


@dataclass(frozen=True, slots=True)
class _Made:
    """A place in a template that each step fills with the cache, the positions or a table, by its index."""

    index: int


_CACHE, _POSITIONS, _FIRST_TABLE = range(3)


class KeptTables:
    """Rotary tables of the first positions, kept on a CPU, where a lookup takes a fraction of the time.

    They suit tables in which a token's row depends on its own position alone; others do not pass the trial.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._kept: Any = None  # what `tables` returns for positions from 0 on
        self._num_kept = 0

    def __call__(self, hidden: Tensor, positions: Tensor) -> Any:
        if hidden.device.type != "cpu":  # reading positions would wait for the device, which a CUDA graph forbids
            return self._tables(hidden, positions)
        end = int(positions.max()) + 1
        if end > _KEPT_POSITIONS:
            return self._tables(hidden, positions)
        if end > self._num_kept:
            self._num_kept = max(1 << (end - 1).bit_length(), _LEAST_KEPT_POSITIONS)
            self._kept = self._tables(hidden, torch.arange(self._num_kept)[None])
        return _rows_of(self._kept, positions[0])


def _rows_of(tables: Any, rows: Tensor) -> Any:
    """Return rows of one or several tables. Shapes: tables [1, positions, dim]; rows int64 [tokens]."""
    if isinstance(tables, Tensor):
        return tables.index_select(1, rows)
    return tuple(table.index_select(1, rows) for table in tables)


class LayerCalls:
    """Makes the arguments of all layers, directly if templates are given.

    Args:
        templates: one for each layer. Layers with equal templates receive the same objects.

    Attributes:
        is_by_position: a token's tables depend on its own position alone.
    """

    def __init__(self, watch: Watch, templates: list[Call] | None, tables: list[Tables]) -> None:
        self._watch = watch
        self._tables = tables
        self.is_direct = templates is not None
        self.is_by_position = all(isinstance(each, KeptTables) for each in tables)
        self._templates: list[Call] = []  # without duplicates
        for template in templates or ():
            if template not in self._templates:
                self._templates.append(template)
        self._kinds = [self._templates.index(template) for template in templates or ()]

    def make(self, hidden: Tensor, positions: Tensor, cache: Any) -> list[Call]:
        """Return each layer's arguments. Shapes: hidden [1, tokens, hidden_size], any values; positions [1, tokens]."""
        if not self.is_direct:
            return self._watch(hidden, positions, cache)
        made = [cache, positions, *(tables(hidden, positions) for tables in self._tables)]

        def fill(value: Any) -> Any:
            return made[value.index] if isinstance(value, _Made) else value

        calls = [
            (tuple(fill(value) for value in args), {key: fill(value) for key, value in kwargs.items()})
            for args, kwargs in self._templates
        ]
        return [calls[kind] for kind in self._kinds]


def learn_calls(decoder: Any, watch: Watch, hidden: Tensor, positions: Tensor, cache: Any) -> LayerCalls:
    """Find out whether the layers' arguments can be made directly, and return how to make them.

    Shapes: hidden [1, tokens, hidden_size], positions [1, tokens]: several, different, and out of order.
    """
    tables = _tables_of(decoder)
    made = [_try(table, hidden, positions) for table in tables]
    used: list[Tables] = []

    def place(value: Any) -> Any:
        if value is None or isinstance(value, bool | str):  # a number could be a length that only looks constant
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
        raise LookupError

    calls = watch(hidden, positions, cache)
    try:
        templates = [
            (tuple(place(value) for value in args), {key: place(value) for key, value in kwargs.items()})
            for args, kwargs in calls
        ]
    except LookupError:
        return LayerCalls(watch, None, [])
    return LayerCalls(watch, templates, [_kept_if_by_position(table, hidden) for table in used])


def _kept_if_by_position(tables: Tables, hidden: Tensor) -> Tables:
    """Return `tables` with a memory if they have one row for each position and looked-up rows equal fresh ones."""
    made = tables(hidden, torch.arange(hidden.shape[1], device=hidden.device)[None])
    found = made if isinstance(made, tuple | list) else (made,)
    kept = KeptTables(tables)
    if not all(isinstance(table, Tensor) and table.dim() == 3 and table.shape[0] == 1 for table in found):
        return tables
    position = torch.tensor([[hidden.shape[1] - 1]], device=hidden.device)
    return kept if same(kept(hidden[:, :1], position), tables(hidden[:, :1], position)) else tables


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
