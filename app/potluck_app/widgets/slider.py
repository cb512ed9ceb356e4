"""A slider for a limit, whose right end means that there is none."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QSlider

from potluck_app.widgets.steady import Steady

_REST_MS = 700  # after which a slider that is moved with the keyboard has arrived


class LimitSlider(Steady, QSlider):
    """Chooses between `low` and `high`, or no limit, which is 0 and lies behind `high`.

    Signals: `moved(float)` at each step on the way, `entered(float)` once it rests.
    """

    moved = Signal(float)
    entered = Signal(float)

    def __init__(self, low: float, high: float, step: float) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._low, self._step = low, step
        self._steps = max(1, int((high - low) / step))
        self._shown = 0.0
        self.setRange(0, self._steps + 1)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MS)
        self._rest.timeout.connect(self._enter)
        self.valueChanged.connect(self._move)
        self.sliderReleased.connect(self._enter)

    @property
    def limit(self) -> float:
        """Return the limit at the slider's place; 0: none."""
        return 0.0 if self.value() > self._steps else self._low + self.value() * self._step

    def show_limit(self, limit: float) -> None:
        """Show the limit in force, unless somebody is moving the slider."""
        if self.isSliderDown() or self._rest.isActive():
            return
        place = round((limit - self._low) / self._step)
        with QSignalBlocker(self):
            self.setValue(self._steps + 1 if limit <= 0 else min(max(place, 0), self._steps))
        self._shown = self.limit

    def _move(self) -> None:
        self.moved.emit(self.limit)
        if not self.isSliderDown():
            self._rest.start()

    def _enter(self) -> None:
        self._rest.stop()
        if self.limit != self._shown:
            self._shown = self.limit
            self.entered.emit(self._shown)
