"""Checks members' reports about each other's computers.

The server of a leader that serves the same blocks is given the window's inputs. It computes them and has the computer
that is accused compute them, too, because anybody can invent what that computer is said to have answered. It says so if
the two are too far apart. This changes no route.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable

import numpy as np
import torch
from msgspec.structs import replace
from torch import Tensor

from potluck.audit.choices import WINDOW_TOKENS
from potluck.audit.differences import difference
from potluck.audit.limits import HonestDifferences
from potluck.audit.verdicts import Opinion, compare
from potluck.client.calls import MAX_FRAME_BYTES, exchange
from potluck.errors import PotluckError
from potluck.membership.gate import MembersGate
from potluck.membership.identity import peer_id_of
from potluck.membership.records import Record, Report, read_all
from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import ForwardRequest
from potluck.protocol.records import NumberFormat
from potluck.tasks import BackgroundTasks
from potluck.wire import protocols

log = logging.getLogger(__name__)

_TIMEOUT_S = 60.0  # for the accused computer's answer
_MAX_TRIED = 1000  # reports that are remembered
_SHAKES = 4.0  # a difference must be so many times what rounded inputs make, or the inputs were chosen for it


def reports_in(records: Iterable[bytes], machine: bytes | None = None) -> dict[tuple[bytes, bytes], Report]:
    """Return the reports among records, by who reports which computer; about one, by its public key, or all."""
    bodies = (record.body for record in read_all([*records]))
    found = (body for body in bodies if isinstance(body, Report) and machine in (None, body.machine))
    return {(report.person, report.machine): report for report in found}


Compute = Callable[[ForwardRequest], Awaitable[Tensor]]
"""Runs a forward here. Raises RemoteError."""

FormatOf = Callable[[PeerId], Awaitable[NumberFormat | None]]
"""Returns in which format a server says that it computes; None: it serves nothing. Raises PotluckError."""


class Rechecks:
    """The windows that this engine repeats for its leader, one at a time.

    Args:
        on_confirmed: told a report whose computer was found to return wrong results.
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

    def hear(self, request: ForwardRequest, peer: PeerId, form: NumberFormat) -> None:
        """Recheck the computer that a request's report names, if this engine is a leader's.

        Args:
            request: with the whole id of its adapter, and the digest of the weights that this engine computes with.
            peer: who asks: a program of the person who reports.
            form: the number format in which this engine computes.

        Raises:
            RemoteError: BUSY while another one is rechecked.
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
            raise RemoteError(Code.BUSY, "another computer is being rechecked", retry_after_s=_TIMEOUT_S)
        self._is_busy = True
        self._background.start(self._try(members, record, request, form))

    async def _try(self, members: MembersGate, record: Record, request: ForwardRequest, form: NumberFormat) -> None:
        try:
            members.publish([record.data])
            if any(known.hash == record.hash for known in members.roster.reports):  # it holds
                self._tried[record.hash] = None  # once: whoever is accused may not answer, to keep others waiting
                if len(self._tried) > _MAX_TRIED:
                    self._tried.pop(next(iter(self._tried)))
                await self._compare(record, request, form)
        except (PotluckError, TimeoutError) as error:
            log.info("a report about layers %s could not be confirmed: %s", request.span.layers, error)
        except Exception:  # such as no memory left
            log.exception("a report about layers %s could not be confirmed", request.span.layers)
        finally:
            self._is_busy = False

    async def _compare(self, record: Record, request: ForwardRequest, form: NumberFormat) -> None:
        """Compare what both compute from the inputs. Whoever reports may have chosen them to make servers differ."""
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
            margin=math.inf,  # within a margin, one of two honest servers may take over what the other one does not
        )
        shaken_inputs = await asyncio.to_thread(_shaken, asked, form)
        found = [await self._ask(accused, asked), await self._compute(asked), await self._compute(shaken_inputs)]
        claimed, own, shaken = (each[0].float().numpy() for each in found)
        limit = HonestDifferences().limit("", form, tokens=len(own))
        if limit is None or not (np.isfinite(own).all() and np.isfinite(shaken).all()):
            return
        bar = max(limit.difference, _SHAKES * difference(own, shaken))
        if compare(difference(own, claimed), bar) is Opinion.DISAGREES:
            log.warning("...%s returns wrong results for layers %s, as was reported", accused[-8:], request.span.layers)
            self._on_confirmed(report)

    async def _ask(self, peer: PeerId, request: ForwardRequest) -> Tensor:
        stream = await self._host.open_stream(
            peer, protocols.FORWARD, timeout_s=_TIMEOUT_S, max_frame_bytes=MAX_FRAME_BYTES
        )
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                return (await exchange(stream, request)).tensors[0]
        finally:
            await stream.close()


def _shaken(request: ForwardRequest, form: NumberFormat) -> ForwardRequest:
    """Return the request with inputs that are off by the rounding of the format."""
    error = torch.finfo(getattr(torch, form.dtype)).eps * torch.randn(request.hidden.shape)
    return replace(request, hidden=request.hidden + (request.hidden.abs() * error).to(request.hidden.dtype))
