"""How far something long is: a bar, what is being done, and while bytes come, how many, how fast and for how long."""

from __future__ import annotations

import time

from PySide6.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.card import text
from potluck_app.widgets.fetch_rate import FetchRate
from potluck_app.widgets.theme import Type
from potluck_app.words import engine

_PARTS = 1000


class FetchBar(QWidget):
    """Shows one thing that runs; without bytes the bar moves to and fro."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._bar, self._text, self._bytes = QProgressBar(), text(), text("muted", kind=Type.CAPTION)
        self._pace = FetchRate()
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(name)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.SPACE_S)
        for widget in (self._text, self._bar, self._bytes):
            column.addWidget(widget)

    def say(self, said: str, done: int = 0, total: int = 0) -> None:
        """`done` and `total` in bytes."""
        self._text.setText(said)
        self._pace.tell(done, time.monotonic())
        self._bar.setRange(0, _PARTS if total else 0)
        self._bar.setValue(round(_PARTS * done / total) if total else 0)
        far = engine.fetched(done, total, self._pace.bytes_per_s, self._pace.left_s(total)) if total else ""
        self._bytes.setText(far)
        self._bytes.setVisible(bool(far))
        self._bar.setAccessibleDescription(" ".join((said, far)))
