"""Latent attention of packed rows (DeepSeek, GLM 4.7, Kimi K2): pages hold what the layers remember, compressed.

Each token leaves one latent vector and one rotated key, which all heads share, and the layer's own `expand_kv` makes
the heads' keys and values of them. Expanding all the past for one new token would be most of a step. So few tokens are
multiplied into the space of the latents and attend there, and the result is multiplied back. Longer pieces expand.

Source: the absorbed matrices of DeepSeek-V2 (https://arxiv.org/abs/2405.04434), section 2.1.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (the field's name)
from torch import Tensor, nn

from potluck.blocks.arenas import decoded
from potluck.blocks.attention import LayerView, RowView, window_mask

MOST_ABSORBED = 16
"""Tokens of a row that attend in the space of latents. With DeepSeek V3's sizes that is less work up to 170."""


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
    """What a layer's attention receives in place of keys and values.

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
