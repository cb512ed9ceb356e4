"""Predicts further tokens with the block that some checkpoints have for it after their last one.

    last hidden state of token t, and token t + 1  ->  joined, through a block like the model's own  ->  token t + 2
    the block's own output, and that token         ->  the token after it, and so on

Layout: DeepSeek-V3's multi-token prediction (arXiv 2412.19437, section 2.2), as GLM has it, too: `layers.N` of a model
of N blocks, with `eh_proj`, `enorm`, `hnorm` and `shared_head.norm` beside the block's own tensors. They may also
lie in `mtp.safetensors`, which other programs don't read. The model's embedding and head are used; copies are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import DynamicCache

from potluck.blocks.span.block_span import build_empty
from potluck.checkpoint.building import Filler, rebuild_buffers
from potluck.checkpoint.families import cache_name
from potluck.checkpoint.shards import Shard
from potluck.checkpoint.source import Checkpoint
from potluck.checkpoint.stored import stored_format
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span

MTP_FILE = "mtp.safetensors"
_MAX_BYTES = 1 << 30  # a larger block is neither fetched nor computed with on the client's processor
_MAX_CONTEXT = 512  # places of a prompt, its last ones
_PARTS = {"enorm.weight": "_enorm", "hnorm.weight": "_hnorm", "shared_head.norm.weight": "_norm"}
_COPIES = ("embed_tokens.weight", "shared_head.head.weight")


Draw = Callable[[Tensor], int]
"""Draws a token by its logits [vocabulary], float32."""


def pick_token(logits: Tensor, draw: Draw | None) -> tuple[int, float]:
    """Return the token that `draw` draws, or the likeliest one, and how probable it is. Shapes: [vocabulary]."""
    token = int(logits.argmax()) if draw is None else draw(logits)
    return token, float((logits[token] - logits.logsumexp(0)).exp())


class Head:
    """A checkpoint's block for further tokens, with the norms and the projection around it."""

    def __init__(self, decoder: nn.Module, parts: Mapping[str, Tensor], eps: float) -> None:
        """Store the parts. `decoder` has one layer and nothing else; the keys of `parts` are names of the layout."""
        self._decoder = decoder
        self._cache_name = cache_name(decoder)
        self._eh_proj = parts["eh_proj.weight"]  # [hidden_size, 2 * hidden_size]
        self._enorm, self._hnorm, self._norm = (parts[name] for name in _PARTS)  # [hidden_size] each
        self._eps = eps

    def run(self, embeddings: Tensor, hidden: Tensor, cache: DynamicCache) -> Tensor:
        """Append places to `cache` and return the block's output for them. Shapes: all [1, places, hidden_size]."""
        normed = torch.cat([self._normed(embeddings, self._enorm), self._normed(hidden, self._hnorm)], dim=-1)
        joined = nn.functional.linear(normed, self._eh_proj)
        output: Tensor = self._decoder(inputs_embeds=joined, use_cache=True, **{self._cache_name: cache})[0]
        return output

    def before_logits(self, output: Tensor) -> Tensor:
        """Return the inputs of the model's own head."""
        return self._normed(output, self._norm)

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return nn.functional.rms_norm(x, (x.shape[-1],), weight, self._eps)


