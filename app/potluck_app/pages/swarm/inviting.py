"""Inviting people: a message to send them, whether they can reach the swarm, and who came by which invite."""

from __future__ import annotations

import time
from functools import partial

from potluck_control.api import schema
from potluck_control.methods import members, swarms
from PySide6.QtGui import QHideEvent

from potluck.errors import PotluckError
from potluck_app.pages.destination import Destination
from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets.button import Button, DisclosureButton
from potluck_app.widgets.controls import NumberBox
from potluck_app.widgets.copying import CopyButton, CopyField, QrCode
from potluck_app.widgets.dialogs import ConfirmDialog
from potluck_app.widgets.parts import Card, ContentArea, Glyph, beside, divided, holder, muted, row, stack, text
from potluck_app.widgets.row import Row
from potluck_app.words import formats, sentences
from potluck_app.words.language import tr

_USUAL = 10, 14.0  # people and days
_MAX_PEOPLE, _MAX_DAYS = 10_000, 3650
_SIGNS = {
    swarms.InviteReach.UNTRIED: ("info", "accent"),
    swarms.InviteReach.HERE: ("info", "accent"),
    swarms.InviteReach.NEARBY: ("warning", "yielded"),
    swarms.InviteReach.NOWHERE: ("problem", "error"),
}


def describe_reach(found: swarms.InviteReach, ports: tuple[int, ...]) -> str:
    """Return whether newcomers can reach the swarm, in a sentence or two. `ports`: of this computer."""
    port = tr("TCP port {number}").format(number=ports[0]) if ports else tr("its TCP port")
    message = {
        swarms.InviteReach.DIRECT: tr("Others reach this computer: members have tried."),
        swarms.InviteReach.UNTRIED: tr("This computer has a public address, but no member has tried yet to reach it."),
        swarms.InviteReach.RELAYED: tr(
            "Others reach this computer through a relay. It is faster if your router forwards {port}."
        ),
        swarms.InviteReach.OTHERS: tr("Newcomers reach the swarm through other computers that the invite names."),
        swarms.InviteReach.NEARBY: tr(
            "Only computers in your own network can reach this one. "
            "For friends elsewhere, let your router forward {port}."
        ),
        swarms.InviteReach.HERE: tr("This swarm is for this computer alone."),
        swarms.InviteReach.NOWHERE: tr(
            "Other computers cannot reach this one. Connect it to a network before you send an invite."
        ),
    }
    return message[found].format(port=port)


