"""The progress of something long: a bar, the step, and how many bytes have come, how fast and for how much longer."""

from __future__ import annotations

import time
from collections import deque

from potluck_control.methods.installation import WorkProgress
from PySide6.QtWidgets import QProgressBar, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.parts import caption, column, text
from potluck_app.words import engine, sentences

_WINDOW_S = 15.0  # a line's latest speed predicts the next seconds best
_LEAST_S = 2.0  # a shorter time is too noisy
_PARTS = 1000


class DownloadRate:
    """The speed of a download and the time left. A smaller number of bytes begins another download."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def add(self, done: int, now: float) -> None:
        """Record the number of bytes that have come. `now`: seconds of a monotonic clock."""
        if self._marks and done < self._marks[-1][1]:
            self._marks.clear()
        self._marks.append((now, done))
        while now - self._marks[0][0] > _WINDOW_S and len(self._marks) > 2:
            self._marks.popleft()

    @property
    def bytes_per_s(self) -> float:
        """Return the speed; 0 while it is unknown or nothing comes."""
        if not self._marks:
            return 0.0
        (began, before), (now, done) = self._marks[0], self._marks[-1]
        return (done - before) / (now - began) if now - began >= _LEAST_S else 0.0

    def left_s(self, total: int) -> float | None:
        """Return the seconds left, or None while that is unknown."""
        rate = self.bytes_per_s
        return max(total - self._marks[-1][1], 0) / rate if rate > 0.0 else None


class DownloadProgress(QWidget):
    """The progress of one thing at a time. The bar moves to and fro while the number of bytes is unknown."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._bar, self._text, self._bytes = QProgressBar(), text(), caption()
        self._rate = DownloadRate()
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(name)
        self.setLayout(column(self._text, self._bar, self._bytes, spacing=theme.SPACE_S))

    def show_work(self, work: WorkProgress | None) -> None:
        """Show how far the daemon's work is; hide the bar while it does none."""
        self.setVisible(work is not None)
        if work is not None:
            self.say(sentences.reason(work.text), work.done, work.total)

    def say(self, step: str, done: int = 0, total: int = 0) -> None:
        """Show the step `step`, with `done` of `total` bytes."""
        self._text.setText(step)
        self._rate.add(done, time.monotonic())
        self._bar.setRange(0, _PARTS if total else 0)
        self._bar.setValue(round(_PARTS * done / total) if total else 0)
        far = engine.download_progress(done, total, self._rate.bytes_per_s, self._rate.left_s(total)) if total else ""
        self._bytes.say(far)
        self._bar.setAccessibleDescription(f"{step} {far}")
