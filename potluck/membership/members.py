"""Who belongs to a swarm: what follows from its leaders' chains, people's lists of machines and guests' applications.

Only leaders write what lasts, in chains that nobody can rewrite (`chains.py`, decision 0035). An entry counts by its
place; no time is believed:

- A person who was confirmed and not removed is a member. A removal is for ever, and only the founder removes leaders.
- Of two models the one whose author had seen the other counts, else the founder's, else that of the smaller hash.
- A person's latest list of machines counts, without those that a leader removed. A machine that agreed to be listed by
  several people belongs to the one with the smaller key, members before guests.
- Guests are those with an application for a free seat of an invite. Each node has its own.
- A member's reports about computers are kept, a few of each member, and nothing follows from them.

`sift` says which records are worth checking a signature for, `add` keeps those that were checked. No I/O, no clock.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from potluck.audit.choices import WINDOW_TOKENS
from potluck.membership.chains import SHORT, Ahead, Chain, Chains, Heads, Place
from potluck.membership.identity import public_key_of
from potluck.membership.records import (
    MAX_REPORTS,
    NOTHING,
    Application,
    Appoint,
    Choose,
    ChooseDraft,
    Confirm,
    Dismiss,
    EndInvite,
    Entry,
    Machine,
    Machines,
    Rank,
    Record,
    Remove,
    Report,
    Request,
    Seats,
    is_signed,
    public_key,
    read_record,
    ticket_expires_s,
    ticket_of,
)
from potluck.protocol.blocks import PeerId, PersonId

PROBATION_S = 7 * 86_400
GUEST_LIVES_S = 30 * 86_400
REPORT_LIVES_S = 30 * 86_400
_CLOCKS_S = 86_400  # how far ahead a clock may be
_RENEWALS, _RENEWALS_S = 4, 240  # lists of machines, requests, and reports, of a person in so many seconds
_TICKET_S = 1200  # longest life of a ticket, as far as clocks agree
_MAX_LOOSE = 1000
_CATCHING_UP_S = 3600  # time that a new node needs to hear of everybody who was there before it
_MAX_REPORTERS = 500
_MAX_HEARD = 50_000
_DROPPED = b"dropped "  # prefix of the keys of computers in `heard`, which otherwise has people


@dataclass(frozen=True, slots=True)
class Person:
    """A member of the swarm, or a guest."""

    key: bytes
    name: str
    invite: bytes
    rank: Rank = Rank.MEMBER
    is_founder: bool = False
    is_guest: bool = False
    machines: tuple[Machine, ...] = ()

    @property
    def id(self) -> PersonId:
        return PersonId(self.key.hex())

    @property
    def may_lead(self) -> bool:
        return self.is_founder or self.rank is Rank.ADMIN

    @property
    def may_enrol(self) -> bool:
        """Return whether this person's computers let newcomers into a public swarm."""
        return self.is_founder or self.rank is not Rank.MEMBER


