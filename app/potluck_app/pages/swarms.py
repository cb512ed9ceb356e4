"""The swarms that were joined: which one is served, how to leave one, and the way into another."""

from __future__ import annotations

from potluck_control.methods import settings, swarms
from potluck_control.methods.settings import Change, SetParams
from potluck_control.methods.swarms import JoinedSwarm, LeaveParams
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from potluck_app.pages.join_form import JoinForm
from potluck_app.pages.page import Page
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import card, line
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row
from potluck_app.words import layers


class SwarmsCard(QWidget):
    """Asks by way of its page."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self._shown: swarms.Swarms | None = None
        self._list, self._joining = QWidget(), JoinForm(page.link)
        self._more = Button(self.tr("Join or start another swarm"), "down", "link", is_trailing=True)
        self._more.setCheckable(True)
        self._more.toggled.connect(self._joining.setVisible)
        self._joining.hide()
        self._joining.joined.connect(self._joined)
        frame, self._column = card(self.tr("Your swarms"))
        foot = QHBoxLayout()
        foot.addWidget(self._more)
        foot.addStretch(1)
        self._column.addWidget(self._list)
        self._column.addLayout(foot)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.SPACE_L)
        column.addWidget(frame)
        column.addWidget(self._joining)

    @property
    def is_unsaved(self) -> bool:
        return self._joining.is_begun

    def refresh(self) -> None:
        self._page.ask(swarms.LIST, None, self._show)

    def _show(self, found: swarms.Swarms) -> None:
        if found == self._shown:
            return
        self._shown = found
        shown = QWidget()
        column = QVBoxLayout(shown)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.SPACE_M)
        for number, swarm in enumerate(found.swarms):
            if number:
                column.addWidget(line())
            column.addWidget(self._row(swarm))
        self._column.replaceWidget(self._list, shown)
        self._list.setParent(None)
        self._list = shown

    def _row(self, swarm: JoinedSwarm) -> Row:
        parts = [layers.model(swarm.model), self.tr("%n block(s)", "", swarm.num_blocks)]
        if swarm.is_open:
            parts.append(self.tr("open to everybody"))
        if swarm.is_served:
            parts.append(self.tr("served now"))
        buttons, row = QWidget(), QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.SPACE_S)
        buttons.setLayout(row)
        if not swarm.is_served:
            serve = Button(self.tr("Serve this one"), "play")
            serve.setAccessibleName(self.tr("Serve {swarm}").format(swarm=swarm.name))
            serve.clicked.connect(lambda: self._serve(swarm.name))
            row.addWidget(serve)
        leave = Button(self.tr("Leave…"), "close", "quiet")
        leave.setAccessibleName(self.tr("Leave {swarm}").format(swarm=swarm.name))
        leave.clicked.connect(lambda: self._ask_leave(swarm.name))
        row.addWidget(leave)
        return Row(swarm.name, " · ".join(parts), buttons)

    def _joined(self) -> None:
        self._more.setChecked(False)
        self._page.refresh()

    def _serve(self, name: str) -> None:
        self._page.ask(settings.SET, SetParams((Change("serve.swarm", name),)), lambda _: self._page.refresh())

    def _ask_leave(self, name: str) -> None:
        question = Question(self, self.tr("Leave the swarm {swarm}?").format(swarm=name), self.tr("Leave"))
        question.setInformativeText(self.tr("Only a new invite brings you back. What you earned stays."))
        question.confirmed.connect(
            lambda: self._page.ask(swarms.LEAVE, LeaveParams(name), lambda _: self._page.refresh())
        )
        question.open()
