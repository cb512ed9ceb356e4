"""Runs a small model on this computer that drafts for a swarm's model.

    begin(text), guess, follow(guess), guess, ...  ->  a draft
    begin(longer or other text)                    ->  goes back to where the texts part, and on from there

A text keeps `WINDOW_TOKENS` at most, which are enough to draft with and bound the memory. When it nears them, it begins
again with its last quarter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from transformers import Cache

from potluck.blocks.accelerators import trim_heap
from potluck.blocks.cache.session_cache import KvCache, rolls_back
from potluck.blocks.formats.layers import QuantizedLinear
from potluck.blocks.formats.matrices import Int8Matrix
from potluck.blocks.kernels.native import native_kernels
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.checkpoint.ends import load_ends
from potluck.checkpoint.families import cache_name
from potluck.checkpoint.source import Checkpoint
from potluck.client.drafting.head import Draw, pick_token
from potluck.client.ends import JointCache
from potluck.errors import CheckpointError, UsageError
from potluck.protocol.blocks import Span
from potluck.protocol.codes import RemoteError

WINDOW_TOKENS = 4096
_PASS_TOKENS = 128  # a prompt's tokens in one pass: int4 has a kernel for them, and other texts wait no longer
_FEW_TOKENS = 16  # take hardly longer than one
_SMALLEST_INT4_BYTES = 50 << 20
"""Smaller checkpoints lie in the processor's cache anyway, and their products take less time than everything else."""


class DraftCache(Protocol):
    """The state of a model after some tokens of one text."""

    @property
    def length(self) -> int:
        """Return the number of these tokens."""

    def crop(self, length: int) -> None:
        """Go back to so many tokens. Raises RemoteError if it doesn't reach back that far."""

    def run(self, tokens: Tensor) -> Tensor:
        """Compute further tokens [1, tokens], and return the logits [vocabulary] after the last one."""


class DraftModel:
    """A model that drafts for any number of threads, each with texts of its own. They compute in turn."""

    def __init__(self, model: Any, blocks: BlockSpan | None = None, *, vocabulary: int | None = None) -> None:
        """Store the settings.

        Args:
            model: a Transformers model, or the ends of one.
            blocks: the blocks between the ends; None: `model` has its own.
            vocabulary: size of the other model's vocabulary, beyond which nothing is guessed; None: the same.
        """
        config = model.config.get_text_config(decoder=True)
        self.window = min(getattr(config, "max_position_embeddings", WINDOW_TOKENS), WINDOW_TOKENS)
        self.num_tokens: int = config.vocab_size
        self.vocabulary = vocabulary
        self.computing = threading.Lock()
        self.is_freed = False
        self._model = model
        self._blocks = blocks

    @classmethod
    def of(cls, model: Any, *, vocabulary: int | None = None) -> DraftModel:
        """Return a DraftModel of a loaded Transformers model. Raises UsageError if that can't draft."""
        config = model.config.get_text_config(decoder=True)
        if model.config.is_encoder_decoder or not rolls_back(config):
            raise UsageError(
                f"a model of the family {config.model_type} cannot draft: it cannot take back a token",
                hint="give another assistant_model",
            )
        return cls(model, vocabulary=vocabulary)

    def text(self) -> DraftText:
        blocks = self._blocks
        return DraftText(self, _Stock(self._model) if blocks is None else _Paged(self._model, blocks, self.window))

    def free(self) -> None:
        """Return the memory of a model from `load_draft` at once; its texts guess nothing from now on."""
        with self.computing:
            self.is_freed = True
            if self._blocks is not None:
                self._blocks.free()
                for parameter in self._model.parameters():
                    parameter.data = parameter.data.new_empty(0)
                trim_heap()


