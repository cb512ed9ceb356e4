"""What the layers of a family are called with, for packed tokens at any positions.

The family's own loop makes it: run with its layers held still (they only note what they are handed and pass the hidden
state on), it makes positions, rotary tables and whatever else the family needs. That costs a good part of a millisecond
a step, so for the usual families the same arguments are made directly: constants, the cache, the positions and the
tables of these positions, of which a CPU keeps those it has made. Both ways are tried out while a span is loaded (see
`potluck.blocks.trial`).
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
"""The family's loop with its layers held still: (hidden [1, tokens, hidden_size], positions [1, tokens], cache)."""

Tables = Callable[[Tensor, Tensor], Any]
"""Rotary tables from (hidden, positions)."""

_KEPT_POSITIONS: Final = 2**12  # 4 MiB for heads of 128 in float32; beyond, tables are made anew at each step
_LEAST_KEPT_POSITIONS: Final = 512


@dataclass(frozen=True, slots=True)
class _Made:
    """A place in a template that is filled at each step: with the cache, the positions or a table, by its index."""

    index: int


_CACHE, _POSITIONS, _FIRST_TABLE = range(3)


class KeptTables:
    """Rotary tables of the first positions, kept on a CPU: looking rows up is a fraction of the work of making them.

    For tables in which a token's row follows from its own position; others do not pass the trial.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._kept: Any = None  # what `tables` makes of positions from 0 on
        self._num_kept = 0

    def __call__(self, hidden: Tensor, positions: Tensor) -> Any:
        if hidden.device.type != "cpu":  # the host would wait for the device, which may not be done in a CUDA graph
            return self._tables(hidden, positions)
        end = int(positions.max()) + 1
        if end > _KEPT_POSITIONS:
            return self._tables(hidden, positions)
        if end > self._num_kept:
            self._num_kept = max(1 << (end - 1).bit_length(), _LEAST_KEPT_POSITIONS)
            self._kept = self._tables(hidden, torch.arange(self._num_kept)[None])
        return _rows_of(self._kept, positions[0])


def _rows_of(tables: Any, rows: Tensor) -> Any:
    """Shapes: tables [1, positions, dim], one or several; rows int64 [tokens]."""
    if isinstance(tables, Tensor):
        return tables.index_select(1, rows)
    return tuple(table.index_select(1, rows) for table in tables)


class LayerCalls:
    """Makes the arguments of all layers; directly if it was given templates.

    Args:
        templates: one a layer. Layers of one template are handed the same objects.
    """

    def __init__(self, watch: Watch, templates: list[Call] | None, tables: list[Tables]) -> None:
        self._watch = watch
        self._tables = tables
        self.is_direct = templates is not None
        self._templates: list[Call] = []  # each one once
        for template in templates or ():
            if template not in self._templates:
                self._templates.append(template)
        self._kinds = [self._templates.index(template) for template in templates or ()]

    def make(self, hidden: Tensor, positions: Tensor, cache: Any) -> list[Call]:
        """Shapes: hidden [1, tokens, hidden_size], whose values do not count; positions [1, tokens]."""
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
    """Find out whether what the layers are handed can be made directly.

    Shapes: hidden [1, tokens, hidden_size], positions [1, tokens]: several, different, and not in order.
    """
    tables = _tables_of(decoder)
    made = [_try(table, hidden, positions) for table in tables]
    used: list[Tables] = []

    def place(value: Any) -> Any:
        if value is None or isinstance(value, bool | str):  # a number might be a length that looks constant
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
    """`tables` kept, if they are tensors with a row for each position and rows looked up are those made alone."""
    made = tables(hidden, torch.arange(hidden.shape[1], device=hidden.device)[None])
    found = made if isinstance(made, tuple | list) else (made,)
    kept = KeptTables(tables)
    if not all(isinstance(table, Tensor) and table.dim() == 3 and table.shape[0] == 1 for table in found):
        return tables
    position = torch.tensor([[hidden.shape[1] - 1]], device=hidden.device)
    return kept if same(kept(hidden[:, :1], position), tables(hidden[:, :1], position)) else tables


def same(one: Any, other: Any) -> bool:
    """Whether two arguments are alike to the last bit."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return one is other or (type(one) is type(other) and not isinstance(one, Tensor) and bool(one == other))


def _tables_of(decoder: Any) -> list[Tables]:
    """Every way in which a family might call its rotary module; those that fail are left out by `_try`."""
    layer_types = dict.fromkeys(getattr(decoder.config, "layer_types", None) or ())
    found: list[Tables] = []
    for name, module in decoder.named_children():
        if "rotary" in name or "rope" in name:
            found.append(module)
            found.extend(_typed(module, kind) for kind in layer_types)
    return found


def _typed(module: Any, kind: str) -> Tables:
    """For families whose tables depend on the kind of layer."""
    return lambda hidden, positions: module(hidden, positions, kind)


def _try(table: Tables, hidden: Tensor, positions: Tensor) -> Any:
    try:
        return table(hidden, positions)
    except (AttributeError, KeyError, TypeError):
        return None
