"""Our attention implementations: registers them with transformers, and switches layers to one of them for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from potluck.blocks.attention import attend

RAGGED = "potluck_ragged"
"""Attention of packed rows. Transformers makes no masks for implementations that it does not know."""

WHOLE_MASKS = "potluck_masks"
"""The same attention, for which transformers makes every mask in full."""

_SWITCHED = "_attn_implementation_internal"  # of a configuration: what its layers look up at each call


def register_attention() -> None:
    """Register both implementations with transformers, before layers are switched to them."""
    AttentionInterface.register(RAGGED, attend)
    AttentionInterface.register(WHOLE_MASKS, attend)
    AttentionMaskInterface.register(WHOLE_MASKS, _whole_mask)


class AttentionSwitch:
    """Makes a decoder's layers use another attention implementation for a while.

    It bypasses the configurations' own setters, whose checks cost a step more than its plan.
    """

    def __init__(self, decoder: nn.Module) -> None:
        configs = {id(module.config): module.config for module in decoder.modules() if hasattr(module, "config")}
        self._attributes: list[dict[str, Any]] = [vars(config) for config in configs.values()]

    @contextmanager
    def use(self, name: str) -> Iterator[None]:
        before = [attributes[_SWITCHED] for attributes in self._attributes]
        for attributes in self._attributes:
            attributes[_SWITCHED] = name
        try:
            yield
        finally:
            for attributes, old in zip(self._attributes, before, strict=True):
                attributes[_SWITCHED] = old


def _whole_mask(*args: Any, allow_is_causal_skip: bool = True, **kwargs: Any) -> Tensor | None:
    mask: Tensor | None = sdpa_mask(*args, allow_is_causal_skip=False, **kwargs)
    return mask
