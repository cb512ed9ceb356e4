"""The card of today's credit on the Home page: a number, the course of the last day, and the way to more."""

from __future__ import annotations

from potluck_control.methods import earnings
from potluck_control.methods.earnings import Earnings, EarningsSeries
from potluck_control.methods.periods import Period, SeriesParams
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.page import DaemonCaller
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import card, headline, text
from potluck_app.widgets.chart import Sparkline
from potluck_app.widgets.theme import Type
from potluck_app.words import numbers, sentences

_HOURS = 24


class CreditCard(QWidget):
    """Asks the daemon when it is told to. Signal: `pressed()`, for the page with all of it."""

    pressed = Signal()

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__()
        self._link = link
        self._amount, self._note = text(kind=Type.FIGURE, said="–"), text("muted", kind=Type.CAPTION)
        self._spark = Sparkline(self.tr("Credit earned in the last 24 hours"))
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 0, 0, 0)
        around.addWidget(self._build())

    def refresh(self) -> None:
        self._link.call(earnings.SUMMARY, None, done=self._show_summary, failed=self._fail)
        self._link.call(earnings.SERIES, SeriesParams(Period.HOUR, _HOURS), done=self._show_series, failed=self._fail)

    def _show_summary(self, summary: Earnings) -> None:
        self._amount.setText(numbers.credits(summary.today.earned))
        people = self.tr("from %n people", "", summary.today.people)
        self._note.setText(people if summary.today.people else self.tr("nothing signed for yet"))

    def _show_series(self, series: EarningsSeries) -> None:
        values = [period.earned for period in series.periods]
        said = self.tr("{amount} credits in the last 24 hours").format(amount=numbers.credits(sum(values)))
        self._spark.show_values(values, said)

    def _fail(self, error: PotluckError) -> None:
        self._note.setText(sentences.failure(error))

    def _build(self) -> QFrame:
        frame, column = card()
        head, row, figures = QHBoxLayout(), QHBoxLayout(), QVBoxLayout()
        more = Button(self.tr("Earnings"), "next", "link", is_trailing=True)
        more.setAccessibleName(self.tr("Show all earnings"))
        more.clicked.connect(self.pressed)
        head.addWidget(headline(self.tr("Credit today")), 1)
        head.addWidget(more)
        figures.setSpacing(0)
        figures.addWidget(self._amount)
        figures.addWidget(self._note)
        figures.addStretch(1)
        row.setSpacing(theme.SPACE_L)
        row.addLayout(figures, 2)
        row.addWidget(self._spark, 3)
        column.addLayout(head)
        column.addLayout(row)
        column.addStretch(1)
        return frame
