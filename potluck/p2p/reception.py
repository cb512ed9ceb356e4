"""Admits the calls and streams of peers, runs their handlers and words how they ended, within budgets and the gate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from potluck.membership.budgets import Budgets, Lease, Refused
from potluck.membership.gate import PRESENT, Gate, OpenGate
from potluck.p2p.addresses import peer_id
from potluck.p2p.connections import Connections
from potluck.p2p.network import Refusal
from potluck.p2p.origins import Origins
from potluck.p2p.pacing import Pacer
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.wire.refusals import encode_refusal

log = logging.getLogger(__name__)

T = TypeVar("T")

_RETRY_S = 1.0  # for callers beyond their budget
_PRESENT_S = 2.0  # for a stranger to present itself


async def _find_nobody(peer: PeerId) -> NoReturn:
    raise RemoteError(Code.UNREACHABLE, "nobody knows where the peer is")


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms a node deals with its peers.

    All bytes of calls and streams pass `uploads` or `downloads`; `gate` says who may call, and `budgets` how much.
    `find` connects to a peer that p2pd knows no way to, or raises RemoteError UNREACHABLE.
    """

    gate: Gate = field(default_factory=OpenGate)
    budgets: Budgets = field(default_factory=Budgets)
    uploads: Pacer = field(default_factory=Pacer)
    downloads: Pacer = field(default_factory=Pacer)
    find: Callable[[PeerId], Awaitable[None]] = _find_nobody


@dataclass(frozen=True, slots=True)
class Handler:
    """Answers the calls, or serves the streams, of one protocol."""

    run: Callable[[Any, PeerId], Awaitable[Any]]
    refuse: Refusal = encode_refusal
    max_frame_bytes: int | None = None  # of a stream; None: for unary calls


class Reception:
    """Where the calls and streams of one node's peers arrive."""

    def __init__(self, terms: Terms, origins: Origins) -> None:
        self.handlers: dict[str, Handler] = {}
        self.connections = Connections()
        self._gate, self._budgets, self._origins = terms.gate, terms.budgets, origins

    def admit(self, peer: bytes, num_bytes: int | None) -> Lease | RemoteError | None:
        """Take a call of so many bytes, or a stream (None), from its sender's budget.

        Return why it is refused if that is spent; None if the peer is thrown out without a word.
        """
        caller, budgets = peer_id(peer), self._budgets
        lease = budgets.open_stream(caller, _now()) if num_bytes is None else budgets.request(caller, num_bytes, _now())
        if isinstance(lease, Lease):
            return lease
        if lease is Refused.FOR_NOW:
            return _beyond_budget()
        self.connections.throw_out(peer)
        return None

    def handler(self, caller: PeerId, protocol: str) -> Handler:
        """Return who answers a caller, which may be a refusal."""
        if not self._gate.may_call(caller, protocol):
            return _TO_STRANGERS
        if protocol == PRESENT and self._budgets.is_stranger(caller):
            return Handler(self._hear_stranger)
        return self.handlers.get(protocol, _TO_NOBODY)

    async def outcome(self, work: Awaitable[T], caller: PeerId, protocol: str) -> T | RemoteError:
        """Return how a handler ended. What goes wrong in it is logged in one line, if the caller's budget allows."""
        try:
            return await work
        except RemoteError as error:
            return error
        except Exception as error:
            if self._budgets.may_log(caller, _now()):
                traceback = error if log.isEnabledFor(logging.DEBUG) else None
                log.warning("a handler of %s failed: %r", protocol, error, exc_info=traceback)
            return RemoteError(Code.INTERNAL, "the peer failed; its log has the reason")

    async def _hear_stranger(self, body: bytes, caller: PeerId) -> bytes:
        """Hear a presentation: a few at a time from one address, and each for a moment only. Raises RemoteError."""
        try:
            async with asyncio.timeout(_PRESENT_S):
                lease = self._budgets.present(await self._origins.of(caller), len(body), _now())
                if not isinstance(lease, Lease):
                    raise _beyond_budget()
                try:
                    answer: bytes = await self.handlers.get(PRESENT, _TO_NOBODY).run(body, caller)
                    return answer
                finally:
                    self._budgets.end(lease)
        except TimeoutError:
            raise RemoteError(Code.BUSY, "this took too long; try again", retry_after_s=_RETRY_S) from None


async def _refuse_stranger(asked: object, caller: PeerId) -> NoReturn:
    raise RemoteError(Code.NOT_A_MEMBER, "this node does not know you; present yourself first")


async def _refuse_unknown(asked: object, caller: PeerId) -> NoReturn:
    raise RemoteError(Code.NOT_SERVED, "unknown protocol")


_TO_STRANGERS, _TO_NOBODY = Handler(_refuse_stranger), Handler(_refuse_unknown)


def _beyond_budget() -> RemoteError:
    return RemoteError(Code.BUSY, "too many requests or streams at a time", retry_after_s=_RETRY_S)


def _now() -> float:
    return asyncio.get_running_loop().time()
