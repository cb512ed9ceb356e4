"""LoRA adapters at work: what they add to linear layers of blocks, several of them in one step.

Tensors of the served blocks are read when a call first names their adapter, and the least recently used go when memory
is short. Layers that no adapter of this span changes are left as they are, so without adapters nothing costs anything.

Source: LoRA (arXiv:2106.09685).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from potluck.blocks.formats import linear_shape
from potluck.checkpoint.adapter_files import AdapterFile, Place
from potluck.checkpoint.tensors import map_tensors
from potluck.errors import CheckpointError
from potluck.protocol.codes import Code, RemoteError

MEMORY_BYTES = 1 << 30
_ALL = slice(None)


class Segment(NamedTuple):
    """Neighbouring tokens [start, end) of a step that go through one adapter, or through none."""

    start: int
    end: int
    adapter: str | None


class _Addition(NamedTuple):
    """down [rank, in_features], up [out_features, rank], in the dtype and on the device of the blocks."""

    down: Tensor
    up: Tensor
    scale: float


class Adapters:
    """The adapters of one loaded span. Each thread has its own that are in use; what is loaded they share.

    Args:
        files: those that may be asked for.
        memory_bytes: for the tensors of those that are loaded.
    """

    def __init__(self, files: Sequence[AdapterFile] = (), *, memory_bytes: int = MEMORY_BYTES) -> None:
        self._files = {file.id: file for file in files}
        self._memory_bytes = memory_bytes
        self._places: set[Place] = set()
        self._like = torch.empty(0)
        self._loaded: OrderedDict[str, dict[Place, _Addition]] = OrderedDict()
        self._loading = threading.Lock()
        self._thread = threading.local()

    def __deepcopy__(self, memo: object) -> Adapters:
        """A part of the span has modules of its own, and the same adapters."""
        return self

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._files)

    def attach(self, layers: nn.ModuleList, first_block: int, like: Tensor) -> None:
        """Put an `AdaptedLinear` in place of each layer that any adapter changes.

        Args:
            like: a tensor with the dtype and device of the blocks.

        Raises:
            CheckpointError: an adapter is for layers that blocks have not, of another shape, or too large.
        """
        self._like = like
        for file in self._files.values():
            for place in file.pairs:
                if 0 <= place.block - first_block < len(layers):
                    self._attach(file, place, layers[place.block - first_block])
            if file.nbytes(self._places, like.itemsize) > self._memory_bytes:
                raise CheckpointError(
                    f"the adapter {file.id} takes more than the {self._memory_bytes >> 20} MiB that adapters may take",
                    hint="serve fewer blocks, or an adapter of a smaller rank",
                )

    def load(self, adapter: str) -> Mapping[Place, _Addition]:
        """Have the tensors of an adapter ready, given by its id. Raises CheckpointError, RemoteError INTERNAL."""
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
        """Let go of all tensors; they are read again when somebody needs them."""
        with self._loading:
            self._loaded.clear()

    def using(self, adapter: str | None) -> AbstractContextManager[None]:
        """Within this context all tokens go through the adapter with this id, or through none."""
        return self._activated([(_ALL, adapter)])

    def using_segments(self, segments: Sequence[Segment]) -> AbstractContextManager[None]:
        """Within this context the packed tokens of a step go through the adapters of their segments."""
        return self._activated([(slice(each.start, each.end), each.adapter) for each in segments])

    @contextmanager
    def _activated(self, wanted: Sequence[tuple[slice, str | None]]) -> Iterator[None]:
        before = self._active
        used = [(tokens, self.load(adapter)) for tokens, adapter in wanted if adapter is not None]
        self._thread.active = used
        try:
            yield
        finally:
            self._thread.active = before

    @property
    def _active(self) -> list[tuple[slice, Mapping[Place, _Addition]]]:
        return getattr(self._thread, "active", [])

    def add(self, place: Place, x: Tensor, output: Tensor) -> Tensor:
        """`output` of the layer at `place`, with what the active adapters add for its input.

        Shapes: x [..., tokens, in_features], output [..., tokens, out_features].
        """
        for tokens, additions in self._active:
            addition = additions.get(place)
            if addition is None:
                continue
            some = x if tokens is _ALL else x[..., tokens, :]
            added = functional.linear(functional.linear(some, addition.down), addition.up) * addition.scale
            if tokens is _ALL:
                output = output + added
            else:  # several callers' tokens, which have no gradients
                output[..., tokens, :] += added
        return output

    def _attach(self, file: AdapterFile, place: Place, layer: nn.Module) -> None:
        path, _, name = place.name.rpartition(".")
        try:
            parent = layer.get_submodule(path)
            module = parent.get_submodule(name)
        except AttributeError:
            raise CheckpointError(
                f"the adapter {file.id} changes {place.name}, which blocks of this model do not have",
                hint="the adapter is of another model, or was made with another version of transformers",
            ) from None
        pair = file.pairs[place]
        shape = linear_shape(module.base if isinstance(module, AdaptedLinear) else module)
        if shape != (pair.out_features, pair.in_features):
            raise CheckpointError(
                f"the adapter {file.id} is for another model: {place.name} is "
                f"{'no linear layer' if shape is None else list(shape)} here, {[pair.out_features, pair.in_features]} "
                "there"
            )
        if not isinstance(module, AdaptedLinear):
            self._places.add(place)
            setattr(parent, name, AdaptedLinear(module, place, self))

    def _read(self, file: AdapterFile) -> dict[Place, _Addition]:
        """Raises CheckpointError, RemoteError INTERNAL."""
        pairs = {place: pair for place, pair in file.pairs.items() if place in self._places}
        tensors = map_tensors(file.path, [name for pair in pairs.values() for name in (pair.down, pair.up)])
        ready = {name: tensor.to(self._like, copy=True) for name, tensor in tensors.items()}
        if not all(bool(torch.isfinite(tensor).all()) for tensor in ready.values()):
            raise RemoteError(Code.INTERNAL, f"the adapter {file.id} holds numbers that are not finite")
        return {place: _Addition(ready[pair.down], ready[pair.up], pair.scale) for place, pair in pairs.items()}

    def _used_bytes(self) -> int:
        held = [each for additions in self._loaded.values() for each in additions.values()]
        return sum(each.down.nbytes + each.up.nbytes for each in held)


class AdaptedLinear(nn.Module):
    """A linear layer with room for what adapters add. Shapes: [..., in_features] -> [..., out_features]."""

    def __init__(self, base: nn.Module, place: Place, adapters: Adapters) -> None:
        super().__init__()
        self.base = base
        self._place = place
        self._adapters = adapters

    def forward(self, x: Tensor) -> Tensor:
        return self._adapters.add(self._place, x, self.base(x))
