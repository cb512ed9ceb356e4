"""The joined swarms: which one is served, how to leave one, and the way into another."""

from __future__ import annotations

from potluck_control.methods import settings, swarms
from potluck_control.methods.settings import Change, SetParams
from potluck_control.methods.swarms import JoinedSwarm, LeaveParams
from PySide6.QtWidgets import QWidget

from potluck_app.pages.join_form import JoinForm
from potluck_app.pages.page import Page
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, divided
from potluck_app.widgets.layout import Slot, column, holder, row
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row
from potluck_app.words import layers


class SwarmsCard(QWidget):
    """Asks by way of its page."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self._shown: swarms.Swarms | None = None
        self._list, self._joining = Slot(), JoinForm(page.link)
        self._more = Button(self.tr("Join or start another swarm"), "down", "link", is_trailing=True)
        self._more.setCheckable(True)
        self._more.toggled.connect(self._joining.setVisible)
        self._joining.hide()
        self._joining.joined.connect(self._joined)
        frame = Card(self.tr("Your swarms"), self._list, row(self._more, None))
        self.setLayout(column(frame, self._joining, spacing=theme.SPACE_L))

    @property
    def is_unsaved(self) -> bool:
        return self._joining.is_begun

    def refresh(self) -> None:
        self._page.ask(swarms.LIST, None, self._show)

    def _show(self, found: swarms.Swarms) -> None:
        if found == self._shown:
            return
        self._shown = found
        self._list.show_content(holder(column(*divided(map(self._row, found.swarms)))))

    def _row(self, swarm: JoinedSwarm) -> Row:
        parts = [layers.model(swarm.model), self.tr("%n layer(s)", "", swarm.num_blocks)]
        if swarm.is_open:
            parts.append(self.tr("open to all"))
        if swarm.is_served:
            parts.append(self.tr("serving now"))
        buttons = []
        if not swarm.is_served:
            buttons.append(Button(self.tr("Serve this one"), "play"))
            buttons[0].setAccessibleName(self.tr("Serve {swarm}").format(swarm=swarm.name))
            buttons[0].clicked.connect(lambda: self._serve(swarm.name))
        leave = Button(self.tr("Leave…"), "close", "quiet")
        leave.setAccessibleName(self.tr("Leave {swarm}").format(swarm=swarm.name))
        leave.clicked.connect(lambda: self._ask_leave(swarm.name))
        return Row(swarm.name, " · ".join(parts), holder(row(*buttons, leave, spacing=theme.SPACE_S)))

    def _joined(self) -> None:
        self._more.setChecked(False)
        self._page.refresh()

    def _serve(self, name: str) -> None:
        self._page.ask(settings.SET, SetParams((Change("serve.swarm", name),)), lambda _: self._page.refresh())

    def _ask_leave(self, name: str) -> None:
        question = Question(self, self.tr("Leave the swarm {swarm}?").format(swarm=name), self.tr("Leave"))
        question.setInformativeText(self.tr("You need a new invite to come back. You keep your points."))
        question.confirmed.connect(
            lambda: self._page.ask(swarms.LEAVE, LeaveParams(name), lambda _: self._page.refresh())
        )
        question.open()
