"""The people of a swarm: their computers, what leaders may do, and reports about wrong results.

A person is shown with the time since which they are known, and by whose invite they came.
"""

from __future__ import annotations

import time
from functools import partial

from potluck_control.api import schema
from potluck_control.api.schema import Status
from potluck_control.methods import members
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button, MenuButton, Switch
from potluck_app.widgets.controls import text_field
from potluck_app.widgets.dialogs import ConfirmDialog
from potluck_app.widgets.parts import Card, LoadingPlaceholder, holder, muted, row
from potluck_app.widgets.row import Row, RowList
from potluck_app.widgets.theme import TextStyle
from potluck_app.words import formats
from potluck_app.words.language import tr
from potluck_app.words.people import current_work, join_names, places_of, stable_part

_SIDE = 32
_MAX_ROWS = 50  # more people are found by name
_MANY = 10  # a search is shown for more people


class Avatar(QWidget):
    """A person as a disc with the first letter of the name, which stands beside it in full.

    Args:
        place: the person's in the list, which decides the colour; see `theme.colour_of_person`.
    """

    def __init__(self, name: str, place: int) -> None:
        super().__init__()
        self._letter, self._place = name[:1].upper(), place
        self.setFixedSize(_SIDE, _SIDE)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.colour_of_person(self._place)))
        painter.drawEllipse(QRectF(self.rect()))
        painter.setFont(theme.font(TextStyle.STRONG))
        painter.setPen(QColor(theme.colours().window))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._letter)


class MembersCard(PageSection):
    """The people of the served swarm."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._shown: members.MembersList | None = None
        self._status: Status | None = None
        self._rows: list[tuple[members.Member, Row]] = []
        self._waiting, self._people = LoadingPlaceholder("people"), RowList()
        self._search = text_field(self.tr("Search people by name"), self.tr("Search by name"))
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(lambda: self._draw())
        self._search.hide()
        self.fill(Card(self.tr("Members"), self._waiting, self._search, self._people))

    def show_status(self, status: Status) -> None:
        """Show of this computer what only it knows, such as the game that it steps aside for."""
        self._status = status
        self._update()

    def show_members(self, found: members.MembersList) -> None:
        self._shown = found
        self._draw()
        self._update()

    def _update(self) -> None:
        """Show what each person's computers do now."""
        if self._shown is not None:
            for member, shown in self._rows:
                shown.show_help(self._describe(member, self._shown))

    def _describe(self, member: members.Member, found: members.MembersList) -> str:
        return f"{current_work(member, found, self._status)}\n{describe_member(member)}"

    def _draw(self) -> None:
        found = self._shown
        if found is None:
            return
        self._waiting.setVisible(found.is_open)
        self._search.setVisible(len(found.members) > _MANY)
        if found.is_open:
            text = self.tr("{swarm} is open to everybody").format(swarm=found.swarm)
            self._waiting.say(text, self.tr("It has no members. Everybody who finds it can use it."))
        wanted = self._search.text().strip().casefold() if len(found.members) > _MANY else ""
        self._people.show_rows((stable_part(found), wanted), lambda: self._make_rows(found, wanted))

    def _make_rows(self, found: members.MembersList, wanted: str) -> list[QWidget]:
        matching = [member for member in found.members if wanted in member.name.casefold()]
        self._rows = [(member, self._person(member, found)) for member in matching[:_MAX_ROWS]]
        rows: list[QWidget] = [shown for _, shown in self._rows]
        if not matching and wanted:
            rows.append(muted(self.tr("Nobody has that name.")))
        elif len(found.members) == 1:
            rows.append(muted(self.tr("Nobody else has joined yet.")))
        if len(matching) > _MAX_ROWS:
            rows.append(muted(self.tr("%n more. Search for a name.", "", len(matching) - _MAX_ROWS)))
        return rows

    def _person(self, member: members.Member, found: members.MembersList) -> Row:
        name = self.tr("{name} (you)").format(name=member.name) if member.is_you else member.name
        buttons = []
        if member.waits:
            about = self.tr("Let {name} in").format(name=member.name)
            buttons.append(Button(self.tr("Let in"), "check", act=lambda: self._confirm(member), about=about))
        changes = []
        if found.is_founder and member.rank not in ("guest", "founder") and not member.is_you:
            is_admin = member.rank == "admin"
            text = self.tr("Make ordinary member") if is_admin else self.tr("Make admin")
            changes.append((text, partial(self._promote, member, is_admin=not is_admin)))
        if may_remove(member, found):
            changes.append((self.tr("Remove…"), partial(self._ask_remove, member, found)))
        if changes:
            buttons.append(MenuButton(self.tr("Change {name}").format(name=member.name), changes))
        face = Avatar(member.name, places_of(found)[member.id])
        return Row(name, self._describe(member, found), holder(row(*buttons, spacing=0)), face)

    def _confirm(self, member: members.Member) -> None:
        done = self.tr("{name} is a member now.").format(name=member.name)
        self.page.change_members(members.CONFIRM, members.MemberParams(member.id), done)

    def _promote(self, member: members.Member, *, is_admin: bool) -> None:
        done = self.tr("{name} is an admin now.") if is_admin else self.tr("{name} is an ordinary member now.")
        self.page.change_members(
            members.PROMOTE, members.PromoteParams(member.id, is_admin), done.format(name=member.name)
        )

    def _ask_remove(self, member: members.Member, found: members.MembersList) -> None:
        asked = self.tr("Remove {name} from {swarm}?").format(name=member.name, swarm=found.swarm)
        text = self.tr(
            "Within a minute, their computers serve nobody here and nobody serves them. This cannot be undone. "
            "They can only come back with an invite."
        )
        ends_invite = None
        if any(_is_open(invite, member) for invite in found.invites):
            ends_invite = Switch(self.tr("Also end the invite they used, which still lets people in"))
            ends_invite.setChecked(True)

        def remove() -> None:
            if ends_invite is not None and ends_invite.isChecked():
                self.page.call(members.END_INVITE, members.EndInviteParams(member.invite), lambda _: None)
            done = self.tr("{name} was removed.").format(name=member.name)
            self.page.change_members(members.REMOVE, members.MemberParams(member.id), done)

        question = ConfirmDialog(self, asked, text, self.tr("Remove"), remove)
        if ends_invite is not None:
            question.setCheckBox(ends_invite)
        question.open()


