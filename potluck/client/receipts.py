"""Counts the work of servers on tabs and signs receipts for it.

A server names a tab in its first answer; nothing is signed for servers that do not. Receipts travel with later steps
and calls, one every few tokens. The last one is sent by itself when a session ends or its stream breaks. Receipts that
a server countersigns go to the donor's own ledger.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from potluck.errors import PotluckError
from potluck.membership.identity import Identity, public_key_of
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.messages import Caller, Timing
from potluck.protocol.receipts import Papers, Receipt, ReceiptError, Work, read_countersigned, sign_receipt, swarm_id
from potluck.protocol.swarm import Swarm
from potluck.tasks import BackgroundTasks

_log = logging.getLogger(__name__)

RECEIPT_TOKENS = 64  # that a client may owe before it signs; a signature costs a few hundredths of a millisecond
RECEIPT_S = 5.0  # between two receipts of a slow session
_BOOK_EVERY_S = 30.0
_GOODBYE_S = 2.0  # for servers to countersign the last receipts; normally a few tenths


class Purse(Protocol):
    """A donor's credit. Both calls block and may raise PotluckError."""

    def delegate(self, client: PeerId) -> Papers:
        """Permit this client to spend."""

    def book(self, receipts: Sequence[bytes], model: str) -> None:
        """Store countersigned receipts, each with its delegation."""


Settle = Callable[[PeerId, bytes], Awaitable[bytes]]
"""Sends a receipt by itself and returns it countersigned. Raises RemoteError."""


class Tab:
    """The account of one stream or of the stateless calls at a server. This one stays empty and signs nothing."""

    def due(self) -> bytes | None:
        """Return the receipt to send with the next request, if it is time for one."""
        return None

    def note(self, tokens: int, timing: Timing, *, held_tokens: int = 0, is_backward: bool = False) -> None:
        """Count an answer.

        Args:
            tokens: computed for this answer, of all rows together.
            held_tokens: now in the server's cache.
        """

    def close(self) -> None:
        """Settle the tab in the background. Idempotent."""


class Unsigned:
    """The signer of a client that does not know the size of the model's blocks: signs nothing."""

    async def start(self) -> None:
        """Get the donor's permission to spend. Never fails: clients without one are served with what others leave."""

    async def close(self) -> None:
        """Settle all open tabs and hand in the countersigned receipts. Never raises for what others do."""

    def introduce(self, caller: Caller, server: PeerId) -> Caller:
        """Return `caller` with what tells `server` on whose behalf this client spends."""
        return caller

    def open_tab(self, server: PeerId, span: Span) -> Tab:
        """Return a new tab for one stream."""
        return Tab()

    def tab_of_calls(self, server: PeerId, span: Span) -> Tab:
        """Return the tab that all stateless calls through `span` share."""
        return Tab()


