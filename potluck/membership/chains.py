"""The chains of a swarm's leaders: which entries there are, in what order, and who had seen what. See decision 0035.

Each computer of a leader writes a chain of numbered entries. An entry names the one before by its hash, and the newest
entries that its author had seen of other chains. A chain counts from its author's appointment to the dismissal, which
names its last entry; the founder's need no appointment. Two entries with one number close a chain: each node keeps what
it holds until the founder names the head that counts. What the entries say of people follows in `members.py`. No I/O,
no clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from potluck.membership.records import NOTHING, Appoint, Dismiss, Entry, Rank, Record

MAX_ENTRIES = 10_000  # limit of a chain, and of an appointment; the founder then opens another chain
MAX_BYTES = 4 << 20  # limit of an appointment, give or take a message
MAX_CHAINS = 16  # limit of one appointment; the founder may have ten times as many
_MAX_HEADS = 64  # heads that one entry names; an entry has room for 120
SHORT = 8  # bytes of a hash in comparisons

Heads = Mapping[bytes, tuple[int, bytes, bool]]
"""For each chain the number of its entries, the beginning of the last one's hash, and whether it is closed."""


@dataclass(slots=True)
class Chain:
    """The entries of one computer of a leader under one appointment; the founder's appointment is `NOTHING`."""

    author: bytes
    appointment: bytes
    entries: list[Record] = field(default_factory=list)
    rival: Record | None = None  # contradicts an entry: the chain is closed
    end: bytes = b""  # hash of the last entry that counts; empty: there may be more
    branch: list[Record] = field(default_factory=list)  # entries from `end` backwards, if that is not among `entries`
    num_bytes: int = 0  # size of the entries when they were last settled

    @property
    def is_mending(self) -> bool:
        return bool(self.end) and self.entries[-1].hash != self.end

    @property
    def wanted(self) -> bytes:
        """Return the hash of the entry that a chain lacks whose end is named: nobody can offer another one."""
        return entry_of(self.branch[-1]).before if self.branch else self.end

    def cut(self, end: bytes) -> None:
        """End the chain with this entry, once it is known."""
        if end != self.end:
            self.end, self.branch = end, []
        number = next((number for number, item in enumerate(self.entries) if item.hash == end), None)
        if number is not None:
            self.entries, self.rival = self.entries[: number + 1], None

    def lead(self, record: Record) -> None:
        """Add an entry that leads to the end; put the branch in place once it begins in the chain."""
        self.branch.append(record)
        number, before = entry_of(record).number, entry_of(record).before
        if number == 0 or (number <= len(self.entries) and self.entries[number - 1].hash == before):
            self.entries, self.branch, self.rival = [*self.entries[:number], *reversed(self.branch)], [], None


class Place(Enum):
    """The place of a record among those that are known."""

    NEW = auto()
    KNOWN = auto()
    AHEAD = auto()  # entries before it are missing
    RIVAL = auto()  # shows that the chain has a fork
    WORTHLESS = auto()


Ahead = dict[bytes, tuple[int, bytes]]
"""Of a batch, what each chain takes next once the entries so far are taken: its number, and the hash that it names."""


