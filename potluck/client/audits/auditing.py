"""Lets other people's servers recompute windows of a client's sessions, and finds servers that returned wrong results.

An audit is one stateless forward of a row's inputs up to the window's end, in the background: sessions never wait for
it. After a disagreement a third person's server computes the window twice, in one prefill and in the steps of the
audited server. The client leaves and reports the one that stands alone, with all servers of its person. In models with
experts the audited server says which ones it chose, and the others repeat these choices where their own routers nearly
made them. `potluck.audit` has the rules; docs/decisions/0042 gives their reasons.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from msgspec import structs
from torch import Tensor

from potluck.audit.choices import WINDOW_TOKENS, audit_chance, choose_auditor, choose_window
from potluck.audit.limits import Honest, HonestDifferences, Limit
from potluck.audit.verdicts import Differences, Opinion, Outsider, Window, compare, difference, settle
from potluck.client.audits.windows import WindowWatch
from potluck.client.audits.wrong_results import WrongResultReports
from potluck.client.calls import Calls
from potluck.client.config import ClientConfig
from potluck.client.packing import speaks_packed
from potluck.client.servers import Servers
from potluck.client.session.history import History
from potluck.client.session.hop import Hop
from potluck.client.session.reports import AuditReport
from potluck.errors import PotluckError
from potluck.membership.records import WrongResults
from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import ChoicesRequest, ForwardRequest, SessionOpening, choice_tokens
from potluck.protocol.records import NumberFormat
from potluck.routing.route import Needs, RouteHop
from potluck.tasks import BackgroundTasks
from potluck.wire.calls import decode_choices
from potluck.wire.message import encode
from potluck.wire.packing import pack_exactly
from potluck.wire.protocols import CHOICES

_log = logging.getLogger(__name__)

_SEED_BYTES = 16  # seeds the draws among auditors
_AT_ONCE = 4  # audits of a client at a time, which take little of its link and memory
_PATIENCE_S = 60.0  # wait for each answer; servers do the work of audits last
_SILENT = 3  # silences in a row about chosen experts that are no accident
_OUTAGE_S = 60.0  # silences within this time count as one
_REFUSING = 2  # people who find no such experts; so many put the audited server at fault


class _Party(NamedTuple):
    """A server that takes part in an audit, and its owner."""

    hop: RouteHop
    person: PersonId

    @property
    def name(self) -> str:
        return self.hop.server.record.public_name or f"...{self.hop.peer_id[-8:]}"

    @property
    def form(self) -> NumberFormat:
        return self.hop.server.record.format


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """A window to audit.

    Shapes: inputs [1, tokens, hidden_size], up to the window's end; claimed [window's tokens, hidden_size]; choices
    [tokens, layers, choices] int16, of the experts that the audited server says it chose, in models with experts.
    """

    audited: _Party
    opening: SessionOpening
    row: int
    window: range
    inputs: Tensor
    claimed: Window
    pieces: tuple[int, ...]  # tokens of each step within the window
    is_fed_rounded: bool  # the inputs can travel packed
    watch: WindowWatch  # tells whether the tokens changed before the choices came
    seed: bytes  # seeds the draws among auditors
    choices: Tensor | None = None

    def kind(self, server: _Party) -> tuple[Span, NumberFormat, bool]:
        """Return what the honest difference of a server's steps depends on, besides the model."""
        return self.audited.hop.span, server.form, self.opening.packs

    @property
    def needs(self) -> Needs:
        tokens = self.inputs.shape[1]
        return Needs(max_length=tokens, call_tokens=tokens, pins=self.audited.hop.pins)


