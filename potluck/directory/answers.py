"""Answers peers that ask what they lack, from one table. Pure."""

from __future__ import annotations

from potluck.directory.exchange import Compare, Compared, Fetch, Fetched, short
from potluck.directory.fields import tag_of
from potluck.directory.listing import Listing
from potluck.directory.seal import Announcement, Kind, Sealed
from potluck.directory.table import Table

_MAX_NEWS_BYTES = 2 << 20
_MAX_RECORDS_BYTES = 1 << 18  # an answer holds at least one bucket and ends after the one that passes this


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
        theirs = set(message.entries)
        found: set[bytes] = set()
        records: list[Announcement] = []
        num_bytes = num_done = 0
        for number in message.buckets:
            if num_bytes > _MAX_RECORDS_BYTES:
                break
            bucket = self._listing.bucket(number, message.num_buckets)
            found |= theirs & bucket.keys()
            lacking = [self._records[peer] for entry, peer in bucket.items() if entry not in theirs]
            num_bytes += sum(len(record.sealed.body) + 128 for record in lacking)
            records += lacking
            num_done += 1
        absent: tuple[int, ...] = ()
        if num_done == len(message.buckets):
            absent = tuple(place for place, entry in enumerate(message.entries) if entry not in found)
        return Fetched(num_done, tuple(record.sealed for record in records), absent)

    def _news(self, message: Compare) -> tuple[tuple[int, Sealed], ...]:
        """Return newer heartbeats and as many links as the peer wants; it asks again for what does not fit."""
        news: list[tuple[int, Sealed]] = []
        num_bytes, links_left = 0, message.max_links
        for place, wanted in enumerate(message.wanted):
            peer = self._peers.get(wanted.tag)
            if peer is None or num_bytes > _MAX_NEWS_BYTES:
                continue
            beat, links = self._table.get(Kind.HEARTBEAT, peer), self._table.get(Kind.LINKS, peer)
            if beat is not None and short(beat.sequence) != wanted.beat:
                news.append((place, beat.sealed))
            if links is not None and links_left and short(links.sequence) != wanted.links:
                news.append((place, links.sealed))
                links_left -= 1
            num_bytes += 0 if not news else len(news[-1][1].body)
        return tuple(news)
