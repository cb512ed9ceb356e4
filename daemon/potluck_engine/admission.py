"""Checks every compute call before anything is computed: blocks, weights and adapter.

While `leaving` is set, nothing new is admitted. Blocks that are served but not `kept` are about to go: no new call is
admitted to them, and sessions that use them learn that this server leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from potluck.membership.budgets import Budgets
from potluck.protocol.adapters import find_adapter
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller
from potluck.protocol.records import span_digest
from potluck.protocol.swarm import Swarm

SMALL_BYTES = 65_536
"""Of a step that nobody counts, because the number of streams bounds such steps."""

_PAUSE_S = 0.05


class Room:
    """Counts for a caller's person what the handler of a stream holds: input that is worked on, unsent answers."""

    def __init__(self, budgets: Budgets, caller: PeerId) -> None:
        self._budgets = budgets
        self._lease = budgets.holder(caller, asyncio.get_running_loop().time())
        self._num_bytes = 0

    async def take(self, input_bytes: int, *, timeout_s: float) -> int:
        """Wait until there is room for an input and an answer as large; return what to `free`. Raises RemoteError."""
        num_bytes = 2 * input_bytes if input_bytes > SMALL_BYTES else 0
        try:
            async with asyncio.timeout(timeout_s):
                while not self._budgets.work_on(self._lease, num_bytes):  # noqa: ASYNC110 (the budgets tell nobody)
                    await asyncio.sleep(_PAUSE_S)
        except TimeoutError:
            raise RemoteError(Code.BUSY, "your other requests hold too much here", retry_after_s=1.0) from None
        self._num_bytes += num_bytes
        return num_bytes

    def free(self, num_bytes: int) -> None:
        self._num_bytes -= num_bytes
        self._budgets.work_on(self._lease, -num_bytes)

    def close(self) -> None:
        self.free(self._num_bytes)


class Admission:
    """The checks of one engine, by what it serves and to whom."""

    def __init__(
        self,
        swarm: Swarm,
        span: Span,
        block_digests: Sequence[str],
        adapters: Sequence[str] = (),
        budgets: Budgets | None = None,
    ) -> None:
        self.budgets = budgets or Budgets()
        self._swarm = swarm
        self._adapters = tuple(adapters)
        self.leaving = False
        self.serve(span, block_digests)

    def serve(self, span: Span, block_digests: Sequence[str]) -> None:
        """Admit calls to these blocks from now on."""
        self.span = self.kept = span
        self._digests = tuple(block_digests)

    def is_leaving(self, span: Span) -> bool:
        """Return whether a session over these blocks should look for another server."""
        return self.leaving or not self.kept.covers(span)

    def check(self, prefix: str, span: Span, caller: Caller) -> str | None:
        """Return the id of the adapter that the caller asks for, if any.

        Raises:
            RemoteError: DRAINING, NOT_SERVED (also for other weights, or an adapter that is not here).
        """
        self.check_open()
        self.check_served(prefix, span)
        if caller.revision_digest is not None and caller.revision_digest != self.digest_of(span):
            raise RemoteError(Code.NOT_SERVED, f"blocks {span} have other weights here")
        if caller.adapter is None:
            return None
        if caller.private is not None:
            raise RemoteError(Code.BAD_REQUEST, "a call goes through a served adapter or a private one, not both")
        adapter = find_adapter(self._adapters, caller.adapter)
        if adapter is None:
            raise RemoteError(Code.NOT_SERVED, "this server does not have that adapter")
        return adapter

    def check_open(self) -> None:
        """Raise RemoteError DRAINING while `leaving`."""
        if self.leaving:
            raise self.refusal()

    def refusal(self) -> RemoteError:
        """Return the error for every call while `leaving`."""
        return RemoteError(Code.DRAINING, "this server is leaving")

    def person_of(self, peer: PeerId) -> PersonId:
        """Return who runs a peer that was admitted. Raises RemoteError NOT_A_MEMBER."""
        person = self.budgets.person_of(peer)
        if person is None:
            raise RemoteError(Code.NOT_A_MEMBER, "this peer belongs to no member")
        return person

    def check_served(self, prefix: str, span: Span) -> None:
        """Raises RemoteError NOT_SERVED."""
        if prefix != self._swarm.prefix or not self.kept.covers(span):
            raise RemoteError(Code.NOT_SERVED, f"blocks {span} are not served here, blocks {self.kept} are")

    def digest_of(self, span: Span) -> str:
        """Return the digest of the weights of blocks that are served."""
        return span_digest(self._digests[span.within(self.span)])
