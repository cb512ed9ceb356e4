"""Lets members check each other's results: keeps choices of experts, rechecks reported computers, examines this one.

`ChoiceBook` keeps which experts the blocks chose in sessions, for clients whose results are computed again elsewhere.
Choices don't travel with steps.

`Rechecks` checks a report if this is a leader's server with the same blocks. It gets the inputs of the reported window,
computes them, and has the accused computer compute them again, because anybody can invent what that computer answered.
It confirms the report if the two differ too much. This changes no route.

`Examiner` receives reports about this computer and has its weights examined after a random delay, so that computers
that are reported together take turns. A report that cannot be examined now counts as new when it comes again.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from msgspec.structs import replace
from torch import Tensor

from potluck.audit.choices import WINDOW_TOKENS
from potluck.audit.limits import HonestDifferences
from potluck.audit.verdicts import Opinion, compare, difference
from potluck.client.calls import MAX_FRAME_BYTES, exchange
from potluck.client.session.history import History
from potluck.errors import PotluckError
from potluck.membership.gate import MembersGate
from potluck.membership.identity import peer_id_of
from potluck.membership.records import Record, Report, read_all
from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import ForwardRequest, choice_tokens
from potluck.protocol.records import NumberFormat
from potluck.tasks import BackgroundTasks, start_task
from potluck.wire import protocols
from potluck_engine.memory.session_memory import SessionStep

log = logging.getLogger(__name__)

_RECHECK_TIMEOUT_S = 60.0  # bounds the accused computer's answer
_MAX_TRIED = 1000  # reports that are remembered
_MIN_ROUNDING_FACTOR = 4.0  # a difference below so many times that of rounded inputs may come from chosen inputs
_MAX_EXAMINATION_DELAY_S = 20.0
_EXAMINATION_PAUSE_S = 86_400.0  # separates examinations, so that reports cannot keep a server from its work
_MAX_CHOICES_BYTES: Final = 64 << 20
_KEEP_ENDED_S: Final = 60.0


def reports_in(records: Iterable[bytes], machine: bytes | None = None) -> dict[tuple[bytes, bytes], Report]:
    """Return the reports among records by their reporter and computer; only those about `machine`, if it is given."""
    bodies = (record.body for record in read_all([*records]))
    found = (body for body in bodies if isinstance(body, Report) and machine in (None, body.machine))
    return {(report.person, report.machine): report for report in found}


Compute = Callable[[ForwardRequest], Awaitable[Tensor]]
"""Runs a forward here. Raises RemoteError."""

FormatOf = Callable[[PeerId], Awaitable[NumberFormat | None]]
"""Returns the number format that a server announces; None if it serves nothing. Raises PotluckError."""


class Rechecks:
    """Rechecks reported computers for this engine's leader, one at a time.

    Args:
        on_confirmed: called with a report whose computer was found to return wrong results.
    """

    def __init__(
        self, host: Host, compute: Compute, format_of: FormatOf, on_confirmed: Callable[[Report], None]
    ) -> None:
        self._host = host
        self._compute = compute
        self._format_of = format_of
        self._on_confirmed = on_confirmed
        self._tried: dict[bytes, None] = {}
        self._is_busy = False
        self._background = BackgroundTasks()

    def receive(self, request: ForwardRequest, peer: PeerId, form: NumberFormat) -> None:
        """Begin to recheck the computer that a request's report names, if this engine is a leader's.

        Args:
            request: the reported window, with its adapter's full id and the digest of this engine's weights.
            peer: the sender, which must belong to the person who reports.
            form: the number format in which this engine computes.

        Raises:
            RemoteError: BUSY while another computer is rechecked.
        """
        members, records = self._host.members, read_all([request.report])
        if members is None or not members.is_leaders or not records or request.hidden.shape[0] != 1:
            return
        record, report, person = records[0], records[0].body, members.member(peer)
        if not isinstance(report, Report) or report.blocks != (request.span.start, request.span.end):
            return
        if person is None or person.key != report.person or record.hash in self._tried:
            return
        if self._is_busy:
            raise RemoteError(Code.BUSY, "another computer is being rechecked", retry_after_s=_RECHECK_TIMEOUT_S)
        self._is_busy = True
        self._background.start(self._try(members, record, request, form))

    async def _try(self, members: MembersGate, record: Record, request: ForwardRequest, form: NumberFormat) -> None:
        try:
            members.publish([record.data])
            if any(known.hash == record.hash for known in members.roster.reports):  # the roster accepted it
                self._tried[record.hash] = None  # an accused that never answers must not be asked again
                if len(self._tried) > _MAX_TRIED:
                    self._tried.pop(next(iter(self._tried)))
                await self._compare(record, request, form)
        except (PotluckError, TimeoutError) as error:
            log.info("a report about layers %s could not be confirmed: %s", request.span.layers, error)
        except Exception:  # such as one of memory
            log.exception("a report about layers %s could not be confirmed", request.span.layers)
        finally:
            self._is_busy = False

    async def _compare(self, record: Record, request: ForwardRequest, form: NumberFormat) -> None:
        """Compare what both computers make of the inputs, which the reporter may have chosen to make servers differ."""
        report = record.body
        assert isinstance(report, Report)
        accused = peer_id_of(report.machine)
        theirs = await self._format_of(accused)
        if theirs is None or (theirs.dtype, theirs.quantization) != (form.dtype, form.quantization):
            return
        asked = ForwardRequest(
            request.prefix,
            request.span,
            request.hidden,
            caller=request.caller,
            last_tokens=min(WINDOW_TOKENS, request.hidden.shape[1]),
            choices=request.choices,
            margin=math.inf,  # otherwise one of two honest servers may follow a choice that the other one overrides
        )
        rounded_inputs = await asyncio.to_thread(_rounded, asked, form)
        found = [await self._ask(accused, asked), await self._compute(asked), await self._compute(rounded_inputs)]
        claimed, own, rounded = (each[0].float().numpy() for each in found)
        limit = HonestDifferences().limit("", form, tokens=len(own))
        if limit is None or not (np.isfinite(own).all() and np.isfinite(rounded).all()):
            return
        bar = max(limit.difference, _MIN_ROUNDING_FACTOR * difference(own, rounded))
        if compare(difference(own, claimed), bar) is Opinion.DISAGREES:
            log.warning("...%s returns wrong results for layers %s, as was reported", accused[-8:], request.span.layers)
            self._on_confirmed(report)

    async def _ask(self, peer: PeerId, request: ForwardRequest) -> Tensor:
        stream = await self._host.open_stream(
            peer, protocols.FORWARD, timeout_s=_RECHECK_TIMEOUT_S, max_frame_bytes=MAX_FRAME_BYTES
        )
        try:
            async with asyncio.timeout(_RECHECK_TIMEOUT_S):
                return (await exchange(stream, request)).tensors[0]
        finally:
            await stream.close()


def _rounded(request: ForwardRequest, form: NumberFormat) -> ForwardRequest:
    """Return the request with inputs that are changed as much as rounding in this format would."""
    error = torch.finfo(getattr(torch, form.dtype)).eps * torch.randn(request.hidden.shape)
    return replace(request, hidden=request.hidden + (request.hidden.abs() * error).to(request.hidden.dtype))


class Examiner:
    """Receives reports about this computer, and has its weights examined.

    Args:
        known: signed records whose reports are not new.
        examine: examines the weights; returns False if it cannot now.

    Attributes:
        examination: the last examination, which may still run; None before the first one.
    """

    def __init__(self, known: Iterable[bytes], examine: Callable[[], Awaitable[bool]]) -> None:
        self.examination: asyncio.Task[None] | None = None
        self._known = reports_in(known)
        self._examine = examine
        self._examined_s = -math.inf

    def receive(self, records: Iterable[bytes], own_key: bytes) -> None:
        """Have the weights examined soon if a record is a new report about this computer."""
        found = reports_in(records, own_key)  # known ones come again now and then
        new = {place: each for place, each in found.items() if self._known.get(place) != each}
        self._known |= new
        if new and time.monotonic() - self._examined_s >= _EXAMINATION_PAUSE_S:
            self._examined_s = time.monotonic()
            self.examination = start_task(self._examine_soon(new))

    async def _examine_soon(self, reports: Iterable[tuple[bytes, bytes]]) -> None:
        is_examined = False
        try:
            await asyncio.sleep(random.uniform(0.0, _MAX_EXAMINATION_DELAY_S))
            is_examined = await self._examine()
        finally:
            if not is_examined:
                self._examined_s = -math.inf
                for place in reports:
                    self._known.pop(place, None)


@dataclass(slots=True)
class _Kept:
    """The choices of one session."""

    history: History  # [rows, tokens, layers * choices] int16
    num_layers: int
    num_bytes: int = 0
    ended_s: float | None = None  # monotonic; None while the session is open


class ChoiceBook:
    """Keeps the choices of sessions while they are open and for a minute after that.

    A session has a bound on its tokens, and all sessions together have one on their bytes. Those that were not used for
    longest are dropped first.

    Attributes:
        kept: the choices by client and session id; empty as long as no step chose experts.
    """

    def __init__(self, max_bytes: int = _MAX_CHOICES_BYTES) -> None:
        self._max_bytes = max_bytes
        self.kept: OrderedDict[tuple[PeerId, str], _Kept] = OrderedDict()

    def record(self, client: PeerId, session_id: str | None, step: SessionStep) -> None:
        """Keep the experts that were chosen for the tokens of a finished step."""
        chosen, key, num_layers = step.all_chosen(), (client, session_id or ""), len(step.memory.span)
        if session_id is None or (chosen is None and key not in self.kept):
            return
        kept = self.kept.setdefault(key, _Kept(History(), num_layers))
        kept.ended_s = None
        self.kept.move_to_end(key)
        history = kept.history
        if step.order is not None and history.length:
            history.reorder(step.order)
        history.truncate(step.start)
        num_new = 0 if chosen is None else chosen.shape[1]
        if history.length < step.start or num_new < step.tokens or step.start + num_new > choice_tokens(num_layers):
            del self.kept[key]  # a part is missing, or the session is too long
        elif chosen is not None:
            history.append(chosen)
            kept.num_bytes = chosen.shape[0] * history.length * chosen.shape[2] * chosen.itemsize
            self._make_room()

    def mark_ended(self, client: PeerId, session_id: str | None) -> None:
        """Begin the minute after which an ended session's choices are dropped."""
        kept = self.kept.get((client, session_id or ""))
        if kept is not None:
            kept.ended_s = time.monotonic()
        self._make_room()

    def choices_of(self, client: PeerId, session_id: str, row: int, tokens: int) -> Tensor:
        """Return the experts that were chosen for a row's first tokens, [tokens, layers, choices] int16.

        Raises:
            RemoteError: NOT_SERVED if they are not kept.
        """
        kept = self.kept.get((client, session_id))
        if kept is None or kept.history.length < tokens or row >= kept.history.batch:
            raise RemoteError(Code.NOT_SERVED, "it is not known any more which experts were chosen")
        return kept.history.between(0, tokens)[row].view(tokens, kept.num_layers, -1)

    def _make_room(self) -> None:
        over_s = time.monotonic() - _KEEP_ENDED_S
        for key in [key for key, kept in self.kept.items() if kept.ended_s is not None and kept.ended_s < over_s]:
            del self.kept[key]
        num_bytes = sum(kept.num_bytes for kept in self.kept.values())
        while num_bytes > self._max_bytes:
            _, oldest = self.kept.popitem(last=False)
            num_bytes -= oldest.num_bytes
