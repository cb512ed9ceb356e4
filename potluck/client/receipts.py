"""What this client signs for: a tab at each server that keeps one, and the receipts for it.

A server names a tab with its first answer; servers that do not know receipts never do, and nothing is signed for them.
Receipts travel with later steps and calls, one every few tokens; the last one goes by itself when the session ends, or
when its stream broke and the server still answers. What a server countersigns goes to the donor's own ledger.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from potluck.errors import PotluckError
from potluck.p2p.identity import Identity, public_key_of
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.messages import Timing
from potluck.protocol.receipts import Papers, Receipt, ReceiptError, Work, read_countersigned, sign_receipt, swarm_id
from potluck.protocol.swarm import Swarm

_log = logging.getLogger(__name__)

RECEIPT_TOKENS = 64  # what a client may owe before it signs; a signature costs a few hundredths of a millisecond
RECEIPT_S = 5.0  # a slow session signs this often
_BOOK_EVERY_S = 30.0
_GOODBYE_S = 2.0  # for servers to countersign last receipts: a few tenths where all is well


class Purse(Protocol):
    """A donor's credit. Both calls block and may raise PotluckError."""

    def delegate(self, client: PeerId) -> Papers:
        """Let this client spend."""

    def book(self, receipts: Sequence[bytes], model: str) -> None:
        """Countersigned receipts for what servers did for this client, each with its delegation."""


Settle = Callable[[PeerId, bytes], Awaitable[bytes]]
"""Sends a receipt by itself; returns it countersigned. Raises RemoteError."""


@dataclass(slots=True, eq=False)
class Tab:
    """What was had from `server`: one stream of a session, or the stateless calls through `span`."""

    server: PeerId
    span: Span
    name: bytes | None = None  # until the server says it: there is nothing to sign
    forward_tokens: int = 0
    backward_tokens: int = 0
    kv_token_s: float = 0.0
    seq: int = 0
    signed_tokens: int = 0
    signed_at: float = 0.0
    held_tokens: int = 0  # in the server's cache, since `held_at`
    held_at: float = 0.0

    @property
    def tokens(self) -> int:
        return self.forward_tokens + self.backward_tokens

    def work(self, parameters: Sequence[int]) -> Work:
        each = sum(parameters[self.span.start : self.span.end])
        return Work(self.forward_tokens * each, self.backward_tokens * each, self.tokens, int(self.kv_token_s))

    def is_due(self, now: float) -> bool:
        owed = self.tokens - self.signed_tokens
        return self.name is not None and (owed >= RECEIPT_TOKENS or (owed > 0 and now - self.signed_at >= RECEIPT_S))


