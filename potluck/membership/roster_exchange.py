"""Keeps what a node knows of the members equal to what others know: compares, checks what peers bring, spreads news.

A comparison takes what this node lacks and gives what the other lacks. Records that are new go on to a few peers at
once. A peer's person pays for what it brings, most of all for a wrong signature. The gate decides who may bring what,
and sends the bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence

from potluck.membership.members import Members
from potluck.membership.presentation import MAX_NEWS, Exchange, decode
from potluck.membership.records import Machines, Record, is_signed, read_all
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.tasks import BackgroundTasks

log = logging.getLogger(__name__)

_PAUSE_S = 5.0  # pause after a comparison that a peer caused, and for a peer that brought what is worth nothing
_FAN_OUT = 4
_MAX_NEWS_BYTES = 1 << 20
_ON_THE_LOOP = 16  # signatures; more are checked in a thread
_PIECE = 64
_ANSWER_BYTES = 16_384  # bytes of an answer that cost one unit
_KNOWN, _HASHES = 20, 8000  # records, and bytes of hashes, brought by a peer that cost one unit
_SETTLED = 40  # entries that cost one unit when the members have to be derived anew
_FORGED = 100  # units that a wrong signature costs; anything else of no worth costs one


class RosterExchange:
    """The exchange of one node's records about members with other nodes.

    Args:
        roster: what the node knows; it grows here.
        send_message: sends a message to a peer that knows this node, and returns the answer. Raises RemoteError.
        peers: returns the peers that know this node.
        may_bring: returns whether a peer may bring a record.
        on_new: called with records that are new.
        on_compared: called with a peer once this node has compared with it.
        charge: takes units from what a peer's person may spend; False: there are none left.
    """

    def __init__(
        self,
        roster: Members,
        send_message: Callable[[PeerId, Exchange], Awaitable[bytes]],
        *,
        peers: Callable[[], Collection[PeerId]],
        may_bring: Callable[[Record, PeerId], bool],
        on_new: Callable[[list[Record]], None],
        on_compared: Callable[[PeerId], None],
        charge: Callable[[PeerId, int], bool],
        clock: Callable[[], float],
    ) -> None:
        self._roster = roster
        self._send_message = send_message
        self._peers = peers
        self._may_bring = may_bring
        self._on_new = on_new
        self._on_compared = on_compared
        self._charge = charge
        self._clock = clock
        self._comparing: set[PeerId] = set()
        self._tasks = BackgroundTasks()

    async def stop(self) -> None:
        await self._tasks.cancel()

    def publish(self, records: Iterable[bytes]) -> None:
        """Learn what was signed or kept on this computer, and send it to others."""
        self._spread_new(self._roster.learn(read_all([*records]), self._clock()))

    def add(self, record: Record) -> bool:
        """Keep a record whose signature is right, and send it to others; return whether it is new."""
        new = self._roster.add([record], self._clock())
        self._spread_new(new)
        return bool(new)

    async def compare(self, peer: PeerId, *, gives: bool = True) -> None:
        """Fetch what this node lacks, and send a member what it lacks. Raises RemoteError.

        Args:
            gives: False for somebody who may be no member.
        """
        roster = self._roster
        answer, asked = Exchange(has_more=True), Exchange()
        while answer.has_more:
            before, asked = asked, Exchange(heads=roster.chains.heads, others=roster.short_hashes)
            if asked == before:
                break  # what came was not what there is more of
            answer = decode(await self._send_message(peer, asked), Exchange)
            await self.learn([item for item in read_all(answer.records) if self._may_bring(item, peer)], peer)
        if not gives:
            return
        kept, _ = roster.others_than(b"")
        short = {answer.lacks[start : start + 8] for start in range(0, len(answer.lacks), 8)}
        missing = [*roster.chains.lacking(answer.heads or {}), *(item for item in kept if item.hash[:8] in short)]
        for piece in in_messages(missing):
            if self._charge(peer, sum(map(len, piece)) // _ANSWER_BYTES):
                await self._send_message(peer, Exchange(records=piece))
        self._on_compared(peer)

    async def compare_with_somebody(self) -> None:
        """Compare with one of the peers that know this node. Whatever it answers, this node goes on."""
        for peer in self._some(1):
            try:
                await self.compare(peer)
            except RemoteError:
                continue
            except Exception:
                log.exception("a comparison failed")

    async def receive(self, message: Exchange, peer: PeerId) -> None:
        """Learn what a message brings. Raises RemoteError BUSY if its person has paid for too much."""
        if not self._charge(peer, len(message.records) // _KNOWN + len(message.others) // _HASHES):
            raise _too_much()
        before = self._roster.digest
        records = [item for item in read_all(message.records) if self._may_bring(item, peer)]
        if not self._charge(peer, len(message.records) - len(records)):
            raise _too_much()
        if await self.learn(records, peer):
            self._compare_soon(peer)
        if self._roster.digest != before:
            self._charge(peer, len(self._roster.chains) // _SETTLED)

    def answer(self, message: Exchange, peer: PeerId) -> Exchange:
        """Return what the peer lacks, as far as it fits, and what is lacking here; nothing if it does not ask."""
        if message.heads is None:
            return Exchange()
        others, lacks = self._roster.others_than(message.others)
        lacking = [*self._roster.chains.lacking(message.heads), *others]
        piece = next(iter(in_messages(lacking)), ())
        self._charge(peer, sum(map(len, piece)) // _ANSWER_BYTES)
        has_more = len(piece) < len(lacking)
        return Exchange(piece, self._roster.chains.heads, lacks=lacks[: MAX_NEWS * 8], has_more=has_more)

    async def learn(self, records: Sequence[Record], peer: PeerId) -> bool:
        """Check what a peer brings, and keep what holds. Return whether it knows more than it brought.

        Raises:
            RemoteError: BUSY: too much of what its person brought was worth nothing.
        """
        is_behind = False
        for group in self._roster.groups(records):
            wanted, worthless, is_ahead = self._roster.sift(group, self._clock())
            is_behind |= is_ahead
            if not self._charge(peer, worthless + is_ahead):
                raise _too_much()
            sizes = (1 + len(item.body.machines) if isinstance(item.body, Machines) else 2 for item in wanted)
            num_signatures = sum(sizes)
            checked: list[Record] = []
            for start in range(0, len(wanted), _PIECE):
                piece = wanted[start : start + _PIECE]
                if num_signatures <= _ON_THE_LOOP:
                    good = _signed(self._roster.swarm_key, piece)
                else:
                    good = await asyncio.to_thread(_signed, self._roster.swarm_key, piece)
                checked += good
                if len(good) < len(piece):
                    self._charge(peer, _FORGED)
                    break
            self._spread_new(self._roster.add(checked, self._clock()), beside=peer)
        return is_behind

    async def send(self, peer: PeerId, records: Sequence[Record]) -> None:
        """Send records to a peer. Raises RemoteError."""
        for piece in in_messages(records):
            await self._send_message(peer, Exchange(records=piece))

    def _compare_soon(self, peer: PeerId) -> None:
        if peer not in self._comparing and peer in self._peers():
            self._comparing.add(peer)
            self._tasks.start(self._compare_quietly(peer))

    async def _compare_quietly(self, peer: PeerId) -> None:
        try:
            with contextlib.suppress(RemoteError):
                await self.compare(peer)
            await asyncio.sleep(_PAUSE_S)
        finally:
            self._comparing.discard(peer)

    def _spread_new(self, new: list[Record], *, beside: PeerId | None = None) -> None:
        if new:
            self._on_new(new)
            self._tasks.start(self._spread(new, beside))

    async def _spread(self, news: Sequence[Record], beside: PeerId | None) -> None:
        for peer in self._some(_FAN_OUT):
            if peer != beside:
                with contextlib.suppress(RemoteError):
                    await self.send(peer, news)

    def _some(self, count: int) -> list[PeerId]:
        """Return some peers that know this node."""
        known = list(self._peers())
        return random.sample(known, min(count, len(known)))


def in_messages(records: Sequence[Record]) -> list[tuple[bytes, ...]]:
    """Split records into messages."""
    pieces: list[list[bytes]] = []
    size = _MAX_NEWS_BYTES
    for record in records:
        size += len(record.data)
        if size > _MAX_NEWS_BYTES or len(pieces[-1]) == MAX_NEWS:
            pieces.append([])
            size = len(record.data)
        pieces[-1].append(record.data)
    return [tuple(piece) for piece in pieces]


def _signed(swarm_key: bytes, records: Sequence[Record]) -> list[Record]:
    """Return the records up to the first whose signature is wrong."""
    good: list[Record] = []
    for record in records:
        if not is_signed(swarm_key, record):
            break
        good.append(record)
    return good


def _too_much() -> RemoteError:
    return RemoteError(Code.BUSY, "too much of what you sent was worth nothing", retry_after_s=_PAUSE_S)
