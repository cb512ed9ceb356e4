"""The question "can you dial me?". The caller asks for itself; the callee dials it anew at addresses that it names."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

MAX_ADDRESSES: Final = 8
_Address = Annotated[str, Meta(max_length=256, pattern=r"^(/[A-Za-z0-9.:%_-]+)*\Z")]  # no commas: p2pd gets it


class DialBack(Struct, frozen=True, omit_defaults=True):
    """The caller's own addresses, without its peer id.

    `seen_as` is the callee's address as the caller sees it: with one, the callee is asked to stay for a moment, so
    that the caller's relay opens (see `Libp2pHost.dial_anew`).
    """

    addresses: Annotated[tuple[_Address, ...], Meta(max_length=MAX_ADDRESSES)]
    seen_as: _Address = ""


class Reachable(Struct, frozen=True):
    """Says whether the callee reached the caller at one of the addresses."""

    is_reachable: bool