class DraftText:
    """Guesses how one text goes on. One thread at a time may use it."""

    def __init__(self, model: DraftModel, cache: DraftCache) -> None:
        self._model = model
        self._cache = cache
        self._start = 0  # index in the text of the first token that is kept
        self._tokens: list[int] = []  # the kept tokens; the cache has the first ones
        self._after: Tensor | None = None  # the logits [vocabulary] after all of them

    def begin(self, ids: Sequence[int]) -> None:
        """Go on with the text `ids` of at least one token. What it shares with the last text is kept."""
        tokens = list(ids[self._start :])
        pairs = enumerate(zip(tokens, self._tokens, strict=False))
        common = next((at for at, (new, old) in pairs if new != old), min(len(tokens), len(self._tokens)))
        window = self._model.window
        if not common or len(tokens) > window - window // 8:
            self._start = max(len(ids) - window // 4, 0) if len(ids) > window - window // 8 else 0
            common, tokens = 0, list(ids[self._start :])
        if len(tokens) != len(self._tokens) or common < len(tokens):
            self._after = None
        self._tokens = tokens
        self._go_back(common)

    def guess(self, draw: Draw | None = None) -> tuple[int, float]:
        """Return the next token and its probability.

        The probability is 0 once the model is freed, and where a draft goes beyond the window.
        """
        if self._after is None:
            self._go_back(len(self._tokens) - 1)  # the last token's logits are needed
            logits = self._compute(self._num_waiting) if len(self._tokens) <= self._model.window else None
            while logits is not None and self._num_waiting:
                logits = self._compute(self._num_waiting)
            if logits is None:
                return 0, 0.0
            self._after = logits[: self._model.vocabulary].float()
        return pick_token(self._after, draw)

    @property
    def is_behind(self) -> bool:
        """Tell whether the next guess has much to compute first."""
        return self._num_waiting > _FEW_TOKENS and not self._model.is_freed

    def catch_up(self) -> None:
        """Compute a part of what the next guess needs."""
        self._compute(self._num_waiting - 1)

    def follow(self, token: int) -> None:
        """Go on with this token."""
        self._tokens.append(token)
        self._after = None

    @property
    def _num_waiting(self) -> int:
        return len(self._tokens) - self._cache.length

    def _compute(self, most: int) -> Tensor | None:
        """Compute at most so many tokens, in one pass; return the logits after the last one, None if it is freed."""
        known, begin = self._model.num_tokens, self._cache.length
        new = self._tokens[begin : begin + min(most, _PASS_TOKENS)]
        tokens = torch.tensor([[token if token < known else 0 for token in new]])
        with self._model.computing, torch.inference_mode():
            return None if self._model.is_freed else self._cache.run(tokens)

    def _go_back(self, length: int) -> None:
        """Keep what is computed of the first `length` tokens."""
        if length < self._cache.length:
            try:
                self._cache.crop(length)
            except RemoteError:  # a sliding window doesn't reach back that far
                self._cache.crop(0)


def load_draft(checkpoint: Checkpoint, *, vocabulary: int | None = None, quantization: str | None = None) -> DraftModel:
    """Load a drafting model onto the processor; fetch its files first where they are missing.

    Args:
        vocabulary: size of the other model's vocabulary.
        quantization: format of the blocks; the ends are in int8 if it isn't "none". None takes int4 where this
            processor multiplies such matrices fast, and the checkpoint isn't small.

    Raises:
        CheckpointError: it can't be loaded, or a model of this family can't draft.
    """
    config, is_small = checkpoint.text_config, checkpoint.total_bytes < _SMALLEST_INT4_BYTES
    if quantization is None:
        quantization = "none" if is_small or native_kernels() is None else "int4"
    dtype = torch.float32 if is_small and quantization == "none" else torch.bfloat16
    if not rolls_back(config):
        raise CheckpointError(f"a model of the family {config.model_type} cannot draft: it cannot take back a token")
    blocks = load_span(checkpoint, Span(0, checkpoint.num_blocks), dtype=dtype, quantization=quantization)
    if not blocks.is_ragged:
        raise CheckpointError(f"a model of the family {config.model_type} cannot draft: its steps have no pages")
    model = load_ends(checkpoint, _Blocks(), dtype=dtype).eval().requires_grad_(False)
    if quantization != "none":
        _hold_ends_in_int8(model)
    return DraftModel(model, blocks, vocabulary=vocabulary)


def _hold_ends_in_int8(model: Any) -> None:
    """Hold the head in int8, and the embeddings if they are the same matrix; they are most of a very small model."""
    head, embeddings = model.get_output_embeddings(), model.get_input_embeddings()
    if type(head) is not nn.Linear:
        return
    matrix = Int8Matrix(head.weight)
    if type(embeddings) is nn.Embedding and embeddings.weight is head.weight:
        model.set_input_embeddings(_Int8Embeddings(matrix))
    model.set_output_embeddings(QuantizedLinear(matrix, head.bias))
    trim_heap()


class _Int8Embeddings(nn.Module):
    """Looks embeddings up in the rows of a matrix."""

    def __init__(self, matrix: Int8Matrix) -> None:
        super().__init__()
        self.matrix = matrix

    def forward(self, tokens: Tensor) -> Tensor:
        return self.matrix.codes[tokens] * self.matrix.scales[tokens].unsqueeze(-1)


class _Stock:
    """Runs a Transformers model with its own blocks."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._cache = KvCache(model.config.get_text_config(decoder=True))
        self._logits = _logits_of(model)

    @property
    def length(self) -> int:
        return self._cache.length

    def crop(self, length: int) -> None:
        self._cache.crop(length)

    def run(self, tokens: Tensor) -> Tensor:
        logits = self._logits(tokens.to(self._model.device), self._cache)
        self._cache.length += tokens.shape[1]
        return logits


class _Paged:
    """Runs a model's ends with blocks of ours between them."""

    def __init__(self, model: Any, blocks: BlockSpan, num_tokens: int) -> None:
        self._blocks = blocks
        self._memory = blocks.new_memory(num_tokens)
        self._sequence = self._memory.new_sequence()
        self._logits = _logits_of(model)

    @property
    def length(self) -> int:
        return self._sequence.length

    def crop(self, length: int) -> None:
        self._memory.crop(self._sequence, length)

    def run(self, tokens: Tensor) -> Tensor:
        return self._logits(tokens, JointCache(self.length, self._step))

    def _step(self, hidden: Tensor) -> Tensor:
        tokens = hidden.shape[1]
        self._memory.reserve(self._sequence, self.length + tokens)
        plan = plan_step(self._memory, [StepRow(self._sequence, tokens)])
        output = self._blocks.run_step(plan, hidden[0], self._memory)
        self._memory.advance(self._sequence, tokens)
        return output[None]


class _Blocks(nn.Module):
    """The module between a model's ends, which calls the cache in place of blocks."""

    def forward(self, hidden: Tensor, past_key_values: JointCache) -> Tensor:
        return past_key_values.step(hidden)


def _logits_of(model: Any) -> Callable[[Tensor, Cache], Tensor]:
    """Return a function that computes the logits [vocabulary] after the last one of tokens [1, tokens]."""
    name = cache_name(model.get_decoder())
    given: dict[str, Any] = {"use_cache": True, "return_dict": True}
    if "logits_to_keep" in signature(model.forward).parameters:
        given["logits_to_keep"] = 1

    def logits(tokens: Tensor, cache: Cache) -> Tensor:
        found: Tensor = model(tokens, **given, **{name: cache}).logits[0, -1]
        return found

    return logits
