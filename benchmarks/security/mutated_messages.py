"""What mutated messages do to a node: `hostile_rpc`.

An engine in a process of its own, with budgets that nobody exceeds, gets messages that its peers might send, each
mutated, over all its calls and streams: from a member, from a member who was removed, and from a stranger. In between,
somebody honest asks and generates.
"""

from __future__ import annotations

import asyncio
import math
import random
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgpack
import psutil
import torch

from benchmarks.figures import Measured, figure
from benchmarks.security.attackers import BODIES
from benchmarks.security.haunting import Haunter
from benchmarks.setup.children import GENEROUS, Child, child, founder_of
from benchmarks.setup.machine import rss_bytes
from benchmarks.setup.models import checkpoint
from benchmarks.setup.sessions import Decoder, random_states
from potluck.client.config import ClientConfig
from potluck.client.swarm_client import SwarmClient
from potluck.directory.directory import Directory
from potluck.directory.exchange import PUSH, Push
from potluck.directory.exchange import encode as encode_question
from potluck.errors import PotluckError
from potluck.membership.gate import PRESENT, ROSTER
from potluck.membership.invite import Invite, encode_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import remove, seats
from potluck.membership.membership import Membership
from potluck.membership.presentation import Exchange, Presentation, encode
from potluck.membership.records import Application, Confirm, EndInvite, read_record
from potluck.p2p.control import P2pdClient
from potluck.p2p.encoding import split_peer
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import (
    BackwardRequest,
    Caller,
    ForwardRequest,
    QuoteRequest,
    SessionOpening,
    Settlement,
    StepRequest,
)
from potluck.protocol.swarm import Swarm, new_swarm
from potluck.wire import protocols, sessions
from potluck.wire.message import encode as encode_message
from potluck.wire.tensors import encode_parts

_HIDDEN_SIZE, _NUM_BLOCKS = 512, 4
_COUNT, _SOAK_COUNT = 2000, 100_000  # messages in each role
_BATCH = 200  # messages between two looks at the node
_AT_A_TIME = 16
_ANSWER_S = 20.0  # later is a hang
_LOOK_S = 15.0
_STREAM_ANSWER_S = 0.2
_STREAM_EVERY = 8  # messages
_MAX_FRAME_BYTES = 1 << 20
_STREAMS = (protocols.SESSION, protocols.FORWARD, protocols.BACKWARD)
_ODD: tuple[object, ...] = (None, True, -1, 0, 1 << 63, -(1 << 63), 1e308, math.nan, math.inf, "", b"", [], {})


@figure("hostile_rpc", unit="faults", reach=0, shown=True)
def fuzz(soak: bool) -> Measured:
    """Deaths, hangs and admissions under 2,000 mutated messages each of a member, a removed one and a stranger (100,000
    in soak).
    """
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:
        return asyncio.run(_fuzz(Path(folder), _SOAK_COUNT if soak else _COUNT))


