"""Receipts: what a client signs for the work that a server did for it, and the papers that go with them.

A receipt is cumulative: it states all work of one tab (a session, or the stateless calls to one server), so only the
last one counts and a lost one is no loss. The server names the tab with 16 bytes of its own choosing, which makes an
old receipt useless anywhere else; the client's key and the server's are in it, and so is the swarm. All is of a fixed
size, so that nothing can be cut off or added. A server that booked a receipt countersigns it.

A delegation lets a client's key spend for a donor. A voucher is a countersigned receipt with the delegation of whoever
signed it: what a donor shows to strangers as proof of its work.

Bytes <-> types and signatures; no I/O. The idea of the last receipt of a channel is that of payment channels.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from potluck.errors import PotluckError
from potluck.protocol.blocks import Span
from potluck.protocol.swarm import Swarm

KEY_BYTES: Final = 32
TAB_BYTES: Final = 16
SWARM_BYTES: Final = 16
_SIGNATURE_BYTES: Final = 64
_VERSION: Final = 1

MICROCREDIT: Final = 10**6
"""Parameter-tokens; a credit is 10^12 of them."""

MAX_WORK: Final = 1 << 60
"""Of each number in a receipt: a year of a thousand GPUs, and sums of a few still fit 64 bits."""

_BODY: Final = struct.Struct(">B16s32s32s16sIHHQQQQ")
_DELEGATION: Final = struct.Struct(">B32s32sQ")

RECEIPT_BYTES: Final = _BODY.size + _SIGNATURE_BYTES
COUNTERSIGNED_BYTES: Final = RECEIPT_BYTES + _SIGNATURE_BYTES
DELEGATION_BYTES: Final = _DELEGATION.size + _SIGNATURE_BYTES
VOUCHER_BYTES: Final = COUNTERSIGNED_BYTES + DELEGATION_BYTES

# What a signature is for is signed with it, so that none can be taken for another.
_FOR_RECEIPT: Final = b"potluck receipt 1\0"
_FOR_COUNTERSIGNATURE: Final = b"potluck countersignature 1\0"
_FOR_DELEGATION: Final = b"potluck delegation 1\0"

Sign = Callable[[bytes], bytes]
"""An Ed25519 signature with one's own key."""


class ReceiptError(PotluckError):
    """Bytes that are no receipt, delegation or voucher to be believed."""


@dataclass(frozen=True, slots=True)
class Work:
    """What was done so far. Tokens count every row."""

    forward: int = 0  # parameter-tokens: tokens x parameters of the blocks they passed
    backward: int = 0  # parameter-tokens
    tokens: int = 0
    kv_token_s: int = 0  # tokens kept in the cache x seconds; told, but worth nothing

    @property
    def microcredits(self) -> int:
        """Backward passes count double; what is left below a microcredit is not lost while the tab is open."""
        return (self.forward + 2 * self.backward) // MICROCREDIT


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


@dataclass(frozen=True, slots=True)
class Signed:
    """A receipt with the bytes that were signed; made by `sign_receipt` and `read_receipt` only."""

    receipt: Receipt
    data: bytes  # RECEIPT_BYTES


@dataclass(frozen=True, slots=True)
class Countersigned:
    """A receipt that its server booked."""

    receipt: Receipt
    data: bytes  # COUNTERSIGNED_BYTES


@dataclass(frozen=True, slots=True)
class SpendingGrant:
    """`client` spends for `owner` until `expires_at`, Unix seconds. Public keys."""

    owner: bytes
    client: bytes
    expires_at: int


@dataclass(frozen=True, slots=True)
class Papers:
    """What a donor gives a client that spends for it: the delegation, and vouchers for servers that do not know it."""

    delegation: bytes
    vouchers: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Voucher:
    """The donor `delegation.owner` says what the server of the receipt did for it, and that one agrees."""

    countersigned: Countersigned
    delegation: SpendingGrant


def swarm_id(swarm: Swarm) -> bytes:
    """Return the number under which receipts name a swarm and its model."""
    parts = (swarm.prefix, swarm.model, swarm.revision, str(swarm.num_blocks))
    return hashlib.sha256(b"potluck swarm 1\0" + "\0".join(parts).encode()).digest()[:SWARM_BYTES]


def new_tab(now: float) -> bytes:
    """A name for a tab: when it was opened, so that old ones need not be remembered for ever, and chance."""
    return int(now).to_bytes(4, "big") + os.urandom(TAB_BYTES - 4)


