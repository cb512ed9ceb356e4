"""Lets another person's server recompute some windows of a client's sessions, and tells which server answered wrongly.

An audit is one stateless forward of a row's inputs up to the window's end, in the background: sessions never wait for
it. After a disagreement a third person's server computes the window twice, in one prefill and in the steps of the
audited server. Whoever stands alone is left, with the other servers of that person. `potluck.audit` has the rules;
docs/decisions/0042 says why they are so.
"""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from potluck.audit import (
    WINDOW_TOKENS,
    Apart,
    Differences,
    HonestDifferences,
    Opinion,
    Outsider,
    audit_chance,
    choose_auditor,
    choose_window,
    compare,
    difference,
    settle,
)
from potluck.audit.differences import Window
from potluck.client.calls import Calls
from potluck.client.config import ClientConfig
from potluck.client.history import History
from potluck.client.hop import Hop
from potluck.client.packing import speaks_packed
from potluck.client.report import AuditReport
from potluck.client.reports import Evidence, Reports
from potluck.client.servers import Servers
from potluck.client.stateless import forward_at
from potluck.errors import PotluckError
from potluck.membership.reports import WrongResults
from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.messages import ForwardRequest, SessionOpening
from potluck.protocol.records import NumberFormat, ServerRecord
from potluck.routing import Needs, RouteHop
from potluck.tasks import BackgroundTasks
from potluck.wire.packing import pack_exactly

_log = logging.getLogger(__name__)

_SEED_BYTES = 16  # of the draws among auditors
_AT_ONCE = 1  # audits of a client, so that they take little of its link and memory


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """A window to audit.

    Shapes: inputs [1, tokens, hidden_size], up to the window's end; outputs [WINDOW_TOKENS, hidden_size].
    """

    part: RouteHop
    person: PersonId
    opening: SessionOpening
    inputs: Tensor
    outputs: Tensor
    pieces: tuple[int, ...]  # tokens of each step within the window
    is_fed_rounded: bool  # the inputs can travel packed

    def kind(self, form: NumberFormat) -> tuple[Span, NumberFormat, bool]:
        """Return what the honest difference of steps in this format depends on, besides the model."""
        return self.part.span, form, self.opening.packs

    @property
    def needs(self) -> Needs:
        tokens = self.inputs.shape[1]
        return Needs(max_length=tokens, call_tokens=tokens, pins=self.part.pins)


