"""Receipts: what a client signs for the work that a server did for it.

A receipt is cumulative: it states all work of one tab (a session, or the stateless calls to one server), so only the
last one counts and a lost one is no loss. The server names the tab with 16 bytes of its own choosing, which makes an
old receipt useless anywhere else; the client's key and the server's are in it, and so is the swarm. All is of a fixed
size, so that nothing can be cut off or added.

Bytes <-> types and signatures; no I/O. The idea of the last receipt of a channel is that of payment channels.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from potluck.errors import PotluckError
from potluck.protocol.blocks import Span
from potluck.protocol.signatures import is_by
from potluck.protocol.swarm import Swarm

KEY_BYTES: Final = 32
TAB_BYTES: Final = 16
SWARM_BYTES: Final = 16
_SIGNATURE_BYTES: Final = 64
_VERSION: Final = 1

POINT: Final = 10**6
"""Parameter-tokens."""

MAX_WORK: Final = 1 << 60
"""Of each number in a receipt: a year of a thousand GPUs, and sums of a few still fit 64 bits."""

_BODY: Final = struct.Struct(">B16s32s32s16sIHHQQQQ")

RECEIPT_BYTES: Final = _BODY.size + _SIGNATURE_BYTES

# What a signature is for is signed with it, so that none can be taken for another.
_FOR_RECEIPT: Final = b"potluck receipt 1\0"

Sign = Callable[[bytes], bytes]
"""An Ed25519 signature with one's own key."""


class ReceiptError(PotluckError):
    """An error in bytes that should be a receipt."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a tab so far. Tokens count every row."""

    forward: int = 0  # parameter-tokens: tokens x parameters of the blocks they passed
    backward: int = 0  # parameter-tokens
    tokens: int = 0

    @property
    def points(self) -> int:
        """Return the points earned. Backward passes count double; what is below a point stays while the tab is open."""
        return (self.forward + 2 * self.backward) // POINT


@dataclass(frozen=True, slots=True)
class Receipt:
    """The client's statement; `seq` grows with each one of a tab."""

    swarm: bytes
    client: bytes  # public keys
    server: bytes
    tab: bytes
    seq: int
    span: Span
    work: Work


def swarm_id(swarm: Swarm) -> bytes:
    """Return the number under which receipts name a swarm and its model."""
    parts = (swarm.prefix, swarm.model, swarm.revision, str(swarm.num_blocks))
    return hashlib.sha256(b"potluck swarm 1\0" + "\0".join(parts).encode()).digest()[:SWARM_BYTES]


def new_tab(now: float) -> bytes:
    """Return a random name for a tab that says when it was opened, so that old ones need not be remembered for ever."""
    return int(now).to_bytes(4, "big") + os.urandom(TAB_BYTES - 4)


def opened_at(tab: bytes) -> int:
    """Return when a tab was opened, in Unix seconds."""
    return int.from_bytes(tab[:4], "big")


def sign_receipt(receipt: Receipt, sign: Sign) -> bytes:
    """Sign a receipt as the client. Raises OverflowError or struct.error for numbers that no receipt can hold."""
    span, work = receipt.span, receipt.work
    keys = (receipt.swarm, receipt.client, receipt.server, receipt.tab)
    numbers = (work.forward, work.backward, work.tokens, 0)  # the last one said how long tokens were kept, once
    body = _BODY.pack(_VERSION, *keys, receipt.seq, span.start, span.end, *numbers)
    return body + sign(_FOR_RECEIPT + body)


def read_receipt(data: bytes) -> Receipt:
    """Check the signature of a receipt and return it. Raises ReceiptError unless its client signed all of it."""
    receipt = parse_receipt(data)
    body, signature = data[: _BODY.size], data[_BODY.size :]
    if not is_by(receipt.client, _FOR_RECEIPT + body, signature):
        raise ReceiptError("the receipt is not signed by the key that it names")
    return receipt


def parse_receipt(data: bytes) -> Receipt:
    """Read a receipt whose signature was checked before. Raises ReceiptError unless `data` has its form."""
    if len(data) != RECEIPT_BYTES:
        raise ReceiptError(f"a receipt has {RECEIPT_BYTES} bytes, not {len(data)}")
    version, swarm, client, server, tab, seq, start, end, *numbers, _ = _BODY.unpack(data[: _BODY.size])
    if version != _VERSION:
        raise ReceiptError(f"made by another version ({version}) of this program")
    if not seq or start >= end:
        raise ReceiptError("a receipt has a number above 0 and a span of at least one block")
    if max(numbers) > MAX_WORK:
        raise ReceiptError("more work than anybody can have done")
    return Receipt(swarm, client, server, tab, seq, Span(start, end), Work(*numbers))
