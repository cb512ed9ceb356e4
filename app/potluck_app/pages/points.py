"""The card on Home of the points earned today: a number, the last 24 hours as a line, and the way to Earnings."""

from __future__ import annotations

from potluck_control.methods import earnings
from potluck_control.methods.earnings import Earnings, EarningsSeries
from potluck_control.methods.periods import Period, SeriesParams
from PySide6.QtCore import Signal

from potluck.errors import PotluckError
from potluck_app.pages.page import DaemonCaller
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, headline, text
from potluck_app.widgets.chart import Sparkline
from potluck_app.widgets.layout import column, row
from potluck_app.widgets.theme import Type
from potluck_app.words import numbers, sentences

_HOURS = 24


class PointsCard(Card):
    """Asks the daemon in `refresh`. Signal: `pressed()`, to open Earnings."""

    pressed = Signal()

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__()
        self._link = link
        self._amount, self._note = text(kind=Type.FIGURE, said="–"), text("muted", kind=Type.CAPTION)
        self._spark = Sparkline(self.tr("Points earned in the last 24 hours"))
        about = self.tr("Show all earnings")
        more = Button(self.tr("Earnings"), "next", "link", self.pressed.emit, about=about, is_trailing=True)
        figures = column(self._amount, self._note, None, spacing=0)
        self.fill(
            "",
            row((headline(self.tr("Points today")), 1), more),
            row((figures, 2), (self._spark, 3), spacing=theme.SPACE_S),
            None,
        )

    def refresh(self) -> None:
        self._link.call(earnings.SUMMARY, None, done=self._show_summary, failed=self._fail)
        self._link.call(earnings.SERIES, SeriesParams(Period.HOUR, _HOURS), done=self._show_series, failed=self._fail)

    def _show_summary(self, summary: Earnings) -> None:
        self._amount.setText(numbers.points(summary.today.earned))
        people = self.tr("from %n people", "", summary.today.people)
        self._note.setText(people if summary.today.people else self.tr("No points yet today"))

    def _show_series(self, series: EarningsSeries) -> None:
        values = [period.earned for period in series.periods]
        said = self.tr("{amount} points in the last 24 hours").format(amount=numbers.points(sum(values)))
        self._spark.show_values(values, said)

    def _fail(self, error: PotluckError) -> None:
        self._note.setText(sentences.failure(error))
