"""The page Installation: what computes here, and newer versions."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from potluck_app.pages.engine import EnginePanel
from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.pages.updates import Updates
from potluck_app.widgets.card import card


class InstallationPage(Page):
    """Two cards, each of which asks for itself."""

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Installation"))
        self._computing, self._updates = EnginePanel(self), Updates(self)
        for heading, part in ((self.tr("What computes"), self._computing), (self.tr("Updates"), self._updates)):
            self.column.addWidget(_in_card(heading, part))

    def order_tabs(self) -> None:
        super().order_tabs()
        self.start_above()

    def refresh(self) -> None:
        self._computing.refresh()
        self._updates.refresh()


def _in_card(heading: str, part: QWidget) -> QWidget:
    frame, column = card(heading)
    column.addWidget(part)
    return frame
