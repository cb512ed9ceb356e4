"""The page of what Potluck watches to step aside in time: what sees something and what fails comes first."""

from __future__ import annotations

from potluck_control.schema import ProbeStatus, Status
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QVBoxLayout, QWidget

from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import card, text
from potluck_app.words import detectors


class WatchingPage(Page):
    """Shows the probes of a `Status`. Signal: `back_wanted()`."""

    back_wanted = Signal()

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("What Potluck watches"))
        self._probes: tuple[ProbeStatus, ...] = ()
        self._list = QWidget()
        back = Button(self.tr("Back"), "back")
        back.clicked.connect(self.back_wanted)
        self.head.addWidget(back)
        self.setFocusProxy(back)
        self.column.addWidget(self._list)

    def show_status(self, status: Status) -> None:
        """Built anew only when something differs; the place one has scrolled to stays."""
        if status.probes == self._probes:
            return
        self._probes = status.probes
        place = self.verticalScrollBar().value()
        shown = QWidget()
        column = QVBoxLayout(shown)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.SPACE_M)
        for group in detectors.probe_groups(status.probes):
            column.addWidget(_group(group))
        self.column.replaceWidget(self._list, shown)
        self._list.setParent(None)
        self._list = shown
        self.verticalScrollBar().setValue(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        if event.key() == Qt.Key.Key_Escape:
            self.back_wanted.emit()
        else:
            super().keyPressEvent(event)


def _group(group: detectors.ProbeGroup) -> QFrame:
    frame, column = card(group.heading)
    if not any(detail for _, detail in group.probes):
        column.addWidget(text("muted", said=", ".join(name for name, _ in group.probes)))
        return frame
    grid = QGridLayout()
    grid.setHorizontalSpacing(theme.SPACE_L)
    grid.setVerticalSpacing(theme.SPACE_S)
    grid.setColumnStretch(0, 1)
    grid.setColumnStretch(1, 3)
    for row, (name, detail) in enumerate(group.probes):
        why = text("error" if group.is_problem else "muted", said=detail)
        why.setAccessibleName(f"{name}: {detail}")
        grid.addWidget(text(said=name), row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(why, row, 1)
    column.addLayout(grid)
    return frame
