"""Inviting people: a new invite to copy, and the open ones, which can be withdrawn."""

from __future__ import annotations

import time

from potluck_control import schema
from potluck_control.methods import members
from potluck_control.methods.members import MembersList, OpenInvite, WithdrawParams
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from potluck_app.pages.changing import Changing
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, divided, text
from potluck_app.widgets.layout import Slot, column, holder, row
from potluck_app.widgets.number_box import NumberBox
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row
from potluck_app.widgets.theme import Type
from potluck_app.words import dates
from potluck_app.words.language import tr

_MAX_PEOPLE, _MAX_DAYS = 10_000, 3650


class InvitingCard(QWidget):
    """Asks by way of its page."""

    def __init__(self, page: Changing) -> None:
        super().__init__()
        self._page = page
        usual = schema.InviteParams()
        self._people, self._days, self._open = NumberBox(), NumberBox(), Slot()
        self._people.show_value(usual.people, 1, _MAX_PEOPLE, is_whole=True)
        self._days.show_value(usual.days, 1, _MAX_DAYS, is_whole=True)
        self._copy, self._refusal = Button(self.tr("Copy invite"), "copy", "primary"), text()
        self._copy.clicked.connect(self._invite)
        note = text("muted", said=self.tr("Send it over a channel you trust: whoever has it can join."))
        people = Row(self.tr("People"), self.tr("How many people can join with it"), self._people)
        days = Row(self.tr("Days"), self.tr("How long they can join with it"), self._days)
        self._form = holder(column(*divided((people, days)), row((note, 1), self._copy), self._open))
        self.setLayout(column(Card(self.tr("Invite someone"), self._form, self._refusal)))

    def show_members(self, found: MembersList) -> None:
        self._form.setVisible(found.may_lead)
        self._refusal.setText(who_invites(found))
        self._refusal.setVisible(not found.may_lead)
        now = time.time()
        rows = [
            self._row(invite, found)
            for invite in found.invites
            if invite.expires_at > now and invite.used < invite.people
        ]
        self._open.show_content(
            holder(column(*divided([text(kind=Type.STRONG, said=self.tr("Open invites")), *rows] if rows else ())))
        )

    def _row(self, invite: OpenInvite, found: MembersList) -> Row:
        used = self.tr("{used} of {people} used").format(used=invite.used, people=invite.people)
        ends = self.tr("until {day}").format(day=dates.date(invite.expires_at))
        withdraw = Button(self.tr("Withdraw…"), style="quiet")
        name = self.tr("Invite {id}").format(id=invite.id[:4])
        withdraw.setAccessibleName(self.tr("Withdraw {invite}").format(invite=name))
        withdraw.clicked.connect(lambda: self._ask_withdraw(invite))
        made = self.tr("Made {day}").format(day=dates.date(invite.made_at))
        title = self.tr("Open to everybody, for some work") if invite.is_public else made
        return Row(title, f"{used} · {ends}", withdraw)

    def _invite(self) -> None:
        params = schema.InviteParams(int(self._people.value()), self._days.value())
        self._page.ask(schema.INVITE, params, self._copied)

    def _copied(self, invite: schema.SwarmInvite) -> None:
        QGuiApplication.clipboard().setText(invite.invite)
        if not invite.expires_at:
            self._page.tell(self.tr("Invite copied. Anybody can join with it, so it's no secret."))
            return
        said = self.tr("Invite copied. %n people can join with it until {day}.", "", invite.people)
        self._page.tell(said.format(day=dates.date(invite.expires_at)))

    def _ask_withdraw(self, invite: OpenInvite) -> None:
        question = Question(self, self.tr("Withdraw this invite?"), self.tr("Withdraw"))
        question.setInformativeText(
            self.tr("Nobody can join with it any more. People who joined with it stay members.")
        )
        done = self.tr("The invite was withdrawn.")
        question.confirmed.connect(lambda: self._page.change(members.WITHDRAW, WithdrawParams(invite.id), done))
        question.open()


def who_invites(found: MembersList) -> str:
    """Return a sentence that names those who can invite, for a member who cannot."""
    leaders = [member.name for member in found.members if member.rank in ("founder", "admin")]
    if not leaders:
        return tr("Only the founder and admins can invite people.")
    return tr("Only the founder and admins can invite people. Ask {names}.").format(names=", ".join(leaders[:5]))
