"""Keeps the tabs of clients: what each received, what it signed for, and whose requests come first.

    a step or call is done     ->  its tab grows
    a receipt comes            ->  to the outbox and the daemon, if it is genuine, ours, newer than the last one, and
                                   for no more than the client received
    the daemon sends worths    ->  they decide people's shares of a contested queue

No work is ever refused: a client that signs nothing, or something wrong, is served all the same. Clients of this
computer's own person keep no tab. For the asyncio thread only, except `shares`.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from potluck_control.processes.receipt_outbox import ReceiptOutbox

from potluck.membership.identity import public_key_of
from potluck.p2p.network import Host
from potluck.protocol.blocks import Booking, PeerId, PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.receipts import (
    Receipt,
    ReceiptError,
    Work,
    new_tab,
    parse_receipt,
    read_receipt,
    swarm_id,
)
from potluck.protocol.swarm import Swarm
from potluck_engine.compute.turns import shares_by_worth

log = logging.getLogger(__name__)

_MAX_TABS = 4096
_SETTLE_S = 600.0  # how long a closed tab waits for its last receipt


@dataclass(slots=True, eq=False)
class ServerTab:
    """The account of one stream of a session, or of the stateless calls of one client through one span."""

    name: bytes
    client: PeerId
    person: PersonId  # who runs the client
    span: Span
    parameters: int  # how many the span has
    forward_tokens: int = 0
    backward_tokens: int = 0
    seq: int = 0
    signed: Work = field(default_factory=Work)
    closed_at: float | None = None

    @property
    def work(self) -> Work:
        tokens = self.forward_tokens + self.backward_tokens
        return Work(self.forward_tokens * self.parameters, self.backward_tokens * self.parameters, tokens)


NO_TAB = ServerTab(b"", PeerId(""), PersonId(""), Span(0, 1), 0)
"""The tab of clients for whom nothing is booked."""


class Tabs:
    """The tabs of one engine. Before `begin`, and without an outbox, no work is booked and clients get no tab.

    Args:
        outbox: the folder for receipts on their way to the ledger.
        send: sends a receipt to the daemon.
    """

    _host: Host
    _swarm_id: bytes
    _parameters: tuple[int, ...]  # one number a block of the model

    def __init__(self, outbox: Path | None = None, send: Callable[[Booking], None] = lambda booking: None) -> None:
        self._folder = outbox
        self._send = send
        self._outbox: ReceiptOutbox | None = None
        self._tabs: OrderedDict[bytes, ServerTab] = OrderedDict()
        self._calls: OrderedDict[tuple[PeerId, Span], ServerTab] = OrderedDict()
        self._forgotten_tokens = 0
        self._own_person: PersonId | None = None
        self._worth: Mapping[PersonId, int] = {}  # replaced, never changed, because other threads read it

    def begin(self, host: Host, swarm: Swarm, parameters: tuple[int, ...]) -> None:
        """Keep tabs from now on if there is an outbox for receipts.

        Args:
            parameters: how many each block of the model has.
        """
        if self._folder is None:
            return
        try:
            self._outbox = self._outbox or ReceiptOutbox(self._folder)
        except OSError as error:
            log.error("work earns nothing: cannot write to %s: %s", self._folder, error.strerror)
        self._host, self._swarm_id, self._parameters = host, swarm_id(swarm), parameters

    def close(self) -> None:
        """Close the outbox, which the daemon empties. Idempotent."""
        if self._outbox is not None:
            self._outbox.close()
            self._outbox = None

    # --- work --------------------------------------------------------------------------------------------------------

    @property
    def total_tokens(self) -> int:
        """Return the tokens of all work for others, signed for or not."""
        return self._forgotten_tokens + sum(tab.work.tokens for tab in self._tabs.values())

    def open(self, client: PeerId, span: Span) -> ServerTab:
        """Return a new tab; `NO_TAB` before `begin`, and for strangers and this computer's own person."""
        if self._outbox is None:
            return NO_TAB
        host = self._host
        person, self._own_person = host.person_of(client), host.person_of(host.peer_id, host.ticket)
        if person is None or person == self._own_person:
            return NO_TAB
        tab = ServerTab(new_tab(time.time()), client, person, span, sum(self._parameters[span.start : span.end]))
        self._tabs[tab.name] = tab
        if len(self._tabs) > _MAX_TABS:
            self._forget(next(iter(self._tabs)))
        return tab

    def tab_of_calls(self, client: PeerId, span: Span, receipt: bytes | None) -> ServerTab:
        """Return the tab of a client's stateless calls through a span, after accepting a receipt for earlier ones."""
        tab = self._calls.pop((client, span), NO_TAB)
        if tab.name not in self._tabs:
            tab = self.open(client, span)
        if tab is NO_TAB:
            return tab
        self._calls[client, span] = tab
        if len(self._calls) > _MAX_TABS // 2:
            _, oldest = self._calls.popitem(last=False)
            self.close_tab(oldest)
        if receipt is not None:
            self.accept(tab, receipt)
        return tab

    def close_tab(self, tab: ServerTab) -> None:
        """Close a tab, whose last receipt may still come."""
        tab.closed_at = time.monotonic()

    # --- receipts ----------------------------------------------------------------------------------------------------

    def accept(self, tab: ServerTab, data: bytes) -> bool:
        """Accept a receipt, and return True, if it is right. A wrong one changes nothing."""
        if self._outbox is None:
            return False
        try:
            receipt = read_receipt(data)
            self._check(tab, receipt)
        except ReceiptError as error:
            log.debug("a receipt for blocks %s is not accepted: %s", tab.span, error.message)
            return False
        tab.seq, tab.signed = receipt.seq, receipt.work
        booking = Booking(data, tab.person)
        try:
            self._outbox.append(booking)
        except OSError as error:  # the daemon may still book it
            log.error("cannot write to %s: %s", self._folder, error.strerror)
        self._send(booking)
        return True

    def _check(self, tab: ServerTab, receipt: Receipt) -> None:
        """Raise ReceiptError unless the receipt is this tab's next one, and for no more than the client received."""
        work, own, before = receipt.work, tab.work, tab.signed
        is_ours = (receipt.swarm, receipt.server) == (self._swarm_id, self._host.identity.public_key)
        if not is_ours or receipt.client != public_key_of(tab.client) or receipt.span != tab.span:
            raise ReceiptError("it is about another swarm, server, client or span")
        if receipt.tab != tab.name or receipt.seq <= tab.seq:
            raise ReceiptError("it is of another tab, or older than one that came before")
        if work.forward < before.forward or work.backward < before.backward or work.tokens < before.tokens:
            raise ReceiptError("it is for less than one that came before")
        if work.forward > own.forward or work.backward > own.backward or work.tokens > own.tokens:
            raise ReceiptError("it is for more than was done")

    def settle(self, client: PeerId, data: bytes) -> None:
        """Accept the last receipt of a tab, which no request can carry. Raises RemoteError BAD_REQUEST."""
        try:
            tab = self._tabs.get(parse_receipt(data).tab)
        except ReceiptError as error:
            raise RemoteError(Code.BAD_REQUEST, error.message) from None
        if tab is None or tab.client != client or not self.accept(tab, data):
            raise RemoteError(Code.BAD_REQUEST, "this receipt is not taken")

    def forget_old(self) -> None:
        """Forget closed tabs whose last receipt did not come in time."""
        now = time.monotonic()
        for name, tab in list(self._tabs.items()):
            if tab.closed_at is not None and now - tab.closed_at > _SETTLE_S:
                self._forget(name)

    def _forget(self, name: bytes) -> None:
        self._forgotten_tokens += self._tabs.pop(name).work.tokens

    # --- shares ------------------------------------------------------------------------------------------------------

    def set_worth(self, worth: Mapping[PersonId, int]) -> None:
        """Replace what people's work for this computer's owner is worth; the daemon knows it."""
        self._worth = worth

    def shares(self, clients: Collection[PersonId]) -> Mapping[PersonId, float]:
        """Return the shares of people who compete; the own person counts as much as all others together.

        The computing threads may call it.
        """
        own = self._own_person
        worth = {client: self._worth.get(client, 0) for client in clients if client != own}
        if own is not None and own in clients:
            worth[own] = max(sum(worth.values()), 1)
        return shares_by_worth(worth, clients)
