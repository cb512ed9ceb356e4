"""hivemind's DHT node over our own connection to p2pd, with rules for what may be stored.

Reads are lenient and stores strict: one bad record among a key's subkeys drops that record, not the key. Numbers follow
the stock defaults unless a comment says otherwise.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, cast

from google.protobuf.message import Message  # type: ignore[import-untyped]
from hivemind.dht.node import DHTNode
from hivemind.dht.protocol import ValidationError
from hivemind.dht.routing import DHTID
from hivemind.dht.storage import DictionaryDHTValue
from hivemind.dht.validation import DHTRecord, RecordValidatorBase
from hivemind.p2p.p2p_daemon import P2PContext
from hivemind.p2p.p2p_daemon_bindings.datastructures import PeerID
from hivemind.proto import dht_pb2
from hivemind.utils.serializer import MSGPackSerializer

from potluck.allowance import MAX_STRETCH, stretched
from potluck.errors import NetworkError
from potluck.p2p.control import P2pdClient
from potluck.p2p.dht_storage import MAX_SUBKEYS_OF_A_PERSON, OURSELVES, BoundedStorage, sender
from potluck.p2p.joining import NOBODY_ANSWERS_HINT, TryAgainError
from potluck.p2p.network import MAX_HORIZON_S, MAX_RECORD_BYTES, DhtKey, DhtSubkey, DhtValue, RecordCheck, is_plausible
from potluck.p2p.reception import Handler
from potluck.p2p.unary import in_time
from potluck.protocol.blocks import PeerId, PersonId, PersonOf, each_peer_a_person
from potluck.protocol.codes import Code, RemoteError
from potluck.sentences import sentence
from potluck.tasks import cancel_and_wait, within

log = logging.getLogger(__name__)

PING_PROTOCOL = "DHTProtocol.rpc_ping"
_RPC_TIMEOUT_S = 3.0
_LAST_SEARCHES_S = 1.0  # time for searches to notice that the connection is closed
_OPERATION_TIMEOUT_S = 15.0  # a whole store or get: a few rounds of calls to silent nodes
_MAX_CACHE_BYTES = 1024 * 1024  # room for what others ask this node to cache; it caches nothing by itself
_HANDLER_TIMEOUT_S = 5.0
_MAX_NEIGHBOURS = 20  # neighbours that one answer may name; the stock bucket size


class DhtNode:
    """A started DHT node; made by `start`."""

    def __init__(self, node: DHTNode) -> None:
        self._node = node
        self._searches: set[asyncio.Task[Any]] = set()

    @classmethod
    async def start(
        cls,
        control: P2pdClient,
        peer_id: PeerId,
        *,
        client: bool,
        checks: Mapping[DhtKey, RecordCheck],
        person_of: PersonOf,
    ) -> DhtNode:
        """Start a DHT of one node; `greet` others to enter theirs. Raises TryAgainError if p2pd does not answer."""
        transport = _Transport(control, peer_id)
        if client:  # stock nodes measure a server by this ping, also one that nobody can dial but through a relay
            await transport.add_protobuf_handler(PING_PROTOCOL, _answer_ping, dht_pb2.PingRequest)
        node = await DHTNode.create(
            p2p=cast(Any, transport),
            # One id a peer, also after restarts: others would take its old ids for more nodes, store at it several
            # times, and report the last answer, "no, I have that already".
            node_id=DHTID.generate(source=peer_id),
            client_mode=client,
            record_validator=_Validator(checks, person_of),
            wait_timeout=_RPC_TIMEOUT_S * MAX_STRETCH,  # the transport's limit comes first
            cache_locally=False,  # readers want the newest record, and a cache refreshes itself in the background
            cache_nearest=0,
            cache_on_store=False,
            cache_refresh_before_expiry=0,
        )
        protocol = node.protocol
        protocol.serializer = _TolerantSerializer  # WORKAROUND: one undecodable payload would make a get wait for ever
        checked = frozenset(DHTID.generate(source=key) for key in checks)
        # WORKAROUND: one bad subkey would hide all the others
        protocol._validate_dictionary = _Filter(protocol, checked, person_of)
        protocol.storage = BoundedStorage(checked, person_of=person_of)
        protocol.cache = BoundedStorage(max_bytes=_MAX_CACHE_BYTES, person_of=person_of)
        return cls(node)

    async def store(self, key: DhtKey, subkey: DhtSubkey, value: object, expiration: float) -> bool:
        """Store a value under key and subkey; return whether a node accepted it in time."""
        work = self._search(self._node.store(key, value, expiration, subkey=subkey))
        return bool(await within(stretched(_OPERATION_TIMEOUT_S), work))

    async def get(self, keys: Sequence[DhtKey]) -> dict[DhtKey, dict[DhtSubkey, DhtValue]]:
        """Return the values of each key by subkey. Raises NetworkError if the search does not end in time."""
        try:
            async with asyncio.timeout(stretched(_OPERATION_TIMEOUT_S)):
                found = await self._search(self._node.get_many(list(keys), sufficient_expiration_time=math.inf))
        except TimeoutError as error:
            raise NetworkError(sentence("the swarm's directory did not answer in time")) from error
        return {key: _entries(entry.value) for key, entry in found.items() if entry and isinstance(entry.value, dict)}

    async def greet(self, peer: PeerId) -> None:
        """Ping a peer, which puts each into the other's table. Raises TryAgainError: silence, or a wrong clock."""
        raw, protocol = PeerID.from_base58(peer), self._node.protocol
        try:
            found = await protocol.call_ping(raw, validate=True, strict=True)
        except ValidationError as error:
            if "local time" in str(error):
                text = sentence("this machine's clock differs from the swarm's by more than 3 s")
                raise TryAgainError(text, hint=sentence("set the clock")) from error
            found = await protocol.call_ping(raw)  # it could not ping back in time, which is for nobody to wait for
        if found is None:
            raise TryAgainError(sentence("a bootstrap peer does not answer"), hint=NOBODY_ANSWERS_HINT)

    async def explore(self) -> None:
        """Get to know the nodes near this one, as far as those that were greeted know them in time."""
        await within(_RPC_TIMEOUT_S, self._search(self._node.find_nearest_nodes([self._node.node_id])))

    async def _search(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run `work`, which goes on if the caller is cancelled: a search that is cancelled leaves tasks of its own."""
        search = asyncio.create_task(work)
        self._searches.add(search)
        search.add_done_callback(self._finish_search)
        return await asyncio.shield(search)

    def _finish_search(self, search: asyncio.Task[Any]) -> None:
        self._searches.discard(search)
        if not search.cancelled():
            search.exception()  # marks it as seen, even if nobody waits any more

    async def close(self) -> None:
        """Stop; `end_searches` follows once the connection is closed, which ends what searches wait for."""
        await self._node.shutdown()
        await cancel_and_wait(self._node.cache_refresh_task)

    async def end_searches(self) -> None:
        if self._searches:
            await asyncio.wait(self._searches, timeout=_LAST_SEARCHES_S)


async def ping(control: P2pdClient, peer: PeerId, *, timeout_s: float) -> float:
    """Return the seconds of the faster of two round trips: the first may have to connect.

    Any answer is one, also that of a stock server behind a relay, which does not know this call.

    Raises:
        RemoteError: UNREACHABLE.
    """
    body = dht_pb2.PingRequest(peer=dht_pb2.NodeInfo()).SerializeToString()
    best = math.inf
    async with in_time(timeout_s):
        for _ in range(2):
            started = time.perf_counter()
            try:
                await control.call(peer, PING_PROTOCOL, body, timeout_s=timeout_s)
            except RemoteError as error:
                if error.code is Code.UNREACHABLE:
                    raise
            best = min(best, time.perf_counter() - started)
    return best


class _Transport:
    """The part of hivemind's P2P object that DHTNode needs: unary protobuf calls."""

    def __init__(self, control: P2pdClient, peer_id: PeerId) -> None:
        self._control = control
        self.peer_id = PeerID.from_base58(peer_id)

    async def add_protobuf_handler(
        self,
        name: str,
        handler: Callable[[Any, P2PContext], Awaitable[Message]],
        input_protobuf_type: type[Message],
        *,
        stream_input: bool = False,
        stream_output: bool = False,
        balanced: bool = False,
    ) -> None:
        async def serve(body: bytes, caller: PeerId) -> bytes:
            context = P2PContext(handle_name=name, local_id=self.peer_id, remote_id=PeerID.from_base58(caller))
            token = sender.set(caller)
            try:
                async with asyncio.timeout(_HANDLER_TIMEOUT_S):
                    response = await handler(_checked(input_protobuf_type.FromString(body)), context)
                return bytes(response.SerializeToString())
            except Exception as error:  # whatever a peer's bytes make hivemind raise is the peer's fault
                log.debug("refused %s: %r", name, error)
                raise RemoteError(Code.BAD_REQUEST, "not understood") from error
            finally:
                sender.reset(token)

        await self._control.serve(name, Handler(serve))

    async def remove_protobuf_handler(
        self, name: str, *, stream_input: bool = False, stream_output: bool = False
    ) -> None:
        """Do nothing: the handlers end with the p2pd process."""

    async def call_protobuf_handler(
        self, peer_id: PeerID, name: str, input: Message, output_protobuf_type: type[Message]
    ) -> Message:
        peer = PeerId(peer_id.to_base58())
        body = await self._control.call(peer, name, input.SerializeToString(), timeout_s=stretched(_RPC_TIMEOUT_S))
        response = output_protobuf_type.FromString(body)
        if isinstance(response, dht_pb2.FindResponse):
            _bound_results(response)
        return response


class _Validator(RecordValidatorBase):  # type: ignore[misc]  # hivemind is untyped
    """The rules for records: general bounds, and those of the keys that have rules of their own."""

    def __init__(self, checks: Mapping[DhtKey, RecordCheck], person_of: PersonOf) -> None:
        self._person_of = person_of
        self._checks = {DHTID.generate(source=key).to_bytes(): check for key, check in checks.items()}

    def validate(self, record: DHTRecord) -> bool:
        if len(record.value) > MAX_RECORD_BYTES:
            return False
        if not record.subkey:  # nobody has a use for such records, but each would stand for all values under its key
            return False
        subkey = _TolerantSerializer.loads(record.subkey)
        if not isinstance(subkey, str) or not is_plausible(subkey, record.expiration_time, now=time.time()):
            return False
        check = self._checks.get(record.key)
        if check is None:
            return True
        # This node keeps members' records only. One that it reads may be of a member whom it has not heard of.
        person_of = each_peer_a_person if sender.get() == OURSELVES else self._person_of
        return check(subkey, _TolerantSerializer.loads(record.value), record.expiration_time, person_of)


class _Filter:
    """A filter of dictionaries: it drops what the validator refuses and what a person has too much of."""

    def __init__(self, protocol: Any, checked: Collection[DHTID], person_of: PersonOf) -> None:
        self._protocol = protocol
        self._checked = {key.to_bytes() for key in checked}
        self._person_of = person_of

    def __call__(self, key: bytes, dictionary: DictionaryDHTValue) -> bool:
        dictionary.maxsize = math.inf  # a peer wrote it, and merging compares it
        held: Counter[PersonId | None] = Counter()
        with dictionary.freeze():
            for subkey, (value, expiration) in list(dictionary.items()):
                if key in self._checked and isinstance(subkey, str):
                    person = self._person_of(PeerId(subkey))
                    held[person] += 1
                    if held[person] > MAX_SUBKEYS_OF_A_PERSON:  # drop it before checking its signature
                        del dictionary[subkey]
                        continue
                record = DHTRecord(key, MSGPackSerializer.dumps(subkey), value, expiration)
                if not self._protocol.record_validator.validate(record):
                    del dictionary[subkey]
        return True


def _checked(request: Any) -> Any:
    """Raise ValueError for a node id that is none: hivemind looks at it later, in a task that nobody waits for."""
    if request.peer.node_id and len(request.peer.node_id) != DHTID.HASH_NBYTES:
        raise ValueError("not a node id")
    return request


def _bound_results(response: Any) -> None:
    """Drop what would end a search for everybody: an end that no record can have, and neighbours without number."""
    latest = time.time() + MAX_HORIZON_S
    for result in response.results:
        if not result.expiration_time <= latest:  # also NaN
            result.type = dht_pb2.NOT_FOUND
        del result.nearest_node_ids[_MAX_NEIGHBOURS:]
        del result.nearest_peer_ids[_MAX_NEIGHBOURS:]


class _Malformed:
    """A stand-in for a payload that is not msgpack."""


class _TolerantSerializer(MSGPackSerializer):  # type: ignore[misc]
    """The msgpack of hivemind, with `_Malformed` for what cannot be read."""

    @classmethod
    def loads(cls, buf: bytes) -> object:
        try:
            return MSGPackSerializer.loads(buf)
        except Exception:  # a peer's bytes: any of msgpack's errors, recursion, a hostile extension type
            return _Malformed()


async def _answer_ping(request: dht_pb2.PingRequest, context: P2PContext) -> dht_pb2.PingResponse:
    return dht_pb2.PingResponse(peer=dht_pb2.NodeInfo(), dht_time=time.time())


def _entries(found: dict[Any, Any]) -> dict[DhtSubkey, DhtValue]:
    return {
        subkey: DhtValue(entry.value, entry.expiration_time)
        for subkey, entry in found.items()
        if isinstance(subkey, str) and not isinstance(entry.value, _Malformed)
    }
