"""Keeps the tabs of clients: what each received, what it signed for, and which clients come first.

    step or call done   ->  its tab grows
    receipt received    ->  if genuine, ours, newer and for no more than was received: to the outbox and the daemon
    booked by daemon    ->  the client gets it countersigned with its next answer

No work is ever refused: a client that doesn't sign, or signs something wrong, gets what the others leave. Work that is
not signed for is subtracted from what the donor's credit is worth here. For the asyncio thread only, except `shares`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from potluck_control.outbox import Booking, Outbox

from potluck.membership.identity import Identity, peer_id_of, public_key_of
from potluck.protocol.blocks import PeerId, PersonId, Span, each_for_itself
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller, Timing
from potluck.protocol.receipts import (
    ReceiptError,
    Signed,
    Work,
    countersign,
    new_tab,
    read_delegation,
    read_receipt,
    swarm_id,
)
from potluck.protocol.swarm import Swarm
from potluck_engine.compute.turns import shares_by_worth

log = logging.getLogger(__name__)

LATE_TOKENS = 512  # not signed for, beside what may be on its way
_UNDER_WAY = 16  # open calls of a client, which it cannot have signed for yet
_KV_SLACK_S = 60  # for two clocks and a network; nothing is paid for it
_MAX_TABS = 4096
_SETTLE_S = 600.0  # how long a closed tab waits for its last receipt
_BOOKED_TIMEOUT_S = 4.0
_VOUCHERS_EVERY_S = 60.0  # of one donor
_VOUCHERS_GAP_S = 0.2  # between any two, because the daemon checks 24 signatures each time


@dataclass(slots=True, eq=False)
class ServerTab:
    """The account of one stream of a session, or of the stateless calls of one client through one span."""

    name: bytes
    client: PeerId
    span: Span
    account: PeerId  # of the client's donor, or its own
    delegation: bytes | None
    parameters: int  # of the span
    forward_tokens: int = 0
    backward_tokens: int = 0
    kv_token_s: float = 0.0
    held_tokens: int = 0
    held_at: float = 0.0
    largest: int = 0  # tokens of one step or call
    seq: int = 0
    signed_tokens: int = 0
    signed_work: Work = field(default_factory=Work)
    waiting: Signed | None = None  # accepted, not known to be booked
    booked: Signed | None = None  # to be countersigned
    closed_at: float | None = None

    @property
    def tokens(self) -> int:
        return self.forward_tokens + self.backward_tokens

    @property
    def work(self) -> Work:
        forward, backward = self.forward_tokens * self.parameters, self.backward_tokens * self.parameters
        return Work(forward, backward, self.tokens, int(self.kv_token_s))

    @property
    def owed(self) -> int:
        """Microcredits of work that is not signed for."""
        return max(self.work.microcredits - self.signed_work.microcredits, 0)

    @property
    def is_late(self) -> bool:
        return self.tokens - self.signed_tokens > LATE_TOKENS + _UNDER_WAY * self.largest


NO_TAB = ServerTab(b"", PeerId(""), Span(0, 1), PeerId(""), None, 0)
"""Stands for the tab of clients that nothing is booked for."""


@dataclass(frozen=True, slots=True)
class _Office:
    """What receipts are checked, kept and countersigned with."""

    outbox: Outbox
    identity: Identity
    swarm_id: bytes
    parameters: tuple[int, ...]  # of each block of the model


def _ignore(_: object) -> None:
    pass


class Tabs:
    """The tabs of one engine. Before `begin`, and without an outbox, work is done for nothing and clients hear nothing.

    Args:
        outbox: the folder for receipts on their way to the ledger.
        tell: sends a receipt to the daemon.
        tell_vouchers: sends the daemon what clients show of what their donors did for others.
    """

    def __init__(
        self,
        outbox: Path | None = None,
        tell: Callable[[Booking], None] = _ignore,
        tell_vouchers: Callable[[Sequence[bytes]], None] = _ignore,
    ) -> None:
        self._folder = outbox
        self._tell = tell
        self._tell_vouchers = tell_vouchers
        self._office: _Office | None = None
        self._tabs: OrderedDict[bytes, ServerTab] = OrderedDict()
        self._calls: OrderedDict[tuple[PeerId, Span], ServerTab] = OrderedDict()
        self._worth: Mapping[PeerId, int] = {}
        self._person_of: Callable[[PeerId], PersonId | None] = each_for_itself
        self._client_worth: Mapping[PersonId, int] = {}  # replaced, never changed, because other threads read it
        self._shown_at: OrderedDict[PeerId, float] = OrderedDict()
        self._next_show_at = 0.0
        self._booked = asyncio.Event()  # replaced when it is set

    def begin(
        self,
        identity: Identity,
        swarm: Swarm,
        parameters: tuple[int, ...],
        person_of: Callable[[PeerId], PersonId | None] = each_for_itself,
    ) -> None:
        """Keep tabs from now on, if there is an outbox to put receipts into.

        Args:
            parameters: of each block of the model.
            person_of: names who runs a client.
        """
        self._person_of = person_of
        if self._folder is None:
            return
        try:
            outbox = self._office.outbox if self._office is not None else Outbox(self._folder)
        except OSError as error:
            log.error("work earns nothing: cannot write to %s: %s", self._folder, error.strerror)
            return
        self._office = _Office(outbox, identity, swarm_id(swarm), parameters)

    def close(self) -> None:
        """Leave receipts that are not booked in the outbox, for the daemon. Idempotent."""
        if self._office is not None:
            self._office.outbox.close()
            self._office = None

    # --- work --------------------------------------------------------------------------------------------------------

    def open(self, client: PeerId, span: Span, caller: Caller) -> ServerTab:
        """Begin a tab; `NO_TAB` before `begin`."""
        if self._office is None:
            return NO_TAB
        account, delegation = self._account(client, caller)
        parameters = sum(self._office.parameters[span.start : span.end])
        tab = ServerTab(new_tab(time.time()), client, span, account, delegation, parameters, held_at=time.monotonic())
        self._tabs[tab.name] = tab
        if delegation is not None and caller.vouchers:
            self._show(account, caller.vouchers)
        if len(self._tabs) > _MAX_TABS:
            self._tabs.popitem(last=False)
        return tab

    def tab_of_calls(self, client: PeerId, span: Span, caller: Caller) -> ServerTab:
        """Return the tab of a client's stateless calls; the oldest make room."""
        if self._office is None:
            return NO_TAB
        tab = self._calls.pop((client, span), None)
        if tab is None or tab.name not in self._tabs:
            tab = self.open(client, span, caller)
        self._calls[client, span] = tab
        if len(self._calls) > _MAX_TABS // 2:
            _, oldest = self._calls.popitem(last=False)
            self.close_tab(oldest)
        if caller.receipt is not None:
            self.take(tab, caller.receipt)
        return tab

    def close_tab(self, tab: ServerTab) -> None:
        """Close a tab; its last receipt may still come."""
        tab.closed_at = time.monotonic()

    def note(self, tab: ServerTab, tokens: int, *, held_tokens: int = 0, is_backward: bool = False) -> None:
        """Add computed tokens, counting all rows, before the answer is sent."""
        now = time.monotonic()
        if is_backward:
            tab.backward_tokens += tokens
        else:
            tab.forward_tokens += tokens
        tab.largest = max(tab.largest, tokens)
        tab.kv_token_s += tab.held_tokens * (now - tab.held_at)
        tab.held_tokens, tab.held_at = held_tokens, now

    def say(self, tab: ServerTab, timing: Timing, *, is_named: bool) -> Timing:
        """Return `timing` with the tab's name, unless the client knows it, and a booked receipt, once."""
        if self._office is None or not tab.name or (is_named and tab.booked is None):
            return timing
        booked, tab.booked = tab.booked, None
        return replace(
            timing,
            tab=None if is_named else tab.name,
            countersigned=countersign(booked, self._office.identity.sign).data if booked is not None else None,
        )

    # --- receipts ----------------------------------------------------------------------------------------------------

    def take(self, tab: ServerTab, data: bytes) -> bool:
        """Accept a receipt if it is right. Return whether it is; a wrong one changes nothing."""
        office = self._office
        if office is None:
            return False
        try:
            signed = read_receipt(data)
            _check(office, tab, signed)
        except ReceiptError as error:
            log.debug("a receipt for blocks %s is not taken: %s", tab.span, error.message)
            return False
        work = signed.receipt.work
        tab.seq, tab.signed_tokens, tab.signed_work, tab.waiting = signed.receipt.seq, work.tokens, work, signed
        booking = Booking(data, tab.delegation)
        try:
            office.outbox.append(booking)
        except OSError as error:  # the daemon may still book it
            log.error("cannot write to %s: %s", self._folder, error.strerror)
        self._tell(booking)
        return True

    async def settle(self, client: PeerId, data: bytes) -> bytes:
        """Return the last receipt of a tab, countersigned.

        Raises:
            RemoteError: NOT_SERVED without an outbox, BAD_REQUEST, BUSY if it is not booked soon.
        """
        office = self._office
        if office is None:
            raise RemoteError(Code.NOT_SERVED, "this server keeps no tabs")
        try:
            signed = read_receipt(data)
        except ReceiptError as error:
            raise RemoteError(Code.BAD_REQUEST, error.message) from None
        tab = self._tabs.get(signed.receipt.tab)
        if tab is None or tab.client != client or not (self.take(tab, data) or data == _data_of(tab)):
            raise RemoteError(Code.BAD_REQUEST, "this receipt is not taken")
        try:
            async with asyncio.timeout(_BOOKED_TIMEOUT_S):
                while _data_of(tab) == data:
                    await self._booked.wait()
        except TimeoutError:
            raise RemoteError(Code.BUSY, "the receipt is not booked yet", retry_after_s=_BOOKED_TIMEOUT_S) from None
        return countersign(signed, office.identity.sign).data

    def booked(self, tabs: Sequence[tuple[bytes, int]]) -> None:
        """Note that the daemon has these receipts on disk: (tab, number of the receipt)."""
        for name, seq in tabs:
            tab = self._tabs.get(name)
            if tab is not None and tab.waiting is not None and tab.waiting.receipt.seq <= seq:
                tab.booked, tab.waiting = tab.waiting, None
        self._booked.set()
        self._booked = asyncio.Event()
        if self._office is not None:
            with contextlib.suppress(OSError):  # a receipt that stays is only booked twice
                self._office.outbox.keep_only([booking for tab in self._tabs.values() if (booking := _booking_of(tab))])

    # --- credit ------------------------------------------------------------------------------------------------------

    def accounts(self) -> tuple[PeerId, ...]:
        """Return the donors whose credit should be looked up."""
        return tuple({tab.account: None for tab in self._tabs.values() if tab.delegation is not None})

    def value(self, worth: Mapping[PeerId, int]) -> None:
        """Take what the accounts are worth, as the daemon says."""
        self._worth = worth
        self.refresh()

    def refresh(self) -> None:
        """Compute which clients come first, and forget tabs that nobody will settle any more."""
        now = time.monotonic()
        for name, tab in list(self._tabs.items()):
            if tab.closed_at is not None and now - tab.closed_at > _SETTLE_S and tab.waiting is None:
                del self._tabs[name]
        owed: dict[PeerId, int] = {}
        clients: dict[PeerId, dict[PeerId, None]] = {}
        late = set()
        for tab in self._tabs.values():
            owed[tab.account] = owed.get(tab.account, 0) + tab.owed
            clients.setdefault(tab.account, {})[tab.client] = None
            if tab.is_late:
                late.add(tab.client)
        worth: Counter[PersonId] = Counter()
        for account, names in clients.items():
            part = max(self._worth.get(account, 0) - owed[account], 0) // len(names)
            for client in names.keys() - late:
                person = self._person_of(client)
                if person is not None:
                    worth[person] += part
        self._client_worth = worth

    def shares(self, clients: Collection[PersonId]) -> Mapping[PersonId, float]:
        """Return the shares of people by the credit of their donors, for the threads that compute."""
        return shares_by_worth(self._client_worth, clients)

    def _account(self, client: PeerId, caller: Caller) -> tuple[PeerId, bytes | None]:
        """Return the account that a client spends from, with the delegation that proves it."""
        if caller.delegation is None:
            return client, None
        try:
            delegation = read_delegation(caller.delegation)
        except ReceiptError:
            return client, None
        if delegation.client != public_key_of(client) or delegation.expires_at < time.time():
            return client, None
        return peer_id_of(delegation.owner), caller.delegation

    def _show(self, account: PeerId, vouchers: Sequence[bytes]) -> None:
        now = time.monotonic()
        is_early = now - self._shown_at.get(account, -_VOUCHERS_EVERY_S) < _VOUCHERS_EVERY_S
        if is_early or now < self._next_show_at:
            return
        self._shown_at[account], self._next_show_at = now, now + _VOUCHERS_GAP_S
        if len(self._shown_at) > _MAX_TABS:
            self._shown_at.popitem(last=False)
        self._tell_vouchers(vouchers)


