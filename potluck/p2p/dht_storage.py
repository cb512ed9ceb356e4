"""The records of others that a DHT node holds, within a limit of bytes for each person.

Anybody who can dial a node may store records at it. When the room is full, the person who holds the most gives way to
one who holds less, the oldest record first, so that a flood from a few people displaces only itself. Keys whose records
are checked (those of this node's own swarm) have room of their own. Such a record belongs to the person whose peer
signed it, any other one to the person whose peer stores it; strangers share a little.

Has the methods of hivemind's `DHTLocalStorage` that its protocol calls. That class counts keys only, and keeps a heap
that grows with every repeated store.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from hivemind.dht.routing import DHTID
from hivemind.dht.storage import DictionaryDHTValue
from hivemind.utils.timed_storage import ValueWithExpiration

from potluck.protocol.blocks import PeerId, PersonOf, each_peer_a_person

MAX_STORE_BYTES = 32 * 1024 * 1024  # 3,000 stock records of 2 KB, four times over
MAX_KEY_BYTES = 2 * 1024 * 1024  # one answer carries a whole key, and must stay below 4 MiB
MAX_SUBKEYS = 1024
MAX_SUBKEYS_OF_A_PERSON = 16  # limit of a checked key: newcomers read all of it, and begin with a few servers of each
MAX_STRANGERS_BYTES = 1024 * 1024  # room for peers who belong to nobody, under any key but the checked ones
RECORD_OVERHEAD_BYTES = 1024  # Python's objects for one record
_SWEEP_INTERVAL_S = 10.0
OURSELVES, _STRANGERS = "", "strangers"

sender: ContextVar[str] = ContextVar("sender", default=OURSELVES)  # the peer whose call is being answered


@dataclass(frozen=True, slots=True)
class _StoredRecord:
    """One record with its holder and its size in memory."""

    value: bytes
    expiration: float
    holder: str
    size: int


@dataclass(slots=True)
class _Room:
    """Bytes of a group of keys, and who holds them; each holder's records are in the order they were stored."""

    used: int = 0
    by_holder: dict[str, dict[tuple[DHTID, str], int]] = field(default_factory=dict)
    shares: Counter[str] = field(default_factory=Counter)


class BoundedStorage:
    """Records under keys and subkeys until they expire, as long as there is room.

    Args:
        checked: keys with room of their own, whose subkeys are the peers that signed the records.
        person_of: who shares the room with whom.
    """

    def __init__(
        self,
        checked: Collection[DHTID] = (),
        *,
        person_of: PersonOf = each_peer_a_person,
        max_bytes: int = MAX_STORE_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._checked = frozenset(checked)
        self._person_of = person_of
        self._max_bytes = max_bytes
        self._clock = clock
        self._keys: dict[DHTID, dict[str, _StoredRecord]] = {}
        self._rooms = {True: _Room(), False: _Room()}
        self._sweep_due = 0.0

    @property
    def bytes_held(self) -> int:
        return sum(room.used for room in self._rooms.values())

    def store(self, key: DHTID, value: bytes, expiration_time: float, subkey: str | None = None) -> bool:
        """Keep a record of a subkey; a record without one is refused."""
        return subkey is not None and self.store_subkey(key, subkey, value, expiration_time)

    def store_subkey(self, key: DHTID, subkey: str, value: bytes, expiration_time: float) -> bool:
        """Keep the record unless it ended, is not newer than the one that is there, or finds no room."""
        now = self._clock()
        self._sweep(now)
        old = self._keys.get(key, {}).get(subkey)
        if expiration_time < now or (old is not None and expiration_time <= old.expiration):
            return False
        size = len(value) + len(subkey.encode()) + RECORD_OVERHEAD_BYTES
        new = _StoredRecord(bytes(value), expiration_time, self._holder(key, subkey), size)
        if old is not None:
            self._drop(key, subkey)
        if not (self._make_room_in_key(key, new) and self._make_room(key, new)):
            if old is not None:
                self._put(key, subkey, old)
            return False
        self._put(key, subkey, new)
        return True

    def get(self, key: DHTID) -> ValueWithExpiration[DictionaryDHTValue] | None:
        now = self._clock()
        alive = {subkey: record for subkey, record in self._keys.get(key, {}).items() if record.expiration >= now}
        if not alive:
            return None
        found = DictionaryDHTValue()
        with found.freeze():
            for subkey, record in alive.items():
                found.store(subkey, record.value, record.expiration)
        return ValueWithExpiration(found, found.latest_expiration_time)

    def items(self) -> Iterator[tuple[DHTID, ValueWithExpiration[DictionaryDHTValue]]]:
        for key in list(self._keys):
            if (found := self.get(key)) is not None:
                yield key, found

    def __contains__(self, key: DHTID) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        return len(self._keys)

    def _holder(self, key: DHTID, subkey: str) -> str:
        if key in self._checked:
            return self._person_of(PeerId(subkey)) or subkey
        peer = sender.get()
        return peer if peer == OURSELVES else self._person_of(PeerId(peer)) or _STRANGERS

    def _make_room_in_key(self, key: DHTID, new: _StoredRecord) -> bool:
        if key in self._checked:
            theirs = sum(record.holder == new.holder for record in self._keys.get(key, {}).values())
            if theirs >= MAX_SUBKEYS_OF_A_PERSON:
                return False
        while (records := self._keys.get(key, {})) and (
            len(records) >= MAX_SUBKEYS or sum(record.size for record in records.values()) + new.size > MAX_KEY_BYTES
        ):
            shares: Counter[str] = Counter()
            for record in records.values():
                shares[record.holder] += record.size
            largest = _who_gives_way(shares, new)
            if largest is None:
                return False
            self._drop(key, next(subkey for subkey, record in records.items() if record.holder == largest))
        return True

    def _make_room(self, key: DHTID, new: _StoredRecord) -> bool:
        room = self._rooms[key in self._checked]
        while new.holder == _STRANGERS and room.shares[_STRANGERS] + new.size > MAX_STRANGERS_BYTES:
            self._drop(*next(iter(room.by_holder[_STRANGERS])))
        while room.used + new.size > self._max_bytes:
            largest = _who_gives_way(room.shares, new)
            if largest is None:
                return False
            self._drop(*next(iter(room.by_holder[largest])))
        return True

    def _put(self, key: DHTID, subkey: str, record: _StoredRecord) -> None:
        room = self._rooms[key in self._checked]
        self._keys.setdefault(key, {})[subkey] = record
        room.by_holder.setdefault(record.holder, {})[key, subkey] = record.size
        room.shares[record.holder] += record.size
        room.used += record.size

    def _drop(self, key: DHTID, subkey: str) -> None:
        room, records = self._rooms[key in self._checked], self._keys[key]
        record = records.pop(subkey)
        del room.by_holder[record.holder][key, subkey]
        room.shares[record.holder] -= record.size
        room.used -= record.size
        if not records:
            del self._keys[key]
        if not room.by_holder[record.holder]:
            del room.by_holder[record.holder], room.shares[record.holder]

    def _sweep(self, now: float) -> None:
        if now < self._sweep_due:
            return
        self._sweep_due = now + _SWEEP_INTERVAL_S
        for key, records in list(self._keys.items()):
            for subkey in [subkey for subkey, record in records.items() if record.expiration < now]:
                self._drop(key, subkey)


def _who_gives_way(shares: Counter[str], new: _StoredRecord) -> str | None:
    """Return the holder that holds the most; None if that is the newcomer, or would be with its new record."""
    if not shares:
        return None
    largest, size = max(shares.items(), key=lambda share: share[1])
    return largest if size > shares[new.holder] + new.size else None
