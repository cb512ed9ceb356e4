"""How adapters are called and laid out.

A served LoRA is called `name@hash`: the hash says what is in it, and a name may be anybody's. A private one, which
its owner brings and trains, is a row of places and one row of values, and is called by its digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from potluck.protocol.blocks import Span
from potluck.protocol.values import Name

_HASH_DIGITS = 16
_MAX_NAME = 100
_Block = Annotated[int, Meta(ge=0, lt=1 << 16)]
_Size = Annotated[int, Meta(gt=0, le=1 << 24)]
_NOT_IN_NAMES = re.compile(r"[^\w./-]", re.ASCII)


def adapter_id(name: str, content_hash: str) -> str:
    """Return the id that a record lists, at most 117 characters."""
    return f"{_NOT_IN_NAMES.sub('-', name)[-_MAX_NAME:]}@{content_hash[:_HASH_DIGITS]}"


def find_adapter(ids: Iterable[str], wanted: str) -> str | None:
    """Return the id that `wanted` means: a whole id, a hash, or a name (then the first with it).

    Servers of other implementations list names only.
    """
    named = {each: each.partition("@") for each in ids}
    exact = (each for each, (_, _, content_hash) in named.items() if wanted in (each, content_hash or each))
    return next(exact, None) or next((each for each, (name, _, _) in named.items() if name == wanted), None)


class PrivateId(Struct, frozen=True):
    """The identity of the private adapter that a call computes with."""

    digest: Annotated[bytes, Meta(min_length=32, max_length=32)]  # identifies places and values
    num_values: Annotated[int, Meta(gt=0, lt=1 << 40)]


class LayerPlace(NamedTuple):
    """A linear layer: the number of its block and its name in the block."""

    block: int
    name: str


class AdapterPlace(Struct, frozen=True, array_like=True, tag="layer"):
    """One linear layer that a private adapter changes: x -> x + scale * up(down(x))."""

    block: _Block
    name: Name  # name of the layer in its block
    rank: Annotated[int, Meta(gt=0, le=1024)]
    in_features: _Size
    out_features: _Size
    scale: Annotated[float, Meta(ge=-1e30, le=1e30)]

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the numbers of values of down [rank, in_features] and of up [out_features, rank]."""
        return self.rank * self.in_features, self.out_features * self.rank


class PrefixPlace(Struct, frozen=True, array_like=True, tag="prefix"):
    """Trained keys [heads, tokens, key_size] and values [heads, tokens, value_size] before those of a block's input."""

    block: _Block
    tokens: _Size
    heads: _Size  # heads of keys and values
    key_size: _Size
    value_size: _Size

    @property
    def kept(self) -> tuple[int, int, int]:
        """Return what the block must keep of a token."""
        return self.heads, self.key_size, self.value_size

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the numbers of values of the keys and of the values."""
        return self.heads * self.tokens * self.key_size, self.heads * self.tokens * self.value_size


class AdapterLayout(Struct, frozen=True, dict=True):
    """The places of a private adapter by ascending block. Its values lie one after the other, two tensors a place."""

    places: Annotated[tuple[AdapterPlace | PrefixPlace, ...], Meta(max_length=2048)]

    @cached_property
    def prefix_tokens(self) -> int:
        """Return how many tokens stand before the first one in each block."""
        return max((place.tokens for place in self.places if isinstance(place, PrefixPlace)), default=0)

    @cached_property
    def num_values(self) -> int:
        return sum(sum(place.sizes) for place in self.places)

    def cut(self, span: Span) -> tuple[AdapterLayout, slice]:
        """Return the layout of some blocks alone, and where their values are among those of all."""
        chosen = [index for index, place in enumerate(self.places) if place.block in span]
        if not chosen:
            return AdapterLayout(()), slice(0, 0)
        start = sum(sum(place.sizes) for place in self.places[: chosen[0]])
        layout = AdapterLayout(self.places[chosen[0] : chosen[-1] + 1])
        return layout, slice(start, start + layout.num_values)
