"""Computers that returned wrong results: who found it, and what the user can do about it."""

from __future__ import annotations

from functools import partial

from potluck_control.api import schema
from potluck_control.methods import members

from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets.button import Button
from potluck_app.widgets.dialogs import ConfirmDialog
from potluck_app.widgets.parts import Card, holder, row
from potluck_app.widgets.row import Row, RowList
from potluck_app.words import formats
from potluck_app.words.people import join_names


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
        said = self.tr("Found by {people}.")
        if each.is_confirmed:
            said = self.tr("Found by {people}, confirmed by your server.")
        elif found.may_lead and not each.is_here:
            said = self.tr("Found by {people}, not confirmed by your server.")
        said = said.format(people=join_names(each.found_by, 0))
        return f"{said} {self._checked(each)}" if each.is_here else said

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
        said = self.tr("Within a minute, it serves nobody here. This cannot be undone. Other computers of theirs stay.")
        done = self.tr("{name} was removed.").format(name=whose)
        params = members.MemberParams(each.member, each.peer_id)
        remove = partial(self.page.change_members, members.REMOVE, params, done)
        ConfirmDialog(self, asked, said, self.tr("Remove"), remove).open()
