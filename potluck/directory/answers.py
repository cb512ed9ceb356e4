"""Answers peers that ask what they lack, from one table. Pure.

An answer ends where it is long enough. Records come in turns between people, so that the many servers of one person
delay nobody else's.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from potluck.directory.exchange import PAGE_BYTES, Compare, Compared, Fetch, Fetched, short
from potluck.directory.fairness import turns
from potluck.directory.fields import tag_of
from potluck.directory.listing import ENTRY_BYTES, Listing, bucket_of, entry_of
from potluck.directory.seal import Announcement, Kind, Sealed
from potluck.directory.table import Table

_MAX_NEWS_BYTES = 2 << 20
_MAX_RECORDS_BYTES = 1 << 18
_OVERHEAD_BYTES = 48  # of one announcement: its author and the lengths of its parts
_TURN_BYTES = PAGE_BYTES - ENTRY_BYTES


class Answers:
    """Answers from one table, as it was when its live servers were listed."""

    def __init__(self, table: Table, now: float) -> None:
        self._table = table
        self._records = {
            peer: record for peer in table.live_peers(now) if (record := table.get(Kind.RECORD, peer)) is not None
        }
        self._peers = {tag_of(peer): peer for peer in table.all(Kind.HEARTBEAT)}  # a goodbye is news too
        self._listing = Listing((peer, record.sequence) for peer, record in self._records.items())

    def compare(self, message: Compare) -> Compared:
        num = len(message.digests)
        mine = self._listing.digests(num)
        differing = tuple(number for number in range(num) if mine[number] != message.digests[number])
        return Compared(differing, self._news(message))

    def fetch(self, message: Fetch) -> Fetched:
        """Return the first records after `message.after` that the asker lacks, and where to go on."""
        buckets, theirs = set(message.buckets), set(message.entries)
        page: list[Announcement] = []
        num_bytes, reached = 0, b""
        for place, record in self._pages[bisect_right(self._pages, message.after, key=lambda page: page[0]) :]:
            if place[_TURN_BYTES:] in theirs or bucket_of(record.peer_id, message.num_buckets) not in buckets:
                continue
            num_bytes += _size(record.sealed)
            if page and num_bytes > _MAX_RECORDS_BYTES:
                return Fetched(tuple(each.sealed for each in page), next=reached)
            page.append(record)
            reached = place
        mine = {entry for number in message.buckets for entry in self._listing.bucket(number, message.num_buckets)}
        absent = tuple(place for place, entry in enumerate(message.entries) if entry not in mine)
        return Fetched(tuple(each.sealed for each in page), absent)

    @cached_property
    def _pages(self) -> list[tuple[bytes, Announcement]]:
        """List all records in the order in which they are sent, each with its place in it."""
        in_turns = turns(sorted(self._records, key=tag_of), self._table.person_of)
        found = []
        for turn, peer in in_turns:
            record = self._records[peer]
            found.append((turn.to_bytes(_TURN_BYTES, "big") + entry_of(peer, record.sequence), record))
        return sorted(found, key=lambda page: page[0])

    def _news(self, message: Compare) -> tuple[tuple[int, Sealed], ...]:
        """Return newer heartbeats and as many links as the peer wants; it asks again for what does not fit."""
        news: list[tuple[int, Sealed]] = []
        bytes_left, links_left = _MAX_NEWS_BYTES, message.max_links
        for place, wanted in enumerate(message.wanted):
            peer = self._peers.get(wanted.tag)
            if peer is None:
                continue
            beat, links = self._table.get(Kind.HEARTBEAT, peer), self._table.get(Kind.LINKS, peer)
            if beat is not None and short(beat.sequence) != wanted.beat:
                news.append((place, beat.sealed))
                bytes_left -= _size(beat.sealed)
            if links is not None and links_left and short(links.sequence) != wanted.links:
                news.append((place, links.sealed))
                bytes_left -= _size(links.sealed)
                links_left -= 1
            if bytes_left <= 0:
                break
        return tuple(news)


def _size(sealed: Sealed) -> int:
    return len(sealed.body) + len(sealed.signature) + len(sealed.ticket) + _OVERHEAD_BYTES