class Signer(Unsigned):
    """Counts the work of servers and signs receipts with the key that the client's node has in the network.

    Lives in the client's event loop.

    Args:
        parameters: of each block of the model.
    """

    def __init__(
        self,
        identity: Identity,
        swarm: Swarm,
        settle: Settle,
        parameters: tuple[int, ...],
        purse: Purse | None,
    ) -> None:
        self.papers: Papers | None = None
        self._identity = identity
        self._swarm = swarm
        self._swarm_id = swarm_id(swarm)
        self._settle = settle
        self._purse = purse
        self._parameters = parameters
        self._tabs: dict[SignedTab, None] = {}
        self._calls: dict[tuple[PeerId, Span], SignedTab] = {}
        self._introduced: set[PeerId] = set()
        self._settling = BackgroundTasks()
        self._done = Work()
        self._to_book: dict[bytes, bytes] = {}  # by tab
        self._booking: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        if self._purse is not None:
            try:
                self.papers = await asyncio.to_thread(self._purse.delegate, self._identity.peer_id)
            except PotluckError as error:
                _log.warning("requests do not spend this donor's credit: %s", error.message)

    async def close(self) -> None:
        for tab in list(self._tabs):
            tab.close()
        await self._settling.wait(_GOODBYE_S)
        await self._settling.cancel()
        if self._booking is not None:
            self._booking.cancel()
        await self._book()

    @property
    def total(self) -> Work:
        """The work of servers that keep tabs, as this client counts it."""
        return _sum((self._done, *(tab.work for tab in self._tabs if tab.name is not None)))

    def introduce(self, caller: Caller, server: PeerId) -> Caller:
        if self.papers is None:
            return caller
        vouchers = () if server in self._introduced else self.papers.vouchers
        self._introduced.add(server)
        return replace(caller, delegation=self.papers.delegation, vouchers=vouchers)

    def open_tab(self, server: PeerId, span: Span) -> SignedTab:
        tab = SignedTab(self, server, span, sum(self._parameters[span.start : span.end]))
        self._tabs[tab] = None
        return tab

    def tab_of_calls(self, server: PeerId, span: Span) -> Tab:
        tab = self._calls.get((server, span))
        if tab is None:
            tab = self._calls[server, span] = self.open_tab(server, span)
        return tab

    def sign(self, tab: SignedTab) -> bytes | None:
        """Return a receipt for all work on `tab`; None if its server has no key to be named by."""
        server = public_key_of(tab.server)
        if tab.name is None or server is None:
            return None
        keys = (self._swarm_id, self._identity.public_key, server, tab.name)
        return sign_receipt(Receipt(*keys, tab.seq, tab.span, tab.work), self._identity.sign).data

    def add_done(self, work: Work) -> None:
        """Count the work of a tab that gets no more receipts."""
        self._done = _sum((self._done, work))

    def settle(self, tab: SignedTab) -> None:
        """Send the last receipt of `tab` by itself, in the background."""
        if tab in self._tabs:
            del self._tabs[tab]
            self._settling.start(self._settle_tab(tab))

    def keep(self, tab: SignedTab, data: bytes) -> None:
        """Hand in a countersigned receipt later, if it is one of ours."""
        try:
            receipt = read_countersigned(data).receipt
        except ReceiptError as error:
            _log.debug("a countersigned receipt is invalid: %s", error.message)
            return
        if (receipt.tab, receipt.client) != (tab.name, self._identity.public_key) or self.papers is None:
            return
        self._to_book[receipt.tab] = data + self.papers.delegation
        if self._booking is None:
            loop = asyncio.get_running_loop()
            self._booking = loop.call_later(_BOOK_EVERY_S, lambda: self._settling.start(self._book()))

    async def _settle_tab(self, tab: SignedTab) -> None:
        if tab.name is None or not tab.tokens:
            return
        self.add_done(tab.work)
        receipt = tab.sign()
        if receipt is None:
            return
        try:
            self.keep(tab, await self._settle(tab.server, receipt))
        except PotluckError as error:
            _log.debug("the last receipt of blocks %s was not taken: %s", tab.span, error.message)

    async def _book(self) -> None:
        """Hand in the countersigned receipts; those that are not taken now are kept for the next time."""
        self._booking = None
        if self._purse is None or not self._to_book:
            return
        waiting = dict(self._to_book)
        try:
            await asyncio.to_thread(self._purse.book, list(waiting.values()), self._swarm.model)
        except PotluckError as error:
            _log.debug("the ledger did not take what was spent: %s", error.message)
            return
        for tab, data in waiting.items():
            if self._to_book.get(tab) == data:
                del self._to_book[tab]


@dataclass(slots=True, eq=False)
class SignedTab(Tab):
    """A tab that counts the work of `server` and signs for it.

    Args:
        parameters: of all blocks of the span together.
        name: given by the server with its first answer; there is nothing to sign before.
    """

    signer: Signer
    server: PeerId
    span: Span
    parameters: int
    name: bytes | None = None
    forward_tokens: int = 0
    backward_tokens: int = 0
    kv_token_s: float = 0.0
    seq: int = 0
    signed_tokens: int = 0
    signed_at: float = field(default_factory=time.monotonic)
    held_tokens: int = 0  # in the server's cache, since `held_at`
    held_at: float = 0.0

    @property
    def tokens(self) -> int:
        return self.forward_tokens + self.backward_tokens

    @property
    def work(self) -> Work:
        forward, backward = self.forward_tokens * self.parameters, self.backward_tokens * self.parameters
        return Work(forward, backward, self.tokens, int(self.kv_token_s))

    def due(self) -> bytes | None:
        owed = self.tokens - self.signed_tokens
        is_late = owed > 0 and time.monotonic() - self.signed_at >= RECEIPT_S
        return self.sign() if self.name is not None and (owed >= RECEIPT_TOKENS or is_late) else None

    def sign(self) -> bytes | None:
        """Return a receipt for everything so far, with the next sequence number."""
        self.seq, self.signed_tokens, self.signed_at = self.seq + 1, self.work.tokens, time.monotonic()
        return self.signer.sign(self)

    def note(self, tokens: int, timing: Timing, *, held_tokens: int = 0, is_backward: bool = False) -> None:
        now = time.monotonic()
        if timing.tab is not None and timing.tab != self.name:
            self._begin(timing.tab)
        if is_backward:
            self.backward_tokens += tokens
        else:
            self.forward_tokens += tokens
        self.kv_token_s += self.held_tokens * (now - self.held_at)
        self.held_tokens, self.held_at = held_tokens, now
        if timing.countersigned is not None:
            self.signer.keep(self, timing.countersigned)

    def close(self) -> None:
        self.signer.settle(self)

    def _begin(self, name: bytes) -> None:
        """Start from zero under a name that the server gave; a name that it forgot gets no more receipts."""
        self.signer.add_done(self.work)
        self.name, self.seq = name, 0
        self.forward_tokens = self.backward_tokens = self.signed_tokens = 0
        self.kv_token_s = 0.0


def _sum(works: Sequence[Work]) -> Work:
    return Work(
        sum(work.forward for work in works),
        sum(work.backward for work in works),
        sum(work.tokens for work in works),
        sum(work.kv_token_s for work in works),
    )
