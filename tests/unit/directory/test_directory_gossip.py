"""How servers tell each other what is new, what readers get of it, and what liars achieve."""

import contextlib
import hashlib
import random
import time
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgpack
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from helpers.directory_swarm import SWARM, Member, start_members, until
from helpers.fake_network import FakeHost, FakeNetwork
from helpers.server_records import beat_of, record_of
from msgspec.structs import replace

from potluck.directory import exchange, gossip
from potluck.directory.answers import Answers
from potluck.directory.directory import Directory
from potluck.directory.exchange import (
    ENTRY_BYTES,
    Compare,
    Compared,
    FailureReport,
    Fetch,
    Fetched,
    News,
    Push,
    decode,
    encode,
    encode_answer,
    pack_numbers,
)
from potluck.directory.fairness import RateLimiter, in_turns
from potluck.directory.fields import links_of, tag_of
from potluck.directory.seal import HEARTBEAT_TTL_S, Kind, Sealed, seal, unseal
from potluck.directory.table import Table
from potluck.membership.identity import Identity, peer_id_of, public_key_of
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.records import Heartbeat


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {
        "_COMPARE_INTERVAL_S": 0.05,
        "_SPREAD_INTERVAL_S": 0.02,
        "_MIN_SPREAD_INTERVAL_S": 0.0,
    }.items():
        monkeypatch.setattr(gossip, name, seconds)


@asynccontextmanager
async def members(count: int) -> AsyncIterator[tuple[FakeNetwork, list[Member]]]:
    """Servers that all know each other."""
    network = FakeNetwork()
    servers = await start_members(network, count)
    try:
        await until(lambda: all(len(server.sees()) == count for server in servers))
        yield network, servers
    finally:
        for server in servers:
            await server.directory.stop()


async def reader_in(network: FakeNetwork, clock: Callable[[], float] = time.time) -> Directory:
    """A client that has read the directory once."""
    reader = Directory(network.start(), SWARM, clock=clock)
    await reader.fetch()
    return reader


# -- servers -----------------------------------------------------------------------------------------------------------


async def test_what_one_server_announces_all_servers_know() -> None:
    async with members(8) as (network, servers):
        network.records.clear()  # what the DHT knew is not what they have it from
        await servers[0].announce(4, 8, queued_tokens=7)
        await until(lambda: all(server.sees()[servers[0].peer_id] == Span(4, 8) for server in servers))


async def test_links_and_load_travel_with_the_news() -> None:
    async with members(3) as (network, (one, other, _)):
        links = {"pings_s": {other.peer_id: 0.25}, "links_mbps": {other.peer_id: 80.0}}
        await one.announce(0, 4, batch=5, **links)
        reader = Directory(network.start(), SWARM)

        def told() -> Heartbeat:
            return next(item.heartbeat for item in reader.table.live(time.time()) if item.peer_id == one.peer_id)

        await until(lambda: other.directory.table.get(Kind.LINKS, one.peer_id) is not None)
        await reader.fetch()
        while not told().pings_s:  # the server that was asked may not have heard yet
            await reader.fetch()
        assert (told().batch, told().pings_s, told().links_mbps) == (5, links["pings_s"], links["links_mbps"])


async def test_a_server_that_dies_is_gone_for_all_long_before_its_heartbeat_is_over() -> None:
    async with members(5) as (_, (victim, *others)):
        victim.host.kill()
        await victim.directory.stop()
        await others[0].announce(0, 4)  # whoever wants to pass that on meets the dead server
        await until(lambda: all(victim.peer_id not in server.sees() for server in others))


async def test_a_server_that_joins_knows_at_its_first_reading_whom_the_dht_does_not_know() -> None:
    async with members(3) as (network, servers):
        for kind in (Kind.RECORD, Kind.HEARTBEAT):  # as in a large swarm, where only some are there
            stored = network.records[kind.key(SWARM)]
            for server in servers[1:]:
                del stored[server.peer_id]
        host = network.start()
        newcomer = Directory(host, SWARM, host.identity)
        await newcomer.start_gossip()
        assert len(await newcomer.fetch()) == 3
        await newcomer.stop()


