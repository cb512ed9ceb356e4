"""What a node makes of announcements that come in any order."""

from itertools import permutations

from helpers.directory_swarm import SWARM
from helpers.server_records import beat_of, record_of

from potluck.directory.fields import links_of
from potluck.directory.seal import Announcement, Kind, seal, unseal
from potluck.directory.table import MAX_SERVERS_OF_A_PERSON, Table
from potluck.membership.identity import Identity
from potluck.protocol.blocks import PersonId, Span
from potluck.protocol.records import ServerState

ME, ANA, OMAR = (Identity.generate() for _ in range(3))
NOW = 1_000_000.0


def record(start: int, at: float, who: Identity = ME, *, lasts_s: float = 300.0) -> Announcement:
    value = record_of(who.peer_id, start, start + 4)
    return unseal(SWARM, seal(SWARM, who, value, sequence=at, expiration=at + lasts_s), now=at)


def beat(at: float, goes_with: float, state: ServerState = ServerState.ONLINE, *, who: Identity = ME) -> Announcement:
    sealed = seal(SWARM, who, beat_of(who.peer_id, state), sequence=at, expiration=at + 30, record=goes_with)
    return unseal(SWARM, sealed, now=at)


def table_of(*announcements: Announcement) -> Table:
    table = Table()
    for announcement in announcements:
        table.add(announcement)
    return table


OLD = (record(0, NOW), beat(NOW, NOW))
NEW = (record(4, NOW + 1), beat(NOW + 1, NOW + 1))


def test_the_newest_counts_in_whatever_order_they_come() -> None:
    for order in permutations((*OLD, *NEW)):
        (server,) = table_of(*order).live(NOW + 30.5)  # when the old heartbeat is over
        assert server.span == Span(4, 8)


def test_a_server_whose_heartbeat_overtakes_its_record_stays_what_it_was() -> None:
    table = Table()
    assert all(table.add(announcement) for announcement in (*OLD, NEW[1]))
    assert not table.add(NEW[1]), "no news twice"
    assert not table.add(beat(NOW + 0.5, NOW + 1)), "nor an older heartbeat after a newer one"
    (server,) = table.live(NOW + 2)
    assert server.span == Span(0, 4)
    assert not table.live(NOW + 30), "but not for longer than its last heartbeat lasts"


def test_only_a_new_sequence_number_is_news_and_a_later_end_is_kept() -> None:
    table = table_of(OLD[0])
    assert not table.add(OLD[0])
    later = record(0, NOW, lasts_s=400)
    assert not table.add(later)
    assert table.get(Kind.RECORD, ME.peer_id) is later
    assert table.add(NEW[0])


def test_a_goodbye_counts_at_once() -> None:
    assert not table_of(*OLD, beat(NOW + 1, NOW + 1, ServerState.OFFLINE)).live(NOW + 2)


def test_the_version_changes_with_what_is_served_by_whom_and_not_with_each_heartbeat() -> None:
    table, versions = Table(), []
    goodbye = beat(NOW + 3, NOW + 1, ServerState.OFFLINE)
    for announcement in (*OLD, beat(NOW + 0.5, NOW), *NEW, beat(NOW + 2, NOW + 1), goodbye):
        table.add(announcement)
        versions.append(table.version)
    assert versions == [1, 2, 2, 3, 3, 3, 4]


def test_a_full_table_takes_no_further_server_and_still_follows_those_it_has() -> None:
    table = Table(max_servers=1)
    assert [table.add(record(0, NOW, who)) for who in (ME, ANA)] == [True, False]
    assert table.add(NEW[0])


def test_what_is_over_is_forgotten() -> None:
    table = table_of(*OLD, record(0, NOW + 1, ANA))
    table.expire(NOW + 299)
    assert len(table.all(Kind.RECORD)) == 2
    table.expire(NOW + 301, beatless=False)
    assert list(table.all(Kind.RECORD)) == [ANA.peer_id], "a client does not ask for each server's heartbeat"
    table.expire(NOW + 301)
    assert not table.all(Kind.RECORD)
    assert not table.all(Kind.HEARTBEAT)


