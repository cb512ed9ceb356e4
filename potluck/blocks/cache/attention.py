"""Attention of packed rows on plain torch: each token attends to its own row's keys and values in runs of an arena.

`attend` is an attention implementation for transformers (see `potluck.blocks.span.implementations`). In place of keys
and values it receives the view that `RaggedCache.update` or `PagedCache.update` returned. Several runs, and the past
and a row's own new tokens, are attended to one by one and merged by their log-sum-exp. So no mask and no copy is made,
except for windows that end within the new tokens.

Layers with latent attention (DeepSeek, GLM 4.7, Kimi K2) store one latent vector and one rotated key of each token,
which all heads share, and their own `expand_kv` makes the heads' keys and values. Expanding all the past for one new
token would be most of a step. So few tokens are multiplied into the space of the latents and attend there, and the
result is multiplied back. Longer pieces expand.

Source: merging by log-sum-exp as in Flash-Decoding. A sink is one more score without a value (gpt-oss). The absorbed
matrices are those of DeepSeek-V2 (https://arxiv.org/abs/2405.04434), section 2.1.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (the field's name)
from torch import Tensor, nn

from potluck.blocks.cache.arenas import Held, decoded
from potluck.blocks.kernels.native import can_attend, native_kernels

MOST_ABSORBED = 16
"""Tokens of a row that attend in the space of latents. With DeepSeek V3's sizes that is less work up to 170."""

_MAX_RUNS = 4  # copying a row's keys together is cheaper than calls for more runs


@dataclass(slots=True)
class RowView:
    """One row of a step as one group of layers sees it.

    Attributes:
        tokens: number of new tokens.
        runs: views of each run of visible tokens: of each of the arena's tensors, [1, kv_heads, tokens, dim] for each
            of its places. They include the new tokens if there is only one, or if there is a mask.
        mask: [tokens, visible tokens], additive; None where causality alone decides.
    """

    tokens: int
    runs: list[list[tuple[Tensor, ...]]]
    mask: Tensor | None

    def held(self, place: int, at_most: int = _MAX_RUNS) -> list[Held]:
        """Return the visible tokens of one layer as they are held, without a copy if they lie in few runs."""
        runs = [tuple(tensor[place] for tensor in run) for run in self.runs]
        if len(runs) <= at_most:
            return runs
        return [tuple(torch.cat(parts, dim=2) for parts in zip(*runs, strict=True))]


