"""The user's own computers in the served swarm, and an invite to add another one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from potluck_control.api.schema import Status
from potluck_control.methods import members
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QWidget

from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets.button import Button
from potluck_app.widgets.copying import CopyField, QrCode
from potluck_app.widgets.dialogs import ConfirmDialog
from potluck_app.widgets.parts import Card, PollTimer, row, stack, text
from potluck_app.widgets.row import Row, RowList
from potluck_app.words import formats

_POLL_MS = 2000


class OwnComputers(PageSection):
    """The list of the user's computers, and an invite for one more."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._here: str | None = None  # the peer id of this computer
        self._list, self._asking = RowList(), RowList()
        add = partial(page.call, members.ADD_COMPUTER, members.SwarmParams(), self._show_invite)
        self._add = Button(self.tr("Add a computer…"), "plus", act=add)
        self._invite = CopyField(self.tr("Invite for the other computer"), self.tr("Copy the invite"))
        self._code, self._how = QrCode(self.tr("Invite for the other computer as a QR code")), text()
        hide = Button(self.tr("Hide"), act=self._hide_invite)
        self._made = stack(self._how, self._invite, row(self._code, None), row(hide, None))
        self._made.hide()
        self._expires_at = 0.0
        self._poll = PollTimer(self, self._check_invite)
        self._adding = stack(self._asking, row(self._add, None), self._made)
        self.fill(Card("", self._list, self._adding))

    def show_status(self, status: Status) -> None:
        self._here = status.swarm.peer_id if status.swarm is not None else None

    def refresh(self) -> None:
        self.page.call(members.LIST, members.SwarmParams(), self._show)

    def _show(self, found: members.MembersList) -> None:
        self._adding.setVisible(found.has_key)
        self._asking.show_rows(found.asking, lambda: [self._row_of_asking(found.asking)] if found.asking else [])
        you = next((member for member in found.members if member.is_you), None)
        if you is not None:
            make = partial(self._make_rows, you, self._here, may_remove=found.has_key)
            self._list.show_rows((you, self._here, found.has_key), make)

    def _make_rows(self, you: members.Member, here: str | None, *, may_remove: bool) -> Iterator[Row]:
        for machine in you.machines:
            if machine.peer_id == here:
                yield Row(self.tr("{name} (this computer)").format(name=machine.name), "", QWidget())
                continue
            about = self.tr("Remove {name}").format(name=machine.name)
            ask = partial(self._ask_remove, machine, you)
            remove = Button(self.tr("Remove…"), "", "quiet", ask, about=about)
            yield Row(machine.name, "", remove if may_remove else QWidget())

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 (Qt's name)
        self._hide_invite()

    def _show_invite(self, made: members.MachineInvite) -> None:
        """Show the invite until it was used, has expired, or the page is left."""
        how = self.tr(
            "On the other computer, enter this invite under “I have an invite”. Then confirm the computer here. "
            "The invite works once, until {time}."
        )
        self._how.setText(how.format(time=formats.time_of_day(made.expires_at)))
        self._invite.show_content(made.invite)
        self._code.show_text(made.invite)
        self._expires_at = made.expires_at
        self._show_made(True)

    def _hide_invite(self) -> None:
        self._invite.show_content("")
        self._code.show_text("")
        self._show_made(False)

    def _show_made(self, is_made: bool) -> None:
        self._made.setVisible(is_made)
        self._add.setVisible(not is_made)
        self._poll.run_while(is_made, _POLL_MS)

    def _check_invite(self) -> None:
        """Check whether a computer used the invite."""
        if time.time() > self._expires_at:
            self._hide_invite()
        self.page.refresh()

    def _row_of_asking(self, name: str) -> Row:
        about = self.tr("Confirm {name}").format(name=name)
        confirm = Button(self.tr("Confirm"), "check", "primary", lambda: self._confirm(name), about=about)
        asks = self.tr("{name} asks to be one of your computers").format(name=name)
        return Row(asks, self.tr("Confirm it only if it is yours and you have just entered the invite there."), confirm)

    def _confirm(self, name: str) -> None:
        self._hide_invite()
        done = self.tr("{name} is one of your computers now.").format(name=name)
        self.page.change_members(members.CONFIRM_COMPUTER, members.ConfirmParams(name), done)

    def _ask_remove(self, machine: members.MemberMachine, you: members.Member) -> None:
        asked = self.tr("Remove {name}?").format(name=machine.name)
        message = self.tr(
            "That computer loses access to the swarm for good, within a minute. Your other computers stay."
        )
        done = self.tr("{name} was removed.").format(name=machine.name)
        remove = partial(self.page.change_members, members.REMOVE, members.MemberParams(you.id, machine.peer_id), done)
        ConfirmDialog(self, asked, message, self.tr("Remove"), remove).open()
