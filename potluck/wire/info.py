"""rpc_info: what a server says of itself.

The six schema entries are what stock clients check before their first call; everything of ours rides under one key.
"""

from __future__ import annotations

from typing import Final

from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import ServerInfo
from potluck.wire.envelopes import (
    MAX_CHAIN_BYTES,
    read_bytes_message,
    read_text_message,
    write_bytes_message,
    write_text,
)
from potluck.wire.errors import WireError, refusing
from potluck.wire.metadata import MAX_NAME_CHARS, OURS, Metadata, integer, own_map, text
from potluck.wire.packing import TensorDescriptor, pack, unpack_map

_NOMINAL_SHAPE: Final = (None, 1, 2048)
"""What stock servers put before hidden_size; nobody reads it."""
_OWN_KEYS: Final = frozenset({"hidden_size", "dtype", "max_batch_tokens", "max_length"})


def encode_info_request(uid: str = "") -> bytes:
    """Ask with the name of a block, or with none for an answer without schemas."""
    return write_text(uid)


@refusing(Code.BAD_REQUEST)
def decode_info_request(body: Buffer) -> str:
    """The (possibly chained, possibly empty) uid; raises RemoteError BAD_REQUEST."""
    return read_text_message(body, max_bytes=MAX_CHAIN_BYTES)


def encode_info(info: ServerInfo, *, with_schema: bool) -> bytes:
    """Answer to rpc_info.

    Args:
        with_schema: whether the request named a block; `info` must then have hidden_size and dtype.
    """
    answer: dict[str, object] = {
        "version": info.version,
        "dht_client_mode": info.dht_client_mode,
        "cache_tokens_available": info.cache_tokens_available,
    }
    if with_schema:
        answer |= _schema(info)
    ours: dict[str, object] = {
        key: value for key in sorted(_OWN_KEYS) if (value := getattr(info, key)) is not None
    } | dict(info.extras)
    if ours:
        answer[OURS] = ours
    return write_bytes_message(pack(answer))


@refusing(Code.BAD_REPLY)
def decode_info(body: Buffer) -> ServerInfo:
    """Read an answer of ours or of a stock server; raises RemoteError BAD_REPLY."""
    answer = unpack_map(read_bytes_message(body))
    ours = own_map(answer)
    client_mode = answer.get("dht_client_mode")
    cache_tokens = integer(answer, "cache_tokens_available")
    if not isinstance(client_mode, bool) or cache_tokens is None:
        raise WireError("an rpc_info answer without its basic keys")
    hidden_size, dtype = _from_schema(answer)
    return ServerInfo(
        version=text(answer, "version", MAX_NAME_CHARS) or "",
        dht_client_mode=client_mode,
        cache_tokens_available=cache_tokens,
        hidden_size=integer(ours, "hidden_size") or hidden_size,
        dtype=text(ours, "dtype", MAX_NAME_CHARS) or dtype,
        max_batch_tokens=integer(ours, "max_batch_tokens"),
        max_length=integer(ours, "max_length"),
        extras={key: value for key, value in ours.items() if isinstance(key, str) and key not in _OWN_KEYS},
    )


def _schema(info: ServerInfo) -> dict[str, object]:
    if info.hidden_size is None or info.dtype is None:
        raise ValueError("a schema needs hidden_size and dtype")
    dtype = f"torch.{info.dtype}"
    hidden = TensorDescriptor((*_NOMINAL_SHAPE, info.hidden_size), dtype)
    prompts, hypo_ids = TensorDescriptor((None,), dtype), TensorDescriptor((None,), "torch.int64")
    return {
        "forward_schema": ((hidden,), {}),
        "outputs_schema": (hidden,),
        "keyword_names": (),
        "inference_schema": ((hidden, prompts, hypo_ids), {}),
    }


def _from_schema(answer: Metadata) -> tuple[int | None, str | None]:
    match answer.get("outputs_schema"):
        case [TensorDescriptor(size=(*_, int(hidden_size)), dtype=str(dtype))]:
            return hidden_size, dtype.removeprefix("torch.")
    return None, None
