"""The card of numbers: speed, sessions and tokens, how loaded the machine is, and what the day has used."""

from __future__ import annotations

from potluck_daemon.control.schema import LoadStatus, Status
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QProgressBar, QVBoxLayout, QWidget

from potluck_app import theme, words
from potluck_app.card import card

_FACTS = {"speed": "Speed", "sessions": "Sessions", "today": "Tokens served today"}


class NumbersCard(QWidget):
    """Shows the numbers of one `Status`."""

    def __init__(self) -> None:
        super().__init__()
        self._facts = {name: QLabel("-") for name in _FACTS}
        self._loads = {name: _Load(name) for name in ("Processor", "Graphics card", "Memory")}
        self._use = QLabel()
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 0, 0, 0)
        around.addWidget(self._build())

    def show_status(self, status: Status) -> None:
        self._facts["speed"].setText(words.rate(words.speed_tps(status)))
        self._facts["sessions"].setText(f"{status.sessions}")
        self._facts["today"].setText(f"{status.tokens_today:,}")
        load: LoadStatus = status.load
        self._loads["Processor"].show_share(
            load.cpu_percent, f"{load.cpu_percent:.0f} %, ours {load.engine_cpu_percent:.0f} %"
        )
        gpu = load.gpu_percent
        self._loads["Graphics card"].setVisible(gpu is not None)
        self._loads["Graphics card"].show_share(gpu or 0.0, f"{gpu or 0.0:.0f} %")
        limit = load.memory_limit_bytes or load.memory_total_bytes
        used = 100.0 * load.memory_used_bytes / limit if limit else 0.0
        self._loads["Memory"].show_share(used, words.memory(status))
        self._use.setText(words.use(status.use))
        self._use.setVisible(bool(self._use.text()))

    def _build(self) -> QFrame:
        frame, column = card()
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme.SPACE_XL)
        for place, (name, caption) in enumerate(_FACTS.items()):
            label = QLabel(caption)
            label.setObjectName("muted")
            label.setFont(theme.small(self.font()))
            self._facts[name].setFont(theme.large(self.font()))
            self._facts[name].setAccessibleName(caption)
            grid.addWidget(label, 0, place)
            grid.addWidget(self._facts[name], 1, place)
            grid.setColumnStretch(place, 1)
        column.addLayout(grid)
        column.addSpacing(theme.SPACE_S)
        for load in self._loads.values():
            column.addWidget(load)
        self._use.setObjectName("muted")
        self._use.setFont(theme.small(self.font()))
        self._use.setWordWrap(True)
        column.addWidget(self._use)
        return frame


class _Load(QWidget):
    """A name, a bar and the number it stands for."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._bar, self._text = QProgressBar(), QLabel("-")
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 1000)
        self._bar.setAccessibleName(f"{name} load")
        self._text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._text.setMinimumWidth(150)
        label = QLabel(name)
        label.setMinimumWidth(100)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(label)
        row.addWidget(self._bar, 1)
        row.addWidget(self._text)

    def show_share(self, percent: float, text: str) -> None:
        self._bar.setValue(round(min(max(percent, 0.0), 100.0) * 10))
        self._text.setText(text)