def test_a_server_that_fell_silent_is_hidden_until_its_next_heartbeat_even_if_the_record_is_not_known_yet() -> None:
    for later in (beat(NOW + 1, NOW), beat(NOW + 1, NOW + 1)):
        table = table_of(*OLD)
        version = table.version
        table.hide(ME.peer_id, NOW)
        assert not table.live_peers(NOW + 1)
        assert table.version > version, "what others were told is no longer right"
        table.add(beat(NOW, NOW))
        assert not table.live_peers(NOW + 1), "the heartbeat that was known then"
        table.add(later)
        assert table.live_peers(NOW + 2) == [ME.peer_id]


def test_a_heartbeat_that_came_while_a_server_was_pinged_keeps_it() -> None:
    table = table_of(*OLD, beat(NOW + 1, NOW))
    table.hide(ME.peer_id, NOW)
    assert table.live_peers(NOW + 2) == [ME.peer_id]


def test_a_person_with_too_many_servers_keeps_the_same_ones_in_every_order_and_displaces_nobody() -> None:
    ghosts = [Identity.generate() for _ in range(MAX_SERVERS_OF_A_PERSON + 9)]
    names = {ghost.peer_id for ghost in ghosts}
    records = [record(0, NOW, who) for who in (ME, *ghosts, ANA)]
    kept = []
    for order in (records, records[::-1]):
        table = Table(lambda peer, _=b"": PersonId("mallory" if peer in names else peer))
        for each in order:
            table.add(each)
        kept.append(set(table.all(Kind.RECORD)))
        assert table.num_people == 3
    assert kept[0] == kept[1]
    assert len(kept[0]) == MAX_SERVERS_OF_A_PERSON + 2
    assert {ME.peer_id, ANA.peer_id} < kept[0]


def test_in_a_full_table_the_person_with_the_most_servers_gives_way() -> None:
    ghosts = [Identity.generate() for _ in range(4)]
    names = {ghost.peer_id for ghost in ghosts}
    table = Table(lambda peer, _=b"": PersonId("mallory" if peer in names else peer), max_servers=4)
    assert all(table.add(record(0, NOW, who)) for who in ghosts)
    assert [table.add(record(0, NOW, who)) for who in (ME, ANA, OMAR, Identity.generate())] == [True] * 3 + [False]
    assert {ME.peer_id, ANA.peer_id, OMAR.peer_id} < set(table.all(Kind.RECORD))


def test_the_servers_of_people_who_are_no_members_are_not_taken_and_do_not_stay() -> None:
    members = {ME.peer_id, ANA.peer_id}
    table = Table(lambda peer, _=b"": PersonId(peer) if peer in members else None)
    assert [table.add(record(0, NOW, who)) for who in (ME, ANA, OMAR)] == [True, True, False]
    members.discard(ANA.peer_id)
    table.expire(NOW)
    assert list(table.all(Kind.RECORD)) == [ME.peer_id]


def test_links_are_told_of_servers_that_are_live_and_by_their_names() -> None:
    measured = beat_of(ME.peer_id, pings_s={ANA.peer_id: 0.5, OMAR.peer_id: 0.25}, links_mbps={ANA.peer_id: 8.0})
    sealed = seal(SWARM, ME, links_of(measured), sequence=NOW, expiration=NOW + 300)
    table = table_of(*OLD, record(0, NOW, ANA), beat(NOW, NOW, who=ANA), unseal(SWARM, sealed, now=NOW))
    told = {server.peer_id: server.heartbeat for server in table.live(NOW + 1)}
    assert (told[ME.peer_id].pings_s, told[ME.peer_id].links_mbps) == ({ANA.peer_id: 0.5}, {ANA.peer_id: 8.0})
    assert told[ANA.peer_id].pings_s == {}