@dataclass(slots=True)
class LayerView:
    """A layer's attention receives this in place of keys and values.

    Attributes:
        new_keys, new_values: [1, kv_heads, packed tokens, dim]; already stored in the rows' runs.
        place: the layer's place in the arena.
    """

    new_keys: Tensor
    new_values: Tensor
    rows: list[RowView]
    place: int

    def attend(self, query: Tensor, scale: float, soft_cap: float | None = None, sinks: Tensor | None = None) -> Tensor:
        """Return attention [1, tokens, heads, value_dim] for query [1, heads, tokens, key_dim]."""
        heads, tokens, key_dim = query.shape[1:]
        kv_heads = self.new_keys.shape[1]
        grouped = None if sinks is None else sinks.float().view(kv_heads, heads // kv_heads)
        scores = Scores(scale, soft_cap, grouped)
        packed = query.transpose(1, 2).reshape(tokens, kv_heads, heads // kv_heads, key_dim)
        outputs = []
        start = 0
        for row, part in zip(self.rows, packed.split_with_sizes([row.tokens for row in self.rows]), strict=True):
            if row.tokens == 1:
                outputs.append(_attend_token(part, self, row, scores))
            else:
                outputs.append(_attend_chunk(part, self, row, start, scores))
            start += row.tokens
        output = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
        return output.reshape(1, tokens, heads, output.shape[-1])


@dataclass(frozen=True, slots=True)
class Scores:
    """The settings of a layer's scores. Shapes: sinks [kv_heads, query heads of each key head]."""

    scale: float
    soft_cap: float | None
    sinks: Tensor | None = field(repr=False)

    @property
    def is_plain(self) -> bool:
        return self.soft_cap is None and self.sinks is None


def attend(
    module: nn.Module,
    query: Tensor,
    key: Any,
    value: Any,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Compute attention as transformers asks an implementation to.

    Shapes: query [1, heads, tokens, key_dim]; returns [1, tokens, heads, value_dim].

    Raises:
        TypeError: the layer passes something unknown here, so its family runs each session alone.
    """
    unknown = [name for name, other in others.items() if isinstance(other, Tensor) and name != "position_ids"]
    is_view = not isinstance(key, Tensor)  # LayerView, LatentView or PagedView
    is_known = is_view and attention_mask is None and is_causal is not False
    if not is_known or unknown:
        raise TypeError(f"attention of {type(module).__name__} cannot be given packed rows")
    return key.attend(query, query.shape[-1] ** -0.5 if scaling is None else scaling, softcap, s_aux), None


def window_mask(tokens: int, seen: int, window: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return an additive mask [tokens, seen] in which each token sees `window` tokens, itself included.

    The last of `tokens` is the newest of the `seen` tokens.
    """
    newest = torch.arange(seen - tokens, seen, device=device)[:, None]
    age = newest - torch.arange(seen, device=device)
    hidden = (age < 0) | (age >= window)
    return torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill_(hidden, float("-inf"))


def _attend_token(query: Tensor, view: LayerView, row: RowView, scores: Scores) -> Tensor:
    """Attend for one token; the heads that share keys stand in place of several queries.

    Shapes: query and result [1, kv_heads, group, dim].
    """
    runs = row.held(view.place)
    is_native = scores.soft_cap is None and query.dtype is torch.bfloat16 and all(map(can_attend, runs))
    native = native_kernels() if is_native else None
    if native is not None:
        parts = [native.attention(query, held, scores.scale) for held in runs]
        return _merge(parts, scores.sinks).to(query.dtype)
    pairs = [decoded(held, torch.float32) for held in runs]
    if len(runs[0]) > 2:
        wide = query.float()
        return _merge([_partial(wide, *pair, scores) for pair in pairs], scores.sinks).to(query.dtype)
    if len(pairs) == 1 and scores.is_plain and pairs[0][0].shape[3] == pairs[0][1].shape[3]:
        return F.scaled_dot_product_attention(query, *pairs[0], scale=scores.scale)  # nearly all rows go here
    return _merge([_partial(query, keys, values, scores) for keys, values in pairs], scores.sinks)


def _attend_chunk(query: Tensor, view: LayerView, row: RowView, start: int, scores: Scores) -> Tensor:
    """Attend for several tokens of a row. Shapes: query and result [tokens, kv_heads, group, dim]."""
    tokens, kv_heads, group, _ = query.shape
    by_head = query.permute(1, 2, 0, 3)  # [kv_heads, group, tokens, dim]
    if row.mask is not None:
        (held,) = row.held(view.place, at_most=1)
        keys, values = decoded(held, query.dtype)
        parts = [_partial(by_head, *_shared(keys, values, group), scores, row.mask)]
    else:
        own = _shared(view.new_keys.narrow(2, start, tokens), view.new_values.narrow(2, start, tokens), group)
        parts = [_partial(by_head, *own, scores, is_causal=True)]
        folded = by_head.reshape(1, kv_heads, group * tokens, -1) if row.runs else by_head
        for held in row.held(view.place):
            output, sums = _partial(folded, *decoded(held, query.dtype), scores)
            parts.append((output.view(kv_heads, group, tokens, -1), sums.view(kv_heads, group, tokens)))
    return _merge(parts, None if scores.sinks is None else scores.sinks[..., None]).permute(2, 0, 1, 3)


def _shared(keys: Tensor, values: Tensor, group: int) -> tuple[Tensor, Tensor]:
    """Expand [1, kv_heads, tokens, dim] to [kv_heads, group, tokens, dim] without a copy."""
    return keys[0][:, None].expand(-1, group, -1, -1), values[0][:, None].expand(-1, group, -1, -1)


def _partial(
    query: Tensor, keys: Tensor, values: Tensor, scores: Scores, mask: Tensor | None = None, is_causal: bool = False
) -> tuple[Tensor, Tensor]:
    """Attend to some of the keys; returns [.., queries, value_dim] and the log-sum-exp of the scores, [.., queries]."""
    if query.device.type == "cpu" and scores.soft_cap is None and keys.shape[-1] == values.shape[-1]:
        flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
        output, sums = flash(query, keys, values, 0.0, is_causal, attn_mask=mask, scale=scores.scale)
        return output, sums
    return _plain(query, keys, values, scores, mask, is_causal)


def _plain(
    query: Tensor, keys: Tensor, values: Tensor, scores: Scores, mask: Tensor | None, is_causal: bool
) -> tuple[Tensor, Tensor]:
    """Attend where the fused kernel can't: with soft caps, with values of another size, on devices other than CPUs."""
    weights = torch.matmul(query, keys.transpose(-1, -2)).float().mul_(scores.scale)
    if scores.soft_cap is not None:
        weights = weights.div_(scores.soft_cap).tanh_().mul_(scores.soft_cap)
    if is_causal:
        mask = window_mask(query.shape[-2], keys.shape[-2], keys.shape[-2], weights.dtype, weights.device)
    if mask is not None:
        weights += mask
    sums = weights.logsumexp(-1)
    return torch.matmul(weights.sub_(sums[..., None]).exp_().to(values.dtype), values), sums


def _merge(parts: list[tuple[Tensor, Tensor]], sinks: Tensor | None) -> Tensor:
    """Merge attention over disjoint keys, and over sinks, which take weight but contribute no value.

    Shapes: parts as `_partial` returns them; sinks broadcast to the sums.
    """
    output, sums = parts[0]
    dtype = output.dtype
    if len(parts) > 1:
        all_sums = torch.stack([part[1] for part in parts])
        sums = all_sums.logsumexp(0)
        shares = (all_sums - sums).exp_()
        output = torch.stack([part[0] for part in parts]).mul(shares[..., None]).sum(0)
    if sinks is not None:
        output = output * torch.sigmoid(sums - sinks)[..., None]
    return output.to(dtype)


def share_latents(layers: nn.ModuleList) -> None:
    """Let layers with latent attention take packed rows; what they compute for tensors stays the same."""
    attentions: list[Any] = [module for module in layers.modules() if hasattr(type(module), "expand_kv")]
    for module in attentions:
        module.expand_kv = partial(_expanded, module)


def _expanded(module: Any, latents: Any, rotated: Any) -> tuple[Any, Any]:
    """Stand for the module's `expand_kv`: return keys and values, or twice a view that attends without them.

    Raises:
        TypeError: packed rows cannot attend in this layer, so its family runs each session alone.
    """
    if isinstance(latents, Tensor):
        keys, values = type(module).expand_kv(module, latents, rotated)
        return keys, values
    if not isinstance(latents, LayerView) or not isinstance(module.kv_b_proj, nn.Linear):
        raise TypeError("latent attention has no kernel, and no adapter may change how it expands")
    view = LatentView(module, latents)
    return view, view


@dataclass(slots=True)
class LatentView:
    """A layer's latent attention receives this in place of keys and values.

    Attributes:
        module: the layer's attention.
        held: of each token the latent in place of a key, the rotated key in place of a value.
    """

    module: Any
    held: LayerView

    def attend(self, query: Tensor, scale: float, soft_cap: float | None = None, sinks: Tensor | None = None) -> Tensor:
        """Return attention [1, tokens, heads, value_dim] for query [1, heads, tokens, key_dim]."""
        if soft_cap is not None or sinks is not None:
            raise TypeError("latent attention with caps or sinks is unknown here")
        rows = self.held.rows
        *starts, _ = itertools.accumulate((row.tokens for row in rows), initial=0)
        parts = query[0].split_with_sizes([row.tokens for row in rows], dim=1)
        asked = list(zip(parts, rows, starts, strict=True))
        few = iter(self._attend_few([each for each in asked if each[1].tokens <= MOST_ABSORBED], scale))
        outputs = [
            next(few) if row.tokens <= MOST_ABSORBED else self._attend_many(part, row, start, scale)
            for part, row, start in asked
        ]
        return torch.cat(outputs, dim=1).transpose(0, 1)[None]

    def _attend_few(self, asked: list[tuple[Tensor, RowView, int]], scale: float) -> list[Tensor]:
        """Attend to latents. Shapes: queries [heads, tokens, key_dim] each; returns [heads, tokens, value_dim] each."""
        if not asked:
            return []
        queries, rows, starts = zip(*asked, strict=True)
        plain, rotated_dim = self.module.qk_nope_head_dim, self.module.qk_rope_head_dim
        dtype = queries[0].dtype
        wide = torch.float32 if queries[0].device.type == "cpu" else dtype  # most processors have no fast half products
        by_head = self.module.kv_b_proj.weight.to(wide).view(queries[0].shape[0], -1, self.held.new_keys.shape[3])
        packed = torch.cat(queries, dim=1).to(wide)
        absorbed = torch.matmul(packed[..., :plain], by_head[:, :plain])  # [heads, tokens, rank]
        ready = torch.cat((absorbed, packed[..., plain : plain + rotated_dim]), dim=2) * scale
        sizes = [query.shape[1] for query in queries]
        found = []
        for query, row, start in zip(ready.split_with_sizes(sizes, dim=1), rows, starts, strict=True):
            latents, rotated = (each[0, 0].to(wide) for each in self._seen(row, start, wide))
            rank = latents.shape[1]
            flat = query.flatten(0, 1)
            scores = torch.mm(flat[:, :rank], latents.T).addmm_(flat[:, rank:], rotated.T)
            scores = scores.view(*query.shape[:2], -1).float()
            if row.tokens > 1:
                scores += _mask_of(row, scores.shape[2], torch.float32, scores.device)
            shares = scores.softmax(-1).to(wide)
            found.append(torch.mm(shares.flatten(0, 1), latents).view(*query.shape[:2], rank))
        values = torch.matmul(torch.cat(found, dim=1), by_head[:, plain:].transpose(1, 2)).to(dtype)
        return list(values.split_with_sizes(sizes, dim=1))

    def _attend_many(self, query: Tensor, row: RowView, start: int, scale: float) -> Tensor:
        """Attend to keys and values as the layer expands them. Shapes: as `_attend_few`, of one row."""
        keys, values = self.module.expand_kv(*self._seen(row, start, query.dtype))
        value_dim, seen = values.shape[3], keys.shape[2]
        mask = None if seen == row.tokens else _mask_of(row, seen, query.dtype, query.device)
        padded = F.pad(values, (0, keys.shape[3] - value_dim))  # fused kernels want values as wide as keys
        output = F.scaled_dot_product_attention(
            query[None], keys, padded, attn_mask=mask, is_causal=mask is None, scale=scale
        )
        return output[0, ..., :value_dim]

    def _seen(self, row: RowView, start: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return all that a row sees, its new tokens at the end: latents and rotated keys, [1, 1, tokens, dim]."""
        held = self.held
        pairs = [decoded(each, dtype) for each in row.held(held.place)]
        if row.tokens > 1 and row.mask is None:
            new = slice(start, start + row.tokens)
            pairs.append((held.new_keys[:, :, new], held.new_values[:, :, new]))
        if len(pairs) == 1:
            return pairs[0]
        return torch.cat([pair[0] for pair in pairs], dim=2), torch.cat([pair[1] for pair in pairs], dim=2)


def _mask_of(row: RowView, seen: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    return window_mask(row.tokens, seen, seen, dtype, device) if row.mask is None else row.mask
