"""Inviting people: whether they can reach this computer, a new invite to send, and the open ones, to end them."""

from __future__ import annotations

import time
from functools import partial

from potluck_control import schema
from potluck_control.methods import members, swarms
from potluck_control.methods.members import EndInviteParams, MembersList, OpenInvite
from potluck_control.methods.swarms import Contact, Reach
from potluck_control.schema import Status
from PySide6.QtGui import QGuiApplication, QHideEvent
from PySide6.QtWidgets import QWidget

from potluck.errors import PotluckError
from potluck_app.pages.changing import Changing
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, Sign, divided, text
from potluck_app.widgets.copy_field import CopyField
from potluck_app.widgets.layout import Slot, column, holder, row
from potluck_app.widgets.number_box import NumberBox
from potluck_app.widgets.qr_code import QrCode
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row
from potluck_app.widgets.theme import Type
from potluck_app.words import dates, sentences
from potluck_app.words.language import tr
from potluck_app.words.reach import reach

_MAX_PEOPLE, _MAX_DAYS = 10_000, 3650
_SIGNS = {
    Reach.UNTRIED: ("info", "accent"),
    Reach.HERE: ("info", "accent"),
    Reach.NEARBY: ("warning", "yielded"),
    Reach.NOWHERE: ("problem", "error"),
}


class InvitingCard(QWidget):
    """Asks by way of its page."""

    def __init__(self, page: Changing) -> None:
        super().__init__()
        self._page = page
        usual = schema.InviteParams()
        self._people, self._days, self._open = NumberBox(), NumberBox(), Slot()
        self._people.show_value(usual.people, 1, _MAX_PEOPLE, is_whole=True)
        self._days.show_value(usual.days, 1, _MAX_DAYS, is_whole=True)
        self._copy, self._refusal = Button(self.tr("Copy invite"), "copy", "primary", self._invite), text()
        self.setFocusProxy(self._copy)
        self._sign, self._reach = Sign("info"), text()
        self._checked = holder(row(column(self._sign, None), (self._reach, 1)))
        self._checked.hide()
        self._ports: tuple[int, ...] = ()
        note = text("muted", said=self.tr("Send it over a channel you trust: whoever has it can join."))
        people = Row(self.tr("People"), self.tr("How many people can join with it"), self._people)
        days = Row(self.tr("Days"), self.tr("How long they can join with it"), self._days)
        self._made = _MadeInvite()
        parts = divided((people, days))
        self._form = holder(column(self._checked, *parts, row((note, 1), self._copy), self._made, self._open))
        self.setLayout(column(Card(self.tr("Invite someone"), self._form, self._refusal)))

    def refresh(self) -> None:
        """Ask whether newcomers can reach the swarm, before an invite is sent."""
        self._page.link.call(swarms.CONTACT, None, done=self._show_contact, failed=self._show_no_contact)

    def show_status(self, status: Status) -> None:
        self._ports = status.ports

    def show_members(self, found: MembersList) -> None:
        self._form.setVisible(found.may_lead)
        self._refusal.say("" if found.may_lead else who_invites(found))
        now = time.time()
        rows = [
            self._row(invite, found)
            for invite in found.invites
            if invite.expires_at > now and invite.used < invite.people
        ]
        self._open.show_content(
            holder(column(*divided([text(kind=Type.STRONG, said=self.tr("Open invites")), *rows] if rows else ())))
        )

    def _show_contact(self, contact: Contact) -> None:
        self._say_reach(reach(contact.reach, self._ports), *_SIGNS.get(contact.reach, ("good", "serving")))

    def _show_no_contact(self, error: PotluckError) -> None:
        self._say_reach(sentences.failure(error), "problem", "error")

    def _say_reach(self, said: str, glyph: str, role: str) -> None:
        self._sign.show_glyph(glyph, role)
        self._reach.setText(said)
        self._checked.show()

    def _row(self, invite: OpenInvite, found: MembersList) -> Row:
        used = self.tr("{used} of {people} used").format(used=invite.used, people=invite.people)
        ends = self.tr("until {day}").format(day=dates.date(invite.expires_at))
        name = self.tr("Open to everybody") if invite.is_public else self.tr("Invite {id}").format(id=invite.id[:4])
        about = self.tr("End: {invite}").format(invite=name)
        end = Button(self.tr("End…"), "", "quiet", lambda: self._ask_end(invite), about=about)
        return Row(name, f"{used} · {ends}", end)

    def _invite(self) -> None:
        params = schema.InviteParams(int(self._people.value()), self._days.value())
        self._page.ask(schema.INVITE, params, self._show_made)

    def _show_made(self, invite: schema.SwarmInvite) -> None:
        QGuiApplication.clipboard().setText(invite.invite)
        self._made.show_invite(invite)
        if not invite.expires_at:
            self._page.tell(self.tr("Invite copied. Anybody can join with it, so it's no secret."))
            return
        said = self.tr("Invite copied. %n people can join with it until {day}.", "", invite.people)
        self._page.tell(said.format(day=dates.date(invite.expires_at)))

    def _ask_end(self, invite: OpenInvite) -> None:
        said = self.tr(
            "Nobody can join with it any more. People who joined with it and are confirmed stay members. "
            "The others have to ask for another invite."
        )
        end = partial(
            self._page.change, members.END_INVITE, EndInviteParams(invite.id), self.tr("The invite has ended.")
        )
        Question(self, self.tr("End this invite?"), said, self.tr("End the invite"), end).open()


class _MadeInvite(QWidget):
    """The invite that was just made, as a QR code, and the swarm's link; gone once the page is."""

    def __init__(self) -> None:
        super().__init__()
        self._code = QrCode(self.tr("The invite as a QR code"))
        self._link = CopyField(self.tr("The swarm's link"), self.tr("Copy the link"))
        scan = text(said=self.tr("A phone can read the invite here and send it on."))
        note = self.tr("This link opens Potluck where the invite is entered. It lets nobody in, so it's no secret.")
        self._about = holder(column(text("muted", said=note), self._link))
        self._scanned = holder(column(scan, row(self._code, None)))
        self.setLayout(column(self._scanned, self._about))
        self.hide()

    def show_invite(self, invite: schema.SwarmInvite) -> None:
        self._code.show_text(invite.invite)
        self._scanned.setVisible(not self._code.isHidden())
        self._about.setVisible(bool(invite.link))
        self._link.show_content(invite.link)
        self.show()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 (Qt's name)
        self._code.show_text("")
        self.hide()


def who_invites(found: MembersList) -> str:
    """Return a sentence that names those who can invite, for a member who cannot."""
    leaders = [member.name for member in found.members if member.rank in ("founder", "admin")]
    if not leaders:
        return tr("Only the founder and admins can invite people.")
    return tr("Only the founder and admins can invite people. Ask {names}.").format(names=", ".join(leaders[:5]))
