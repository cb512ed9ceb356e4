"""The real network: a node made of a p2pd process, streams and calls through it, and hivemind's DHT on top.

Only this package's files touch hivemind. Starting takes about a third of a second on loopback; everything a node
started ends with it, p2pd even when this process is killed.

    start: p2pd, and a DHT of its own | until a bootstrap peer answers: dial, present, ask whether another node has our
           identity | behind relays, if nobody can dial us: p2pd and DHT anew | until one answers again: enter its DHT
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import resource
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from potluck.allowance import stretched
from potluck.errors import NetworkError, PotluckError
from potluck.files import write_atomically
from potluck.locks import lock
from potluck.membership.budgets import Budgets, place_of
from potluck.membership.gate import PRESENT, ROSTER, Gate, MembersGate, OpenGate
from potluck.membership.identity import Identity
from potluck.p2p import dht_node
from potluck.p2p.control import P2pdClient, nameless_node
from potluck.p2p.daemon_process import p2pd_arguments
from potluck.p2p.dht_node import DhtNode
from potluck.p2p.encoding import checked_multiaddr, split_peer
from potluck.p2p.finding import WHERE, Finder, greet, keep_meeting, met_before, order, ways_in
from potluck.p2p.joining import TryAgainError, delays_s, until_one_succeeds, with_retries
from potluck.p2p.listening import announced_addresses, claim_ports, own_ips, tcp_port
from potluck.p2p.nearby import NearbySearch
from potluck.p2p.network import DhtKey, DhtSubkey, DhtValue, HostConfig, Refusal, Stream, StreamHandler, UnaryHandler
from potluck.p2p.reception import Handler, Terms, disconnect_strangers, first_origin
from potluck.p2p.runtime_dir import RuntimeDir
from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck.sentences import sentence
from potluck.tasks import BackgroundTasks, keep_running
from potluck.wire.errors import encode_refusal
from potluck.wire.protocols import DIAL_BACK

log = logging.getLogger(__name__)

# Times for an idle machine, see `stretched`.
_DIAL_TIMEOUT_S = 5.0
_PRESENT_TIMEOUT_S = 5.0
_SEEN_TIMEOUT_S = 5.0
_STRANGER_TIMEOUT_S = 3.0  # routers drop what they do not expect without a word
_GUARD_S = 5.0
_STRANGER_DIALS = 2
_OTHERS_S = 1.0  # grace for further bootstrap peers after one has answered; the rest is met later
_IDENTITY_CHECKS, _IDENTITY_PAUSE_S = 6, 0.5  # a peer needs a moment to notice that an earlier run of ours has ended
_VOUCH_S = 1.5  # p2pd asks a new peer at once to dial it back, which takes milliseconds; no event says when it is done
_OWN_IDENTITY_HINT = "stop the other one, or start this one with an identity file of its own"
_GREETING_PAUSE_S = 5.0  # pause between rounds, however many announcements come
_WHERE_TIMEOUT_S = 2.0
_SEEN: Final = "PotluckNode.rpc_seen"  # unary: how many connections the peer has from the caller

FindRelays = Callable[["Libp2pHost"], Awaitable[tuple[str, ...]]]
"""Full multiaddrs of those through which others shall reach the node; empty: they need none."""


class Libp2pHost:
    """A node on p2pd and hivemind; implements `potluck.p2p.network.Host` and is made by `start`.

    Attributes:
        members: the gate of a swarm with members; None in an open one.
        uploads, downloads: caps on what calls and streams carry, to be set at any time. What p2pd relays for others
            does not pass them.
    """

    def __init__(self, config: HostConfig, identity: Identity) -> None:
        self.identity = identity
        self._config = replace(config, bootstrap_peers=ways_in(config))
        split = map(split_peer, self._config.bootstrap_peers)
        self._bootstrap = [(peer, addr) for peer, addr in split if peer != identity.peer_id]
        self.members = self._members_gate(config)
        self._gate: Gate = self.members or OpenGate()
        is_met = partial(self._gate.is_presented, protocol=WHERE)
        self._finder = Finder(self.addresses, self._ask_where, self._acquaintances, self._dial, is_met)
        self.budgets = Budgets(self._gate.payer_of, self._gate.is_on_probation, max_streams=_max_streams())
        self._terms = Terms(self._gate, self.budgets, find=self._finder.find)
        self.uploads, self.downloads = self._terms.uploads, self._terms.downloads
        self._handlers = {_SEEN: Handler(self._answer_seen), WHERE: Handler(self._finder.answer)}
        if self.members is not None:
            self._handlers[PRESENT] = Handler(self.members.answer_present)
            self._handlers[ROSTER] = Handler(self.members.answer_roster)
        self._ports = contextlib.ExitStack()
        self._identity_lock: int | None = None
        self._directory: RuntimeDir | None = None
        self._lost = asyncio.Event()
        self._control: P2pdClient | None = None
        self._dht: DhtNode | None = None
        self._tasks = BackgroundTasks()  # tasks that end with the node
        self._nearby = NearbySearch(_nearby_key(config), identity.peer_id, on_change=config.on_nearby)
        self._strangers = itertools.count()
        self._closing = False
        # A client needs one way in. It gets to know the others once it is in.
        self._grace_s = 0.0 if config.dht_client else stretched(_OTHERS_S)

    @classmethod
    async def start(cls, config: HostConfig, *, find_relays: FindRelays | None = None) -> Libp2pHost:
        """Start a node and join the network.

        Args:
            find_relays: asked once a bootstrap peer is connected; others have not heard of the node yet.

        Raises:
            NetworkError: a malformed address, a busy port, or a swarm that does not admit this node.
            TryAgainError: no bootstrap peer answers in time, or another node has the identity.
            UsageError: the identity file cannot be used.
        """
        _quiet_hivemind()
        for addr in (*config.listen_addrs, *config.announce_addrs):
            checked_multiaddr(addr)
        is_known_identity = config.identity_path is not None and config.identity_path.exists()
        identity = Identity.load_or_create(config.identity_path) if config.identity_path else Identity.generate()
        self = cls(config, identity)
        try:
            self._ports = claim_ports(config.listen_addrs)
            self._directory = RuntimeDir.create(config.runtime_dir)
            if config.identity_path is not None:
                self._identity_lock = _lock_identity(config.identity_path)
            if self.members is not None:
                self.members.start()
            self._nearby.start()
            await self._with_retries(partial(self._reach, checks_identity=is_known_identity))
            relays = await find_relays(self) if find_relays is not None else ()
            if relays:
                await self.move(relays)
            else:
                await self._with_retries(self._enter_dht)
            if self._bootstrap:
                self._tasks.start(keep_running("joining the swarm", self._rejoin_forever))
        except BaseException:
            await self.close()
            raise
        self._tasks.start(self._watch_directory())
        if self.members is not None:
            asked = self._check_neighbours, self.members.knows, self.disconnect, self._ask_seen
            self._tasks.start(keep_running("watching for twins", partial(disconnect_strangers, *asked)))
            self._tasks.start(keep_running("meeting members", partial(self._meet, self.members)))
        self._nearby.is_joined = bool(self._bootstrap)
        self._tasks.start(keep_running("meeting members nearby", self._greet_neighbours))
        return self

    @property
    def peer_id(self) -> PeerId:
        return self.identity.peer_id

    @property
    def ticket(self) -> bytes:
        return b"" if self.members is None else self.members.ticket

    def person_of(self, peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        return self._gate.person_of(peer, ticket)

    def is_on_probation(self, peer: PeerId, /) -> bool:
        return self._gate.is_on_probation(peer)

    async def places(self) -> Mapping[PeerId, str]:
        if self.members is None or self.members.roster.public_invite is None:
            return {}
        seen = {peer: first_origin(addrs) for peer, addrs in (await self.neighbours()).items()}
        return {peer: place_of(address) for peer, address in seen.items() if address}

    async def meet(self, peers: Sequence[PeerId]) -> bool:
        return self.members is not None and await self.members.meet(peers)

    async def addresses(self) -> tuple[str, ...]:
        _, told = await self._running().identify()
        return told if self._config.announce_addrs else announced_addresses(told, self._config.listen_addrs, own_ips())

    async def serve_unary(self, protocol: str, handler: UnaryHandler, *, refuse: Refusal = encode_refusal) -> None:
        await self._serve(protocol, Handler(handler, refuse))

    async def serve_stream(
        self, protocol: str, handler: StreamHandler, *, max_frame_bytes: int, refuse: Refusal = encode_refusal
    ) -> None:
        await self._serve(protocol, Handler(handler, refuse, max_frame_bytes))

    async def call(self, peer: PeerId, protocol: str, body: bytes, *, timeout_s: float) -> bytes:
        return await self._running().call(peer, protocol, body, timeout_s=timeout_s)

    async def open_stream(self, peer: PeerId, protocol: str, *, timeout_s: float, max_frame_bytes: int) -> Stream:
        return await self._running().open_stream(peer, protocol, timeout_s=timeout_s, max_frame_bytes=max_frame_bytes)

    async def ping(self, peer: PeerId, *, timeout_s: float) -> float:
        return await dht_node.ping(self._running(), peer, timeout_s=timeout_s)

    async def disconnect(self, peer: PeerId) -> None:
        with contextlib.suppress(RemoteError):
            self._running().disconnect(peer)

    async def store(self, key: DhtKey, subkey: DhtSubkey, value: object, *, expiration: float) -> bool:
        return self._dht is not None and await self._dht.store(key, subkey, value, expiration)

    async def get(self, keys: Sequence[DhtKey]) -> Mapping[DhtKey, Mapping[DhtSubkey, DhtValue]]:
        """Read the DHT, see `Host.get`. Raises NetworkError if it does not answer in time."""
        if self._dht is None:
            raise NetworkError(sentence("the node is closed"))
        return await self._dht.get(keys)

    async def neighbours(self) -> Mapping[PeerId, tuple[str, ...]]:
        """Return the connected peers with the addresses at which we see them. Raises NetworkError."""
        return await self._running().list_peers()

    async def _check_neighbours(self) -> Mapping[PeerId, tuple[str, ...]]:
        connected = await self.neighbours()
        self._running().cut_off_gone(connected)
        return connected

    async def dial_anew(self, peer: PeerId, addrs: Sequence[str] | None = None, *, seen_as: str = "") -> bool:
        if self._directory is None:
            raise NetworkError(sentence("the node is closed"))
        if addrs is None:
            addrs = await self._running().listens_at(peer)
        name = f"far-{next(self._strangers)}"
        async with nameless_node(self._directory.path, name, announce=seen_as) as control:
            for _ in range(_STRANGER_DIALS):
                try:
                    await control.connect(peer, addrs, timeout_s=stretched(_STRANGER_TIMEOUT_S))
                except NetworkError as error:
                    log.debug("a peer is not reached: %s", error)
                else:
                    if seen_as:
                        await asyncio.sleep(_VOUCH_S)
                    return True
        return False

    async def move(self, relays: tuple[str, ...]) -> None:
        """Go behind these relays, or come out from behind others if there are none. All connections end.

        Raises:
            NetworkError: the network can't be joined again; the node is lost.
        """
        self._config = replace(self._config, relays=relays)  # p2pd takes relays at its start only
        await self.restart()

    async def wait_lost(self) -> None:
        """Return once p2pd or the folder of its sockets is gone: this node is of no use until `restart`."""
        await self._lost.wait()

    async def restart(self) -> None:
        """Start p2pd anew after it was lost, under the same identity and with the same handlers. Streams are gone.

        Raises:
            NetworkError: p2pd does not start, or nobody answers; the node stays lost.
        """
        self._lost.clear()
        try:
            await self._stop_p2pd()
            await self._with_retries(partial(self._reach, checks_identity=False))
            await self._with_retries(self._enter_dht)
        except BaseException:
            self._lost.set()
            raise

    async def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        await self._tasks.cancel()
        await self._finder.close()
        await self._nearby.close()
        if self.members is not None:
            await self.members.stop()
        await self._stop_p2pd()
        if self._directory is not None:
            self._directory.remove()
        if self._identity_lock is not None:
            os.close(self._identity_lock)
        self._ports.close()

    async def _with_retries(self, attempt: Callable[[], Awaitable[None]]) -> None:
        async def attempt_if_not_lost() -> None:
            if self._lost.is_set():
                raise NetworkError(
                    sentence("the peer-to-peer process ended unexpectedly"), hint=sentence("start again")
                )
            await attempt()

        await with_retries(attempt_if_not_lost, patience_s=self._config.patience_s, on_waiting=self._config.on_waiting)

    async def _reach(self, *, checks_identity: bool) -> None:
        """Start, unless done, and get a bootstrap peer to accept this node. Raises NetworkError."""
        if self._dht is None:
            await self._start_p2pd()
        if self._bootstrap:
            await self._dial_any()
            await self._with_any(self._gate.present)
            if checks_identity and await self._is_identity_taken():
                await self._stop_p2pd()  # calls to the other node could arrive here
                raise TryAgainError(sentence("another node already runs with this identity"), hint=_OWN_IDENTITY_HINT)

    async def _enter_dht(self) -> None:
        assert self._dht is not None
        if self._bootstrap:
            await self._with_any(self._dht.greet)
            await self._dht.explore()

    async def _with_any(self, attempt: Callable[[PeerId], Coroutine[Any, Any, None]]) -> None:
        named = await self._connected()
        heard = [_of_neighbour(attempt(peer)) for peer in self._nearby.found.addresses if peer not in named]
        await until_one_succeeds((*map(attempt, named), *heard), grace_s=self._grace_s)

    async def _connected(self) -> Collection[PeerId]:
        """Return the bootstrap peers that are connected, so that nobody waits for others; all of them if none is."""
        now, named = await self.neighbours(), dict.fromkeys(peer for peer, _ in self._bootstrap)
        return [peer for peer in named if peer in now] or named

    async def _dial_any(self) -> None:
        """Dial bootstrap peers side by side, and those heard nearby, as an invite may name addresses of the past.

        Raises:
            TryAgainError: none can be reached.
        """
        ways = (*self._bootstrap, *self._nearby.found.addresses.items())
        dials = (self._dial(peer, [addr]) for peer, addr in ways)
        await until_one_succeeds(dials, grace_s=self._grace_s)

    async def _stop_p2pd(self) -> None:
        dht, self._dht = self._dht, None
        if dht is not None:
            await dht.close()
        if self._control is not None:
            await self._control.close()
        if dht is not None:
            await dht.end_searches()

    async def _serve(self, protocol: str, handler: Handler) -> None:
        await self._running().serve(protocol, handler)
        self._handlers[protocol] = handler

    def _on_exit(self, control: P2pdClient) -> None:
        if control is self._control and self._dht is not None:  # nobody stopped it
            self._lost.set()

    async def _watch_directory(self) -> None:
        """Notice that somebody removed the folder of p2pd's sockets, as a log-out does: nobody reaches p2pd then."""
        while True:
            await asyncio.sleep(_GUARD_S)
            directory = self._directory if self._dht is not None and not self._lost.is_set() else None
            if directory is not None and not directory.path.exists():
                log.warning("the folder of the node's sockets was removed")
                self._lost.set()

    async def _start_p2pd(self) -> None:
        assert self._directory is not None
        await self._stop_p2pd()  # what is left of an attempt
        if not self._directory.path.exists():
            self._directory.remove()
            self._directory = RuntimeDir.create(self._config.runtime_dir)
        identity_path = self._config.identity_path
        if identity_path is None:
            identity_path = self._directory.path / "identity"
            write_atomically(identity_path, self.identity.to_bytes())
        arguments = p2pd_arguments(self._config, identity_path)
        self._control = control = await P2pdClient.start(self._directory.path, arguments, self._terms)
        for protocol, handler in self._handlers.items():
            await control.serve(protocol, handler)
        self._dht = await DhtNode.start(
            control,
            self.peer_id,
            client=self._config.is_client,
            checks=self._config.record_checks,
            person_of=self.person_of,
        )
        control.process.exited.add_done_callback(lambda _: self._on_exit(control))
        if self._config.identity_path is None:
            identity_path.unlink()  # p2pd has read it
        if not self._config.dht_client:
            self._nearby.port = tcp_port(await self.addresses())
            self._nearby.announce(asks=not self._nearby.is_joined)

    def _members_gate(self, config: HostConfig) -> MembersGate | None:
        if config.membership is None or config.is_open:
            return None

        async def call(peer: PeerId, protocol: str, body: bytes) -> bytes:
            return await self._running().call_directly(peer, protocol, body, timeout_s=stretched(_PRESENT_TIMEOUT_S))

        return MembersGate(
            config.membership,
            self.identity,
            call,
            outsiders=[split_peer(addr)[0] for addr in config.bootstrap_peers],
            calls_of_outsiders=[DIAL_BACK, WHERE],
            on_news=config.on_news,
            on_leader=config.on_leader,
            on_admitted=lambda peer: self._running().keep_connected(peer),
            on_removed=lambda peers: self._running().cut_off(peers),
            origin_of=lambda peer: self._running().origins.of(peer),
            connected=self.neighbours,
            charge=lambda peer, units: self.budgets.charge(peer, units, asyncio.get_running_loop().time()),
        )

    async def _rejoin_forever(self) -> None:
        """Keep the bootstrap peers connected, so that a node finds back after they, or its own link, were gone."""
        delays = delays_s()
        while True:
            await asyncio.sleep(next(delays))
            try:
                await self._dial_any()
                await self._enter_dht()
            except PotluckError as error:
                log.debug("still no bootstrap peer: %s", error)

    async def _meet(self, members: MembersGate) -> None:
        """Dial members that this node met in earlier runs, and remember those that it meets now."""
        if not self._bootstrap:
            await greet(met_before(self._config), self._dial, members.meet)
        await keep_meeting(members.computers, self._finder.where, self._config.on_met)

    async def _greet_neighbours(self) -> None:
        """Enter the DHT of members that appear on the local network, unless they are connected already."""
        nearby = self._nearby
        while True:
            await nearby.news.wait()
            nearby.news.clear()
            await asyncio.gather(*(self._greet(*found) for found in nearby.found.addresses.items()))
            await asyncio.sleep(_GREETING_PAUSE_S)

    async def _greet(self, peer: PeerId, addr: str) -> None:
        try:
            if peer not in await self.neighbours():
                await self._dial(peer, [addr])
                if self._dht is not None:
                    await self._dht.greet(peer)
                    self._nearby.is_joined = True
        except PotluckError as error:
            log.debug("what was heard on the local network leads nowhere: %s", error)

    async def _is_identity_taken(self) -> bool:
        """Return whether a bootstrap peer stays connected to another node with our peer id."""
        for _ in range(_IDENTITY_CHECKS):
            seen = await asyncio.gather(*map(self._is_seen_twice, await self._connected()))
            if not any(seen):
                return False
            await asyncio.sleep(_IDENTITY_PAUSE_S)
        return True

    async def _is_seen_twice(self, peer: PeerId) -> bool:
        """Return whether a peer has more connections from our peer id than we have to it."""
        try:
            return await self._ask_seen(peer) > len((await self.neighbours()).get(peer, ()))
        except PotluckError:
            return False  # not connected, or a peer that does not know the question

    async def _ask_seen(self, peer: PeerId) -> int:
        """Return how many connections a peer has from our peer id. Raises RemoteError."""
        seen = await self._running().call(peer, _SEEN, b"", timeout_s=stretched(_SEEN_TIMEOUT_S))
        return int.from_bytes(seen[:2])

    async def _answer_seen(self, body: bytes, peer: PeerId) -> bytes:
        return min(len((await self.neighbours()).get(peer, ())), 0xFFFF).to_bytes(2)

    async def _dial(self, peer: PeerId, addrs: Iterable[str]) -> None:
        await self._running().connect(peer, addrs, timeout_s=stretched(_DIAL_TIMEOUT_S))

    async def _ask_where(self, peer: PeerId, body: bytes) -> bytes:
        """Ask `WHERE` of a peer that p2pd has a way to. Raises RemoteError."""
        if not self._gate.is_presented(peer, WHERE):
            await self._gate.present(peer)
        return await self._running().call_directly(peer, WHERE, body, timeout_s=stretched(_WHERE_TIMEOUT_S))

    async def _acquaintances(self) -> list[PeerId]:
        """Return the connected peers that accept this node's questions, bootstrap peers first."""
        asked = [peer for peer in await self.neighbours() if self._gate.is_presented(peer, WHERE)]
        return order(asked, dict(self._bootstrap))

    def _running(self) -> P2pdClient:
        if self._control is None or self._closing:
            raise RemoteError(Code.UNREACHABLE, "this node is closed")
        return self._control


