"""Answers peers that ask what they lack, from one table. Pure.

An answer ends where it is long enough. Records come in turns between people, so that the many servers of one person
delay nobody else's.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from msgspec.structs import astuple

from potluck.directory import exchange
from potluck.directory.exchange import DIGEST_BYTES, ENTRY_BYTES, Listing, bucket_of, entry_of
from potluck.directory.fairness import turns
from potluck.directory.fields import TAG_BYTES, tag_of
from potluck.directory.seal import Announcement, Kind, Sealed
from potluck.directory.table import Table

_MAX_NEWS_BYTES = 2 << 20
_MAX_RECORDS_BYTES = 1 << 18
_OVERHEAD_BYTES = 48  # author and lengths of the parts of one announcement
_TURN_BYTES = exchange.PAGE_BYTES - ENTRY_BYTES


class Answers:
    """The answers to questions of other nodes from one table, as of when its live servers were listed."""

    def __init__(self, table: Table, now: float) -> None:
        self._table = table
        self._records = {
            peer: record for peer in table.live_peers(now) if (record := table.get(Kind.RECORD, peer)) is not None
        }
        self._peers = {tag_of(peer): peer for peer in table.all(Kind.HEARTBEAT)}  # a goodbye is news too
        self._listing = Listing((peer, record.sequence) for peer, record in self._records.items())

    def compare(self, question: exchange.Compare) -> exchange.Compared:
        theirs = exchange.split(question.digests, DIGEST_BYTES)
        mine = self._listing.digests(question.num_buckets)
        differing = (number for number, digest in enumerate(theirs) if mine[number] != digest)
        return exchange.Compared(exchange.pack_numbers(differing), self._news(question))

    def fetch(self, question: exchange.Fetch) -> exchange.Fetched:
        """Return the first records after `question.after` that the asker lacks, and where to go on."""
        num_buckets, wanted = question.num_buckets, set(exchange.read_numbers(question.buckets))
        entries = exchange.split(question.entries, ENTRY_BYTES)
        theirs = set(entries)
        page: list[Sealed] = []
        num_bytes, reached = 0, b""
        for place, record in self._pages[bisect_right(self._pages, question.after, key=lambda page: page[0]) :]:
            if place[_TURN_BYTES:] in theirs or bucket_of(record.peer_id, num_buckets) not in wanted:
                continue
            num_bytes += _size(record.sealed)
            if page and num_bytes > _MAX_RECORDS_BYTES:
                return exchange.Fetched.of(page, following=reached)
            page.append(record.sealed)
            reached = place
        mine = {entry for number in wanted for entry in self._listing.bucket(number, num_buckets)}
        absent = (place for place, entry in enumerate(entries) if entry not in mine)
        return exchange.Fetched.of(page, absent=exchange.pack_numbers(absent))

    @cached_property
    def _pages(self) -> list[tuple[bytes, Announcement]]:
        """List all records in the order in which they are sent, each with its place in it."""
        in_turns = turns(sorted(self._records, key=tag_of), self._table.person_of)
        found = []
        for turn, peer in in_turns:
            record = self._records[peer]
            found.append((turn.to_bytes(_TURN_BYTES, "big") + entry_of(peer, record.sequence), record))
        return sorted(found, key=lambda page: page[0])

    def _news(self, question: exchange.Compare) -> list[exchange.News]:
        """Return newer heartbeats and as many links as the peer wants; it asks again for what does not fit."""
        news: list[exchange.News] = []
        bytes_left, links_left = _MAX_NEWS_BYTES, question.max_links
        for place, wanted in enumerate(exchange.split(question.wanted, exchange.WANTED_BYTES)):
            peer = self._peers.get(wanted[:TAG_BYTES])
            if peer is None:
                continue
            known = exchange.split(wanted[TAG_BYTES:], exchange.SHORT_BYTES)
            for kind, sequence in zip((Kind.HEARTBEAT, Kind.LINKS), known, strict=True):
                newest = self._table.get(kind, peer)
                if (
                    newest is None
                    or exchange.short(newest.sequence) == sequence
                    or (kind is Kind.LINKS and not links_left)
                ):
                    continue
                _, *signed = astuple(newest.sealed)
                news.append(exchange.News(place, *signed))
                bytes_left -= _size(newest.sealed)
                links_left -= kind is Kind.LINKS
            if bytes_left <= 0:
                break
        return news


def _size(sealed: Sealed) -> int:
    return len(sealed.body) + len(sealed.signature) + len(sealed.ticket) + _OVERHEAD_BYTES
