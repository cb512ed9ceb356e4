"""Bounds for calls and for any DHT record, whoever wrote it, shared by the real network and the fake one."""

from __future__ import annotations

import math

MAX_RECORD_BYTES = 65_536  # a stock record with 32 pings has about 2 KB, ours with 200 digests about 6
MAX_HORIZON_S = 900.0  # the longest announcement, a stretched heartbeat, lasts 300 s; stock peers store for 240 s
MAX_UNARY_BYTES = 4 * 1024 * 1024  # p2pd's limit for the envelope, on both sides
MAX_UNARY_BODY_BYTES = MAX_UNARY_BYTES - 512  # without call id, peer id and protocol name
_MAX_SUBKEY_LETTERS = 256


def is_plausible(subkey: object, expiration: float, *, now: float) -> bool:
    """Return whether a record may be kept: it has a text subkey or none, and its end is finite and near, or past."""
    if subkey is not None and not (isinstance(subkey, str) and len(subkey) <= _MAX_SUBKEY_LETTERS):
        return False
    return math.isfinite(expiration) and expiration <= now + MAX_HORIZON_S
