"""Counts the work of servers on tabs and signs receipts for it.

A server names a tab in its first answer; servers that name none get no receipts. Receipts travel with later steps and
calls, one every few tokens. The last one is sent by itself when a session ends or its stream breaks. Signed receipts
are also recorded for this program's own user, who then sees whose servers worked for them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from potluck.errors import PotluckError
from potluck.membership.identity import public_key_of
from potluck.p2p.network import Host
from potluck.protocol.blocks import Booking, PeerId, PersonId, Span
from potluck.protocol.messages import Settlement, Timing
from potluck.protocol.receipts import Receipt, Work, sign_receipt, swarm_id
from potluck.protocol.swarm import Swarm
from potluck.tasks import BackgroundTasks
from potluck.wire.message import encode
from potluck.wire.protocols import SETTLE

_log = logging.getLogger(__name__)

RECEIPT_TOKENS = 64  # a client signs after so many tokens; a signature costs a few hundredths of a millisecond
RECEIPT_S = 5.0  # longest time between two receipts of a slow session
_RECORD_EVERY_S = 30.0
_SETTLE_TIMEOUT_S = 5.0  # nobody should wait long for a goodbye
_GOODBYE_S = 2.0  # limit for servers to get the last receipts; normally a few tenths

Record = Callable[[Sequence[Booking], str], None]
"""Stores receipts for other people's work on the model of that name. It may block, and raise PotluckError."""


@dataclass(slots=True, eq=False)
class Tab:
    """The account of one stream, or of the stateless calls, at `server`.

    Args:
        person: the server's owner; None: the tab counts nothing, and nothing is signed.
        parameters: number of parameters of all blocks of the span together.
        name: the server gives it with its first answer; before, there is nothing to sign.
    """

    signer: Signer
    server: PeerId
    person: PersonId | None
    span: Span
    parameters: int
    name: bytes | None = None
    tokens: int = 0  # forward and backward
    backward_tokens: int = 0
    seq: int = 0
    signed_tokens: int = 0
    signed_at: float = field(default_factory=time.monotonic)

    @property
    def work(self) -> Work:
        forward_tokens = self.tokens - self.backward_tokens
        return Work(forward_tokens * self.parameters, self.backward_tokens * self.parameters, self.tokens)

    def due(self) -> bytes | None:
        """Return the receipt to send with the next request, if it is time for one."""
        if self.name is None:
            return None
        unsigned = self.tokens - self.signed_tokens
        is_time = unsigned >= RECEIPT_TOKENS or (unsigned > 0 and time.monotonic() - self.signed_at >= RECEIPT_S)
        return self.signer.sign(self) if is_time else None

    def add(self, tokens: int, timing: Timing, *, is_backward: bool = False) -> None:
        """Count the tokens, of all rows together, that a server computed for an answer."""
        if self.person is None:
            return
        if timing.tab is not None and timing.tab != self.name:  # a tab that the server forgot gets no more receipts
            self.name, self.seq = timing.tab, 0
            self.tokens = self.backward_tokens = self.signed_tokens = 0
        self.tokens += tokens
        if is_backward:
            self.backward_tokens += tokens

    def close(self) -> None:
        """Settle the tab in the background. Idempotent."""
        self.signer.settle(self)


class Signer:
    """Counts the work of servers and signs receipts with the key of the client's node.

    It lives in the client's event loop. Servers of the client's own person have no tab.

    Args:
        parameters: number of parameters of each block of the model; empty: nothing is signed.
    """

    def __init__(self, host: Host, swarm: Swarm, parameters: tuple[int, ...], record: Record | None) -> None:
        self._host = host
        self._model = swarm.model
        self._swarm_id = swarm_id(swarm)
        self._record = record
        self._parameters = parameters
        self._tabs: set[Tab] = set()
        self._calls: dict[tuple[PeerId, Span], Tab] = {}
        self._settling = BackgroundTasks()
        self._to_record: dict[tuple[bytes, bytes], Booking] = {}  # keys: server and tab
        self._recording: asyncio.TimerHandle | None = None

    async def close(self) -> None:
        """Settle all open tabs and record their receipts. Failures of servers don't raise."""
        for tab in list(self._tabs):
            tab.close()
        await self._settling.wait(_GOODBYE_S)
        await self._settling.cancel()
        if self._recording is not None:
            self._recording.cancel()
        await self._record_signed()

    def open_tab(self, server: PeerId, span: Span) -> Tab:
        """Return a new tab for one stream."""
        person = self._host.person_of(server)
        if not self._parameters or person == self._host.person_of(self._host.peer_id, self._host.ticket):
            person = None
        tab = Tab(self, server, person, span, sum(self._parameters[span.start : span.end]))
        self._tabs.add(tab)
        return tab

    def tab_of_calls(self, server: PeerId, span: Span) -> Tab:
        """Return the tab that all stateless calls through `span` share."""
        tab = self._calls.get((server, span))
        if tab is None:
            tab = self._calls[server, span] = self.open_tab(server, span)
        return tab

    def sign(self, tab: Tab) -> bytes | None:
        """Return the next receipt, for all work on `tab`; None if its server's id has no key."""
        server = public_key_of(tab.server)
        if tab.name is None or tab.person is None or server is None:
            return None
        tab.seq, tab.signed_tokens, tab.signed_at = tab.seq + 1, tab.tokens, time.monotonic()
        identity = self._host.identity
        keys = (self._swarm_id, identity.public_key, server, tab.name)
        data = sign_receipt(Receipt(*keys, tab.seq, tab.span, tab.work), identity.sign)
        if self._record is not None:
            self._to_record[server, tab.name] = Booking(data, tab.person)
            if self._recording is None:
                loop = asyncio.get_running_loop()
                self._recording = loop.call_later(_RECORD_EVERY_S, lambda: self._settling.start(self._record_signed()))
        return data

    def settle(self, tab: Tab) -> None:
        """Send the last receipt of `tab` by itself, in the background."""
        if tab in self._tabs:
            self._tabs.discard(tab)
            self._settling.start(self._settle_tab(tab))

    async def _settle_tab(self, tab: Tab) -> None:
        receipt = self.sign(tab) if tab.tokens else None
        if receipt is None:
            return
        try:
            await self._host.call(tab.server, SETTLE, encode(Settlement(receipt)), timeout_s=_SETTLE_TIMEOUT_S)
        except PotluckError as error:
            _log.debug("the last receipt of blocks %s was not taken: %s", tab.span, error.message)

    async def _record_signed(self) -> None:
        """Record signed receipts. Those that cannot be recorded now are kept for the next time."""
        self._recording = None
        waiting = dict(self._to_record)
        if self._record is None or not waiting:
            return
        try:
            await asyncio.to_thread(self._record, list(waiting.values()), self._model)
        except PotluckError as error:
            _log.debug("the work of others was not recorded: %s", error.message)
            return
        self._to_record = {key: booking for key, booking in self._to_record.items() if waiting.get(key) != booking}
