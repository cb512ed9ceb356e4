"""The card on People of computers that returned wrong results: who found it, and what the user can do about it."""

from __future__ import annotations

from functools import partial

from potluck_control import schema
from potluck_control.methods import members
from potluck_control.methods.members import MemberParams, MembersList, WrongResults
from potluck_control.schema import PauseParams, Status
from PySide6.QtWidgets import QWidget

from potluck_app.pages.changing import Changing
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, divided
from potluck_app.widgets.layout import Slot, column, holder, row
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row
from potluck_app.words import dates
from potluck_app.words.people import named


class WrongResultsCard(Card):
    """Shown while there is something to decide. Changes the members by way of its page."""

    def __init__(self, page: Changing) -> None:
        super().__init__()
        self._page = page
        self._shown: tuple[WrongResults, ...] = ()
        self._rows = Slot()
        self.fill(self.tr("Wrong results"), self._rows)
        self.hide()

    def show_members(self, found: MembersList) -> None:
        if found.wrong_results != self._shown:
            self._shown = found.wrong_results
            rows: list[QWidget] = [self._row(each, found) for each in found.wrong_results]
            self._rows.show_content(holder(column(*divided(rows))))
        self.setVisible(bool(found.wrong_results))

    def _row(self, each: WrongResults, found: MembersList) -> Row:
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

    def _help(self, each: WrongResults, found: MembersList) -> str:
        said = self.tr("Found by {people}.")
        if each.is_confirmed:
            said = self.tr("Found by {people}, confirmed by your server.")
        elif found.may_lead and not each.is_here:
            said = self.tr("Found by {people}, not confirmed by your server.")
        said = said.format(people=named(each.found_by, 0))
        return f"{said} {self._checked(each)}" if each.is_here else said

    def _checked(self, each: WrongResults) -> str:
        if each.damaged:
            return self.tr("Its memory was damaged: test it, and that of the graphics card.")
        if each.checked_at is None:
            return self.tr("If a graphics card or memory is overclocked, undo that.")
        loaded = self.tr("It loaded the model again on {day} and found nothing wrong in its memory.")
        return loaded.format(day=dates.date(each.checked_at))

    def _stop(self) -> None:
        def stopped(_: Status) -> None:
            self._page.tell(self.tr("This computer serves nobody until you resume."))

        self._page.ask(schema.PAUSE, PauseParams(), stopped)

    def _dismiss(self, each: WrongResults) -> None:
        self._page.change(members.DISMISS, MemberParams(each.member, each.peer_id), self.tr("Dismissed."))

    def _ask_remove(self, each: WrongResults, whose: str, swarm: str) -> None:
        asked = self.tr("Remove {name} from {swarm}?").format(name=whose, swarm=swarm)
        said = self.tr("Within a minute, it serves nobody here. This cannot be undone. Other computers of theirs stay.")
        done = self.tr("{name} was removed.").format(name=whose)
        params = MemberParams(each.member, each.peer_id)
        remove = partial(self._page.change, members.REMOVE, params, done)
        Question(self, asked, said, self.tr("Remove"), remove).open()
