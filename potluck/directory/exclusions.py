"""Knows which servers are excluded because they were proven to answer wrongly, and works it out from the roster.

Accusations and findings come with the roster. Who may judge is known from the directory: people with a server of the
accused server's blocks, weights and format. Somebody who could judge once is remembered, because servers move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from potluck.audit.accusations import Accusation, Finding, Opinion, Verdict
from potluck.audit.consequences import Case
from potluck.audit.court import Judgement, judge_all
from potluck.membership.identity import public_key_of
from potluck.membership.roster import Docket, FiledCharge
from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.records import LiveServer, ServerRecord, span_digest


class Exclusions:
    """What one node makes of the accusations that it knows. `refresh` it whenever the directory was read."""

    def __init__(self, host: Host, clock: Callable[[], float]) -> None:
        self.judgement = Judgement()
        self._host = host
        self._clock = clock
        self._docket: Docket | None = None
        self._jurors: defaultdict[bytes, set[PersonId]] = defaultdict(set)  # by accusation

    def look(self, servers: Callable[[], Sequence[LiveServer]]) -> None:
        """Decide anew if somebody accused somebody, or said what they found, since the last time."""
        if self._host.docket is not self._docket:
            self.refresh(servers())

    def refresh(self, servers: Sequence[LiveServer]) -> None:
        """Decide all accusations with what is known now. `servers` are all live ones, excluded ones too."""
        docket = self._docket = self._host.docket
        if not docket.charges:
            self.judgement = Judgement()
            return
        owners = {server.peer_id: self._host.person_of(server.peer_id) for server in servers}
        for digest, filed in docket.charges.items():
            for server in servers:
                person = owners[server.peer_id]
                if person is not None and _can_judge(server.record, filed) and not self._is_new(server.peer_id):
                    self._jurors[digest].add(person)
        self._jurors = defaultdict(set, {each: self._jurors[each] for each in docket.charges})
        self.judgement = judge_all(
            _accusations(docket), _opinions(docket), lambda accusation: self._jurors[accusation.id], self._clock()
        )

    def is_excluded(self, peer: PeerId) -> bool:
        """Return whether nobody uses this server for now."""
        if not self.judgement.standings:
            return False
        person, key = self._host.person_of(peer), public_key_of(peer)
        return person is not None and key is not None and self.judgement.of(person).is_excluded(key, self._clock())

    def is_unpaid(self, person: PersonId) -> bool:
        """Return whether somebody's credit counts for nothing now."""
        standing, now_s = self.judgement.of(person), self._clock()
        return now_s < max(standing.unpaid_until_s, standing.excluded_until_s)

    def case_against(self, peer: PeerId) -> Case | None:
        """Return the latest proven case against this server, while it is excluded."""
        key = public_key_of(peer)
        proven = [case for case in self.judgement.cases if case.verdict is Verdict.PROVEN]
        mine = [case for case in proven if case.accusation.server == key]
        return mine[-1] if mine and self.is_excluded(peer) else None

    def ends_at(self, peer: PeerId) -> float:
        """Return until when a server is excluded, in Unix seconds."""
        person, key = self._host.person_of(peer), public_key_of(peer)
        return 0.0 if person is None or key is None else self.judgement.of(person).ends_at(key)

    def _is_new(self, peer: PeerId) -> bool:
        return self._host.is_on_probation(peer)


def _accusations(docket: Docket) -> list[Accusation]:
    return [
        Accusation(digest, filed.accuser, filed.accused, filed.charge.machine, float(filed.charge.at_s))
        for digest, filed in docket.charges.items()
    ]


def _opinions(docket: Docket) -> list[Opinion]:
    return [
        Opinion(said.charge, person, Finding.WRONG if said.is_wrong else Finding.RIGHT)
        for person, said in docket.attestations.values()
    ]


def _can_judge(record: ServerRecord, filed: FiledCharge) -> bool:
    """Return whether a server has the blocks, weights and format that an accusation is about."""
    try:
        span = Span.parse(filed.charge.blocks)
    except ValueError:
        return False
    form = record.format
    is_same_form = f"{form.dtype} {form.quantization} {form.cache}" == filed.charge.form
    is_covered = record.span.covers(span) and record.is_ours
    return is_same_form and is_covered and span_digest(record.digests_of(span)) == filed.charge.weights