def opened_at(tab: bytes) -> int:
    """Unix seconds."""
    return int.from_bytes(tab[:4], "big")


def sign_receipt(receipt: Receipt, sign: Sign) -> Signed:
    """Sign a receipt as the client. Raises OverflowError or struct.error for numbers that no receipt can hold."""
    body = _pack(receipt)
    return Signed(receipt, body + sign(_FOR_RECEIPT + body))


def read_receipt(data: bytes) -> Signed:
    """Raises ReceiptError unless `data` is a whole receipt that its client signed."""
    if len(data) != RECEIPT_BYTES:
        raise ReceiptError(f"a receipt has {RECEIPT_BYTES} bytes, not {len(data)}")
    body, signature = data[: _BODY.size], data[_BODY.size :]
    receipt = _unpack(body)
    _verify(receipt.client, _FOR_RECEIPT + body, signature, "the receipt")
    return Signed(receipt, data)


def countersign(signed: Signed, sign: Sign) -> Countersigned:
    """Countersign as the server, once the receipt is booked."""
    return Countersigned(signed.receipt, signed.data + sign(_FOR_COUNTERSIGNATURE + signed.data))


def read_countersigned(data: bytes) -> Countersigned:
    """Raises ReceiptError unless client and server signed it."""
    if len(data) != COUNTERSIGNED_BYTES:
        raise ReceiptError(f"a countersigned receipt has {COUNTERSIGNED_BYTES} bytes, not {len(data)}")
    signed = read_receipt(data[:RECEIPT_BYTES])
    _verify(
        signed.receipt.server,
        _FOR_COUNTERSIGNATURE + signed.data,
        data[RECEIPT_BYTES:],
        "the countersignature",
    )
    return Countersigned(signed.receipt, data)


def delegate(owner: bytes, client: bytes, expires_at: int, sign: Sign) -> bytes:
    """Sign, as the owner, DELEGATION_BYTES that let `client` spend."""
    body = _DELEGATION.pack(_VERSION, owner, client, expires_at)
    return body + sign(_FOR_DELEGATION + body)


def read_delegation(data: bytes) -> SpendingGrant:
    """Raises ReceiptError unless its owner signed it; whether it has expired is for the caller to see."""
    if len(data) != DELEGATION_BYTES:
        raise ReceiptError(f"a delegation has {DELEGATION_BYTES} bytes, not {len(data)}")
    body = data[: _DELEGATION.size]
    version, owner, client, expires_at = _DELEGATION.unpack(body)
    _check_version(version)
    _verify(owner, _FOR_DELEGATION + body, data[_DELEGATION.size :], "the delegation")
    return SpendingGrant(owner, client, expires_at)


def read_voucher(data: bytes) -> Voucher:
    """Raises ReceiptError unless all three signatures hold and belong together."""
    if len(data) != VOUCHER_BYTES:
        raise ReceiptError(f"a voucher has {VOUCHER_BYTES} bytes, not {len(data)}")
    countersigned = read_countersigned(data[:COUNTERSIGNED_BYTES])
    delegation = read_delegation(data[COUNTERSIGNED_BYTES:])
    if delegation.client != countersigned.receipt.client:
        raise ReceiptError("the delegation is about another client than the receipt")
    return Voucher(countersigned, delegation)


def _pack(receipt: Receipt) -> bytes:
    span, work = receipt.span, receipt.work
    numbers = (work.forward, work.backward, work.tokens, work.kv_token_s)
    keys = (receipt.swarm, receipt.client, receipt.server, receipt.tab)
    return _BODY.pack(_VERSION, *keys, receipt.seq, span.start, span.end, *numbers)


def _unpack(body: bytes) -> Receipt:
    version, swarm, client, server, tab, seq, start, end, *numbers = _BODY.unpack(body)
    _check_version(version)
    if not seq or start >= end:
        raise ReceiptError("a receipt has a number above 0 and a span of at least one block")
    if max(numbers) > MAX_WORK:
        raise ReceiptError("more work than anybody can have done")
    return Receipt(swarm, client, server, tab, seq, Span(start, end), Work(*numbers))


def _check_version(version: int) -> None:
    if version != _VERSION:
        raise ReceiptError(f"made by another version ({version}) of this program")


def _verify(key: bytes, data: bytes, signature: bytes, what: str) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, data)
    except (InvalidSignature, ValueError):
        raise ReceiptError(f"{what} is not signed by the key that it names") from None
