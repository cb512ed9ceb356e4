"""What a node makes of announcements that come in any order."""

from __future__ import annotations

from itertools import permutations

from helpers.directory_swarm import SWARM
from helpers.server_records import beat_of, record_of

from potluck.directory.fields import heartbeat_to_fields, record_to_fields
from potluck.directory.seal import Announcement, Kind, seal, unseal
from potluck.directory.table import Table
from potluck.p2p.identity import Identity
from potluck.protocol.blocks import Span
from potluck.protocol.records import ServerState

ME = Identity.generate()
NOW = 1_000_000.0


def record(start: int, at: float) -> Announcement:
    value = record_of(ME.peer_id, start, start + 4)
    sealed = seal(SWARM, ME, Kind.RECORD, record_to_fields(value), sequence=at, expiration=at + 300)
    return unseal(SWARM, sealed, now=at)


def beat(at: float, goes_with: float, state: ServerState = ServerState.ONLINE) -> Announcement:
    fields = heartbeat_to_fields(beat_of(ME.peer_id, state)) | {"record": round(goes_with * 1000)}
    return unseal(SWARM, seal(SWARM, ME, Kind.HEARTBEAT, fields, sequence=at, expiration=at + 30), now=at)


OLD = (record(0, NOW), beat(NOW, NOW))
NEW = (record(4, NOW + 1), beat(NOW + 1, NOW + 1))


def test_the_newest_counts_in_whatever_order_they_come() -> None:
    for order in permutations((*OLD, *NEW)):
        table = Table()
        for announcement in order:
            table.take(announcement)
        (server,) = table.live(NOW + 2)
        assert server.span == Span(4, 8)


def test_a_server_whose_heartbeat_overtakes_its_record_stays_what_it_was() -> None:
    table = Table()
    assert all(table.take(announcement) for announcement in (*OLD, NEW[1]))
    assert not table.take(NEW[1]), "no news twice"
    (server,) = table.live(NOW + 2)
    assert server.span == Span(0, 4)
    assert not table.live(NOW + 30.5), "but not for longer than its last heartbeat lasts"


def test_a_goodbye_counts_at_once() -> None:
    table = Table()
    for announcement in (*OLD, beat(NOW + 1, NOW + 1, ServerState.OFFLINE)):
        table.take(announcement)
    assert not table.live(NOW + 2)


def test_what_is_over_is_forgotten() -> None:
    table = Table()
    for announcement in OLD:
        table.take(announcement)
    table.expire(NOW + 299)
    assert table.get(Kind.RECORD, ME.peer_id) is not None
    table.expire(NOW + 301)
    assert table.get(Kind.RECORD, ME.peer_id) is None
