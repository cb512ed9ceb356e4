"""The page of what Potluck watches to step aside in time: what sees something and what fails comes first."""

from __future__ import annotations

from potluck_daemon.control.schema import ProbeStatus
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from potluck_app import theme, words
from potluck_app.card import card, text


class WatchingPage(QWidget):
    """Shows the probes of a `Status`. Signal: `back_wanted()`."""

    back_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._probes: tuple[ProbeStatus, ...] = ()
        self._back, self._list, self._scroll = QPushButton("Back"), QWidget(), QScrollArea()
        self._back.clicked.connect(self.back_wanted)
        self.setFocusProxy(self._back)
        title = QLabel("What Potluck watches")
        title.setFont(theme.title(self.font()))
        head = QHBoxLayout()
        head.addWidget(title, 1)
        head.addWidget(self._back)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setAccessibleName("What Potluck watches")
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.SPACE_L, theme.SPACE_L, theme.SPACE_L, theme.SPACE_L)
        column.setSpacing(theme.SPACE_L)
        column.addLayout(head)
        column.addWidget(self._scroll, 1)

    def show_probes(self, probes: tuple[ProbeStatus, ...]) -> None:
        """Built anew only when something differs; the place one has scrolled to stays."""
        if probes == self._probes:
            return
        self._probes = probes
        place = self._scroll.verticalScrollBar().value()
        shown = QWidget()
        column = QVBoxLayout(shown)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.SPACE_M)
        for group in words.probe_groups(probes):
            column.addWidget(self._group(group))
        column.addStretch(1)
        self._scroll.setWidget(shown)
        self._scroll.verticalScrollBar().setValue(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        if event.key() == Qt.Key.Key_Escape:
            self.back_wanted.emit()
        else:
            super().keyPressEvent(event)

    def _group(self, group: words.ProbeGroup) -> QFrame:
        frame, column = card()
        heading = QLabel(group.heading)
        heading.setFont(theme.large(self.font()))
        column.addWidget(heading)
        if not any(detail for _, detail in group.probes):
            names = text("muted")
            names.setText(", ".join(name for name, _ in group.probes))
            column.addWidget(names)
            return frame
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme.SPACE_L)
        grid.setVerticalSpacing(theme.SPACE_S)
        grid.setColumnStretch(1, 1)
        for row, (name, detail) in enumerate(group.probes):
            label, why = QLabel(name), text("error" if group.is_problem else "muted")
            why.setText(detail)
            why.setAccessibleName(f"{name}: {detail}")
            grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(why, row, 1)
        column.addLayout(grid)
        return frame
