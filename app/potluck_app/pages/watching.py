"""The page of the detectors: which of them see a game or activity, and which fail."""

from __future__ import annotations

from potluck_control.schema import ProbeStatus, Status
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout

from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.layout import Slot, column, holder
from potluck_app.words import detectors


class WatchingPage(Page):
    """Shows the detectors of a `Status`. Signal: `back_wanted()`."""

    back_wanted = Signal()

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Detectors"))
        self._probes: tuple[ProbeStatus, ...] = ()
        self._list = Slot()
        back = Button(self.tr("Back"), "back", act=self.back_wanted.emit)
        self.head.addWidget(back)
        self.setFocusProxy(back)
        self.column.addWidget(self._list)

    def show_status(self, status: Status) -> None:
        """Rebuild the list only when it differs, and keep the place to which the user has scrolled."""
        if status.probes == self._probes:
            return
        self._probes = status.probes
        place = self.verticalScrollBar().value()
        self._list.show_content(holder(column(*map(_card, detectors.probe_groups(status.probes)))))
        self.verticalScrollBar().setValue(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        if event.key() == Qt.Key.Key_Escape:
            self.back_wanted.emit()
        else:
            super().keyPressEvent(event)


def _card(group: detectors.ProbeGroup) -> Card:
    if not any(detail for _, detail in group.probes):
        return Card(group.heading, text("muted", said=", ".join(name for name, _ in group.probes)))
    grid = QGridLayout()
    grid.setHorizontalSpacing(theme.SPACE_L)
    grid.setVerticalSpacing(theme.SPACE_S)
    grid.setColumnStretch(0, 1)
    grid.setColumnStretch(1, 3)
    for place, (name, detail) in enumerate(group.probes):
        why = text("error" if group.is_problem else "muted", said=detail)
        why.setAccessibleName(f"{name}: {detail}")
        grid.addWidget(text(said=name), place, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(why, place, 1)
    return Card(group.heading, grid)