def _check(office: _Office, tab: ServerTab, signed: Signed) -> None:
    """Raises ReceiptError unless the receipt is this tab's next one, and for no more than was received."""
    receipt, work, own = signed.receipt, signed.receipt.work, tab.work
    is_ours = (receipt.swarm, receipt.server) == (office.swarm_id, office.identity.public_key)
    if not is_ours or receipt.client != public_key_of(tab.client) or receipt.span != tab.span:
        raise ReceiptError("it is about another swarm, server, client or span")
    if receipt.tab != tab.name or receipt.seq <= tab.seq:
        raise ReceiptError("it is of another tab, or older than one that came before")
    before = tab.signed_work
    if work.forward < before.forward or work.backward < before.backward or work.tokens < before.tokens:
        raise ReceiptError("it is for less than one that came before")
    if work.forward > own.forward or work.backward > own.backward or work.tokens > own.tokens:
        raise ReceiptError("it is for more than was done")
    if work.kv_token_s > 1.1 * own.kv_token_s + _KV_SLACK_S * max(tab.held_tokens, 1):
        raise ReceiptError("it is for more memory than was held")


def _booking_of(tab: ServerTab) -> Booking | None:
    return None if tab.waiting is None else Booking(tab.waiting.data, tab.delegation)


def _data_of(tab: ServerTab) -> bytes | None:
    return None if tab.waiting is None else tab.waiting.data