class Audits:
    """The audits of one client. Lives in the client's event loop."""

    def __init__(
        self,
        servers: Servers,
        calls: Calls,
        config: ClientConfig,
        host: Host,
        *,
        has_experts: bool,
    ) -> None:
        """`has_experts`: the model sends tokens to some."""
        self.report = AuditReport()
        self._servers = servers
        self._calls = calls
        self._config = config
        self._host = host
        self._rng = np.random.default_rng()  # draws the windows; nobody else may know its state
        self._has_experts = has_experts
        self.used: set[PeerId] = set()  # servers of this client's sessions
        self._busy: set[PeerId] = set()  # auditors that compute
        self._reports = WrongResultReports(host, servers, calls, self._may_see)
        self._clean: Counter[PersonId] = Counter()  # audits without a disagreement
        self._silent: defaultdict[PersonId, list[float]] = defaultdict(list)  # when, see `_SILENT`
        self._refusing: defaultdict[PersonId, set[PersonId]] = defaultdict(set)  # audited person -> those who refuse
        self._honest = HonestDifferences()
        self._background = BackgroundTasks()

    def on_window(self, hop: Hop) -> None:
        """Begin an audit by chance, because a window of a server's outputs has become whole."""
        if self._may_audit(hop):
            self._draw(hop, hop.windows.whole())
        else:
            hop.windows.clear()

    def on_leave(self, hop: Hop) -> None:
        """Begin an audit of a server's last tokens by chance, because a session leaves it."""
        rest = hop.windows.rest()
        if rest and self._may_audit(hop):
            self._draw(hop, [rest])

    async def close(self) -> None:
        """Cancel all running audits."""
        await self._background.cancel()
        await self._reports.close()

    def _may_audit(self, hop: Hop) -> bool:
        return self._config.audits != "off" and hop.history.prompts is None and hop.part.server.record.is_ours

    def _may_see(self, peer: PeerId) -> bool:
        """Tell whether the user lets this server see a session's inputs."""
        return self._config.audits != "known" or peer in self.used

    def _draw(self, hop: Hop, finished: Sequence[range]) -> None:
        person = self._host.person_of(hop.peer_id)
        if self._has_experts:
            finished = [window for window in finished if window.stop <= choice_tokens(len(hop.span))]
        if not finished or person is None or len(self._background) >= _AT_ONCE:
            return
        chances = [audit_chance(self._clean[person], window) for window in finished]
        window = choose_window(finished, chances, self._rng)
        if window is not None:
            self._background.start(self._run(self._case(hop, person, window)))

    def _case(self, hop: Hop, person: PersonId, window: range) -> _Case:
        row = int(self._rng.integers(hop.history.batch))
        return _Case(
            audited=_Party(hop.part, person),
            opening=hop.opening,
            row=row,
            window=window,
            inputs=hop.history.between(0, window.stop)[row : row + 1],
            claimed=_as_numpy(hop.windows.outputs(window, row)),
            pieces=hop.windows.pieces(window),
            is_fed_rounded=hop.is_fed_rounded,
            watch=hop.windows.watch(window.stop),
            seed=os.urandom(_SEED_BYTES),
        )

    async def _run(self, case: _Case) -> None:
        try:
            if self._has_experts:
                choices = await self._choices_of(case)
                if not case.watch.holds:
                    return  # the session was rewound, so these may be choices for other tokens
                case = replace(case, choices=choices)
            await self._audit(case)
        except PotluckError as error:
            self.report.unanswered += 1
            _log.info("an audit of layers %s was not answered: %s", case.audited.hop.span.layers, error)

    async def _choices_of(self, case: _Case) -> Tensor:
        try:
            choices = await self._choices(case.audited.hop, case.opening, case.row, case.window.stop)
        except PotluckError:
            times, now = self._silent[case.audited.person], time.monotonic()
            if case.watch.holds and (not times or now >= times[-1] + _OUTAGE_S):
                times.append(now)
                if len(times) >= _SILENT:
                    self._record_withheld(case)
            raise
        self._silent.pop(case.audited.person, None)
        return choices

    def _record_withheld(self, case: _Case) -> None:
        self.report.withheld += 1
        self._servers.record_withheld(case.audited.person)
        _log.info("%s does not say which experts it chose", case.audited.name)

    def _limit(self, case: _Case, server: _Party) -> Limit | None:
        return self._honest.limit(case.kind(server), server.form, packs=case.opening.packs, tokens=len(case.window))

    async def _audit(self, case: _Case) -> None:
        auditor = self._choose(case, {case.audited.person})
        if auditor is None:
            self.report.nobody += 1
            return
        recomputed, _ = await self._prefill(case, auditor)
        limit = self._limit(case, case.audited)
        opinion = compare(difference(case.claimed, recomputed), None if limit is None else limit.difference)
        self.report.audited += 1
        if opinion is Opinion.AGREES:
            self._clean[case.audited.person] += 1
            self._refusing.pop(case.audited.person, None)
            self._servers.record_clean_audit(case.audited.person)
            self._servers.record_clean_audit(auditor.person)
            await self._learn(case, auditor, recomputed)
        elif opinion is Opinion.UNDECIDABLE or limit is None:
            self.report.undecided += 1
        else:
            await self._settle(case, auditor, recomputed, limit)

    async def _learn(self, case: _Case, auditor: _Party, recomputed: Window) -> None:
        """Let the auditor also compute the window in steps if honest differences of such windows are unknown so far."""
        kind = case.kind(auditor)
        if len(case.window) < WINDOW_TOKENS or not self._honest.wants(kind, auditor.person):
            return
        try:
            _, honest = await self._both_ways(case, auditor, recomputed)
        except PotluckError as error:
            _log.info("layers %s: an auditor did not repeat the steps: %s", case.audited.hop.span.layers, error)
        else:
            self._honest.record(kind, auditor.person, honest)

    async def _settle(self, case: _Case, auditor: _Party, recomputed: Window, limit: Limit) -> None:
        """Let a third person's server decide between the audited server and its auditor."""
        self.report.undecided += 1  # taken back once it is decided
        asked = {case.audited.person, auditor.person}
        third = self._choose(case, asked, case.audited.form)
        if third is None:
            _log.warning(
                "blocks %s: %s and %s computed different results, and nobody else can tell which of them is right",
                *(case.audited.hop.span, case.audited.name, auditor.name),
            )
            return
        prefill, _ = await self._prefill(case, third)
        steps, honest = await self._both_ways(case, third, prefill)
        if case.choices is not None:
            steps = prefill  # its own steps chose other experts
        found = Differences(
            claims=difference(case.claimed, recomputed),
            steps=difference(case.claimed, steps),
            prefills=difference(recomputed, prefill),
            honest=honest.difference,
        )
        outsider = settle(found, limit.difference, limit.times)
        if outsider is Outsider.UNKNOWN:
            _log.warning("layers %s: three servers computed different results", case.audited.hop.span.layers)
            return
        lone = case.claimed if outsider is Outsider.AUDITED else recomputed
        if await self._is_backed(case, asked | {third.person}, lone, limit.difference):
            _log.warning("layers %s: four servers are of two opinions", case.audited.hop.span.layers)
            return
        self.report.undecided -= 1
        wrong, right = case.audited, auditor
        if outsider is Outsider.AUDITOR:
            wrong, right = auditor, case.audited
            self._clean[right.person] += 1
        if self._servers.is_distrusted(wrong.hop.peer_id):
            return  # another audit of the same time found it
        self._leave(wrong)
        found_wrong = WrongResults(
            wrong.hop.peer_id,
            (case.audited.hop.span.start, case.audited.hop.span.end),
            (case.window.start, case.window.stop),
            (right.person, third.person),
            found.claims,
            limit.difference,
        )
        self._reports.send(found_wrong, self._request(case, case.audited), case.needs)

    async def _is_backed(self, case: _Case, asked: Collection[PersonId], lone: Window, limit: float) -> bool:
        """Return whether a fourth person's server agrees with the lone one: the other two may collude."""
        fourth = self._choose(case, asked, case.audited.form)
        if fourth is None:
            return False
        try:
            prefill, _ = await self._prefill(case, fourth)
        except PotluckError as error:
            _log.info("layers %s: a fourth server did not answer: %s", case.audited.hop.span.layers, error)
            return False
        return compare(difference(lone, prefill), limit) is Opinion.AGREES

    def _leave(self, wrong: _Party) -> None:
        self._honest.forget(wrong.person)
        self._servers.distrust(wrong.person)
        self.report.wrong.append(wrong.name)
        self.report.wrong_people.append(wrong.person)
        self._config.on_wrong(
            f"{wrong.name} returned wrong results for layers {wrong.hop.server.span.layers}: two other people's "
            "servers agree on another one. That person's servers aren't used any more. Earlier answers may be wrong, "
            "so ask again."
        )

    def _choose(self, case: _Case, unwanted: Collection[PersonId], form: NumberFormat | None = None) -> _Party | None:
        """Return an idle auditor whose owner is not `unwanted` and that can compute the case; None if there is none.

        Args:
            form: number format that it must have; None: any. A stateless call has no cache, so its format is free.
        """
        able = {
            hop.peer_id: _Party(hop, person)
            for hop in self._servers.replicas(case.audited.hop.span, case.needs)
            if hop.server.record.is_ours
            and hop.peer_id not in self._busy
            and form in (None, hop.server.record.format)
            and self._may_see(hop.peer_id)
            and (person := self._host.person_of(hop.peer_id)) is not None
        }
        chosen = choose_auditor([(peer, each.person) for peer, each in able.items()], unwanted, case.seed)
        return None if chosen is None else able[chosen]

    # -- calls of an audit ---------------------------------------------------------------------------------------------

    async def _choices(self, part: RouteHop, opening: SessionOpening, row: int, tokens: int) -> Tensor:
        """Return which experts a server chose for a row's first tokens. Raises RemoteError."""
        assert opening.session_id is not None
        request = encode(ChoicesRequest(opening.session_id, row, tokens))
        answer = await self._host.call(part.peer_id, CHOICES, request, timeout_s=_PATIENCE_S)
        return decode_choices(answer, tokens, num_layers=len(part.span))

    def _request(self, case: _Case, server: _Party) -> ForwardRequest:
        """Return the forward that repeats a window at a server."""
        limit = self._limit(case, server)
        return ForwardRequest(
            case.opening.prefix,
            case.audited.hop.span,
            case.inputs,
            last_tokens=len(case.window),
            choices=case.choices,
            margin=0.0 if limit is None else limit.gap,
        )

    async def _prefill(self, case: _Case, asked: _Party, choices: Tensor | None = None) -> tuple[Window, float]:
        """Return the window as a server computes it in one forward, and the gap of the repeated choices of experts.

        Args:
            choices: choices to repeat without a limit; None: the audited server's, within the usual margin.

        Raises:
            RemoteError: also if no server could choose so, or this one says that.
        """
        request = self._request(case, asked)
        if choices is not None:
            request = structs.replace(request, choices=choices, margin=math.inf)
        if case.is_fed_rounded and speaks_packed(asked.hop.server.record):
            request = structs.replace(request, packed=(await asyncio.to_thread(pack_exactly, case.inputs),))
        try:
            async with self._reserving(asked):
                reply = await self._calls.compute(asked.hop, request)
        except RemoteError as error:
            if error.code is Code.BAD_REQUEST and choices is None and case.choices is not None:
                self._refusing[case.audited.person].add(asked.person)
                if len(self._refusing[case.audited.person]) >= _REFUSING:
                    self._record_withheld(case)
            raise
        if request.choices is not None and reply.gap is None:
            raise RemoteError(Code.BAD_REPLY, "the server does not repeat choices of experts")
        return _as_numpy(reply.tensors[0][0].to(case.inputs.dtype)), reply.gap or 0.0

    async def _both_ways(self, case: _Case, asked: _Party, prefill: Window) -> tuple[Window, Honest]:
        """Return the window as a server computes it in the steps of the audited one, and how much its prefill differs.

        Args:
            prefill: the same server's. In models with experts it computes another one, with the choices of its steps.
        """
        async with self._reserving(asked):
            steps, choices = await self._repeat(case, asked.hop)
        gap = 0.0
        if choices is not None:
            prefill, gap = await self._prefill(case, asked, choices)
        return steps, Honest(difference(steps, prefill), gap)

    async def _repeat(self, case: _Case, part: RouteHop) -> tuple[Window, Tensor | None]:
        """Return the window as a new session computes it in the audited server's steps, and its choices of experts.

        Raises:
            RemoteError: the server refuses or fails.
        """
        opening = structs.replace(
            case.opening,
            session_id=str(uuid.uuid4()),
            max_length=case.inputs.shape[1],
            caller=self._calls.caller_for(part.server.record, part.span),
        )
        hop = Hop(self._calls, part, opening, History(), lambda _: False, is_fed_rounded=case.is_fed_rounded)
        position, choices = case.window.start, None
        outputs = []
        try:
            if position:
                hop.history.append(case.inputs[:, :position])
                await hop.catch_up(position - 1)
            for tokens in case.pieces:
                hop.history.append(case.inputs[:, position : position + tokens])
                outputs.append(await hop.catch_up(position))
                position += tokens
            if case.choices is not None:
                choices = await self._choices(part, opening, 0, position)
        finally:
            await hop.close()
        return _as_numpy(torch.cat(outputs, dim=1)[0]), choices

    @asynccontextmanager
    async def _reserving(self, asked: _Party) -> AsyncIterator[None]:
        """Give a server no other audit within the context, so that a slow one keeps no other audit waiting."""
        self._busy.add(asked.hop.peer_id)
        try:
            async with asyncio.timeout(_PATIENCE_S):
                yield
        except TimeoutError:
            raise RemoteError(Code.UNREACHABLE, f"no answer within {_PATIENCE_S:g} s") from None
        finally:
            self._busy.discard(asked.hop.peer_id)


def _as_numpy(outputs: Tensor) -> Window:
    return outputs.float().numpy()
