"""The progress of something long: a bar, the step, and how many bytes have come, how fast and for how much longer."""

from __future__ import annotations

import time

from PySide6.QtWidgets import QProgressBar, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.card import text
from potluck_app.widgets.fetch_rate import FetchRate
from potluck_app.widgets.layout import column
from potluck_app.widgets.theme import Type
from potluck_app.words import engine

_PARTS = 1000


class FetchBar(QWidget):
    """Progress of one thing at a time; the bar moves to and fro while the number of bytes is unknown."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._bar, self._text, self._bytes = QProgressBar(), text(), text("muted", kind=Type.CAPTION)
        self._rate = FetchRate()
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(name)
        self.setLayout(column(self._text, self._bar, self._bytes, spacing=theme.SPACE_S))

    def say(self, said: str, done: int = 0, total: int = 0) -> None:
        """Show the step `said`, with `done` of `total` bytes."""
        self._text.setText(said)
        self._rate.add(done, time.monotonic())
        self._bar.setRange(0, _PARTS if total else 0)
        self._bar.setValue(round(_PARTS * done / total) if total else 0)
        far = engine.fetched(done, total, self._rate.bytes_per_s, self._rate.left_s(total)) if total else ""
        self._bytes.say(far)
        self._bar.setAccessibleDescription(f"{said} {far}")
