"""LoRA adapters: adds their contributions to the linear layers of blocks, several adapters in one step.

Tensors of a served adapter are read when a call first names it; the least recently used ones are dropped when memory is
short. Layers that no adapter changes stay as they are, so a span without adapters pays nothing. Private adapters may
change any linear layer, in parts of the span of which each linear layer is an `AdaptedLinear`.

Source: LoRA (arXiv:2106.09685).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from potluck.blocks.cache.session_cache import KvCache
from potluck.blocks.formats.layers import linear_shape
from potluck.checkpoint.shards import Shard
from potluck.errors import CheckpointError
from potluck.protocol.adapters import AdapterLayout, AdapterPlace, LayerPlace, PrefixPlace
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError

if TYPE_CHECKING:  # a machine with a GPU may lack the packages that it imports
    from potluck.checkpoint.adapter_files import AdapterFile

MEMORY_BYTES = 1 << 30
_ALL = slice(None)


class _Addition(NamedTuple):
    """The two matrices of one layer: down [rank, in_features], up [out_features, rank], in the blocks' dtype."""

    down: Tensor
    up: Tensor
    scale: float


@dataclass(frozen=True, slots=True)
class PrivateAdapter:
    """An adapter that a caller uploaded.

    Attributes:
        values: [layout.num_values], in the caller's dtype, on the blocks' device.
    """

    layout: AdapterLayout
    values: Tensor

    def cut(self, span: Span) -> PrivateAdapter:
        """Return the part for some blocks, which shares the memory."""
        layout, where = self.layout.cut(span)
        return PrivateAdapter(layout, self.values[where])

    def additions(self) -> dict[LayerPlace, _Addition]:
        """Return the additions to layers, by their places."""
        return {
            LayerPlace(place.block, place.name): _Addition(
                down.view(place.rank, place.in_features), up.view(place.out_features, place.rank), place.scale
            )
            for place, down, up in self._matrices()
            if isinstance(place, AdapterPlace)
        }

    def fill(self, cache: KvCache, rows: int, dtype: torch.dtype) -> KvCache:
        """Put trained keys and values, if there are any, before the first tokens of an empty cache of its blocks."""
        prefixes = [each for each in self._matrices() if isinstance(each[0], PrefixPlace)]
        for layer, (place, keys, values) in enumerate(prefixes):
            shape = place.heads, place.tokens
            cache.update(
                keys.view(1, *shape, place.key_size).to(dtype).expand(rows, -1, -1, -1),
                values.view(1, *shape, place.value_size).to(dtype).expand(rows, -1, -1, -1),
                layer,
            )
        cache.length = self.layout.prefix_tokens
        return cache

    def _matrices(self) -> Iterator[tuple[Any, Tensor, Tensor]]:
        sizes = [size for place in self.layout.places for size in place.sizes]
        matrices = iter(torch.split(self.values, sizes))
        for place in self.layout.places:
            yield place, next(matrices), next(matrices)