class Members:
    """The members of one swarm, as one node knows them.

    Args:
        swarm_key: the founder's public key.
        records: what this computer kept; their signatures were checked before.
        heard: when this node first heard of people, by key, in Unix seconds; computers that they dropped as well.
    """

    def __init__(
        self, swarm_key: bytes, records: Iterable[bytes] = (), heard: Mapping[bytes, int] | None = None
    ) -> None:
        self.swarm_key = swarm_key
        self.heard: dict[bytes, int] = dict(heard or {})
        self.digest = b""  # equal for all who hold the same chains and lists
        self.people: dict[bytes, Person] = {}
        self.guests: dict[bytes, Person] = {}
        self.invites: dict[bytes, Seats] = {}  # those that are open
        self.inviters: dict[bytes, bytes] = {}  # who made each invite
        self.choice: Choose | None = None
        self.chains = Chains(swarm_key)
        self._drafts: dict[tuple[bytes, str], Record] = {}  # the last one of each chain, by the prefix
        self._lists: dict[bytes, Record] = {}  # person -> list of machines
        self._renewed_s: dict[tuple[bytes, type], list[float]] = {}  # when lists and requests of people came
        self._applications: dict[bytes, Record] = {}  # person -> application
        self._met_s: dict[bytes, float] = {}  # when guests last applied here in person
        self._requests: dict[bytes, Record] = {}  # person -> request
        self._reports: dict[bytes, dict[bytes, Record]] = {}  # person -> computer -> report
        self._loose: dict[bytes, tuple[Seats, Record]] = {}  # invites that newcomers brought, ahead of the chain
        self._removals: dict[bytes, Record] = {}  # person -> removal
        self._machine_removals: dict[tuple[bytes, bytes], Record] = {}  # person and machine -> removal
        self._offers: dict[bytes, Seats] = {}  # all invites
        self._ended: set[bytes] = set()  # invites that were ended
        self._confirmations: dict[bytes, list[Record]] = {}
        self._confirmed: dict[bytes, Confirm] = {}  # those of them that count
        self._taken: Counter[bytes] = Counter()  # seats, by invite
        self._owners: dict[bytes, Person] = {}  # machine -> owner
        self._former: dict[bytes, bytes] = {}  # people who were removed, by machine
        if records:
            self._load(map(read_record, records))

    def __iter__(self) -> Iterator[Record]:
        """Iterate over all records but reports, so that each comes after what it needs."""
        for _, chain in self.chains:
            yield from chain.entries
            if chain.rival is not None:
                yield chain.rival
        for kept in (self._applications, self._lists, self._requests):
            yield from kept.values()

    # -- who is who ----------------------------------------------------------------------------------------------------

    def person(self, key: bytes) -> Person | None:
        """Return a member or a guest."""
        return self.people.get(key) or self.guests.get(key)

    def owner_of_key(self, machine: bytes) -> Person | None:
        return self._owners.get(machine)

    def owner(self, peer: PeerId) -> Person | None:
        """Return whose machine this is, or None."""
        key = public_key_of(peer)
        return None if key is None else self._owners.get(key)

    def known(self, key: bytes) -> Person | None:
        """Return the person with this key, or with a machine of this key."""
        return self.person(key) or self._owners.get(key)

    def is_on_probation(self, person: Person, now_s: float) -> bool:
        """Return whether this person has small budgets, and serves where nobody else does."""
        came_alone = self.is_public(person.invite) and person.rank is Rank.MEMBER
        return person.is_guest or (came_alone and now_s < self.heard.get(person.key, 0) + PROBATION_S)

    def remover(self, key: bytes) -> bytes | None:
        """Return the key of the leader who removed a person or a machine; None if nobody did."""
        removal = self._removal(key)
        return None if removal is None else removal.authors[0]

    def _removal(self, key: bytes) -> Record | None:
        if key in self._removals or key in self._owners:
            return self._removals.get(key)
        if key in self._former:
            return self._removals[self._former[key]]
        return next((found for (_, machine), found in self._machine_removals.items() if machine == key), None)

    def proof_of_removal(self, key: bytes, heads: Heads) -> list[Record]:
        """Return what shows a node with these heads that a person or a machine was removed, and no later news."""
        return self.chains.leading_to(self._removal(key), heads)

    @property
    def removed(self) -> Iterable[bytes]:
        """Return the keys of the people who were removed."""
        return self._removals

    @property
    def founder(self) -> Person | None:
        return next((person for person in self.people.values() if person.is_founder), None)

    @property
    def public_invite(self) -> Seats | None:
        """Return the invite that anybody may read; None unless the swarm is public."""
        public = [seats for seats in self.invites.values() if self.is_public(seats.invite)]
        return max(public, key=lambda seats: (self.free_seats(seats.invite), seats.invite), default=None)

    def free_seats(self, invite: bytes) -> int:
        """Return how many more people may take a seat, guests included."""
        seats = self._seats(invite)
        guests = sum(person.invite == invite for person in self.guests.values())
        return 0 if seats is None else seats.people - self._taken[invite] - guests

    def num_confirmed(self, invite: bytes) -> int:
        return self._taken[invite]

    def expires_s(self, invite: bytes) -> float:
        seats = self._seats(invite)
        return 0 if seats is None else seats.expires_s

    def machines_of(self, person: bytes) -> Machines | None:
        """Return the list of a person's machines as the person signed it."""
        record = self._lists.get(person)
        return None if record is None else record.body  # type: ignore[return-value]

    def list_of(self, person: bytes) -> bytes:
        """Return the record of a person's machines; empty if there is none."""
        record = self._lists.get(person)
        return b"" if record is None else record.data

    def request_to(self, person: bytes, now_s: float) -> Machine | None:
        """Return the computer that asks to be this person's."""
        record = self._requests.get(person)
        if record is None or not isinstance(record.body, Request) or ticket_expires_s(record.body) < now_s:
            return None
        return record.body.machine

    @property
    def reports(self) -> Sequence[Record]:
        """Return what members reported about each other's computers."""
        return [record for own in self._reports.values() for record in own.values()]

    # -- what leaders wrote --------------------------------------------------------------------------------------------

    def only_confirmed_by(self, entries: Iterable[Record]) -> list[Person]:
        """Return the members whom no other entries confirm."""
        hashes = {record.hash for record in entries}
        unseated = (key for key, found in self._confirmations.items() if hashes.issuperset(item.hash for item in found))
        return [self.people[key] for key in unseated if key in self.people]

    def entry_of(self, invite: bytes) -> bytes:
        """Return the entry of an invite, to be shown to others."""
        offers = (item for _, chain in self.chains for item in chain.entries if isinstance(item.content, Seats))
        return next((item.data for item in offers if item.content.invite == invite), b"")  # type: ignore[union-attr]

    def draft_for(self, prefix: str) -> ChooseDraft | None:
        """Return which model drafts for the swarm's model with this prefix, if a leader said so."""
        found = [record for (_, wanted), record in self._drafts.items() if wanted == prefix]
        return self.chains.latest(found).content if found else None  # type: ignore[return-value]

    # -- learning ------------------------------------------------------------------------------------------------------

    def sift(self, records: Iterable[Record], now_s: float) -> tuple[list[Record], int, bool]:
        """Return the records that are new if their signatures are right, and how many are worth nothing.

        The records are of one group, see `groups`. The third value is whether entries are missing before some.
        """
        ahead: Ahead = {}
        claimed: Counter[bytes] = Counter()  # seats, and lists and requests of people
        wanted: list[Record] = []
        worthless, is_ahead = 0, False
        if any(record.body.at_s <= now_s - REPORT_LIVES_S for record in self.reports):  # type: ignore[union-attr]
            self._forget_reports(now_s)
        for record in records:
            place = self._place(record, ahead, now_s)
            if place is Place.NEW and not isinstance(record.body, Entry) and not self._claim(record, claimed):
                place = Place.WORTHLESS
            if place in (Place.NEW, Place.RIVAL):
                wanted.append(record)
            worthless += place is Place.WORTHLESS
            is_ahead |= place is Place.AHEAD
            if place is Place.NEW and isinstance(record.body, Entry):
                self.chains.expect_next(record, ahead)
        return wanted, worthless, is_ahead

    def _claim(self, record: Record, claimed: Counter[bytes]) -> bool:
        """Return whether a record of a batch may be new beside those before it: before any signature is checked."""
        body = record.body
        assert isinstance(body, Machines | Application | Request | Report)
        key, limit = body.person, 1
        if isinstance(body, Application):
            key, limit = body.invite, self.free_seats(body.invite)
        elif isinstance(body, Report):
            key, limit = b"report" + body.person, MAX_REPORTS
        claimed[key] += 1
        return claimed[key] <= limit

    def add(self, records: Iterable[Record], now_s: float) -> list[Record]:
        """Keep records whose signatures are right. Return those that are new."""
        new: list[Record] = []
        for group in self.groups(records):
            taken = [record for record in group if self._put(record, now_s)]
            if any(not isinstance(record.body, Request | Report) for record in taken):
                self._settle(now_s)
            new += taken
        return new

    def groups(self, records: Iterable[Record]) -> Sequence[list[Record]]:
        """Split records into what has to be taken one after the other: the founder's entries first."""
        parts: tuple[list[Record], ...] = ([], [], [], [], [])
        for record in records:
            match record.body:
                case Entry():
                    parts[0 if record.authors[0] == self.swarm_key else 1].append(record)
                case Application():
                    parts[2].append(record)
                case Report():
                    parts[4].append(record)
                case _:
                    parts[3].append(record)
        return parts

    def learn(self, records: Iterable[Record], now_s: float) -> list[Record]:
        """Keep the records that hold, after checking their signatures. Return those that are new."""
        new: list[Record] = []
        for group in self.groups(records):
            wanted, _, _ = self.sift(group, now_s)
            new += self.add([record for record in wanted if is_signed(self.swarm_key, record)], now_s)
        return new

    def renew_guest(self, guest: bytes, now_s: float) -> None:
        """Remember that a guest applied here in person, whom this node otherwise forgets after 30 days."""
        if self._is_forgotten(guest, now_s):
            self.heard[guest] = int(now_s)
        self._met_s[guest] = now_s

    def add_shown_invite(self, invite: Record) -> bool:
        """Accept an invite that a newcomer shows before its chain has come so far; return whether it is open.

        Signatures were checked.
        """
        seats = invite.content
        if not isinstance(seats, Seats) or seats.invite in self._ended or not self._may_offer(invite):
            return False
        if seats.invite not in self.inviters and len(self._loose) < _MAX_LOOSE:
            self._loose[seats.invite] = seats, invite
        return self._seats(seats.invite) is not None

    def _may_offer(self, invite: Record) -> bool:
        author, chain = invite.authors[0], self.chains.get(invite.chain)
        if chain is not None and (chain.end or chain.author != author):
            return False
        appointments = self.chains.appointments_of(author).items()
        admins = [key for key, content in appointments if content.rank is Rank.ADMIN]
        if author == self.swarm_key:
            return True
        own = [(key, offer) for key, offer in self.invites.items() if self.inviters[key] == author]
        offered = sum(max(offer.people - self._taken[key], 0) for key, offer in own)
        offered += sum(offer.people for offer, record in self._loose.values() if record.authors[0] == author)
        in_question = chain.appointment if chain is not None else next(iter(admins), b"")
        seats: Seats = invite.content  # type: ignore[assignment]
        known = 0 if seats.invite in self._loose or seats.invite in self.invites else seats.people
        return in_question in admins and not seats.seed and offered + known <= dict(appointments)[in_question].seats

    # -- comparing -----------------------------------------------------------------------------------------------------

    @property
    def short_hashes(self) -> bytes:
        """Return the beginnings of the hashes of all records outside chains."""
        return b"".join(record.hash[:SHORT] for record in self._outside_chains())

    def others_than(self, short_hashes: bytes) -> tuple[list[Record], bytes]:
        """Return the records outside chains that a node with these short hashes lacks, and the hashes lacking here."""
        theirs = {short_hashes[start : start + SHORT] for start in range(0, len(short_hashes), SHORT)}
        ours = {record.hash[:SHORT]: record for record in self._outside_chains()}
        return [record for key, record in ours.items() if key not in theirs], b"".join(theirs - ours.keys())

    def _outside_chains(self) -> Iterator[Record]:
        for kept in (self._applications, self._lists, self._requests):
            yield from kept.values()
        yield from self.reports

    # -- where a record belongs ----------------------------------------------------------------------------------------

    def _place(self, record: Record, ahead: Ahead, now_s: float) -> Place:
        body = record.body
        match body:
            case Entry():
                return self.chains.place(record, ahead)
            case Machines():
                return self._place_of_list(record, body, now_s)
            case Application():
                return self._place_of_application(record, body, now_s)
            case Request():
                return self._place_of_request(record, body, now_s)
            case Report():
                return self._place_of_report(record, body, now_s)
        return Place.WORTHLESS

    def _place_of_list(self, record: Record, machines: Machines, now_s: float) -> Place:
        before = self._lists.get(machines.person)
        if before is not None and before.hash == record.hash:
            return Place.KNOWN
        if self.person(machines.person) is None or record.authors != (machines.person,):
            return Place.WORTHLESS
        if before is not None and not _is_newer(record, before):
            return Place.WORTHLESS
        return Place.NEW if self._is_due(machines, now_s) else Place.WORTHLESS

    def _is_due(self, body: Machines | Request | Report, now_s: float) -> bool:
        """Return whether a person did not renew this too often."""
        times = self._renewed_s.get((body.person, type(body)), [])
        return len(times) < _RENEWALS or now_s >= times[0] + _RENEWALS_S

    def _place_of_application(self, record: Record, application: Application, now_s: float) -> Place:
        person = application.person
        if person in self.people or person in self._applications or self._is_forgotten(person, now_s):
            return Place.KNOWN
        is_welcome = person not in self._removals and self.free_seats(application.invite) > 0
        return Place.NEW if is_welcome else Place.WORTHLESS

    def _place_of_request(self, record: Record, request: Request, now_s: float) -> Place:
        before = self._requests.get(request.person)
        if before is not None and before.hash == record.hash:
            return Place.KNOWN
        if self.person(request.person) is None or self.request_to(request.person, now_s) is not None:
            return Place.WORTHLESS
        ticket = ticket_of(request)
        is_asked = ticket is not None and record.authors == (ticket.body.key,)  # type: ignore[union-attr]
        is_asked = is_asked and (not now_s or now_s <= ticket_expires_s(request) <= now_s + _TICKET_S)
        return Place.NEW if is_asked and self._is_due(request, now_s) else Place.WORTHLESS

    def _place_of_report(self, record: Record, report: Report, now_s: float) -> Place:
        """Return KNOWN for what another node may rightly keep, so that nobody pays for bringing it."""
        if not report.blocks[0] < report.blocks[1] or not 0 < report.tokens[1] - report.tokens[0] <= WINDOW_TOKENS:
            return Place.WORTHLESS
        own, author = self._reports.get(report.person, {}), self.people.get(report.person)
        before = own.get(report.machine)
        if before is not None and _age(before) >= _age(record):
            return Place.KNOWN
        if author is None or not self._is_fit(record, author, now_s):
            return Place.KNOWN
        if now_s and (report.at_s >= now_s + _CLOCKS_S or self._is_new_here(author, now_s)):
            return Place.KNOWN
        is_displaced = before is None and len(own) == MAX_REPORTS and min(map(_age, own.values())) >= _age(record)
        if is_displaced or (not own and len(self._reports) >= _MAX_REPORTERS):
            return Place.KNOWN
        return Place.NEW if self._is_due(report, now_s) else Place.KNOWN

    def _is_new_here(self, person: Person, now_s: float) -> bool:
        """Return whether a person is on probation, and not only because this node came after them."""
        founder = self.founder
        caught_up_s = _CATCHING_UP_S + (0 if founder is None else self.heard.get(founder.key, 0))
        return self.is_on_probation(person, now_s) and self.heard.get(person.key, 0) > caught_up_s

    def _is_fit(self, record: Record, author: Person, now_s: float) -> bool:
        """Return whether a report may be kept. The computer need not be listed: its owner could unlist it."""
        report = record.body
        assert isinstance(report, Report)
        owner = self._owners.get(report.machine)
        is_own = owner is not None and owner.key == author.key
        is_old = report.at_s <= now_s - REPORT_LIVES_S
        return not is_own and not is_old and self.remover(report.machine) is None and _may_sign(author, record)

    def _put_report(self, record: Record, report: Report) -> None:
        """Keep a report, in place of the person's oldest one if these are too many."""
        own = self._reports.setdefault(report.person, {})
        if len(own) == MAX_REPORTS and report.machine not in own:
            del own[min(own, key=lambda machine: _age(own[machine]))]
        own[report.machine] = record

    def _forget_reports(self, now_s: float) -> None:
        """Drop old reports, and those whose author or computer is none of the swarm's any more."""
        for key, reports in list(self._reports.items()):
            author = self.people.get(key)
            left = author is not None and {
                machine: record for machine, record in reports.items() if self._is_fit(record, author, now_s)
            }
            if left:
                self._reports[key] = left
            else:
                del self._reports[key]

    def _put(self, record: Record, now_s: float) -> bool:
        place = self._place(record, {}, now_s)
        if place not in (Place.NEW, Place.RIVAL):
            return False
        body = record.body
        match body:
            case Entry():
                self.chains.put(record, place)
            case Application():
                self._applications[body.person] = record
            case Machines() | Request() | Report():
                key = body.person, type(body)
                if isinstance(body, Report):
                    self._put_report(record, body)
                elif isinstance(body, Machines):
                    self._remember_dropped(body, now_s)
                    self._lists[body.person] = record
                else:
                    self._requests[body.person] = record
                self._renewed_s[key] = [*self._renewed_s.get(key, [])[1 - _RENEWALS :], now_s]
        return True

    def _remember_dropped(self, machines: Machines, now_s: float) -> None:
        """Remember the computers that a person lists no longer, so that nobody takes them for meeting points."""
        before = self.machines_of(machines.person)
        if before is not None and machines.person in self.people and len(self.heard) < _MAX_HEARD:
            left = [each.key for each in before.machines if each not in machines.machines]
            self.heard |= {_DROPPED + key: int(now_s) for key in left}

    def was_listed(self, machine: bytes) -> bool:
        """Return whether a member's list named this computer once."""
        return _DROPPED + machine in self.heard

    def _load(self, records: Iterable[Record]) -> None:
        for group in self.groups(records):
            for record in group:
                self._put(record, 0.0)
            self._settle(0.0)

    # -- what follows from it ------------------------------------------------------------------------------------------

    def _settle(self, now_s: float) -> None:
        self.chains.settle()
        self._settle_decisions()
        if now_s:
            self._forget_guests(now_s)
        self._settle_people()
        self._forget_reports(now_s)
        heads, known = self.chains.heads, (*self.people, *self.guests)
        self.heard |= {person: int(now_s) for person in known if now_s and person not in self.heard}
        chains = [b"%b%d%b" % (key, *heads[key][:2]) for key in sorted(heads)]
        lists = sorted(record.hash for person, record in self._lists.items() if person in self.people)
        self.digest = hashlib.sha256(b"".join((*chains, *lists))).digest()[:16]

    def _forget_guests(self, now_s: float) -> None:
        for person in [key for key in self._applications if self._is_forgotten(key, now_s)]:
            del self._applications[person]

    def _is_forgotten(self, guest: bytes, now_s: float) -> bool:
        return now_s > self._met_s.get(guest, self.heard.get(guest, now_s)) + GUEST_LIVES_S

    def _settle_decisions(self) -> None:
        removals: dict[tuple[bytes, Remove], Record] = {}  # the last one of each chain, whose author had seen most
        choices: dict[bytes, Record] = {}  # the last one of each chain
        offers: dict[bytes, list[Seats]] = {}  # appointment -> invites made under it
        self._confirmations = {}
        self._offers, self.inviters, self._ended, self._drafts = {}, {}, set(), {}
        for key, chain in self.chains:
            for record in self._counting(chain):
                match record.content:
                    case Confirm() as confirm:
                        self._confirmations.setdefault(confirm.person, []).append(record)
                    case Remove() as removal:
                        removals[key, removal] = record
                    case Seats() as seats if seats.invite not in self._offers:
                        self._offers[seats.invite] = seats
                        self.inviters[seats.invite] = chain.author
                        offers.setdefault(chain.appointment, []).append(seats)
                    case EndInvite() as end:
                        self._ended.add(end.invite)
                    case Choose():
                        choices[key] = record
                    case ChooseDraft(prefix=prefix):
                        self._drafts[key, prefix] = record
        self._confirmed = {
            person: self.chains.first(_first_of_chains(found)).content  # type: ignore[misc]
            for person, found in self._confirmations.items()
        }
        over = self._offers.keys() | self._ended
        self._loose = {key: it for key, it in self._loose.items() if key not in over and self._may_offer(it[1])}
        self._taken = Counter(confirm.invite for confirm in self._confirmed.values())
        self.invites = {seats.invite: seats for key, made in offers.items() for seats in self._open(key, made)}
        self.choice = self.chains.latest([*choices.values()]).content if choices else None  # type: ignore[assignment]
        self._removals, self._machine_removals = {}, {}
        for (_, removal), record in removals.items():
            if self._may_remove(record, removal):
                if removal.machine:
                    self._machine_removals.setdefault((removal.person, removal.machine), record)
                else:
                    self._removals.setdefault(removal.person, record)

    def _counting(self, chain: Chain) -> Iterator[Record]:
        """Iterate over the entries that their author had the right to write. Those of the founder come first."""
        if chain.author == self.swarm_key:
            yield from chain.entries
            return
        _, appointment = self.chains.appointments[chain.appointment]
        for record in chain.entries:
            match record.content:
                case Appoint() | Dismiss():
                    continue
                case Confirm(person=person, invite=invite):
                    is_enough = appointment.rank is Rank.ADMIN or self.is_public(invite)
                    if self.swarm_key == invite or person == chain.author or not is_enough:
                        continue
                case _ if appointment.rank is not Rank.ADMIN:
                    continue
                case Seats(seed=seed) if seed:
                    continue
            yield record

    def _open(self, appointment: bytes, offers: Iterable[Seats]) -> Iterator[Seats]:
        """Iterate over the open invites of all chains of an appointment, as far as it allows so many free seats."""
        left = None if appointment == NOTHING else self.chains.appointments[appointment][1].seats
        for seats in offers:
            free = seats.people - self._taken[seats.invite]
            if seats.invite not in self._ended and (left is None or free <= left):
                left = None if left is None else left - max(free, 0)
                yield seats

    def _may_remove(self, record: Record, removal: Remove) -> bool:
        """Return whether a removal counts: only the founder removes leaders."""
        confirm = self._confirmed.get(removal.person)
        if confirm is not None and confirm.invite == self.swarm_key and record.authors[0] != self.swarm_key:
            return False
        return self.chains.is_of_no_admin(record, removal.person)

    def _settle_people(self) -> None:
        self.people = {
            key: Person(
                key,
                confirm.name,
                confirm.invite,
                self._rank_of(key),
                is_founder=confirm.invite == self.swarm_key,
                machines=self._machines(key),
            )
            for key, confirm in self._confirmed.items()
            if key not in self._removals
        }
        self._applications = {
            key: record
            for key, record in self._applications.items()
            if key not in self._confirmed and key not in self._removals and self._seats(record.body.invite) is not None  # type: ignore[union-attr]
        }
        self.guests = {
            key: Person(key, record.body.name, record.body.invite, is_guest=True, machines=self._machines(key))  # type: ignore[union-attr]
            for key, record in self._applications.items()
        }
        # Somebody who was removed may return with the dismissal of who did it.
        known = self._confirmed.keys() | self.guests.keys()
        self._lists = {key: record for key, record in self._lists.items() if key in known}
        self._requests = {key: record for key, record in self._requests.items() if self.person(key) is not None}
        self._owners = {}
        for people in (self.people, self.guests):
            for key in sorted(people):
                for machine in people[key].machines:
                    self._owners.setdefault(machine.key, people[key])
        self._former = {each.key: key for key in self._removals for each in self._machines(key)}

    def _rank_of(self, person: bytes) -> Rank:
        ranks = {content.rank for content in self.chains.appointments_of(person).values()}
        return Rank.ADMIN if Rank.ADMIN in ranks else Rank.ENROLLER if ranks else Rank.MEMBER

    def _machines(self, person: bytes) -> tuple[Machine, ...]:
        machines = self.machines_of(person)
        listed = () if machines is None else machines.machines
        return tuple(each for each in listed if (person, each.key) not in self._machine_removals)

    def _seats(self, invite: bytes) -> Seats | None:
        """Return an open invite, one that a newcomer brought included."""
        loose, _ = self._loose.get(invite, (None, None))
        return self.invites.get(invite) or loose

    def is_public(self, invite: bytes) -> bool:
        """Return whether anybody may read an invite."""
        seats = self._offers.get(invite)
        is_open = seats is not None and bool(seats.seed) and public_key(seats.seed) == invite
        return is_open and self.inviters.get(invite) == self.swarm_key


def _may_sign(author: Person, record: Record) -> bool:
    """Return whether a person or a computer of theirs signed a record."""
    return record.authors[0] in (author.key, *(machine.key for machine in author.machines))


def _age(record: Record) -> tuple[int, bytes]:
    """Return what puts reports of one person in order."""
    assert isinstance(record.body, Report)
    return record.body.at_s, record.hash


def _first_of_chains(records: Sequence[Record]) -> list[Record]:
    """Return the first entry of each chain; those after it cannot come before it."""
    return [*{record.chain: record for record in reversed(records)}.values()]


def _is_newer(record: Record, before: Record) -> bool:
    assert isinstance(record.body, Machines)
    assert isinstance(before.body, Machines)
    return (-record.body.number, record.hash) < (-before.body.number, before.hash)