class Chains:
    """All chains that count, as one node knows them.

    Attributes:
        appointments: the founder's entries that appointed somebody, by hash.
        dismissals: the founder's entries that ended an appointment, by that appointment.
    """

    def __init__(self, swarm_key: bytes) -> None:
        self.swarm_key = swarm_key
        self.appointments: dict[bytes, tuple[Record, Appoint]] = {}
        self.dismissals: dict[bytes, list[Record]] = {}
        self._ends: dict[bytes, Mapping[bytes, bytes]] = {}  # appointment that ended -> the last entries that count
        self._chains: dict[bytes, Chain] = {}
        self._places: dict[bytes, tuple[bytes, int]] = {}  # hash of an entry -> its chain and number
        self._pasts: dict[bytes, dict[bytes, int]] = {}  # see `_past`

    def __iter__(self) -> Iterator[tuple[bytes, Chain]]:
        """Iterate over the chains and their keys, the founder's first."""
        yield from sorted(self._chains.items(), key=lambda each: (each[1].author != self.swarm_key, each[0]))

    def __len__(self) -> int:
        """Return the number of all entries."""
        return sum(len(chain.entries) for chain in self._chains.values())

    def get(self, key: bytes) -> Chain | None:
        return self._chains.get(key)

    def of(self, appointment: bytes) -> dict[bytes, list[Record]]:
        """Return the entries written under an appointment, by chain; NOTHING: the founder's."""
        return {key: chain.entries for key, chain in self._chains.items() if chain.appointment == appointment}

    def most_of(self, author: bytes) -> int:
        """Return how many chains a leader may open under one appointment."""
        return (10 if author == self.swarm_key else 1) * MAX_CHAINS

    def appointments_of(self, person: bytes) -> dict[bytes, Appoint]:
        """Return the appointments of a person that were not ended, by hash."""
        return {
            key: content
            for key, (_, content) in self.appointments.items()
            if content.person == person and key not in self.dismissals
        }

    def forked(self, appointment: bytes) -> dict[bytes, bytes]:
        """Return the chains of an appointment that have a fork, with the last entry that is held here."""
        forked = {key: chain for key, chain in self._chains.items() if chain.rival is not None and not chain.end}
        return {key: each.entries[-1].hash for key, each in forked.items() if each.appointment == appointment}

    def next_place(self, chain: bytes, count: int = 1) -> tuple[int, bytes, dict[bytes, bytes]] | None:
        """Return the number, `before` and `heads` of a chain's next entry; None if it takes no `count` more."""
        found = self._chains.get(chain)
        if found is None or found.rival is not None or found.end or len(found.entries) + count > MAX_ENTRIES:
            return None
        named = {key: head for item in found.entries for key, head in entry_of(item).heads.items()}
        return len(found.entries), found.entries[-1].hash, self.heads_beside(chain, named)

    def heads_beside(self, chain: bytes, named: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Return the heads of other chains that an entry names, without those `named` before; a new chain has none."""
        heads = [(key, each.entries[-1].hash) for key, each in self if key != chain]
        return dict([(key, head) for key, head in heads if named.get(key) != head][:_MAX_HEADS])

    # -- exchange ------------------------------------------------------------------------------------------------------

    @property
    def heads(self) -> dict[bytes, tuple[int, bytes, bool]]:
        """Return the heads of all chains. One without entries names the entry up to which the chain is wanted."""
        return {
            key: (0, chain.wanted[:SHORT], False)
            if chain.is_mending
            else (len(chain.entries), chain.entries[-1].hash[:SHORT], chain.rival is not None)
            for key, chain in self._chains.items()
        }

    @property
    def live_heads(self) -> dict[bytes, tuple[int, bytes, bool]]:
        """Return the heads of the chains that may grow."""
        heads = self.heads
        return {key: heads[key] for key, chain in self if not chain.end}

    def lacking(self, heads: Heads, *, only_live: bool = False) -> list[Record]:
        """Return the entries that a node with these heads lacks; `only_live`: of chains that may grow."""
        found: list[Record] = []
        for key, chain in self:
            count, head, is_closed = heads.get(key, (0, b"", False))
            entries = chain.entries
            if chain.end and (only_live or chain.is_mending):
                continue
            if head and not count:
                wanted = next((number for number, item in enumerate(entries) if item.hash[:SHORT] == head), -1)
                found += reversed(entries[: wanted + 1])
            elif is_closed:
                continue  # it takes nothing more
            elif 0 < count <= len(entries) and entries[count - 1].hash[:SHORT] != head:
                found.append(entries[count - 1])  # shows that the chain has a fork
            elif chain.rival is not None:
                forked = entry_of(chain.rival).number
                found += [*(entries[count:] if count <= forked else entries[forked : forked + 1]), chain.rival]
            else:
                found += entries[count:]
        return found

    def leading_to(self, record: Record | None, heads: Heads) -> list[Record]:
        """Return what shows a node with these heads that an entry was its author's to write, and no later news."""
        found: list[Record] = []
        while record is not None:
            chain, number = self._places[record.hash]
            found = [*self._chains[chain].entries[heads.get(chain, (0,))[0] : number + 1], *found]
            record, _ = self.appointments.get(self._chains[chain].appointment, (None, None))
        return found

    # -- learning ------------------------------------------------------------------------------------------------------

    def place(self, record: Record, ahead: Ahead) -> Place:
        """Return where an entry belongs, after others of its batch."""
        entry, key, chain = entry_of(record), record.chain, self._chains.get(record.chain)
        if chain is None:
            count, head = ahead.get(key, (0, NOTHING))
            if not count:
                return Place.AHEAD if entry.number else self._place_of_opening(record, entry)
            return Place.NEW if (entry.number, entry.before) == (count, head) else Place.WORTHLESS
        known = chain.entries
        if entry.number < len(known) and known[entry.number].hash == record.hash:
            return Place.KNOWN
        if record.authors[0] != chain.author:
            return Place.WORTHLESS
        if chain.is_mending:
            _, wanted = ahead.get(key, (0, chain.wanted))
            return Place.NEW if record.hash == wanted else Place.KNOWN  # KNOWN: cut off, or it comes again in order
        if chain.end or chain.rival is not None:
            return Place.WORTHLESS
        count, head = ahead.get(key, (len(known), known[-1].hash))
        if entry.number > count:
            return Place.AHEAD
        if entry.number < count or entry.before != head:
            return Place.RIVAL
        return Place.NEW if self._has_room(chain, count) else Place.KNOWN  # another node may rightly have it

    def expect_next(self, record: Record, ahead: Ahead) -> None:
        """Record what comes after a new entry of a batch."""
        entry, chain = entry_of(record), self._chains.get(record.chain)
        is_mending = chain is not None and chain.is_mending
        ahead[record.chain] = entry.number + 1, entry.before if is_mending else record.hash

    def put(self, record: Record, place: Place) -> None:
        """Keep an entry that has a place; then `settle`."""
        if place is Place.RIVAL:
            self._chains[record.chain].rival = record
            return
        chain = self._chains.setdefault(record.chain, Chain(record.authors[0], entry_of(record).before))
        if chain.entries and chain.is_mending:
            chain.lead(record)
        else:
            chain.entries.append(record)

    def settle(self) -> None:
        """Find out which chains count, and up to where."""
        self._index_entries()
        self._cut_founders()
        self._index_appointments()
        self._cut_others()
        self._index_entries()
        for chain in self._chains.values():
            chain.num_bytes = sum(len(record.data) for record in chain.entries)

    def _has_room(self, chain: Chain, count: int) -> bool:
        if count >= MAX_ENTRIES or chain.author == self.swarm_key:
            return count < MAX_ENTRIES
        beside = [each for each in self._chains.values() if each.appointment == chain.appointment]
        num_bytes = sum(each.num_bytes for each in beside)
        return sum(len(each.entries) for each in beside) < MAX_ENTRIES and num_bytes < MAX_BYTES

    def _place_of_opening(self, record: Record, entry: Entry) -> Place:
        author, number = record.authors[0], len(self.of(entry.before))
        _, appointment = self.appointments.get(entry.before, (None, None))
        appointed = self.swarm_key if entry.before == NOTHING else appointment and appointment.person
        ends = self._ends.get(entry.before)
        if author != appointed or (ends is not None and record.hash not in ends):
            return Place.WORTHLESS
        return Place.NEW if ends is not None or number < self.most_of(author) else Place.KNOWN

    def _index_entries(self) -> None:
        self._pasts = {}
        self._places = {
            record.hash: (key, number)
            for key, chain in self._chains.items()
            for number, record in enumerate(chain.entries)
        }

    def _founders_entries(self) -> list[Record]:
        return [item for chain in self._chains.values() if chain.author == self.swarm_key for item in chain.entries]

    def _cut_founders(self) -> None:
        named: dict[bytes, list[Record]] = {}
        for record in self._founders_entries():
            if isinstance(record.content, Dismiss) and record.content.appointment == NOTHING:
                for key in record.content.ends:
                    named.setdefault(key, []).append(record)
        ends = {key: self.latest(records).content.ends[key] for key, records in named.items()}  # type: ignore[union-attr]
        for key, end in ends.items():
            if key in self._chains and self._chains[key].author == self.swarm_key:
                self._chains[key].cut(end)
        if ends:
            self._index_entries()

    def _index_appointments(self) -> None:
        self.appointments, self.dismissals = {}, {}
        for record in self._founders_entries():
            if isinstance(record.content, Appoint):
                self.appointments[record.hash] = record, record.content
            elif isinstance(record.content, Dismiss) and record.content.appointment != NOTHING:
                self.dismissals.setdefault(record.content.appointment, []).append(record)
        self._ends = {key: self.latest(found).content.ends for key, found in self.dismissals.items()}  # type: ignore[union-attr]

    def _cut_others(self) -> None:
        for key, chain in list(self._chains.items()):
            if chain.author == self.swarm_key:
                continue
            ends = self._ends.get(chain.appointment)
            if chain.appointment not in self.appointments or (ends is not None and key not in ends):
                del self._chains[key]
            elif ends is not None:
                chain.cut(ends[key])
            elif chain.end:
                chain.end = b""

    # -- order ---------------------------------------------------------------------------------------------------------

    def is_of_no_admin(self, removal: Record, person: bytes) -> bool:
        """Return whether the founder removed somebody, or a leader who had seen that this was no admin any more."""
        return removal.authors[0] == self.swarm_key or all(
            self._saw(appointing, removal) or any(self._saw(removal, end) for end in self.dismissals.get(key, ()))
            for key, (appointing, content) in self.appointments.items()
            if content.person == person and content.rank is Rank.ADMIN
        )

    def first(self, records: Sequence[Record]) -> Record:
        """Return the entry that the others' authors had seen, else the founder's, else that of the smallest hash."""
        first = [item for item in records if not any(self._saw(item, other) for other in records)]
        return min(first, key=lambda item: (item.authors[0] != self.swarm_key, item.hash))

    def latest(self, records: Sequence[Record]) -> Record:
        """Return the entry whose author had seen the others, else the founder's, else that of the smallest hash."""
        last = [item for item in records if not any(self._saw(other, item) for other in records)]
        return min(last, key=lambda item: (item.authors[0] != self.swarm_key, item.hash))

    def _saw(self, later: Record, earlier: Record) -> bool:
        """Return whether the author of one entry had seen the other."""
        key, number = self._places.get(earlier.hash, (b"", 0))
        return later.hash != earlier.hash and self._past(later).get(key, -1) >= number

    def _past(self, record: Record) -> dict[bytes, int]:
        """Return up to which number the author of an entry had seen each chain."""
        waiting = [self._places[record.hash]] if record.hash in self._places else []
        chain, last = waiting[0] if waiting else (b"", 0)
        seen = dict(self._pasts.get(chain, {}))  # go on from the result for another entry of the chain
        if seen.get(chain, 0) > last:
            seen = {}
        while waiting:
            key, number = waiting.pop()
            before = seen.get(key, -1)
            if number > before:
                seen[key] = number
                for item in self._chains[key].entries[before + 1 : number + 1]:
                    waiting += [self._places[head] for head in entry_of(item).heads.values() if head in self._places]
        self._pasts[chain] = seen
        return seen


def entry_of(record: Record) -> Entry:
    """Return the body of a record that is an entry."""
    assert isinstance(record.body, Entry)
    return record.body