class Signer:
    """Lives in the client's event loop, and signs with the key that its node has in the network.

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
        self._tabs: dict[Tab, None] = {}
        self._calls: dict[tuple[PeerId, Span], Tab] = {}
        self._introduced: set[PeerId] = set()
        self._settling: set[asyncio.Task[None]] = set()
        self._done = Work()
        self._to_book: dict[bytes, bytes] = {}  # by tab
        self._booking: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Get the donor's permission to spend. Never fails: who has none is served with what others leave."""
        if self._purse is not None:
            try:
                self.papers = await asyncio.to_thread(self._purse.delegate, self._identity.peer_id)
            except PotluckError as error:
                _log.warning("requests do not spend this donor's credit: %s", error.message)

    async def close(self) -> None:
        """Settle what is open and hand in what was countersigned. Never raises for what others do."""
        for tab in list(self._tabs):
            self.close_tab(tab)
        if self._settling:
            _, late = await asyncio.wait(self._settling, timeout=_GOODBYE_S)
            for task in late:
                task.cancel()
        if self._booking is not None:
            self._booking.cancel()
        await self._book()

    @property
    def total(self) -> Work:
        """All that was had from servers which keep tabs, as this client counts it."""
        works = [self._done, *(tab.work(self._parameters) for tab in self._tabs if tab.name is not None)]
        return _sum(works)

    def introduction(self, server: PeerId) -> tuple[bytes, ...]:
        """Vouchers for a server that has not seen them."""
        if self.papers is None or server in self._introduced:
            return ()
        self._introduced.add(server)
        return self.papers.vouchers

    def open_tab(self, server: PeerId, span: Span) -> Tab:
        tab = Tab(server, span, signed_at=time.monotonic())
        self._tabs[tab] = None
        return tab

    def tab_of_calls(self, server: PeerId, span: Span) -> Tab:
        """The tab of stateless calls."""
        tab = self._calls.get((server, span))
        if tab is None:
            tab = self._calls[server, span] = self.open_tab(server, span)
        return tab

    def close_tab(self, tab: Tab) -> None:
        """Nothing more will be had on it: settle it in the background."""
        if tab in self._tabs:
            del self._tabs[tab]
            task = asyncio.create_task(self._settle_tab(tab))
            self._settling.add(task)
            task.add_done_callback(self._settling.discard)

    def due(self, tab: Tab) -> bytes | None:
        """The receipt to send along, if it is time for one."""
        now = time.monotonic()
        return self._sign(tab, now) if tab.is_due(now) else None

    def note(self, tab: Tab, tokens: int, timing: Timing, *, held_tokens: int = 0, is_backward: bool = False) -> None:
        """An answer came: so many tokens, all rows counted, were computed."""
        now = time.monotonic()
        if timing.tab is not None and timing.tab != tab.name:
            self._begin(tab, timing.tab)
        if is_backward:
            tab.backward_tokens += tokens
        else:
            tab.forward_tokens += tokens
        tab.kv_token_s += tab.held_tokens * (now - tab.held_at)
        tab.held_tokens, tab.held_at = held_tokens, now
        if timing.countersigned is not None:
            self._keep(tab, timing.countersigned)

    def _begin(self, tab: Tab, name: bytes) -> None:
        """The server named a tab; should it have forgotten one before, that one gets no more receipts."""
        self._done = _sum((self._done, tab.work(self._parameters)))
        tab.name, tab.seq = name, 0
        tab.forward_tokens = tab.backward_tokens = tab.signed_tokens = 0
        tab.kv_token_s = 0.0

    def _sign(self, tab: Tab, now: float) -> bytes | None:
        server = public_key_of(tab.server)
        if tab.name is None or server is None:
            return None
        tab.seq, tab.signed_tokens, tab.signed_at = tab.seq + 1, tab.tokens, now
        keys = (self._swarm_id, self._identity.public_key, server, tab.name)
        receipt = Receipt(*keys, tab.seq, tab.span, tab.work(self._parameters))
        return sign_receipt(receipt, self._identity.sign).data

    async def _settle_tab(self, tab: Tab) -> None:
        if tab.name is None or not tab.tokens:
            return
        self._done = _sum((self._done, tab.work(self._parameters)))
        receipt = self._sign(tab, time.monotonic())
        if receipt is None:
            return
        try:
            self._keep(tab, await self._settle(tab.server, receipt))
        except PotluckError as error:
            _log.debug("the last receipt of blocks %s was not taken: %s", tab.span, error.message)

    def _keep(self, tab: Tab, data: bytes) -> None:
        """A countersigned receipt, if it is one of ours."""
        try:
            receipt = read_countersigned(data).receipt
        except ReceiptError as error:
            _log.debug("a countersignature is not believed: %s", error.message)
            return
        if (receipt.tab, receipt.client) != (tab.name, self._identity.public_key) or self.papers is None:
            return
        self._to_book[receipt.tab] = data + self.papers.delegation
        if self._booking is None:
            loop = asyncio.get_running_loop()
            self._booking = loop.call_later(_BOOK_EVERY_S, self._book_soon)

    def _book_soon(self) -> None:
        self._booking = None
        task = asyncio.create_task(self._book())
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def _book(self) -> None:
        """What cannot be handed in now is tried again with the next."""
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


def _sum(works: Sequence[Work]) -> Work:
    return Work(
        sum(work.forward for work in works),
        sum(work.backward for work in works),
        sum(work.tokens for work in works),
        sum(work.kv_token_s for work in works),
    )