async def _fuzz(place: Path, count: int) -> Measured:
    folder = checkpoint(_HIDDEN_SIZE, _NUM_BLOCKS)
    joined = founder_of(place)
    membership = joined.create(new_swarm("figures", folder.name, _NUM_BLOCKS, "local"))
    async with AsyncExitStack() as stack:
        engine = stack.enter_context(child("setup.children", membership.swarm.name, str(place), str(folder), GENEROUS))
        address = await asyncio.to_thread(engine.wait_for, "online")
        membership = replace(membership, swarm=replace(membership.swarm, bootstrap_peers=(address,)))
        roles = await _roles(place, membership)
        world = await stack.enter_async_context(_World(engine, membership, address))
        await world.look()
        before = world.memory()
        people = world.people()
        rng = random.Random(0)
        for role in roles:
            sender = await stack.enter_async_context(_Sender(role, address, rng.getrandbits(64)))
            for _ in range(count // _BATCH):
                await asyncio.wait_for(sender.send_some(_BATCH), _BATCH * _ANSWER_S)
                await world.look()
            world.take(sender)
        grown = {name: round((after - before[name]) / 1e6, 1) for name, after in world.memory().items()}
        strangers_made_members = len(world.people() - people)
    detail = {
        "deaths": world.deaths,
        "hangs": world.hangs,
        "admissions": world.admissions + strangers_made_members,
        "internal_errors": dict(world.internal),
        **{f"{name}_mb": value for name, value in grown.items()},
        "answers": world.answers,
    }
    return Measured(world.deaths + world.hangs + world.admissions + strangers_made_members, detail)


_NOTHING = msgpack.packb({})
"""What a node answers to signed news from those to whom it has presented itself, as to tell them of their removal."""


@dataclass(frozen=True, slots=True)
class _Role:
    """A sender. Attributes: seeds: genuine messages by the call they belong to."""

    name: str
    identity: Path | None
    seeds: dict[str, list[bytes]]
    may_enter: bool


async def _roles(place: Path, founder: Membership) -> list[_Role]:
    """Have two people join and remove one of them; note what they would send."""
    offer, seed = seats(time.time())
    founder, entries = founder.writing([offer], time.time())
    made = encode_invite(Invite(founder.swarm, seed, entries[-1].data))
    people = {}
    for name in ("Mallory", "Bob"):
        identity = place / f"{name}.key"
        joined = JoinedSwarms(place / f"{name}.json", identity)
        application = read_record(joined.join(made, name=name).application).body
        assert isinstance(application, Application)
        founder, _ = founder.writing([Confirm(application.person, name, application.invite)], time.time())
        person = joined.learn(founder.swarm.name, founder.records)
        host = await Libp2pHost.start(_config(founder, identity, person.for_node()))
        assert host.members is not None
        server = (await Directory(host, founder.swarm, host.identity).fetch(thorough=True))[0]
        haunter = Haunter(person, host, server.record, [])
        seeds = _seeds(founder.swarm, host)
        seeds[PUSH] = [encode_question(Push(list(haunter.announcements(number)))) for number in range(4)]
        people[name] = identity, seeds
        await host.close()
    ended, seed = seats(time.time())
    founder, entries = founder.writing([ended], time.time())
    of_ended = encode_invite(Invite(founder.swarm, seed, entries[-1].data))
    newcomer = JoinedSwarms(place / "newcomer.json", place / "newcomer.key").join(of_ended, name="Eve")
    shown = encode(Presentation(machines=newcomer.machines, application=newcomer.application, invite=newcomer.invite))
    for _, seeds in people.values():
        seeds[PRESENT].append(shown)
        seeds[ROSTER] += [encode(Exchange(newcomer=shown)), encode(Exchange(records=(newcomer.application,)))]
    host = await Libp2pHost.start(_config(founder, None, founder.for_client()))
    assert host.members is not None
    members = host.members.roster
    bob = next(person for person in members.people.values() if person.name == "Bob")
    contents = [*remove(founder, members, bob), EndInvite(ended.invite)]
    _, entries = founder.knowing(members).writing(contents, time.time())
    host.members.publish(entry.data for entry in entries)
    await asyncio.sleep(1.0)
    await host.close()
    mallory, bobs = people["Mallory"], people["Bob"]
    return [
        _Role("member", *mallory, may_enter=True),
        _Role("expelled", *bobs, may_enter=False),
        _Role("stranger", None, mallory[1], may_enter=False),
    ]


def _seeds(swarm: Swarm, host: Libp2pHost) -> dict[str, list[bytes]]:
    assert host.members is not None
    span, hidden = Span(0, swarm.num_blocks), random_states(2, _HIDDEN_SIZE, torch.float32)
    opening = SessionOpening(swarm.prefix, span, 16, None, 0.0, Caller())
    members = host.members.roster
    known = tuple(record.data for record in members)
    heads = dict(members.chains.heads)
    frames = {
        protocols.SESSION: [sessions.encode_step(StepRequest(hidden, opening))],
        protocols.FORWARD: list(encode_parts(ForwardRequest(swarm.prefix, span, hidden))),
        protocols.BACKWARD: list(encode_parts(BackwardRequest(swarm.prefix, span, hidden, hidden))),
    }
    return {
        **{name: [build() for build in builders for _ in range(4)] for name, builders in BODIES.items()},
        **{name: [b"".join(bytes(piece) for piece in frame) for frame in found] for name, found in frames.items()},
        PRESENT: [encode(host.members._shown(is_known=False)), encode(Presentation())],
        ROSTER: [
            encode(Exchange(heads=heads, others=members.short_hashes)),
            encode(Exchange(records=known)),
            encode(Exchange(heads={})),
        ],
        protocols.QUOTE: [encode_message(QuoteRequest(swarm.prefix, span, 1, 16))],
        protocols.SETTLE: [encode_message(Settlement(random.Random(1).randbytes(264)))],
    }


@dataclass(slots=True)
class _Sender:
    """Sends mutants in one role, past the code that would present the node."""

    role: _Role
    address: str
    seed: int
    rng: random.Random = field(init=False)
    answers: Counter[str] = field(default_factory=Counter)
    internal: Counter[str] = field(default_factory=Counter)
    hangs: int = 0
    admissions: int = 0
    _host: Libp2pHost | None = None
    _peer: PeerId = field(init=False)

    async def __aenter__(self) -> _Sender:
        self.rng = random.Random(self.seed)
        self._peer, way = split_peer(self.address)
        self._host = await Libp2pHost.start(HostConfig(identity_path=self.role.identity, dht_client=True))
        await self._control.connect(self._peer, [way], timeout_s=_ANSWER_S)
        if self.role.may_enter:
            body = encode(Presentation())
            await self._control.call_directly(self._peer, PRESENT, body, timeout_s=_ANSWER_S)
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._host is not None:
            await self._host.close()

    @property
    def _control(self) -> P2pdClient:
        assert self._host is not None
        return self._host._running()

    async def send_some(self, count: int) -> None:
        names = sorted(self.role.seeds)
        calls = [name for name in names if name not in _STREAMS]
        work = []
        for number in range(count):
            name = self.rng.choice(_STREAMS if number % _STREAM_EVERY == 0 else calls)
            others = self.role.seeds[self.rng.choice(names)]
            work.append((name, mutant(self.role.seeds[name], others, self.rng)))
        lines = _split(work, _AT_A_TIME)
        await asyncio.gather(*(self._send_all(line) for line in lines))

    async def _send_all(self, messages: Sequence[tuple[str, bytes]]) -> None:
        for name, body in messages:
            try:
                said = await (self._stream if name in _STREAMS else self._call)(name, body)
            except RemoteError as error:
                self.answers[error.code.name] += 1
                if error.code is Code.INTERNAL:
                    self.internal[name] += 1
                continue
            self.answers["answered"] += 1
            self.admissions += not self.role.may_enter and said != _NOTHING

    async def _call(self, name: str, body: bytes) -> bytes:
        began = time.monotonic()
        try:
            return await self._control.call_directly(self._peer, name, body, timeout_s=_ANSWER_S)
        except RemoteError as error:
            self.hangs += error.code is Code.UNREACHABLE and time.monotonic() - began >= _ANSWER_S
            raise

    async def _stream(self, name: str, body: bytes) -> bytes:
        stream = await self._control.open_stream(
            self._peer, name, timeout_s=_ANSWER_S, max_frame_bytes=_MAX_FRAME_BYTES
        )
        try:
            await stream.send(body)
            said = await stream.receive(timeout_s=_STREAM_ANSWER_S)
            if said is None:
                raise RemoteError(Code.UNREACHABLE, "the stream ended without an answer")
            return bytes(said)
        except TimeoutError:
            raise RemoteError(Code.UNREACHABLE, "it waits for the rest of a message") from None
        finally:
            await stream.close()


class _World:
    """The node under attack, somebody honest beside it, and what has been counted."""

    def __init__(self, engine: Child, membership: Membership, address: str) -> None:
        self.deaths = self.hangs = self.admissions = 0
        self.answers: dict[str, dict[str, int]] = {}
        self.internal: Counter[str] = Counter()
        self._process = psutil.Process(engine.process.pid)
        self._membership = membership
        whole = Span(0, membership.swarm.num_blocks)
        self._question = encode_message(QuoteRequest(membership.swarm.prefix, whole, 1, 0))
        self._peer, _ = split_peer(address)
        self._client = SwarmClient(membership.for_client(), ClientConfig(max_wait_s=_LOOK_S))
        self._host: Libp2pHost | None = None
        self._p2pd = self._process.children()[0]

    async def __aenter__(self) -> _World:
        await asyncio.to_thread(self._client.start)
        self._host = await Libp2pHost.start(_config(self._membership, None, self._membership.for_client()))
        return self

    async def __aexit__(self, *error: object) -> None:
        await asyncio.to_thread(self._client.close)
        if self._host is not None:
            await self._host.close()

    async def look(self) -> None:
        """Count a death if a process is gone, or else a hang if it does not serve somebody honest in time."""
        if not (self._process.is_running() and self._p2pd.is_running()):
            self.deaths += 1
            raise RuntimeError("the node died")
        try:
            async with asyncio.timeout(_LOOK_S):
                assert self._host is not None
                await self._host.call(self._peer, protocols.QUOTE, self._question, timeout_s=_LOOK_S)
                await asyncio.to_thread(self._generate)
        except (PotluckError, TimeoutError):
            self.hangs += 1

    def _generate(self) -> None:
        decoder = Decoder(self._client, _HIDDEN_SIZE, torch.float32, prompt_tokens=4, seed=0)
        self._client.run(decoder.start())
        self._client.run(decoder.decode(2))
        self._client.run(decoder.close())

    def people(self) -> set[bytes]:
        assert self._host is not None
        assert self._host.members is not None
        return {*self._host.members.roster.people, *self._host.members.roster.guests}

    def memory(self) -> dict[str, int]:
        return {"engine": rss_bytes(self._process.pid), "p2pd": rss_bytes(self._p2pd.pid)}

    def take(self, sender: _Sender) -> None:
        self.answers[sender.role.name] = dict(sender.answers)
        self.internal += sender.internal
        self.hangs += sender.hangs
        self.admissions += sender.admissions


def mutant(seeds: Sequence[bytes], others: Sequence[bytes], rng: random.Random) -> bytes:
    """Return one of the genuine messages with something wrong in it."""
    data = rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(_MUTATIONS)(data, others, rng)
    return data


def _flipped(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    changed = bytearray(data or b"\0")
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    return data[: rng.randint(0, len(data))]


def _filled(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    start = rng.randint(0, len(data))
    filling = rng.choice((rng.randbytes(8), bytes(64), b"\xff" * 9, b"\x93" * 3000, data))
    return data[:start] + filling + data[start + rng.choice((0, len(filling))) :]


def _spliced(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    other = rng.choice(others)
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


def _retyped(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Replace one value of a msgpack message by an odd one, also inside of a message within the message."""
    try:
        message = msgpack.unpackb(data, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException):
        return _flipped(data, others, rng)
    return bytes(msgpack.packb(_with_an_odd_value(message, rng)))


def _with_an_odd_value(message: object, rng: random.Random) -> object:
    if isinstance(message, list) and message and rng.random() < 0.9:
        place = rng.randrange(len(message))
        return [*message[:place], _with_an_odd_value(message[place], rng), *message[place + 1 :]]
    if isinstance(message, dict) and message and rng.random() < 0.9:
        key = rng.choice(list(message))
        return {**message, key: _with_an_odd_value(message[key], rng)}
    if isinstance(message, bytes) and len(message) > 2 and rng.random() < 0.7:
        return _retyped(message, [b""], rng)
    return rng.choice(_ODD)


_MUTATIONS = (_flipped, _cut, _filled, _spliced, _retyped, _retyped)


def _split(messages: Sequence[tuple[str, bytes]], parts: int) -> list[Sequence[tuple[str, bytes]]]:
    return [messages[start::parts] for start in range(parts)]


def _config(founder: Membership, identity: Path | None, shown: Membership) -> HostConfig:
    return HostConfig(
        membership=replace(shown, swarm=founder.swarm),
        identity_path=identity,
        bootstrap_peers=founder.swarm.bootstrap_peers,
        patience_s=60.0,
    )
