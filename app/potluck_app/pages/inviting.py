"""Inviting people: a message to send them, whether they can reach this computer, and who came by which invite."""

from __future__ import annotations

import time
from functools import partial

from potluck_control import schema
from potluck_control.methods import members, swarms
from potluck_control.methods.members import EndInviteParams, MembersList, OpenInvite
from potluck_control.methods.swarms import Contact, Reach
from potluck_control.schema import Status, SwarmInvite
from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication, QHideEvent

from potluck.errors import PotluckError
from potluck_app.pages.page import Page
from potluck_app.pages.section import Part, Section
from potluck_app.widgets.button import Button, Opener
from potluck_app.widgets.card import Card, Sign, divided, text
from potluck_app.widgets.copy_field import CopyField
from potluck_app.widgets.layout import Slot, column, holder, row
from potluck_app.widgets.number_box import NumberBox
from potluck_app.widgets.qr_code import QrCode
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row
from potluck_app.words import dates, sentences
from potluck_app.words.language import tr
from potluck_app.words.reach import reach

_USUAL = 10, 14.0  # people and days
_MAX_PEOPLE, _MAX_DAYS = 10_000, 3650
_COPIED_MS = 2000
_SIGNS = {
    Reach.UNTRIED: ("info", "accent"),
    Reach.HERE: ("info", "accent"),
    Reach.NEARBY: ("warning", "yielded"),
    Reach.NOWHERE: ("problem", "error"),
}


class InvitingCard(Section):
    """Copies the same invite again until it is full, has ended or expired, or the user asks for other numbers."""

    part = Part.INVITE

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._copy, self._refusal = Button("", "copy", "primary", self._ask), text()
        self._sign, self._reach = Sign("info"), text()
        self._checked = holder(row(column(self._sign, None), (self._reach, 1)))
        self._ports: tuple[int, ...] = ()
        self._people, self._days, self._open = NumberBox(), NumberBox(), Slot()
        self._code = QrCode(self.tr("The invite as a QR code"))
        self._link = CopyField(self.tr("The swarm's link"), self.tr("Copy the link"))
        people = Row(self.tr("People"), self.tr("How many people can join with it"), self._people)
        days = Row(self.tr("Days"), self.tr("How long they can join with it"), self._days)
        numbers = holder(column(*divided((people, days))))
        more = Opener(self.tr("For how many people, and how long"), numbers)
        said = self.tr("Paste the message into a mail or chat that you trust: whoever has it can join.")
        note = self.tr("This link opens Potluck where the invite is entered. It lets nobody in, so it's no secret.")
        other = holder(column(row(self._code, None), text("muted", said=note), self._link))
        self._other_ways = Opener(self.tr("QR code and link"), other)
        foot = row(more, self._other_ways, None)
        items = (self._checked, text(said=said), self._copy, foot, numbers, other, self._open)
        self._form = holder(column(*items))
        self.fill(Card(self.tr("Invite someone"), self._form, self._refusal))
        self.setFocusProxy(self._copy)
        for part in (self._checked, self._other_ways):
            part.hide()
        self._show_usual()
        self._offer()

    def refresh(self) -> None:
        """Ask whether newcomers can reach the swarm, before an invite is sent."""
        self.page.link.call(swarms.CONTACT, None, done=self._show_contact, failed=self._show_no_contact)

    def show_status(self, status: Status) -> None:
        self._ports = status.ports

    def show_members(self, found: MembersList) -> None:
        self._form.setVisible(found.may_lead)
        self._refusal.say("" if found.may_lead else who_invites(found))
        now = time.time()
        open_ = [each for each in found.invites if each.expires_at > now and each.used < each.people]
        self._open.show_content(holder(column(*divided([self._row(each, found) for each in open_]))))

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 (Qt's name)
        """Take the invite off the screen, for it holds a key."""
        self._code.show_text("")
        self._other_ways.setChecked(False)
        self._other_ways.hide()

    def _show_contact(self, contact: Contact) -> None:
        self._say_reach(reach(contact.reach, self._ports), *_SIGNS.get(contact.reach, ("good", "serving")))

    def _show_no_contact(self, error: PotluckError) -> None:
        self._say_reach(sentences.failure(error), "problem", "error")

    def _say_reach(self, said: str, glyph: str, role: str) -> None:
        self._sign.show_glyph(glyph, role)
        self._reach.setText(said)
        self._checked.show()

    def _show_usual(self) -> None:
        for box, usual, most in ((self._people, _USUAL[0], _MAX_PEOPLE), (self._days, _USUAL[1], _MAX_DAYS)):
            box.show_value(usual, 1, most, is_whole=True)

    def _offer(self) -> None:
        self._copy.setText(self.tr("Copy an invite"))
        self._copy.show_glyph("copy")

    def _ask(self) -> None:
        chosen = int(self._people.value()), self._days.value()
        params = schema.InviteParams() if chosen == _USUAL else schema.InviteParams(*chosen)
        self.page.ask(schema.INVITE, params, self._show_made)

    def _show_made(self, made: SwarmInvite) -> None:
        message = self.tr("Join my Potluck swarm “{swarm}”: install Potluck, then paste this invite:")
        QGuiApplication.clipboard().setText(f"{message.format(swarm=made.name)}\n\n{made.invite}\n")
        self._copy.setText(self.tr("Copied"))
        self._copy.show_glyph("check")
        QTimer.singleShot(_COPIED_MS, self, self._offer)
        self._code.show_text(made.invite)
        self._link.show_content(made.link)
        self._other_ways.show()
        self.page.refresh()

    def _row(self, invite: OpenInvite, found: MembersList) -> Row:
        used = self.tr("{used} of {people} used").format(used=invite.used, people=invite.people)
        ends = self.tr("until {day}").format(day=dates.date(invite.expires_at))
        came = ", ".join(member.name for member in found.members if member.invite == invite.id)
        name = self.tr("Open to everybody") if invite.is_public else self.tr("Invite {id}").format(id=invite.id)
        about = self.tr("End: {invite}").format(invite=name)
        end = Button(self.tr("End…"), "", "quiet", lambda: self._ask_end(invite), about=about)
        return Row(name, " · ".join(filter(None, (used, ends, came))), end)

    def _ask_end(self, invite: OpenInvite) -> None:
        said = self.tr(
            "Nobody can join with it any more. People who joined with it and are confirmed stay members. "
            "The others have to ask for another invite."
        )
        done = self.tr("The invite has ended.")
        end = partial(self.page.carry_out, members.END_INVITE, EndInviteParams(invite.id), done)
        Question(self, self.tr("End this invite?"), said, self.tr("End the invite"), end).open()


def who_invites(found: MembersList) -> str:
    """Return a sentence that names those who can invite, for a member who cannot."""
    leaders = [member.name for member in found.members if member.rank in ("founder", "admin")]
    if not leaders:
        return tr("Only the founder and admins can invite people.")
    return tr("Only the founder and admins can invite people. Ask {names}.").format(names=", ".join(leaders[:5]))
