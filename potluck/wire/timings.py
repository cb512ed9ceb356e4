"""What every answer that was computed says besides its tensors: times, load, and the name of a tab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from potluck.protocol.buffers import Buffer
from potluck.protocol.messages import Timing
from potluck.protocol.receipts import TAB_BYTES
from potluck.wire.fields import Field, blob
from potluck.wire.message import IS_LEAVING, Message, WireTensor, write_message


def write_answer(
    tensors: Sequence[WireTensor], timing: Timing, *, flags: int = 0, extra: Mapping[int, object] | None = None
) -> tuple[Buffer, ...]:
    """Return the message that answers with these tensors, in pieces."""
    fields: dict[int, object] = dict(extra or {})
    if timing.tab is not None:
        fields[Field.TAB] = timing.tab
    return write_message(
        tensors,
        fields,
        number=-1 if timing.cache_tokens_left is None else timing.cache_tokens_left,
        flags=flags | (IS_LEAVING if timing.is_leaving else 0),
        queue_ms=timing.queue_ms,
        compute_ms=timing.compute_ms,
    )


def read_timing(message: Message) -> Timing:
    """Raises WireError."""
    left = None if message.number < 0 else message.number
    is_leaving = message.flags & IS_LEAVING != 0
    if not message.fields:
        return Timing(message.queue_ms, message.compute_ms, left, is_leaving)
    return Timing(
        queue_ms=message.queue_ms,
        compute_ms=message.compute_ms,
        cache_tokens_left=left,
        is_leaving=is_leaving,
        tab=blob(message.fields, Field.TAB, TAB_BYTES),
    )