async def _of_neighbour(attempt: Awaitable[None]) -> None:
    """Make an attempt with somebody heard on the local network, whose refusal says nothing about the swarm."""
    try:
        await attempt
    except PotluckError as error:
        denial = error.denial if isinstance(error, RemoteError) else None
        raise TryAgainError(error.sentence, denial=denial) from error


def _nearby_key(config: HostConfig) -> bytes:
    """Return the key of the search on the local network; empty: there is no search."""
    if config.membership is None or config.is_alone or not config.finds_nearby:
        return b""
    return config.membership.swarm.founder_key or b""


def _max_streams() -> int:
    """Leave half of the files that this process may open to everything else."""
    return max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2, 64)


def _lock_identity(path: Path) -> int:
    access = os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY  # NFS locks no read-only files
    descriptor = os.open(path, access | os.O_CLOEXEC)
    try:
        lock(descriptor, path)
    except BaseException as error:
        os.close(descriptor)
        if not isinstance(error, BlockingIOError):
            raise
        raise NetworkError(sentence("another node already runs with this identity"), hint=_OWN_IDENTITY_HINT) from error
    return descriptor


def _quiet_hivemind() -> None:
    """Let hivemind log through ordinary loggers that are silent below ERROR; by default it writes to stderr."""
    from hivemind.utils.logging import use_hivemind_log_handler

    use_hivemind_log_handler("nowhere")
    logger = logging.getLogger("hivemind")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.ERROR)
