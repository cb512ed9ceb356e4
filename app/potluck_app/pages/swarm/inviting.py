"""Inviting people: a message to send them, whether they can reach this computer, and who came by which invite.

Whether newcomers can reach the swarm, in words.
"""

from __future__ import annotations

import time
from functools import partial

from potluck_control.api import schema
from potluck_control.api.schema import Status, SwarmInvite
from potluck_control.methods import members, swarms
from potluck_control.methods.members import EndInviteParams, MembersList, OpenInvite
from potluck_control.methods.swarms import Contact, InviteReach
from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication, QHideEvent

from potluck.errors import PotluckError
from potluck_app.pages.page import Destination, Page, PageSection
from potluck_app.widgets.button import Button, DisclosureButton
from potluck_app.widgets.controls import NumberBox
from potluck_app.widgets.copying import CopyField, QrCode
from potluck_app.widgets.dialogs import ConfirmDialog
from potluck_app.widgets.parts import Card, ContentArea, Glyph, column, divided, holder, row, text
from potluck_app.widgets.row import Row
from potluck_app.words import formats as dates
from potluck_app.words import sentences
from potluck_app.words.language import tr


def describe_reach(found: InviteReach, ports: tuple[int, ...]) -> str:
    """Return a sentence or two. `ports`: TCP, at which this computer listens."""
    port = tr("TCP port {number}").format(number=ports[0]) if ports else tr("its TCP port")
    said = {
        InviteReach.DIRECT: tr("Others reach this computer: members have tried."),
        InviteReach.UNTRIED: tr("This computer has a public address, but no member has tried yet to reach it."),
        InviteReach.RELAYED: tr(
            "Others reach this computer through a relay. It is faster if your router forwards {port}."
        ),
        InviteReach.OTHERS: tr("Newcomers reach the swarm through other computers that the invite names."),
        InviteReach.NEARBY: tr(
            "Only computers in your own network can reach this one. "
            "For friends elsewhere, let your router forward {port}."
        ),
        InviteReach.HERE: tr("This swarm is for this computer alone."),
        InviteReach.NOWHERE: tr(
            "Other computers cannot reach this one. Connect it to a network before you send an invite."
        ),
    }
    return said[found].format(port=port)


_USUAL = 10, 14.0  # people and days
_MAX_PEOPLE, _MAX_DAYS = 10_000, 3650
_COPIED_MS = 2000
_SIGNS = {
    InviteReach.UNTRIED: ("info", "accent"),
    InviteReach.HERE: ("info", "accent"),
    InviteReach.NEARBY: ("warning", "yielded"),
    InviteReach.NOWHERE: ("problem", "error"),
}


class InvitingCard(PageSection):
    """Copies the same invite again until it is full, has ended or expired, or the user asks for other numbers."""

    part = Destination.INVITE

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._copy, self._refusal = Button("", "copy", "primary", self._ask), text()
        self._sign, self._reach = Glyph("info"), text()
        self._checked = holder(row(column(self._sign, None), (self._reach, 1)))
        self._ports: tuple[int, ...] = ()
        self._people, self._days, self._open = NumberBox(), NumberBox(), ContentArea()
        self._code = QrCode(self.tr("The invite as a QR code"))
        self._link = CopyField(self.tr("The swarm's link"), self.tr("Copy the link"))
        people = Row(self.tr("People"), self.tr("How many people can join with it"), self._people)
        days = Row(self.tr("Days"), self.tr("How long they can join with it"), self._days)
        numbers = holder(column(*divided((people, days))))
        more = DisclosureButton(self.tr("For how many people, and how long"), numbers)
        said = self.tr("Paste the message into a mail or chat that you trust: whoever has it can join.")
        note = self.tr("This link opens Potluck where the invite is entered. It lets nobody in, so it's no secret.")
        other = holder(column(row(self._code, None), text("muted", said=note), self._link))
        self._other_ways = DisclosureButton(self.tr("QR code and link"), other)
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
        self._say_reach(describe_reach(contact.reach, self._ports), *_SIGNS.get(contact.reach, ("good", "serving")))

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
        ConfirmDialog(self, self.tr("End this invite?"), said, self.tr("End the invite"), end).open()


def who_invites(found: MembersList) -> str:
    """Return a sentence that names those who can invite, for a member who cannot."""
    leaders = [member.name for member in found.members if member.rank in ("founder", "admin")]
    if not leaders:
        return tr("Only the founder and admins can invite people.")
    return tr("Only the founder and admins can invite people. Ask {names}.").format(names=", ".join(leaders[:5]))