class InvitingCard(PageSection):
    """The card that copies an invite: the same one until it is full, has ended or expired, or the numbers change."""

    part = Destination.INVITE

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._copy = CopyButton("", self.tr("Copy an invite"), "primary", self._request_invite)
        self._refusal = text()
        self._sign, self._reach = Glyph("info"), text()
        self._checked = holder(beside(self._sign, self._reach))
        self._ports: tuple[int, ...] = ()
        self._people, self._days, self._open = NumberBox(), NumberBox(), ContentArea()
        self._code = QrCode(self.tr("The invite as a QR code"))
        self._link = CopyField(self.tr("The swarm's link"), self.tr("Copy the link"))
        people = Row(self.tr("People"), self.tr("How many people can join with it"), self._people)
        days = Row(self.tr("Days"), self.tr("How long they can join with it"), self._days)
        numbers = stack(*divided((people, days)))
        more = DisclosureButton(self.tr("For how many people, and how long"), numbers)
        message = self.tr("Paste the message into a mail or chat that you trust: whoever has it can join.")
        note = self.tr("This link opens Potluck where the invite is entered. It lets nobody in, so it's no secret.")
        other = stack(row(self._code, None), muted(note), self._link)
        self._other_ways = DisclosureButton(self.tr("QR code and link"), other)
        foot = row(more, self._other_ways, None)
        items = (self._checked, text(message), self._copy, foot, numbers, other, self._open)
        self._form = stack(*items)
        self.fill(Card(self.tr("Invite someone"), self._form, self._refusal))
        self.setFocusProxy(self._copy)
        for part in (self._checked, self._other_ways):
            part.hide()
        self._show_usual()

    def refresh(self) -> None:
        """Ask whether newcomers can reach the swarm, before an invite is sent."""
        self.page.link.call(swarms.CONTACT, None, done=self._show_contact, failed=self._show_no_contact)

    def show_status(self, status: schema.Status) -> None:
        self._ports = status.ports

    def show_members(self, found: members.MembersList) -> None:
        self._form.setVisible(found.may_lead)
        self._refusal.say("" if found.may_lead else who_invites(found))
        now = time.time()
        open_ = [each for each in found.invites if each.expires_at > now and each.used < each.people]
        self._open.show_items(*divided([self._row(each, found) for each in open_]))

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 (Qt's name)
        """Take the invite off the screen, for it holds a key."""
        self._code.show_text("")
        self._other_ways.setChecked(False)
        self._other_ways.hide()

    def _show_contact(self, contact: swarms.Contact) -> None:
        self._say_reach(describe_reach(contact.reach, self._ports), *_SIGNS.get(contact.reach, ("good", "serving")))

    def _show_no_contact(self, error: PotluckError) -> None:
        self._say_reach(sentences.failure(error), "problem", "error")

    def _say_reach(self, message: str, glyph: str, role: str) -> None:
        self._sign.show_glyph(glyph, role)
        self._reach.setText(message)
        self._checked.show()

    def _show_usual(self) -> None:
        for box, usual, most in ((self._people, _USUAL[0], _MAX_PEOPLE), (self._days, _USUAL[1], _MAX_DAYS)):
            box.show_value(usual, 1, most, is_whole=True)

    def _request_invite(self) -> None:
        chosen = int(self._people.value()), self._days.value()
        params = schema.InviteParams() if chosen == _USUAL else schema.InviteParams(*chosen)
        self.page.call(schema.INVITE, params, self._show_made)

    def _show_made(self, made: schema.SwarmInvite) -> None:
        message = self.tr("Join my Potluck swarm “{swarm}”: install Potluck, then paste this invite:")
        self._copy.copy(f"{message.format(swarm=made.name)}\n\n{made.invite}\n")
        self._code.show_text(made.invite)
        self._link.show_content(made.link)
        self._other_ways.show()
        self.page.refresh()

    def _row(self, invite: members.OpenInvite, found: members.MembersList) -> Row:
        used = self.tr("{used} of {people} used").format(used=invite.used, people=invite.people)
        ends = self.tr("until {day}").format(day=formats.date(invite.expires_at))
        came = ", ".join(member.name for member in found.members if member.invite == invite.id)
        name = self.tr("Open to everybody") if invite.is_public else self.tr("Invite {id}").format(id=invite.id)
        about = self.tr("End: {invite}").format(invite=name)
        end = Button(self.tr("End…"), "", "quiet", lambda: self._ask_end(invite), about=about)
        return Row(name, " · ".join(filter(None, (used, ends, came))), end)

    def _ask_end(self, invite: members.OpenInvite) -> None:
        message = self.tr(
            "Nobody can join with it any more. People who joined with it and are confirmed stay members. "
            "The others have to ask for another invite."
        )
        done = self.tr("The invite has ended.")
        end = partial(self.page.change_members, members.END_INVITE, members.EndInviteParams(invite.id), done)
        ConfirmDialog(self, self.tr("End this invite?"), message, self.tr("End the invite"), end).open()


def who_invites(found: members.MembersList) -> str:
    """Return a sentence that names those who can invite, for a member who cannot."""
    leaders = [member.name for member in found.members if member.rank in ("founder", "admin")]
    if not leaders:
        return tr("Only the founder and admins can invite people.")
    return tr("Only the founder and admins can invite people. Ask {names}.").format(names=", ".join(leaders[:5]))
