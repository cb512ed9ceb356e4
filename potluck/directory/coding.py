"""Encodes and decodes the messages of the directory: msgpack lists, bounded and checked before use."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import msgpack

from potluck.directory.exchange import (
    MAX_PUSHED,
    PAGE_BYTES,
    SHORT_BYTES,
    Compare,
    Compared,
    Fetch,
    Fetched,
    Wanted,
)
from potluck.directory.fields import TAG_BYTES
from potluck.directory.listing import DIGEST_BYTES, ENTRY_BYTES, MAX_BUCKETS
from potluck.directory.seal import MAX_ANNOUNCEMENT_BYTES, Kind, Sealed
from potluck.membership.identity import SIGNATURE_BYTES, peer_id_of, public_key_of
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError

MAX_REQUEST_BYTES: Final = 1 << 20
MAX_ANSWER_BYTES: Final = 4 << 20
_MAX_WANTED: Final = 20_000
_MAX_ENTRIES: Final = 40_000
_MAX_RECORDS: Final = 20_000
_KEY_BYTES: Final = 32
_WANTED_BYTES: Final = TAG_BYTES + 2 * SHORT_BYTES
_KINDS: Final = tuple(Kind)

T = TypeVar("T")


def encode_compare(message: Compare) -> bytes:
    wanted = b"".join(
        item.tag + item.beat.to_bytes(SHORT_BYTES, "big") + item.links.to_bytes(SHORT_BYTES, "big")
        for item in message.wanted
    )
    return _pack([b"".join(message.digests), wanted, message.max_links])


def decode_compare(body: bytes) -> Compare:
    """Raises RemoteError BAD_REQUEST."""

    def read(values: list[object]) -> Compare:
        digests, wanted, max_links = values[:3]
        parts = _parts(digests, DIGEST_BYTES, MAX_BUCKETS)
        if not parts or MAX_BUCKETS % len(parts):
            raise ValueError("digests of a power of two of buckets")
        return Compare(parts, tuple(map(_wanted, _parts(wanted, _WANTED_BYTES, _MAX_WANTED))), _count(max_links))

    return _decode(body, MAX_REQUEST_BYTES, read, Code.BAD_REQUEST)


def encode_compared(answer: Compared) -> bytes:
    news = [_listed(place, sealed) for place, sealed in answer.news]
    return zlib.compress(_pack([_numbers(answer.differing), news]), 6)


def decode_compared(body: bytes, message: Compare, peers: Sequence[PeerId]) -> Compared:
    """Decode the answer to `message`, which wanted news of `peers`. Raises RemoteError BAD_REPLY."""

    def read(values: list[object]) -> Compared:
        differing, news = values[:2]
        if not isinstance(news, list) or len(news) > 2 * len(peers):
            raise ValueError("more news than wanted")
        sealed = [_sealed(item, lambda place: peers[_place(place, len(peers))]) for item in news]
        numbered = tuple((item[0], each) for item, each in zip(news, sealed, strict=True))
        return Compared(_places(differing, len(message.digests)), numbered)

    return _decode(_inflate(body), MAX_ANSWER_BYTES, read, Code.BAD_REPLY)


def encode_fetch(message: Fetch) -> bytes:
    return _pack([message.num_buckets, _numbers(message.buckets), b"".join(message.entries), message.after])


def decode_fetch(body: bytes) -> Fetch:
    """Raises RemoteError BAD_REQUEST."""

    def read(values: list[object]) -> Fetch:
        num_buckets, buckets, entries, after = values[:4]
        num = _count(num_buckets)
        if not 0 < num <= MAX_BUCKETS or MAX_BUCKETS % num:
            raise ValueError("a power of two of buckets")
        return Fetch(num, _places(buckets, num), _parts(entries, ENTRY_BYTES, _MAX_ENTRIES), _page(after))

    return _decode(body, MAX_REQUEST_BYTES, read, Code.BAD_REQUEST)


def encode_fetched(answer: Fetched) -> bytes:
    """Keep the similar bodies apart from keys and signatures, which do not compress."""
    keys = b"".join(public_key_of(record.peer_id) or b"" for record in answer.records)
    values: list[object] = [
        answer.next,
        keys,
        b"".join(record.signature for record in answer.records),
        [record.ticket for record in answer.records],
        [record.body for record in answer.records],
        _numbers(answer.absent),
    ]
    return zlib.compress(_pack(values), 6)


def decode_fetched(body: bytes, message: Fetch) -> Fetched:
    """Decode the answer to `message`. Raises RemoteError BAD_REPLY."""

    def read(values: list[object]) -> Fetched:
        following, keys, signatures, tickets, bodies, absent = values[:6]
        if not isinstance(bodies, list) or not isinstance(tickets, list):
            raise ValueError("no records")
        peers = [peer_id_of(key) for key in _parts(keys, _KEY_BYTES, _MAX_RECORDS)]
        signed = _parts(signatures, SIGNATURE_BYTES, _MAX_RECORDS)
        records = tuple(
            Sealed(Kind.RECORD, peer, _bytes(text), signature, _bytes(ticket))
            for peer, text, signature, ticket in zip(peers, bodies, signed, tickets, strict=True)
        )
        after = _page(following)
        if after and after <= message.after:
            raise ValueError("no progress")
        return Fetched(records, _places(absent, len(message.entries)), after)

    return _decode(_inflate(body), MAX_ANSWER_BYTES, read, Code.BAD_REPLY)


def encode_push(announcements: Iterable[Sealed]) -> bytes:
    return _pack([[_listed(public_key_of(sealed.peer_id), sealed) for sealed in announcements]])


def decode_push(body: bytes) -> tuple[Sealed, ...]:
    """Raises RemoteError BAD_REQUEST."""

    def read(values: list[object]) -> tuple[Sealed, ...]:
        announcements = values[0]
        if not isinstance(announcements, list) or len(announcements) > MAX_PUSHED:
            raise ValueError("too many announcements")
        return tuple(_sealed(item, _peer) for item in announcements)

    return _decode(body, MAX_REQUEST_BYTES, read, Code.BAD_REQUEST)


def encode_report(suspect: PeerId) -> bytes:
    return _pack([public_key_of(suspect)])


def decode_report(body: bytes) -> PeerId:
    """Raises RemoteError BAD_REQUEST."""

    return _decode(body, MAX_REQUEST_BYTES, lambda values: _peer(values[0]), Code.BAD_REQUEST)


def _listed(author: object, sealed: Sealed) -> list[object]:
    return [author, _KINDS.index(sealed.kind), sealed.body, sealed.signature, sealed.ticket]


def _sealed(item: object, peer_of: Callable[[object], PeerId]) -> Sealed:
    """Decode one announcement; `peer_of` reads the author from its first value."""
    if not isinstance(item, list) or len(item) < 5:
        raise ValueError("no announcement")
    author, kind, text, signature, ticket = item[:5]
    return Sealed(_KINDS[_place(kind, len(_KINDS))], peer_of(author), _bytes(text), _bytes(signature), _bytes(ticket))


def _wanted(part: bytes) -> Wanted:
    beat, links = part[TAG_BYTES : TAG_BYTES + SHORT_BYTES], part[TAG_BYTES + SHORT_BYTES :]
    return Wanted(part[:TAG_BYTES], int.from_bytes(beat, "big"), int.from_bytes(links, "big"))


def _peer(key: object) -> PeerId:
    if not isinstance(key, bytes) or len(key) != _KEY_BYTES:
        raise ValueError("no key of a peer")
    return peer_id_of(key)


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes) or len(value) > MAX_ANNOUNCEMENT_BYTES:
        raise ValueError("no bytes")
    return value


def _page(value: object) -> bytes:
    page = _bytes(value)
    if len(page) not in (0, PAGE_BYTES):
        raise ValueError("no page")
    return page


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 32:
        raise ValueError("no count")
    return value


def _place(value: object, length: int) -> int:
    if type(value) is not int or not 0 <= value < length:
        raise ValueError("no place in a list")
    return value


def _parts(data: object, size: int, most: int) -> tuple[bytes, ...]:
    if not isinstance(data, bytes) or len(data) % size or len(data) > size * most:
        raise ValueError(f"not up to {most} parts of {size} bytes")
    return tuple(data[start : start + size] for start in range(0, len(data), size))


def _numbers(values: Sequence[int]) -> bytes:
    return b"".join(value.to_bytes(2, "big") for value in values)


def _places(data: object, length: int) -> tuple[int, ...]:
    places = tuple(int.from_bytes(part, "big") for part in _parts(data, 2, 1 << 16))
    if any(place >= length for place in places):
        raise ValueError("a place behind the end")
    return places


def _pack(values: list[object]) -> bytes:
    return bytes(msgpack.packb(values))


def _inflate(body: bytes) -> bytes:
    """Decompress an answer up to the limit. Raises RemoteError BAD_REPLY."""
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(body, MAX_ANSWER_BYTES)
    except zlib.error as error:
        raise RemoteError(Code.BAD_REPLY, "the directory of a peer is not understood: not compressed") from error
    if inflater.unconsumed_tail or not inflater.eof:
        raise RemoteError(Code.BAD_REPLY, "the directory of a peer is not understood: too long, or cut off")
    return data


def _decode(body: bytes, most: int, read: Callable[[list[object]], T], code: Code) -> T:
    try:
        if len(body) > most:
            raise ValueError("too long")
        values = msgpack.unpackb(body, strict_map_key=False)
        if not isinstance(values, list):
            raise ValueError("not a list")
        return read(values)
    except (ValueError, TypeError, LookupError, msgpack.UnpackException) as error:
        raise RemoteError(code, f"the directory of a peer is not understood: {error}") from error