# -- readers -----------------------------------------------------------------------------------------------------------


async def test_a_reader_learns_from_servers_what_the_dht_does_not_know() -> None:
    async with members(4) as (network, servers):
        reader = await reader_in(network)
        network.records.clear()
        await servers[0].announce(2, 6)
        await until(lambda: all(server.sees()[servers[0].peer_id] == Span(2, 6) for server in servers))
        network.records.clear()
        view = await reader.fetch()
        assert {server.peer_id: server.span for server in view}[servers[0].peer_id] == Span(2, 6)


async def test_nothing_new_costs_next_to_nothing() -> None:
    async with members(6) as (network, _):
        reader = await reader_in(network)
        before = reader.reader.received_bytes
        await reader.fetch()
        assert reader.reader.received_bytes - before < 100


async def test_servers_that_list_nobody_hide_nobody_whose_heartbeat_is_known() -> None:
    async with members(4) as (network, servers):
        reader = await reader_in(network)

        async def all_differ(body: bytes, peer: PeerId) -> bytes:
            return encode_answer(Compared(pack_numbers(range(decode(Compare, body).num_buckets))))

        async def nobody(body: bytes, peer: PeerId) -> bytes:
            num_entries = len(decode(Fetch, body).entries) // ENTRY_BYTES
            return encode_answer(Fetched(absent=pack_numbers(range(num_entries))))

        for liar in servers[:2]:
            liar.host.unary_handlers |= {exchange.COMPARE: all_differ, exchange.FETCH: nobody}
            await reader.reader.read_from(liar.peer_id)
        assert len(reader.table.live(time.time())) == 4


async def test_who_is_listed_by_the_nodes_of_several_people_no_more_is_forgotten() -> None:
    async with members(3) as (network, servers):
        owners = {servers[0].peer_id: PersonId("ana"), servers[1].peer_id: PersonId("ana")}
        network.person_of = lambda peer, ticket=b"": owners.get(peer, PersonId(peer))
        reader = await reader_in(network)
        gone = Identity.generate()
        await reader.reader.check_and_add([sealed_record(gone)])  # of a server whose heartbeat nobody has
        for server in servers:
            assert reader.table.get(Kind.RECORD, gone.peer_id) is not None
            await reader.reader.read_from(server.peer_id)
        assert reader.table.get(Kind.RECORD, gone.peer_id) is None


async def test_a_server_whose_heartbeats_others_hold_back_is_asked_itself() -> None:
    network, clock = FakeNetwork(), Clock()
    (honest, silent) = [await beating(network, clock) for _ in range(2)]
    reader = await reader_in(network, clock)
    asked = honest.calls[exchange.COMPARE]
    clock.now += HEARTBEAT_TTL_S - 6.0
    await reader.reader.refresh_silent(8)
    assert honest.calls[exchange.COMPARE] == asked, "its heartbeat is still good for a while"
    silent.kill()
    clock.now += 2.0
    await reader.reader.refresh_silent(8)
    clock.now += 5.0
    assert reader.table.live_peers(clock()) == [honest.peer_id]
    assert honest.calls[exchange.COMPARE] == asked + 1


async def test_a_reader_asks_one_person_after_another_and_lets_no_silent_server_delay_it() -> None:
    network, clock = FakeNetwork(), Clock()
    servers = [await beating(network, clock) for _ in range(12)]
    owners = {host.peer_id: PersonId("mallory") for host in servers[3:]}
    network.person_of = lambda peer, ticket=b"": owners.get(peer, PersonId(peer))
    reader = await reader_in(network, clock)
    for host in servers[3:]:
        host.freeze()
    before = [host.calls[exchange.COMPARE] for host in servers[:3]]
    for _ in range(3):
        clock.now += 1.0
        assert await reader._read_server()
    assert [host.calls[exchange.COMPARE] - count for host, count in zip(servers, before, strict=False)] == [1, 1, 1]


