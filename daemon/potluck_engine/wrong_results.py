"""Finds out whether what members report about each other's computers is so.

The server of a leader that serves the same blocks is given the window's inputs. It has computed them itself when it
has the computer that is accused compute them, too, because anybody can invent what that computer is said to have
answered. It says so if the two are too far apart. This changes no route.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

from torch import Tensor

from potluck.audit import HonestDifferences, Opinion, compare, difference
from potluck.client.calls import MAX_FRAME_BYTES, exchange
from potluck.errors import PotluckError
from potluck.membership.gate import MembersGate
from potluck.membership.identity import peer_id_of
from potluck.membership.records import Record, Report, read_all
from potluck.p2p.network import Host
from potluck.protocol.messages import Caller, ForwardRequest
from potluck.protocol.records import NumberFormat
from potluck.tasks import BackgroundTasks
from potluck.wire import protocols

log = logging.getLogger(__name__)

_TIMEOUT_S = 180.0  # for the accused computer's answer
_MAX_TRIED = 1000  # reports that are remembered


def reports_in(news: Iterable[bytes], machine: bytes) -> list[Report]:
    """Return the reports about a computer, by its public key, among records that are new."""
    bodies = (record.body for record in read_all([*news]))
    return [body for body in bodies if isinstance(body, Report) and body.machine == machine]


class Trials:
    """The windows that this engine repeats for its leader, one at a time.

    Args:
        on_confirmed: told the hash of a report that was found to be right.
    """

    def __init__(self, host: Host, on_confirmed: Callable[[bytes], None]) -> None:
        self._host = host
        self._on_confirmed = on_confirmed
        self._tried: dict[bytes, None] = {}
        self._is_busy = False
        self._background = BackgroundTasks()

    def hear(self, request: ForwardRequest, output: Tensor, form: NumberFormat) -> None:
        """Try the computer that a report names, if this engine is a leader's. Never raises.

        Args:
            output: of the request, as computed here in the number format `form`.
        """
        members, records = self._host.members, read_all([request.report])
        if members is None or not members.is_leaders or self._is_busy or not records:
            return
        record, report = records[0], records[0].body
        is_about_it = isinstance(report, Report) and report.blocks == (request.span.start, request.span.end)
        if is_about_it and record.hash not in self._tried:
            self._tried[record.hash] = None
            if len(self._tried) > _MAX_TRIED:
                self._tried.pop(next(iter(self._tried)))
            self._is_busy = True
            self._background.start(self._try(members, record, request, output, form))

    async def _try(
        self, members: MembersGate, record: Record, request: ForwardRequest, output: Tensor, form: NumberFormat
    ) -> None:
        try:
            members.publish([record.data])
            if any(known.hash == record.hash for known in members.roster.reports):  # it holds
                await self._compare(record, request, output, form)
        except (PotluckError, TimeoutError) as error:
            log.info("a report about blocks %s could not be confirmed: %s", request.span, error)
        finally:
            self._is_busy = False

    async def _compare(self, record: Record, request: ForwardRequest, output: Tensor, form: NumberFormat) -> None:
        report, caller = record.body, request.caller
        assert isinstance(report, Report)
        asked = replace(request, report=b"", caller=Caller(caller.adapter, caller.revision_digest))
        stream = await self._host.open_stream(
            peer_id_of(report.machine), protocols.FORWARD, timeout_s=_TIMEOUT_S, max_frame_bytes=MAX_FRAME_BYTES
        )
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                reply = await exchange(stream, asked)
        finally:
            await stream.close()
        window = report.tokens[1] - report.tokens[0]
        own, theirs = (each[0, -window:].float().numpy() for each in (output, reply.tensors[0]))
        limit = HonestDifferences().limit("", form)
        apart = difference(own, theirs)
        if compare(apart, None if limit is None else limit.difference) is Opinion.DISAGREES:
            log.warning("a report about blocks %s is right: that computer returns wrong results", request.span)
            self._on_confirmed(record.hash)