class Adapters:
    """The served adapters of one loaded span. Threads share loaded tensors; each thread activates adapters for itself.

    Args:
        files: the adapters that calls may name.
        memory_bytes: limit for the tensors of all loaded adapters.
    """

    def __init__(self, files: Sequence[AdapterFile] = (), *, memory_bytes: int = MEMORY_BYTES) -> None:
        self._files = {file.id: file for file in files}
        self._memory_bytes = memory_bytes
        self._places: set[LayerPlace] = set()
        self._like = torch.empty(0)
        self._loaded: OrderedDict[str, dict[LayerPlace, _Addition]] = OrderedDict()
        self._loading = threading.Lock()
        self._thread = threading.local()

    def __deepcopy__(self, memo: object) -> Adapters:
        """Return the same object: a part of the span has modules of its own but shares the adapters."""
        return self

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._files)

    def attach(self, layers: nn.ModuleList, first_block: int, like: Tensor) -> None:
        """Replace each layer that an adapter changes by an `AdaptedLinear`.

        Args:
            like: a tensor with the dtype and device of the blocks.

        Raises:
            CheckpointError: an adapter names layers that the blocks do not have, has other shapes, or is too large.
        """
        self._like = like
        for file in self._files.values():
            for place, pair in file.pairs.items():
                if not 0 <= place.block - first_block < len(layers):
                    continue
                layer = layers[place.block - first_block]
                problem = misfit(layer, place, (pair.out_features, pair.in_features))
                if problem is not None:
                    hint = "it was trained for another model or saved with another version of transformers"
                    raise CheckpointError(f"the adapter {file.id} {problem}", hint=hint)
                if place not in self._places:
                    self._places.add(place)
                    self._wrap(layer, place)
            if file.nbytes(self._places, like.itemsize) > self._memory_bytes:
                raise CheckpointError(
                    f"the adapter {file.id} needs more than the {self._memory_bytes / 1e6:.0f} MB allowed for adapters",
                    hint="serve fewer layers, or an adapter with a smaller rank",
                )

    def load(self, adapter: str) -> Mapping[LayerPlace, _Addition]:
        """Return the tensors of the adapter with this id, reading them if needed.

        Raises:
            CheckpointError: the file cannot be read.
            RemoteError: INTERNAL, if the adapter holds numbers that are not finite.
        """
        with self._loading:
            found = self._loaded.get(adapter)
            if found is None:
                file = self._files[adapter]
                free = self._memory_bytes - file.nbytes(self._places, self._like.itemsize)
                while self._loaded and self._used_bytes() > free:
                    self._loaded.popitem(last=False)
                found = self._loaded[adapter] = self._read(file)
            self._loaded.move_to_end(adapter)
            return found

    def unload(self) -> None:
        """Drop all tensors; the next call that needs them reads them again."""
        with self._loading:
            self._loaded.clear()

    def using(self, adapter: str | PrivateAdapter | None) -> AbstractContextManager[None]:
        """Send all tokens within the context through an adapter, given by its id or itself, or through none."""
        return self.using_each([(_ALL, adapter)])

    @contextmanager
    def using_each(self, wanted: Iterable[tuple[slice, str | PrivateAdapter | None]]) -> Iterator[None]:
        """Send each slice of a step's packed tokens through its adapter within the context."""
        before = self._active
        used = [
            (tokens, adapter.additions() if isinstance(adapter, PrivateAdapter) else self.load(adapter))
            for tokens, adapter in wanted
            if adapter is not None
        ]
        self._thread.active = used
        try:
            yield
        finally:
            self._thread.active = before

    @property
    def _active(self) -> list[tuple[slice, Mapping[LayerPlace, _Addition]]]:
        return getattr(self._thread, "active", [])

    def add(self, place: LayerPlace, x: Tensor, output: Tensor) -> Tensor:
        """Return `output` of the layer at `place` plus the contributions of the active adapters.

        Shapes: x [..., tokens, in_features], output [..., tokens, out_features].
        """
        for tokens, additions in self._active:
            addition = additions.get(place)
            if addition is None:
                continue
            some = (x if tokens is _ALL else x[..., tokens, :]).to(addition.down.dtype)
            added = functional.linear(functional.linear(some, addition.down), addition.up) * addition.scale
            if tokens is _ALL:
                output = (output + added).to(output.dtype)  # peft rounds so, too
            else:  # tokens of several callers, which never need gradients
                output[..., tokens, :] += added
        return output

    def open(self, layers: nn.ModuleList, first_block: int) -> None:
        """Make every linear layer an `AdaptedLinear`, so that a private adapter may change any of them."""
        for block, layer in enumerate(layers, first_block):
            adapted = {id(module.base) for module in layer.modules() if isinstance(module, AdaptedLinear)}
            for path, module in list(layer.named_modules()):
                if linear_shape(module) is not None and id(module) not in adapted:
                    self._wrap(layer, LayerPlace(block, path))

    def _wrap(self, layer: nn.Module, place: LayerPlace) -> None:
        path, _, name = place.name.rpartition(".")
        parent = layer.get_submodule(path)
        setattr(parent, name, AdaptedLinear(parent.get_submodule(name), place, self))

    def _read(self, file: AdapterFile) -> dict[LayerPlace, _Addition]:
        pairs = {place: pair for place, pair in file.pairs.items() if place in self._places}
        tensors = Shard(file.path).read(name for pair in pairs.values() for name in (pair.down, pair.up))
        ready = {name: tensor.to(self._like, copy=True) for name, tensor in tensors.items()}
        if not all(bool(torch.isfinite(tensor).all()) for tensor in ready.values()):
            raise RemoteError(Code.INTERNAL, f"the adapter {file.id} contains numbers that are not finite")
        return {place: _Addition(ready[pair.down], ready[pair.up], pair.scale) for place, pair in pairs.items()}

    def _used_bytes(self) -> int:
        held = [each for additions in self._loaded.values() for each in additions.values()]
        return sum(each.down.nbytes + each.up.nbytes for each in held)


def misfit(layer: nn.Module, place: LayerPlace, sizes: tuple[int, int]) -> str | None:
    """Return why a layer has no linear module of these sizes, out and in, at `place`; None if it has one."""
    module = dict(layer.named_modules()).get(place.name)
    shape = None if module is None else linear_shape(module.base if isinstance(module, AdaptedLinear) else module)
    found = "no linear layer" if shape is None else list(shape)
    text = f"changes {place.name} of layer {place.block + 1}, which is {found} here, not {list(sizes)}"
    return None if shape == sizes else text


class AdaptedLinear(nn.Module):
    """A linear layer that adds the contributions of active adapters.

    Shapes: [..., in_features] -> [..., out_features].
    """

    def __init__(self, base: nn.Module, place: LayerPlace, adapters: Adapters) -> None:
        super().__init__()
        self.base = base
        self._place = place
        self._adapters = adapters

    @property
    def weight(self) -> Any:
        """Return the layer's own matrix, which some families read."""
        return self.base.weight

    def forward(self, x: Tensor) -> Tensor:
        return self._adapters.add(self._place, x, self.base(x))