class Clock:
    """Wall time that a test moves."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


async def beating(network: FakeNetwork, clock: Clock) -> FakeHost:
    """A server that announced itself once and says, when it is asked, that it is still there."""
    host = network.start()
    directory = Directory(host, SWARM, host.identity, clock)
    await directory.announce(record_of(host.peer_id, 0, 4))
    await directory.heartbeat(beat_of(host.peer_id))

    async def answer(body: bytes, peer: PeerId) -> bytes:
        await directory.heartbeat(beat_of(host.peer_id))
        own = Table()
        for subkey, (payload, _) in network.records[Kind.HEARTBEAT.key(SWARM)].items():
            if subkey == host.peer_id:
                stored = msgpack.unpackb(msgpack.unpackb(payload))
                sealed = Sealed(host.identity.public_key, Kind.HEARTBEAT, **stored)
                own.add(unseal(SWARM, sealed, now=clock()))
        answer = Answers(own, clock()).compare(decode(Compare, body))
        return encode_answer(Compared(b"", answer.news))

    await host.serve_unary(exchange.COMPARE, answer)
    return host


# -- complaints --------------------------------------------------------------------------------------------------------


async def complain(network: FakeNetwork, servers: list[Member], suspect: PeerId, *, is_newcomer: bool = False) -> None:
    """A new client tells each of the servers that `suspect` failed it."""
    client, report = network.start(), encode(FailureReport(public_key_of(suspect) or b""))
    if is_newcomer:
        network.on_probation = {*network.on_probation, client.peer_id}
    for server in servers:
        await client.call(server.peer_id, exchange.REPORT, report, timeout_s=60)


async def test_clients_complaints_make_a_server_that_answers_nobody_disappear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gossip, "_PING_TIMEOUT_S", 0.2)
    async with members(3) as (network, (victim, *others)):
        for other in others:  # so that nothing but the complaints can tell
            assert other.directory._gossip is not None
            other.directory._gossip._paused_until_s[victim.peer_id] = 1e12
        await victim.directory.stop()
        victim.host.freeze()
        await complain(network, others, victim.peer_id)
        await complain(network, others, victim.peer_id)
        await until(lambda: all(victim.peer_id not in server.sees() for server in others))


async def test_complaints_of_a_server_that_answers_pings_change_nothing() -> None:
    async with members(3) as (network, (victim, *others)):
        for _ in range(3):
            await complain(network, others, victim.peer_id)
        await until(lambda: not any(server.directory._gossip._doubted for server in others))  # type: ignore[union-attr]
        assert all(victim.peer_id in server.sees() for server in others)


async def test_newcomers_on_probation_have_nobody_pinged() -> None:
    async with members(2) as (network, (victim, server)):
        await victim.directory.stop()
        victim.host.freeze()
        for _ in range(5):
            await complain(network, [server], victim.peer_id, is_newcomer=True)
        assert not server.directory._gossip._doubted  # type: ignore[union-attr]
        for _ in range(2):
            await complain(network, [server], victim.peer_id)
        assert server.directory._gossip._doubted == {victim.peer_id}  # type: ignore[union-attr]


async def test_clients_report_to_servers_that_all_clients_agree_on() -> None:
    async with members(5) as (network, (victim, *others)):
        for _ in range(2):
            reader = await reader_in(network, Clock())
            await reader.report(victim.peer_id)
            await reader.report(victim.peer_id)  # not again within some seconds
        told = [server.host.calls[exchange.REPORT] for server in others]
        assert sorted(told) == [0, 2, 2, 2]


# -- hostile peers -----------------------------------------------------------------------------------------------------


LONG = ("a" * 120,) * 60  # adapters that make a record long


def sealed_record(identity: Identity, *, age_s: float = 0.0, start: int = 0, **changes: Any) -> Sealed:
    record, now = record_of(identity.peer_id, start, start + 4, **changes), time.time() - age_s
    return seal(SWARM, identity, record, sequence=now, expiration=now + 300)


async def push(host: FakeHost, server: Member, *announcements: Sealed) -> None:
    await host.call(server.peer_id, exchange.PUSH, encode(Push(list(announcements))), timeout_s=60)


async def test_a_few_servers_of_each_person_are_in_the_dht() -> None:
    network = FakeNetwork(person_of=lambda peer, ticket=b"": PersonId("ana"))
    for identity in sorted((Identity.generate() for _ in range(12)), key=lambda each: tag_of(each.peer_id)):
        host = network.start(identity)
        directory = Directory(host, SWARM, host.identity)
        await directory.fetch()
        await directory.announce(record_of(host.peer_id, 0, 4))
        await directory.heartbeat(beat_of(host.peer_id))
    assert len(network.records[Kind.RECORD.key(SWARM)]) == 8


async def test_what_is_passed_on_must_be_signed_by_whom_it_is_about_and_newer() -> None:
    async with members(2) as (network, (server, victim)):
        known = server.directory.table.get(Kind.RECORD, victim.peer_id)
        assert known is not None
        mallory = Identity.generate()
        forged = sealed_record(mallory, start=4)
        stolen = Sealed(victim.host.identity.public_key, Kind.RECORD, forged.body, forged.signature)
        replayed = sealed_record(victim.host.identity, age_s=60.0, start=4)
        await push(network.start(mallory), server, stolen, replayed)
        assert server.directory.table.get(Kind.RECORD, victim.peer_id) is known


@pytest.mark.parametrize("protocol", [exchange.COMPARE, exchange.FETCH, exchange.PUSH, exchange.REPORT])
async def test_garbage_is_refused_and_the_server_lives(protocol: str) -> None:
    async with members(1) as (network, (server,)):
        peer = network.start()
        message = {
            exchange.COMPARE: encode(Compare(bytes(4 * 16))),
            exchange.FETCH: encode(Fetch(16, bytes(2))),
            exchange.PUSH: encode(Push([])),
            exchange.REPORT: encode(FailureReport(server.host.identity.public_key)),
        }[protocol]
        rng = random.Random(5)
        for body in (b"", b"\xc1", b"\x91" * 5000, bytes(2 << 20), *(rng.randbytes(60) for _ in range(20))):
            with pytest.raises(RemoteError) as refusal:
                await peer.call(server.peer_id, protocol, body, timeout_s=60)
            assert refusal.value.code in (Code.BAD_REQUEST, Code.BUSY)
        for place in range(0, len(message), 7):
            body = bytes([*message[:place], message[place] ^ 255, *message[place + 1 :]])
            with contextlib.suppress(RemoteError):
                await peer.call(server.peer_id, protocol, body, timeout_s=60)
        assert server.directory.table.live_peers(time.time()) == [server.peer_id]


async def test_a_flood_of_announcements_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gossip, "_ANNOUNCEMENTS_A_MINUTE", 20)
    async with members(1) as (network, (server,)):
        flooder, records = network.start(), [sealed_record(Identity.generate()) for _ in range(10)]

        async def flood() -> None:
            for _ in range(6):  # more than two minutes allow, as the next minute may begin meanwhile
                await push(flooder, server, *records)

        with pytest.raises(RemoteError) as refusal:
            await flood()
        assert refusal.value.code is Code.BUSY


async def test_news_above_a_persons_share_are_kept_and_not_passed_on() -> None:
    async with members(1) as (_, (server,)):
        gossip = server.directory._gossip
        assert gossip is not None
        gossip._spread_of = RateLimiter(0)
        gossip._hot.clear()
        news = await gossip.reader.check_and_add([sealed_record(Identity.generate())])
        gossip._queue(news)
        assert len(news) == 1
        assert not gossip._hot


def test_each_person_has_a_share_of_a_minute() -> None:
    limiter, ana, omar = RateLimiter(3), PersonId("ana"), PersonId("omar")
    assert limiter.allows(ana, 2, 61.0)
    assert not limiter.allows(ana, 2, 62.0)
    assert limiter.allows(ana, 1, 119.0)
    assert limiter.allows(omar, 3, 119.0)
    with pytest.raises(RemoteError) as refusal:
        limiter.check(ana, 1, 110.0)
    assert (refusal.value.code, refusal.value.retry_after_s) == (Code.BUSY, 10.0)
    assert limiter.allows(ana, 3, 120.0)


def test_news_travel_in_messages_that_servers_take_and_those_of_honest_people_come_first() -> None:
    padded = [sealed_record(Identity.generate(), adapters=LONG) for _ in range(120)]
    records = {(Kind.RECORD, each.peer_id): unseal(SWARM, each, now=time.time()) for each in padded}
    peers = [peer for _, peer in records]
    parts = list(gossip._parts(records, in_turns(peers, lambda peer: PersonId("me" if peer == peers[-1] else "them"))))
    assert sorted(sealed.peer_id for part in parts for sealed in part) == sorted(peers)
    assert peers[-1] in [sealed.peer_id for sealed in parts[0][:2]]
    assert all(len(encode(Push(part))) <= exchange.MAX_REQUEST_BYTES for part in parts)


@pytest.mark.parametrize("num_ghosts", [100, 0], ids=["ghosts", "no ghosts"])
def test_records_come_page_by_page_and_ghosts_delay_nobody(num_ghosts: int) -> None:
    honest = [Identity.generate() for _ in range(5)]
    ghosts = [Identity.generate() for _ in range(num_ghosts)]
    table, now = Table(), time.time()
    for identity in (*ghosts, *honest):
        record = unseal(SWARM, sealed_record(identity, adapters=LONG if identity in ghosts else ()), now=now)
        live, at = beat_of(identity.peer_id), record.sequence
        beat = seal(SWARM, identity, live, sequence=now, expiration=now + 30, record=at)
        table.add(record)
        table.add(unseal(SWARM, beat, now=now))
    names = {identity.peer_id for identity in ghosts}
    table.person_of = lambda peer: PersonId("mallory" if peer in names else peer)
    answers, after, pages = Answers(table, now), b"", []
    while not pages or after:
        question = Fetch(16, pack_numbers(range(16)), after=after)
        body = encode_answer(answers.fetch(question))
        pages.append(question.read(body))
        assert len(zlib.decompress(body)) < exchange.MAX_ANSWER_BYTES // 8
        after = pages[-1].next
    told = [record.peer_id for page in pages for record in page.records]
    assert sorted(told) == sorted(identity.peer_id for identity in (*ghosts, *honest))
    assert {identity.peer_id for identity in honest} <= set(told[: 5 + min(num_ghosts, 1)])


def test_answers_that_are_too_long_or_broken_are_refused_before_they_are_unpacked() -> None:
    questions = (Fetch(16, pack_numbers((0, 1))), Compare(bytes(4 * 16)))
    bomb = zlib.compress(bytes(2 * exchange.MAX_ANSWER_BYTES))
    good = encode_answer(Fetched.of([sealed_record(Identity.generate())]))
    for body in (b"", bomb, good[:-4], zlib.compress(b"\xc1"), zlib.compress(b"\x93\x01\x02\x03")):
        for question in questions:
            with pytest.raises(RemoteError, match="understood"):
                question.read(body)
    assert len(questions[0].read(good).records) == 1


async def test_whoever_passes_on_records_that_are_none_is_asked_no_further() -> None:
    async with members(1) as (network, (server,)):
        reader = await reader_in(network)
        forged = [replace(sealed_record(Identity.generate()), signature=bytes(64)) for _ in range(12)]
        asked = []

        async def lie(body: bytes, peer: PeerId) -> bytes:
            asked.append(peer)
            return encode_answer(Fetched.of(forged))

        server.host.unary_handlers[exchange.FETCH] = lie
        await reader.reader.check_and_add([sealed_record(Identity.generate())])  # so that there is something to ask for
        with pytest.raises(RemoteError) as refusal:
            await reader.reader.read_from(server.peer_id)
        assert refusal.value.code is Code.BAD_REPLY
        assert len(asked) == 1


def messages() -> dict[str, bytes]:
    """Each message once, its bytes not compressed."""
    author, other = Identity._of(Ed25519PrivateKey.from_private_bytes(bytes(range(32)))), bytes(32)
    times = {"sequence": 1700000001.5, "expiration": 1700000301.25}
    full = record_of(author.peer_id, 0, 4, adapters=("org/lora",))
    record = seal(SWARM, author, full, **times, ticket=b"pass")
    beat = seal(SWARM, author, beat_of(author.peer_id), **times, record=1700000000.123)
    rates = {peer_id_of(other): 0.5}
    links = seal(SWARM, author, links_of(beat_of(author.peer_id, pings_s=rates)), **times)
    news = News(1, Kind.HEARTBEAT, beat.body, beat.signature, b"")
    wanted = tag_of(peer_id_of(other)) + bytes((0, 0, 0, 5, 0, 0, 0, 6))
    return {
        "compare": encode(Compare(b"abcd" * 16, wanted, 16)),
        "compared": zlib.decompress(encode_answer(Compared(pack_numbers((1, 300)), [news]))),
        "fetch": encode(Fetch(16, pack_numbers((1, 15)), b"123456", b"12345678")),
        "fetched": zlib.decompress(
            encode_answer(Fetched.of([record, record], absent=pack_numbers((1,)), following=b"87654321"))
        ),
        "push": encode(Push([record, links])),
        "report": encode(FailureReport(other)),
        "stored in the DHT": record.to_bytes(),
    }


def test_messages_between_servers_stay_the_same() -> None:
    assert {name: hashlib.sha256(body).hexdigest()[:16] for name, body in messages().items()} == {
        "compare": "2f4a03c8d4153a9a",
        "compared": "f8285d4d115dd09d",
        "fetch": "56426f7810661e0d",
        "fetched": "2cc6876af43d23e4",
        "push": "42988b129a321643",
        "report": "79538c8cb8135303",
        "stored in the DHT": "6f8c23b3bdd3625c",
    }


def test_whatever_a_peer_sends_to_the_directory_ends_in_a_refusal_or_a_message() -> None:
    compare, fetch = Compare(bytes(4 * 512), bytes(32)), Fetch(16, bytes(2), bytes(12))
    decoders: dict[str, Callable[[bytes], object]] = {
        "compare": partial(decode, Compare),
        "fetch": partial(decode, Fetch),
        "push": partial(decode, Push),
        "report": partial(decode, FailureReport),
        "compared": lambda body: compare.read(zlib.compress(body, 1)),
        "fetched": lambda body: fetch.read(zlib.compress(body, 1)).records,
    }
    rng, good = random.Random(8), messages()
    leaves = [None, True, -1, 0, 1 << 63, 1.5, "x", b"", b"x" * 32, [], {}]
    for name, decode_one in decoders.items():
        decode_one(good[name])
        for _ in range(3000):
            value = [rng.choice([*leaves, [rng.choice(leaves)] * rng.randrange(6)]) for _ in range(rng.randrange(8))]
            mutated = bytearray(good[name])
            for _ in range(rng.randrange(1, 4)):
                mutated[rng.randrange(len(mutated))] = rng.randrange(256)
            for body in (msgpack.packb(value), rng.randbytes(rng.randrange(40)), bytes(mutated)):
                with contextlib.suppress(RemoteError):
                    decode_one(body)
        with pytest.raises(RemoteError):
            decode_one(msgpack.packb([]) if name != "fetched" else b"\xc0")
