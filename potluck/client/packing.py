"""Decides on which ways of a session hidden states are rounded so that they can travel packed. Pure: no I/O.

Packing halves the bytes of 16-bit values and changes them by less than a hundredth (`potluck/wire/packing.py`). It is
worth that where a way is long and slow for what it carries. `exact` sessions never pack. Servers that compute in
float32 promise equal tokens, so nothing is packed on the way to or from them unless the user says so.
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
"""Of a server's outputs by its own measurement; above, values are unlike those that packing is meant for."""

_LEAST_TOKENS: Final = 128  # that a session is taken to carry at once sooner or later
_PACKING_BYTES_S: Final = 2e8  # of 16-bit values, to pack and unpack long messages on one core; measured
_SHORT_S: Final = 0.001  # likewise, one token
_GAIN: Final = 0.1  # of the time that a long message takes to arrive; a short one may lose as much


@dataclass(frozen=True, slots=True)
class NetworkPath:
    """A measured way between two nodes."""

    link_mbps: float
    round_trip_s: float


@dataclass(frozen=True, slots=True)
class Payload:
    """What a session sends at first.

    Attributes:
        tokens: all rows together.
        value_bytes: of a plain value.
    """

    tokens: int
    hidden_size: int
    value_bytes: int


def speaks_packed(record: ServerRecord) -> bool:
    """Tell whether a server reads and writes packed hidden states; those of other implementations don't."""
    return record.packing_error is not None


def choose_packed_paths(
    config: ClientConfig, load: Payload, servers: Sequence[ServerRecord], ways: Sequence[NetworkPath]
) -> list[bool]:
    """Return on which ways hidden states are rounded: to the first server, between any two, and back from the last.

    Args:
        ways: one more than there are servers.
    """
    ends = [servers[:1], *pairwise(servers), servers[-1:]]
    return [
        may_pack(config, load.hidden_size, between) and (config.packing == "on" or is_worth_packing(load, way))
        for between, way in zip(ends, ways, strict=True)
    ]


def may_pack(config: ClientConfig, hidden_size: int, records: Sequence[ServerRecord]) -> bool:
    """Tell whether hidden states may travel packed between two servers, or to and from one."""
    if config.exact or config.packing == "off" or not can_pack(hidden_size):
        return False
    if any(record.packing_error is None or record.packing_error > MAX_ERROR for record in records):
        return False
    return config.packing == "on" or all(record.format.dtype != "float32" for record in records)


def is_worth_packing(load: Payload, way: NetworkPath) -> bool:
    """Tell whether packing makes long messages arrive a tenth sooner, and hardly delays short ones."""
    byte_s = 8e-6 / max(way.link_mbps, 1e-3)
    plain_s = load.hidden_size * load.value_bytes * byte_s  # of a token
    saved_s = plain_s - packed_bytes(load.hidden_size) * byte_s
    long = max(load.tokens, _LEAST_TOKENS)
    gain_s = long * (saved_s - 2 * load.hidden_size / _PACKING_BYTES_S)
    loss_s = _SHORT_S - saved_s
    return gain_s > _GAIN * (way.round_trip_s / 2 + long * plain_s) and loss_s < _GAIN * (
        way.round_trip_s / 2 + plain_s
    )