class HeadText:
    """Guesses how one text goes on by a `Head`, from the model's outputs for the text so far."""

    def __init__(self, head: Head, model: Any, final_norm: nn.Module) -> None:
        self._head = head
        self._embed = model.get_input_embeddings()
        self._logits = model.get_output_embeddings()
        self._final_norm = final_norm
        self._cache = DynamicCache()
        self._waiting: list[Tensor] = []  # last hidden states [1, tokens, hidden_size], after the model's final norm
        self._places = 0  # places in the cache that come from the model itself
        self._last: Tensor | None = None  # output [1, 1, hidden_size] of the last of these
        self._output: Tensor | None = None  # the output of the last drafted token
        self._ids: Sequence[int] | None = None  # the text to go back to with the next guess
        self._followed: list[int] = []  # drafted tokens after it, which the next guess computes

    def record(self, hidden: Tensor) -> None:
        """Record the outputs of the last block for further tokens of the text, [1, tokens, hidden_size]."""
        self._waiting.append(self._final_norm(hidden[:, -_MAX_CONTEXT:]))
        del self._waiting[:-_MAX_CONTEXT]  # there may be no guess for long

    @property
    def is_ready(self) -> bool:
        """Tell whether it has any outputs."""
        return bool(self._waiting) or self._last is not None

    def begin(self, ids: Sequence[int]) -> None:
        """Go back to the text `ids`, whose last token has no hidden state yet. It must be ready."""
        self._ids = ids
        self._followed.clear()

    def guess(self, draw: Draw | None = None) -> tuple[int, float]:
        """Return the next token after `begin` and each `follow`, and its probability."""
        if self._ids is not None:
            self._begin(self._ids)
        assert self._output is not None
        for token in self._followed:
            self._output = self._head.run(self._embed(torch.tensor([[token]])), self._output, self._cache)
        self._followed.clear()
        return pick_token(self._logits(self._head.before_logits(self._output))[0, 0].float(), draw)

    def follow(self, token: int) -> None:
        """Go on with a drafted token."""
        self._followed.append(token)

    def _begin(self, ids: Sequence[int]) -> None:
        if (drafted := self._cache.get_seq_length() - self._places) > 0:
            self._cache.crop(-drafted)
        if self._waiting:
            hidden = torch.cat(self._waiting, dim=1)[:, -_MAX_CONTEXT:]
            self._waiting.clear()
            output = self._head.run(self._embed(torch.tensor([ids[-hidden.shape[1] :]])), hidden, self._cache)
            self._places += hidden.shape[1]
            self._last = output[:, -1:]
        self._output, self._ids = self._last, None


def load_head(checkpoint: Checkpoint, dtype: torch.dtype) -> Head | None:
    """Return the head of a checkpoint; None if it has none, or one that is too large for this computer.

    Raises:
        CheckpointError: its tensors are damaged, or not those of the model.
    """
    files = _names(checkpoint)
    if not files:
        return None
    checkpoint.fetch(files.values())
    tensors: dict[str, Tensor] = {}
    for file in sorted(set(files.values())):
        tensors |= Shard(checkpoint.path_of(file)).read(name for name in files if files[name] == file)
    prefix = next(name for name in files if name.endswith("eh_proj.weight")).removesuffix("eh_proj.weight")
    named = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    parts = {name: named.pop(name).to(dtype) for name in ("eh_proj.weight", *_PARTS) if name in named}
    size = checkpoint.hidden_size
    wanted = dict.fromkeys(_PARTS, (size,)) | {"eh_proj.weight": (size, 2 * size)}
    if {name: tuple(part.shape) for name, part in parts.items()} != wanted:
        raise CheckpointError(
            f"the head for further tokens of {checkpoint.name} is not complete, or of other sizes than the model",
            hint="download the checkpoint again, or ask its author",
        )
    last = Span(checkpoint.num_blocks - 1, checkpoint.num_blocks)
    decoder, _, stack_name, _ = build_empty(checkpoint, last, dtype)
    rebuild_buffers(decoder, "cpu")
    filler = Filler(decoder, dtype, "cpu", stored_format(checkpoint.config))
    filler.fill({f"{stack_name}.0.{name}": tensor for name, tensor in named.items() if name not in _COPIES})
    filler.finish()
    return Head(decoder, parts, float(checkpoint.text_config.rms_norm_eps))


def _names(checkpoint: Checkpoint) -> dict[str, str]:
    """Return the head's tensors and their files; none if there is no head, or too large a one."""
    layer = re.compile(rf"^(?:.*\.)?layers\.{checkpoint.text_config.num_hidden_layers}\.")
    files = {name: file for name, file in checkpoint.weight_map.items() if layer.match(name)}
    beside = checkpoint.path_of(MTP_FILE)
    if not files and beside.is_file():
        files = {name: MTP_FILE for name in Shard(beside).shapes if layer.match(name)}
    has_head = any(name.endswith(".eh_proj.weight") for name in files)
    num_bytes = checkpoint.total_bytes // checkpoint.num_blocks  # a block's size on average, and so this one's
    return files if has_head and num_bytes <= _MAX_BYTES else {}
