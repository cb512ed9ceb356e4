"""Caches keys and values of one session in one span: the cache grows by half, rolls back and reorders rows.

Transformers' dynamic cache copies all keys and values of a layer at every token. These layers append to a buffer and
return views of the shape that the stock layers return, so attention sees the same numbers. Layers of other kinds
(linear attention, chunked, indexed) stay as the family's configuration makes them.

A cache is not thread-safe and has no gradients: use it under `torch.inference_mode` or `torch.no_grad`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor
from transformers.cache_utils import (
    CacheLayerMixin,
    DummyLayer,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionCacheLayerMixin,
)

from potluck.protocol.codes import Code, RemoteError

FIRST_CAPACITY_TOKENS = 64
WINDOW_ROLLBACK_TOKENS = 256
"""Tokens kept beyond a sliding window, so that a rejected draft does not need a replay."""


class _Growing:
    """Keys and values of one layer, [batch, heads, tokens, head_dim], as views into buffers with room to grow.

    Attributes:
        buffers: keys and values; the first `_used` tokens of each count. Empty before the first token.
    """

    buffers: tuple[Tensor, ...] = ()
    _used = 0

    def _append(self, keys: Tensor, values: Tensor, *, keep: int, visible: int) -> tuple[Tensor, Tensor]:
        """Append tokens and return the newest `visible` ones. If the buffers must grow, only the newest `keep` are
        kept.
        """
        new = keys.shape[-2]
        if not self.buffers or self._used + new > self.buffers[0].shape[-2]:
            self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True
            start, self._used = self._used - keep, keep
            old = self.buffers or (keys, values)  # stand-ins for their shapes; `keep` is 0
            self.buffers = tuple(_regrown(buffer, start, keep, keep + new) for buffer in old)
        for buffer, states in zip(self.buffers, (keys, values), strict=True):
            buffer[:, :, self._used : self._used + new] = states
        self._used += new
        self.keys, self.values = (buffer[:, :, self._used - visible : self._used] for buffer in self.buffers)
        return self.keys, self.values

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self.buffers = tuple(buffer.index_select(0, beam_idx.to(buffer.device)) for buffer in self.buffers)


class GrowingLayer(_Growing, DynamicLayer):  # type: ignore[misc]
    """The cache of a layer with full attention."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        visible = self._used + key_states.shape[-2]
        return self._append(key_states, value_states, keep=self._used, visible=visible)

    def get_seq_length(self) -> int:
        return self._used

    def can_remove(self, tokens: int) -> bool:
        return tokens <= self._used

    def crop(self, tokens_to_remove: int) -> None:
        self._used -= abs(tokens_to_remove)


class GrowingWindowLayer(_Growing, DynamicSlidingWindowLayer):  # type: ignore[misc]
    """The cache of a layer with a sliding window, which keeps `WINDOW_ROLLBACK_TOKENS` more tokens for rollbacks.

    `cumulative_length` counts all tokens seen; the buffers hold the last `_used` of them.
    """

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        new = key_states.shape[-2]
        keep = min(self._used, self.sliding_window - 1 + WINDOW_ROLLBACK_TOKENS)
        visible = min(self.cumulative_length, self.sliding_window - 1) + new
        self.cumulative_length += new
        return self._append(key_states, value_states, keep=keep, visible=visible)

    def can_remove(self, tokens: int) -> bool:
        needed = min(self.cumulative_length - tokens, self.sliding_window - 1)
        return bool(0 <= needed <= self._used - tokens)

    def crop(self, tokens_to_remove: int) -> None:
        self._used -= abs(tokens_to_remove)
        self.cumulative_length -= abs(tokens_to_remove)