class WrongResultsCard(PageSection):
    """The reports about computers that returned wrong results. Hidden while there is nothing to decide."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._rows = RowList()
        self.fill(Card(self.tr("Wrong results"), self._rows))
        self.hide()

    def show_members(self, found: members.MembersList) -> None:
        reports = found.wrong_results
        self._rows.show_rows((reports, found.may_lead), lambda: [self._row(each, found) for each in reports])
        self.setVisible(bool(found.wrong_results))

    def _row(self, each: members.WrongResultsReport, found: members.MembersList) -> Row:
        whose = self.tr("{name}'s {machine}").format(name=each.name, machine=each.machine)
        title = self.tr("{computer} returned wrong results").format(computer=whose)
        if each.is_here:
            title = self.tr("This computer returned wrong results")
        buttons = []
        if each.is_here:
            buttons.append(Button(self.tr("Stop serving"), act=self._stop))
        elif found.may_lead:
            about = self.tr("Remove {name}").format(name=whose)
            remove = partial(self._ask_remove, each, whose, found.swarm)
            buttons.append(Button(self.tr("Remove…"), "", "quiet", remove, about=about))
        about = self.tr("Dismiss the reports about {name}").format(name=whose)
        buttons.append(Button(self.tr("Dismiss"), "", "quiet", lambda: self._dismiss(each), about=about))
        return Row(title, self._help(each, found), holder(row(*buttons)))

    def _help(self, each: members.WrongResultsReport, found: members.MembersList) -> str:
        text = self.tr("Found by {people}.")
        if each.is_confirmed:
            text = self.tr("Found by {people}, confirmed by your server.")
        elif found.may_lead and not each.is_here:
            text = self.tr("Found by {people}, not confirmed by your server.")
        text = text.format(people=join_names(each.found_by, 0))
        return f"{text} {self._checked(each)}" if each.is_here else text

    def _checked(self, each: members.WrongResultsReport) -> str:
        if each.damaged:
            return self.tr("Its memory was damaged: test it, and that of the graphics card.")
        if each.checked_at is None:
            return self.tr("If a graphics card or memory is overclocked, undo that.")
        loaded = self.tr("It loaded the model again on {day} and found nothing wrong in its memory.")
        return loaded.format(day=formats.date(each.checked_at))

    def _stop(self) -> None:
        def stopped(_: schema.Status) -> None:
            self.page.announce(self.tr("This computer serves nobody until you resume."))

        self.page.call(schema.PAUSE, schema.PauseParams(), stopped)

    def _dismiss(self, each: members.WrongResultsReport) -> None:
        self.page.change_members(
            members.DISMISS, members.MemberParams(each.member, each.peer_id), self.tr("Dismissed.")
        )

    def _ask_remove(self, each: members.WrongResultsReport, whose: str, swarm: str) -> None:
        asked = self.tr("Remove {name} from {swarm}?").format(name=whose, swarm=swarm)
        text = self.tr("Within a minute, it serves nobody here. This cannot be undone. Other computers of theirs stay.")
        done = self.tr("{name} was removed.").format(name=whose)
        params = members.MemberParams(each.member, each.peer_id)
        remove = partial(self.page.change_members, members.REMOVE, params, done)
        ConfirmDialog(self, asked, text, self.tr("Remove"), remove).open()


def may_remove(member: members.Member, found: members.MembersList) -> bool:
    """Return whether the user may remove a person: admins remove ordinary members, the founder removes admins too."""
    is_ordinary = member.rank in ("guest", "member", "enroller")
    return not member.is_you and member.rank != "founder" and (found.is_founder or (found.may_lead and is_ordinary))


def describe_member(member: members.Member) -> str:
    """Return a person's rank, since when they are known and by whose invite they came, and below it their computers."""
    ranks = {"founder": tr("Founder"), "admin": tr("Admin"), "enroller": tr("lets newcomers in")}
    rank = ranks.get(member.rank, tr("on probation") if member.is_on_probation else "")
    if member.rank == "guest":
        rank = tr("waits to be let in") if member.waits else tr("not confirmed yet")
    since = tr("known since {day}").format(day=formats.date(member.heard_at))
    by = tr("invited by {name}").format(name=member.invited_by) if member.invited_by else ""
    names = ", ".join(machine.name for machine in member.machines)
    first = " · ".join(filter(None, (rank, since, by)))
    return "\n".join(filter(None, (first[:1].upper() + first[1:], names)))


def _is_open(invite: members.OpenInvite, member: members.Member) -> bool:
    return invite.id == member.invite and invite.expires_at > time.time() and invite.used <= invite.people