class Audits:
    """The audits of one client. Lives in the client's event loop."""

    def __init__(
        self,
        servers: Servers,
        calls: Calls,
        config: ClientConfig,
        host: Host,
        rng: np.random.Generator,
        *,
        has_experts: bool,
    ) -> None:
        """`rng` draws the windows; nobody else may know its state. `has_experts`: see `HonestDifferences`."""
        self.report = AuditReport()
        self._servers = servers
        self._calls = calls
        self._config = config
        self._person_of = host.person_of
        self._rng = rng
        self._used: set[PeerId] = set()  # servers of this client's sessions
        self._reports = Reports(host, servers, calls, self._used, config.audits)
        self._clean: defaultdict[PersonId, int] = defaultdict(int)  # audits without a disagreement, by person
        self._honest = HonestDifferences(has_experts=has_experts)
        self._running = 0
        self._background = BackgroundTasks()

    def note(self, hop: Hop, start: int, outputs: Tensor) -> None:
        """Take notice of outputs of the tokens from `start` on, and perhaps begin an audit of a window of them."""
        if self._config.audits == "off" or hop.history.prompts is not None or not hop.part.server.record.is_ours:
            return
        self._used.add(hop.peer_id)
        finished = hop.windows.add(start, outputs)
        if not finished or self._running >= _AT_ONCE:
            return
        person = self._person_of(hop.peer_id)
        if person is None:
            return
        window = choose_window(finished, audit_chance(self._clean[person]), self._rng)
        if window is not None:
            self._running += 1
            self._background.start(self._run(self._case(hop, person, window)))

    async def close(self) -> None:
        """End all audits that are under way."""
        await self._background.cancel()
        await self._reports.close()

    def _case(self, hop: Hop, person: PersonId, window: int) -> _Case:
        row = int(self._rng.integers(hop.history.batch))
        inputs = hop.history.since(0)[row : row + 1, : (window + 1) * WINDOW_TOKENS]
        return _Case(
            part=hop.part,
            person=person,
            opening=hop.opening,
            inputs=inputs,
            outputs=hop.windows.take(window, row),
            pieces=hop.windows.pieces(window),
            is_fed_rounded=hop.is_fed_rounded,
        )

    async def _run(self, case: _Case) -> None:
        try:
            await self._audit(case)
        except PotluckError as error:
            self.report.unanswered += 1
            _log.info("an audit of blocks %s was not answered: %s", case.part.span, error.message)
        finally:
            self._running -= 1

    async def _audit(self, case: _Case) -> None:
        seed = os.urandom(_SEED_BYTES)
        auditor = self._choose(case, {case.person}, seed)
        other = None if auditor is None else self._person_of(auditor.peer_id)
        if auditor is None or other is None:
            self.report.nobody += 1
            return
        claimed = _numbers(case.outputs)
        recomputed = _numbers(await self._prefill(case, auditor))
        form = case.part.server.record.format
        limit = self._honest.limit(case.kind(form), form, packs=case.opening.packs)
        apart = difference(claimed, recomputed)
        opinion = compare(apart, limit)
        self.report.audited += 1
        if opinion is Opinion.AGREES:
            self._clean[case.person] += 1
            self._servers.note_clean(case.person)
            self._servers.note_clean(other)
            await self._learn(case, auditor, other, recomputed)
        elif opinion is Opinion.UNDECIDABLE or limit is None:
            self.report.undecided += 1
        else:
            await self._settle(case, auditor, other, seed, limit, claimed, recomputed)

    async def _learn(self, case: _Case, auditor: RouteHop, other: PersonId, recomputed: Window) -> None:
        """Let the auditor compute the window in steps, too, if honest differences of such windows are not known yet."""
        kind = case.kind(auditor.server.record.format)
        if not self._honest.wants(kind, other):
            return
        try:
            steps = _numbers(await self._repeat(case, auditor))
        except PotluckError as error:
            _log.info("blocks %s: an auditor did not repeat the steps: %s", case.part.span, error.message)
        else:
            self._honest.note(kind, other, difference(steps, recomputed))

    async def _settle(
        self,
        case: _Case,
        auditor: RouteHop,
        other: PersonId,
        seed: bytes,
        limit: Apart,
        claimed: Window,
        recomputed: Window,
    ) -> None:
        """Ask a third person's server who is right."""
        self.report.undecided += 1  # until it is decided
        third = self._choose(case, {case.person, other}, seed, form=case.part.server.record.format)
        if third is None:
            _log.warning(
                "blocks %s: %s and %s computed different results, and nobody else can tell which of them is right",
                *(case.part.span, _name(case.part.server.record), _name(auditor.server.record)),
            )
            return
        prefill = _numbers(await self._prefill(case, third))
        steps = _numbers(await self._repeat(case, third))
        found = Differences(
            claims=difference(claimed, recomputed),
            steps=difference(claimed, steps),
            prefills=difference(recomputed, prefill),
            honest=difference(steps, prefill),
        )
        outsider = settle(found, limit)
        if outsider is Outsider.UNKNOWN:
            _log.warning("blocks %s: three servers computed different results", case.part.span)
            return
        asked = {case.person, other, self._person_of(third.peer_id)}
        if await self._is_backed(case, asked, seed, claimed if outsider is Outsider.AUDITED else recomputed, limit):
            _log.warning("blocks %s: four servers are of two opinions", case.part.span)
            return
        self.report.undecided -= 1
        is_audited = outsider is Outsider.AUDITED
        wrong, person, right = (case.part, case.person, other) if is_audited else (auditor, other, case.person)
        if not is_audited:
            self._clean[case.person] += 1
        self._leave(wrong.server.record, person)
        repeated_by = [each for each in (right, self._person_of(third.peer_id)) if each is not None]
        tokens = case.inputs.shape[1] - WINDOW_TOKENS, case.inputs.shape[1]
        blocks = case.part.span.start, case.part.span.end
        errors = found.claims.most, limit.most
        self._reports.send(
            WrongResults(wrong.peer_id, blocks, tokens, tuple(repeated_by), *errors),
            Evidence(case.part.span, self._request(case), case.needs),
        )

    async def _is_backed(
        self, case: _Case, asked: Collection[PersonId | None], seed: bytes, lone: Window, limit: Apart
    ) -> bool:
        """Return whether a fourth person's server computes what the lone server did: the other two may be a ring."""
        fourth = self._choose(case, asked, seed, form=case.part.server.record.format)
        if fourth is None:
            return False
        try:
            prefill = _numbers(await self._prefill(case, fourth))
        except PotluckError as error:
            _log.info("blocks %s: a fourth server did not answer: %s", case.part.span, error.message)
            return False
        return compare(difference(lone, prefill), limit) is Opinion.AGREES

    def _leave(self, record: ServerRecord, person: PersonId) -> None:
        self._clean.pop(person, None)
        self._honest.forget(person)
        self._servers.distrust(person)
        self.report.wrong.append(_name(record))
        self.report.wrong_people.append(person)
        self._config.on_wrong(
            f"{_name(record)} computed blocks {record.span} wrongly: two other people's servers agree on another "
            "result. That person's servers aren't used any more. Earlier answers may be wrong, so ask again."
        )

    def _choose(
        self, case: _Case, unwanted: Collection[PersonId | None], seed: bytes, form: NumberFormat | None = None
    ) -> RouteHop | None:
        """Return a server of somebody else that can compute the case, or None.

        Args:
            form: that it must have. Auditors may hold keys and values otherwise, because a stateless call has none.
        """
        replicas = self._servers.replicas(case.part.span, case.needs)
        able = {hop.peer_id: hop for hop in replicas if hop.server.record.is_ours}
        if form is not None:
            able = {peer: hop for peer, hop in able.items() if hop.server.record.format == form}
        if self._config.audits == "known":
            able = {peer: hop for peer, hop in able.items() if peer in self._used}
        owned = [(peer, person) for peer in able if (person := self._person_of(peer)) is not None]
        chosen = choose_auditor(owned, unwanted, seed)
        return None if chosen is None else able[chosen]

    def _request(self, case: _Case) -> ForwardRequest:
        """Return the forward that repeats a window."""
        return ForwardRequest(case.opening.prefix, case.part.span, case.inputs, caller=case.opening.caller)

    async def _prefill(self, case: _Case, hop: RouteHop) -> Tensor:
        """Return the window as `hop` computes it in one stateless forward. Raises RemoteError."""
        packed = None
        if case.is_fed_rounded and speaks_packed(hop.server.record):
            packed = await asyncio.to_thread(pack_exactly, case.inputs)
        output = await forward_at(self._calls, hop, case.opening.prefix, case.inputs, packed=packed)
        return output[0, -WINDOW_TOKENS:]

    async def _repeat(self, case: _Case, part: RouteHop) -> Tensor:
        """Return the window as a session computes it in the steps of the audited server.

        Raises:
            RemoteError: the server refuses or fails.
        """
        opening = replace(
            case.opening,
            session_id=str(uuid.uuid4()),
            max_length=case.inputs.shape[1],
            caller=self._calls.caller_for(part.server.record, part.span),
            resume=False,
        )
        hop = Hop(self._calls, part, opening, History(), lambda _: False, is_fed_rounded=case.is_fed_rounded)
        position = case.inputs.shape[1] - WINDOW_TOKENS
        outputs = []
        try:
            if position:
                hop.history.append(case.inputs[:, :position])
                await hop.catch_up(position - 1)
            for tokens in case.pieces:
                hop.history.append(case.inputs[:, position : position + tokens])
                outputs.append(await hop.catch_up(position))
                position += tokens
        finally:
            await hop.close()
        return torch.cat(outputs, dim=1)[0]


def _numbers(outputs: Tensor) -> Window:
    return outputs.float().numpy()


def _name(record: ServerRecord) -> str:
    return record.public_name or f"...{record.peer_id[-8:]}"
