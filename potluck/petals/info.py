"""rpc_info: what a server says of itself. Petals' clients check the schemas before their first call."""

from __future__ import annotations

from typing import Final

from potluck.petals.envelopes import MAX_CHAIN_BYTES, read_text_message, write_bytes_message
from potluck.petals.packing import pack, tensor_descriptor
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import ServerInfo
from potluck.wire.errors import refusing

_NOMINAL_SHAPE: Final = (None, 1, 2048)
"""What Petals' servers put before hidden_size; nobody reads it."""


@refusing(Code.BAD_REQUEST)
def decode_info_request(body: Buffer) -> str:
    """Return the (possibly chained, possibly empty) uid; raises RemoteError BAD_REQUEST."""
    return read_text_message(body, max_bytes=MAX_CHAIN_BYTES)


def encode_info(info: ServerInfo, *, num_blocks: int, with_schema: bool) -> bytes:
    """Return the answer to rpc_info.

    Args:
        num_blocks: that the server serves.
        with_schema: whether the request named a block.
    """
    answer: dict[str, object] = {
        "version": info.version,
        "dht_client_mode": False,
        "cache_tokens_available": info.free_tokens * num_blocks,
    }
    if with_schema:
        dtype = f"torch.{info.dtype}"
        hidden = tensor_descriptor((*_NOMINAL_SHAPE, info.hidden_size), dtype)
        prompts, hypo_ids = tensor_descriptor((None,), dtype), tensor_descriptor((None,), "torch.int64")
        answer |= {
            "forward_schema": ((hidden,), {}),
            "outputs_schema": (hidden,),
            "keyword_names": (),
            "inference_schema": ((hidden, prompts, hypo_ids), {}),
        }
    return write_bytes_message(pack(answer))
