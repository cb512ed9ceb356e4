"""Decides on which network paths of a session hidden states are rounded so that they can travel packed. It does no I/O.

Packing halves the bytes of 16-bit values and changes them by less than a hundredth (`potluck/wire/packing.py`). It is
worth that where a path is long and slow for what it carries. `exact` sessions never pack. Servers that compute in
float32 promise equal tokens, so nothing is packed on the path to or from them unless the user says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from potluck.client.config import ClientConfig
from potluck.protocol.records import ServerRecord
from potluck.wire.packing import can_pack, packed_bytes

MAX_ERROR: Final = 0.02
"""Limit of the error that a server measured on its outputs; beyond it, values are unlike those packing is meant for."""

_LEAST_TOKENS: Final = 128  # a session is assumed to send so many tokens at once sooner or later
_PACKING_BYTES_S: Final = 2e8  # 16-bit values packed and unpacked on one core, for long messages; measured
_SHORT_S: Final = 0.001  # likewise, one token
_GAIN: Final = 0.1  # share of a long message's time that packing must save; a short message may lose as much


@dataclass(frozen=True, slots=True)
class NetworkPath:
    """A measured network path between two nodes."""

    link_mbps: float
    round_trip_s: float


@dataclass(frozen=True, slots=True)
class Payload:
    """The first message of a session.

    Attributes:
        tokens: of all rows together.
        value_bytes: size of a plain value.
    """

    tokens: int
    hidden_size: int
    value_bytes: int


def speaks_packed(record: ServerRecord) -> bool:
    """Tell whether a server reads and writes packed hidden states; those of other implementations don't."""
    return record.packing_error is not None


def choose_packed_paths(
    config: ClientConfig, payload: Payload, servers: Sequence[ServerRecord], paths: Sequence[NetworkPath]
) -> list[bool]:
    """Return for each path whether hidden states are rounded: to the first server, between two, back from the last.

    Args:
        paths: one more than there are servers.
    """
    ends = [servers[:1], *pairwise(servers), servers[-1:]]
    return [
        may_pack(config, payload.hidden_size, between) and (config.packing == "on" or is_worth_packing(payload, path))
        for between, path in zip(ends, paths, strict=True)
    ]


def may_pack(config: ClientConfig, hidden_size: int, records: Sequence[ServerRecord]) -> bool:
    """Tell whether hidden states may travel packed between two servers, or to and from one."""
    if config.exact or config.packing == "off" or not can_pack(hidden_size):
        return False
    if any(record.packing_error is None or record.packing_error > MAX_ERROR for record in records):
        return False
    return config.packing == "on" or all(record.format.dtype != "float32" for record in records)


def is_worth_packing(payload: Payload, path: NetworkPath) -> bool:
    """Tell whether packing makes long messages arrive a tenth sooner, and hardly delays short ones."""
    byte_s = 8e-6 / max(path.link_mbps, 1e-3)
    plain_s = payload.hidden_size * payload.value_bytes * byte_s  # seconds of a plain token
    saved_s = plain_s - packed_bytes(payload.hidden_size) * byte_s
    long = max(payload.tokens, _LEAST_TOKENS)
    gain_s = long * (saved_s - 2 * payload.hidden_size / _PACKING_BYTES_S)
    loss_s = _SHORT_S - saved_s
    return gain_s > _GAIN * (path.round_trip_s / 2 + long * plain_s) and loss_s < _GAIN * (
        path.round_trip_s / 2 + plain_s
    )