class KvCache(DynamicCache):  # type: ignore[misc]
    """The cache of one session in one span. `config` is the span's own, sliced configuration."""

    def __init__(self, config: Any) -> None:
        super().__init__(config=config)
        self.layers: list[Any] = [_with_room(layer) for layer in self.layers]
        self.length = 0
        self._config = config

    def crop(self, length: int) -> None:
        """Roll back to `length` tokens.

        Raises:
            RemoteError: ROLLBACK, if a layer no longer holds what it needs for that.
        """
        remove = self.length - length
        if remove < 0 or length < 0:
            raise RemoteError(Code.ROLLBACK, f"cannot go to token {length}: the session has {self.length}")
        if remove == 0:
            return
        if length == 0:
            self.layers = KvCache(self._config).layers
        elif all(_can_remove(layer, remove) for layer in self.layers):
            for layer in self.layers:
                layer.crop(-remove)
        else:
            raise RemoteError(Code.ROLLBACK, f"cannot go back {remove} tokens: the cache does not reach that far")
        self.length = length

    @property
    def is_needless(self) -> bool:
        """Tell whether no layer of the span has a state, such as one that is only an MLP."""
        return all(isinstance(layer, DummyLayer) for layer in self.layers)

    @property
    def nbytes(self) -> int:
        """Return the bytes held now, including room to grow."""
        return sum(tensor.nbytes for layer in self.layers for tensor in _tensors_of(layer))

    # The base class reads these from layers at each call; a span with linear attention alone has no such layer.
    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.length

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        layer = self.layers[layer_idx]
        if isinstance(layer, CacheLayerMixin):
            sizes: tuple[int, int] = layer.get_mask_sizes(query_length)
            return sizes
        return self.length + query_length, 0

    def get_query_offset(self, layer_idx: int = 0) -> int:
        return self.length

    # MiniMax calls these instead of those of the base class.
    def get_linear_cache(self, layer_idx: int) -> Tensor | None:
        states: Tensor | None = self.layers[layer_idx].recurrent_states[0]
        return states

    def set_linear_cache(self, layer_idx: int, linear_cache: Tensor) -> None:
        self.layers[layer_idx].device = linear_cache.device
        self.update_recurrent_state(linear_cache, layer_idx)


class DifferentiableCache(KvCache):
    """A cache for one pass, through which gradients flow to keys and values that were put into it before."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.layers = DynamicCache(config=config).layers


class RememberedShape(NamedTuple):
    """The shape of one token in a layer's cache."""

    heads: int
    key_size: int
    value_size: int


def keys_and_values(cache: KvCache) -> tuple[RememberedShape | None, ...]:
    """Return the shape of each layer of a used cache; None for layers without keys and values."""
    return tuple(
        RememberedShape(layer.keys.shape[1], layer.keys.shape[-1], layer.values.shape[-1])
        if isinstance(layer, DynamicLayer) and layer.is_initialized
        else None
        for layer in cache.layers
    )


def rolls_back(config: Any) -> bool:
    """Tell whether sessions of this text configuration can go back a few tokens without computing them again."""
    return all(_can_remove(layer, 0) for layer in KvCache(config).layers)


def _with_room(layer: Any) -> Any:
    if type(layer) is DynamicLayer:
        return GrowingLayer()
    if type(layer) is DynamicSlidingWindowLayer:
        return GrowingWindowLayer(layer.sliding_window)
    return layer


def _can_remove(layer: Any, tokens: int) -> bool:
    if isinstance(layer, GrowingLayer | GrowingWindowLayer):
        return layer.can_remove(tokens)
    if isinstance(layer, DummyLayer):
        return True
    if isinstance(layer, LinearAttentionCacheLayerMixin):
        return False
    return isinstance(layer, DynamicLayer) and not layer.is_sliding


def _regrown(buffer: Tensor, start: int, kept: int, needed: int) -> Tensor:
    """Return a larger buffer [batch, heads, capacity, head_dim] that begins with `kept` tokens of the old one."""
    batch, heads, _, head_dim = buffer.shape
    grown = buffer.new_empty((batch, heads, max(FIRST_CAPACITY_TOKENS, needed + needed // 2), head_dim))
    grown[:, :, :kept] = buffer[:, :, start : start + kept]
    return grown


def _tensors_of(layer: Any) -> list[Tensor]:
    if isinstance(layer, _Growing):
        return list(layer.buffers)
    values = vars(layer).values()
    items = (item for value in values for item in (value.values() if isinstance(value, dict) else (value,)))
    return [item for item in items if isinstance(item, Tensor)]
