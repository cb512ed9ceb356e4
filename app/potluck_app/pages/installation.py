"""The page Installation: the compute engine, and updates of Potluck."""

from __future__ import annotations

from potluck_app.pages.engine import EnginePanel
from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.pages.updates import Updates
from potluck_app.widgets.card import Card


class InstallationPage(Page):
    """Two cards, each of which asks for itself."""

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Installation"))
        self._engine, self._updates = EnginePanel(self), Updates(self)
        self.column.addWidget(Card(self.tr("Compute engine"), self._engine))
        self.column.addWidget(Card(self.tr("Updates"), self._updates))

    def order_tabs(self) -> None:
        super().order_tabs()
        self.start_above()

    def refresh(self) -> None:
        self._engine.refresh()
        self._updates.refresh()
