"""A plain table: the same numbers as a chart, for reading, screen readers and copying."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem

from potluck_app.widgets import theme
from potluck_app.widgets.theme import Type

_ROW_HEIGHT = 34


class DataTable(QTableWidget):
    """A read-only table; the first column takes the room that is left, and numbers stand on the right."""

    def __init__(self, name: str, columns: Sequence[str], *, max_rows: int = 12) -> None:
        super().__init__(0, len(columns))
        self._rows: tuple[tuple[str, ...], ...] = ()
        self._max_rows = max_rows
        self.setAccessibleName(name)
        for column, said in enumerate(columns):
            self.setHorizontalHeaderItem(column, _item(said, column))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)  # Tab goes on; arrow keys move within
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_ROW_HEIGHT)
        header = self.horizontalHeader()
        header.setFont(theme.font(Type.CAPTION))
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)

    def show_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Show `rows`; the table is as high as they are, up to `max_rows`."""
        self._rows = tuple(tuple(cells) for cells in rows)
        self.setRowCount(len(rows))
        for row, cells in enumerate(rows):
            for column, said in enumerate(cells):
                self.setItem(row, column, _item(said, column))
        self.setFixedHeight(self.horizontalHeader().sizeHint().height() + _ROW_HEIGHT * min(len(rows), self._max_rows))

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        if event.matches(QKeySequence.StandardKey.Copy):
            chosen = sorted({index.row() for index in self.selectedIndexes()})
            lines = ("\t".join(self._rows[row]) for row in chosen)
            QGuiApplication.clipboard().setText("\n".join(lines))
        else:
            super().keyPressEvent(event)


def _item(said: str, column: int) -> QTableWidgetItem:
    item = QTableWidgetItem(said)
    side = Qt.AlignmentFlag.AlignLeft if column == 0 else Qt.AlignmentFlag.AlignRight
    item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
    return item
