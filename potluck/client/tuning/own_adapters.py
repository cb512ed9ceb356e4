"""Adapters of the caller's own: LoRA that peft puts at the layers of remote blocks, whose parameters are here.

Servers get the values of their blocks once for each change, compute with them for this person alone, and return their
gradients. Parameters, optimisers and files stay where peft and torch have them: in this process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import Cache

from potluck.checkpoint.remote_layers import RemoteLinear
from potluck.errors import UsageError
from potluck.protocol.adapters import AdapterLayout, AdapterPlace, PrefixPlace, PrivateId
from potluck.protocol.blocks import Span
from potluck.wire.calls import digest_of
from potluck.wire.tensors import values_of

_PREFIX_HINT = "only trained ones, equal in all rows, can be put before those at the servers"


class AdapterPart(NamedTuple):
    """The part of an adapter that one server gets: that of its blocks. Shapes: values [layout.num_values]."""

    id: PrivateId
    layout: AdapterLayout
    values: Tensor


@dataclass(frozen=True)
class OwnAdapter:
    """An adapter at one moment. Shapes: values [layout.num_values], float, on the CPU, without gradients."""

    layout: AdapterLayout
    values: Tensor
    _parts: dict[Span, AdapterPart | None] = field(default_factory=dict)

    def changes(self, span: Span) -> bool:
        """Tell whether the adapter changes any of these blocks."""
        return any(place.block in span for place in self.layout.places)

    def part(self, span: Span) -> AdapterPart | None:
        """Return the part for some blocks; None if nothing changes there."""
        if span not in self._parts:
            layout, where = self.layout.cut(span)
            values = self.values[where]
            name = PrivateId(digest_of(layout, values_of(values)), layout.num_values)
            self._parts[span] = AdapterPart(name, layout, values) if layout.places else None
        return self._parts[span]


class RemotePlace(NamedTuple):
    """The place of a linear layer of remote blocks, where peft finds and replaces it."""

    block: int
    path: str  # path within the block
    stand_in: nn.Module  # stands in for the block


def linear_places(blocks: list[nn.Module]) -> tuple[RemotePlace, ...]:
    """Return the places of all linear layers in the stand-ins of these blocks."""
    places = []
    for block, module in enumerate(blocks):
        for path, each in module.named_modules():
            if isinstance(each, RemoteLinear):
                places.append(RemotePlace(block, path, module))
    return tuple(places)


def collect_adapter(
    places: tuple[RemotePlace, ...], span: Span, prefix: Cache | None = None
) -> tuple[OwnAdapter, Tensor] | tuple[None, None]:
    """Return the adapter that is active in these blocks, and its values [num_values], through which gradients flow.

    Args:
        prefix: trained keys and values of all blocks of the model, as peft's prefix tuning makes them.

    Raises UsageError for anything but one plain LoRA.
    """
    found = [] if prefix is None else _prefix_of(prefix, span)
    modules = [(place, place.stand_in.get_submodule(place.path)) for place in places if place.block in span]
    _refuse_adapter_names([module for _, module in modules])
    for place, module in modules:
        if type(module) is RemoteLinear:
            continue
        lora = _active_lora(module, place)
        if lora is not None:
            found.append(lora)
    if not found:
        return None, None
    found.sort(key=lambda pair: pair[0].block)
    values = torch.cat([each.reshape(-1).to("cpu") for _, pair in found for each in pair])
    return OwnAdapter(AdapterLayout(tuple(place for place, _ in found)), values.detach()), values


_Found = tuple[AdapterPlace | PrefixPlace, tuple[Tensor, Tensor]]


def _prefix_of(cache: Cache, span: Span) -> list[_Found]:
    """Return the trained keys and values in a cache, as peft's prefix tuning fills it.

    Raises UsageError for a cache of another model, or for rows that differ.
    """
    found: list[_Found] = []
    layers = cache.layers
    if len(layers) < span.end or any(not getattr(layer, "is_initialized", False) for layer in layers):
        raise UsageError("the trained keys and values do not fit the blocks", hint="train them for this model")
    for block in span:
        keys, values = layers[block].keys, layers[block].values
        if any(not torch.equal(each, each[:1].expand_as(each)) for each in (keys, values)):
            raise UsageError("keys and values that were made here differ between rows", hint=_PREFIX_HINT)
        _, heads, tokens, key_size = keys.shape
        found.append((PrefixPlace(block, tokens, heads, key_size, values.shape[-1]), (keys[0], values[0])))
    return found


def _refuse_adapter_names(modules: list[nn.Module]) -> None:
    """Raise UsageError if peft was called with `adapter_names`, which it passes on by hooks before the layers."""
    if any(module._forward_pre_hooks for module in modules):
        for module in modules:  # peft removes them only after a call without an error
            module._forward_pre_hooks.clear()
        raise UsageError(
            "adapter_names= cannot choose an adapter for each row: servers compute all rows with one",
            hint="choose it with set_adapter(), and call the model once for each adapter",
        )


def _active_lora(module: Any, place: RemotePlace) -> _Found | None:
    """Return the two matrices, down and up, that peft's layer adds; None if it is switched off."""
    if not (hasattr(module, "lora_A") and type(getattr(module, "base_layer", None)) is RemoteLinear):
        raise UsageError(
            f"{place.path} of block {place.block} became a {type(module).__name__}, which servers cannot compute",
            hint="only plain LoRA can be trained in remote blocks: use LoraConfig",
        )
    active = [name for name in module.active_adapters if name in module.lora_A]
    if module.disable_adapters or not active:
        return None
    if len(active) > 1:
        raise UsageError("remote blocks compute with one adapter at a time", hint="choose one with set_adapter()")
    (name,) = active
    down, up = module.lora_A[name], module.lora_B[name]
    if module.lora_variant.get(name) is not None or up.bias is not None:
        raise UsageError("only plain LoRA can be trained in remote blocks", hint="leave out DoRA, biases and the like")
    dropout = module.lora_dropout[name]
    if module.training and getattr(dropout, "p", 0.0):
        raise UsageError("dropout in remote blocks is not possible", hint="use lora_dropout=0.0")
    (rank, in_features), out_features = down.weight.shape, up.weight.shape[0]
    scale = float(module.scaling[name])
    return AdapterPlace(place.block, place.path, rank, in_features, out_features, scale), (down.weight, up.weight)
