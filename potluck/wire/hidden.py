"""The tensors that every compute request has: hidden states and deep prompts, checked against the limits."""

from __future__ import annotations

from torch import Tensor

from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.wire.envelopes import Envelope, RawTensor, read_envelope
from potluck.wire.errors import WireError
from potluck.wire.limits import Limits
from potluck.wire.tensors import float_tensor, is_empty


def read_request(body: Buffer, limits: Limits) -> Envelope:
    """Parse a request that came in one message; raises WireError."""
    if len(body) > limits.max_frame_bytes:
        raise WireError(f"a message of {len(body)} bytes, at most {limits.max_frame_bytes} allowed", Code.TOO_LONG)
    return read_envelope(body)


def read_hidden(raw: RawTensor, limits: Limits) -> Tensor:
    """[batch >= 1, tokens, hidden_size] within the token limit; raises WireError."""
    if len(raw.size) != 3:
        raise WireError(f"hidden states of shape {list(raw.size)}, expected [batch, tokens, {limits.hidden_size}]")
    batch, tokens, _ = raw.size
    if batch < 1:
        raise WireError("an empty batch")
    if batch * max(tokens, 1) > limits.max_batch_tokens:
        raise WireError(
            f"{batch} x {tokens} tokens in one message, at most {limits.max_batch_tokens} allowed", Code.TOO_LONG
        )
    return float_tensor(raw, (batch, tokens, limits.hidden_size))


def read_prompts(raw: RawTensor, hidden: Tensor, *, num_blocks: int | None, limits: Limits) -> Tensor | None:
    """[num_blocks, batch or 1, prompt_tokens <= tokens, hidden_size], None for a placeholder; raises WireError.

    Args:
        num_blocks: how many there must be; None if the session knows and checks.
    """
    if is_empty(raw):
        return None
    if len(raw.size) != 4:
        raise WireError(f"prompts of shape {list(raw.size)}, expected 4 dimensions")
    batch, tokens, _ = hidden.shape
    if raw.size[1] not in (1, batch) or raw.size[2] > tokens or raw.size[0] > limits.num_blocks:
        raise WireError(f"prompts of shape {list(raw.size)} do not fit hidden states of {list(hidden.shape)}")
    return float_tensor(raw, (num_blocks, raw.size[1], raw.size[2], limits.hidden_size))
