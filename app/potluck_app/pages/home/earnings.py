"""All earnings: points by time and by model, and the energy and money that they took.

The card of the energy and time that serving took, with the source of each number of watts.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeVar

from potluck_control.api.schema import Method
from potluck_control.methods import earnings
from potluck_control.methods.earnings import (
    Earned,
    Earnings,
    EarningsGroups,
    EarningsSeries,
    EnergySource,
    GroupParams,
    Period,
    SeriesParams,
)
from PySide6.QtCore import QDateTime, QLocale
from PySide6.QtWidgets import QStackedWidget

from potluck_app.pages.home.chart import BarChart, ChartBar, DataTable
from potluck_app.pages.home.export import choose_export_file, paint_picture, save_picture
from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets.button import Button
from potluck_app.widgets.controls import Segments
from potluck_app.widgets.parts import Card, Figure, LoadingPlaceholder, figure_row, headline, row, text
from potluck_app.widgets.theme import TextStyle
from potluck_app.words import formats as numbers
from potluck_app.words import sentences
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr
from potluck_app.words.sentences import translated

_SOURCES = {
    "nvml": QT_TRANSLATE_NOOP("", "{name}: {watts} W (measured)."),
    "given": QT_TRANSLATE_NOOP("", "While serving: {watts} W (from your settings)."),
    "estimate": QT_TRANSLATE_NOOP("", "{name}: {watts} W (estimated)."),
}


class EnergyCard(Card):
    """Sums of a series."""

    def __init__(self) -> None:
        super().__init__()
        self._energy, self._cost = Figure(self.tr("electricity used")), Figure(self.tr("cost (no price set)"))
        self._served = Figure(self.tr("time served"))
        self._sources = text("muted", kind=TextStyle.CAPTION)
        figures = figure_row(self._energy, self._cost, self._served)
        self.fill(self.tr("Energy and time"), figures, self._sources)

    def show_series(self, series: EarningsSeries) -> None:
        self._energy.say(numbers.energy(sum(period.energy_wh for period in series.periods)))
        self._served.say(numbers.duration(sum(period.served_s for period in series.periods)))
        costs = [period.cost for period in series.periods if period.cost is not None]
        if costs:
            self._cost.say(numbers.cost(sum(costs)), self.tr("cost at your price"))
        else:
            self._cost.say("–", self.tr("cost (no price set)"))

    def show_sources(self, sources: Sequence[EnergySource]) -> None:
        self._sources.setText(" ".join(map(describe_source, sources)))
        self._sources.setVisible(bool(sources))


def describe_source(source: EnergySource) -> str:
    """Return a sentence about the power that serving takes now."""
    said = tr(_SOURCES.get(source.kind, _SOURCES["nvml"]))
    return said.format(name=sentences.capital(translated(source.name)), watts=numbers.number(source.watts))


P = TypeVar("P")
R = TypeVar("R")
_HOURS, _HOUR_S = 24, 3600.0  # of a day; seconds


class EarningsRange(Enum):
    """A stretch of time that ends now; the value is its number of days, today included."""

    DAY = 1
    WEEK = 7
    MONTH = 30

    def params(self, now: datetime.datetime) -> SeriesParams:
        """Ask for today by the hour, and for the others by the day. `now`: local time."""
        if self is EarningsRange.DAY:
            return SeriesParams(Period.HOUR, now.hour + 1)
        return SeriesParams(Period.DAY, self.value)

    def sums(self, earnings: Earnings) -> Earned:
        return {
            EarningsRange.DAY: earnings.today,
            EarningsRange.WEEK: earnings.week,
            EarningsRange.MONTH: earnings.month,
        }[self]

    def label(self, start: float) -> str:
        """Return the short name of the period that begins at `start`, for below a bar."""
        formats = {EarningsRange.DAY: "HH", EarningsRange.WEEK: "ddd", EarningsRange.MONTH: "d"}
        return _said(start, formats[self])

    def full(self, start: float) -> str:
        """Return the name of the period in full."""
        return _said(start, "HH:mm" if self is EarningsRange.DAY else "dddd d MMMM")


class EarningsSection(PageSection):
    """Shows one `EarningsRange` of time, except where a text says otherwise."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        choices = (
            (EarningsRange.DAY, self.tr("Day")),
            (EarningsRange.WEEK, self.tr("Week")),
            (EarningsRange.MONTH, self.tr("Month")),
        )
        self._stretches: Segments[EarningsRange] = Segments(self.tr("Period"), choices)
        self._earned, self._tokens = Figure(self.tr("points earned")), Figure(self.tr("tokens served"))
        self._people = Figure(self.tr("person(s) helped", "", 0))
        columns = (self.tr("People"), self.tr("Tokens"), self.tr("Earned"))
        self._chart = BarChart(self.tr("Points earned"))
        self._table = DataTable(self.tr("Points by time"), (self.tr("When"), *columns))
        self._views, self._switch = QStackedWidget(), Button(self.tr("Show as table"), "table", act=self._toggle)
        self._models = DataTable(self.tr("Points by model"), (self.tr("Model"), *columns))
        self._no_models = text("muted", said=self.tr("No points in this period."))
        self._energy = EnergyCard()
        self._share = Button(self.tr("Share…"), act=lambda: save_picture(page, paint_picture(*self._shared())))
        self._sums: Earnings | None = None
        self._loading = LoadingPlaceholder("earnings")
        sums = Card("", figure_row(self._earned, self._tokens, self._people), row(None, self._share))
        models = Card(self.tr("By model"), self._models, self._no_models)
        self._cards = (sums, self._build_chart(), models, self._energy)
        self._build()

    def refresh(self) -> None:
        stretch = self._stretches.value
        params = stretch.params(datetime.datetime.now())
        self._ask_about(stretch, earnings.SUMMARY, None, self._show_sums)
        self._ask_about(stretch, earnings.SERIES, params, self._show_series)
        self._ask_about(stretch, earnings.BY_MODEL, GroupParams(stretch.value), self._show_models)

    def _ask_about(
        self, stretch: EarningsRange, method: Method[P, R], params: P | None, show: Callable[[EarningsRange, R], None]
    ) -> None:
        """Ask, and drop the answer if another stretch has been chosen meanwhile."""

        def show_if_chosen(result: R) -> None:
            if stretch is self._stretches.value:
                show(stretch, result)

        self.page.ask(method, params, show_if_chosen)

    def _show_sums(self, stretch: EarningsRange, sums: Earnings) -> None:
        self._loading.hide()
        for frame in self._cards:
            frame.show()
        self._sums = sums
        self._energy.show_sources(sums.sources)
        self._share.setEnabled(True)
        shown = stretch.sums(sums)
        self._earned.say(numbers.points(shown.earned))
        self._tokens.say(numbers.number(shown.tokens))
        self._people.say(numbers.number(shown.people), self.tr("person(s) helped", "", shown.people))

    def _shared(self) -> tuple[str, list[tuple[str, str]], str]:
        """Return what a picture to share says: title, figures, and a note."""
        assert self._sums is not None
        shown = self._stretches.value.sums(self._sums)
        figures = [
            (numbers.points(shown.earned), self.tr("points earned")),
            (numbers.number(shown.tokens), self.tr("tokens served")),
            (numbers.number(shown.people), self.tr("person(s) helped", "", shown.people)),
        ]
        titles = {
            EarningsRange.DAY: self.tr("My computer's day with Potluck"),
            EarningsRange.WEEK: self.tr("My computer's week with Potluck"),
            EarningsRange.MONTH: self.tr("My computer's month with Potluck"),
        }
        note = self.tr("People share their graphics cards, and together they run large language models.")
        return titles[self._stretches.value], figures, note

    def _show_series(self, stretch: EarningsRange, series: EarningsSeries) -> None:
        self._energy.show_series(series)
        unit = self.tr("{amount} points")
        periods = series.periods
        bars = [_bar(stretch, period.start, period.earned, unit) for period in periods]
        if stretch is EarningsRange.DAY and periods:  # the hours to come
            starts = (periods[-1].start + hour * _HOUR_S for hour in range(1, _HOURS - len(periods) + 1))
            bars.extend(_bar(stretch, start, 0, unit) for start in starts)
        total = sum(period.earned for period in periods)
        self._chart.show_bars(bars, unit.format(amount=numbers.points(total)))
        self._table.show_rows([(stretch.full(period.start), *_cells(period)) for period in reversed(periods)])

    def _show_models(self, _: EarningsRange, found: EarningsGroups) -> None:
        self._models.show_rows([(group.name, *_cells(group.sums)) for group in found.groups])
        self._models.setVisible(bool(found.groups))
        self._no_models.setVisible(not found.groups)

    def _toggle(self) -> None:
        is_table = self._views.currentIndex() == 0
        self._views.setCurrentIndex(1 if is_table else 0)
        self._switch.setText(self.tr("Show as chart") if is_table else self.tr("Show as table"))
        self._switch.show_glyph("earnings" if is_table else "table")

    def _build(self) -> None:
        export = Button(self.tr("Export…"), "save", act=lambda: choose_export_file(self.page))
        self._stretches.choose(EarningsRange.WEEK)
        self._stretches.chosen.connect(lambda _: self.refresh())
        self.setFocusProxy(self._stretches)
        self._share.setEnabled(False)
        for frame in self._cards:
            frame.hide()
        self.fill(row(self._stretches, None, export), self._loading, *self._cards)

    def _build_chart(self) -> Card:
        self._views.addWidget(self._chart)
        self._views.addWidget(self._table)
        note = self.tr("Points move your requests up the queue. They are not money.")
        head = row((headline(self.tr("Points earned")), 1), self._switch)
        return Card("", head, self._views, text("muted", kind=TextStyle.CAPTION, said=note))


def _bar(stretch: EarningsRange, start: float, points: int, unit: str) -> ChartBar:
    said = unit.format(amount=numbers.points(points))
    return ChartBar(stretch.label(start), stretch.full(start), float(points), said)


def _cells(sums: Earned) -> tuple[str, str, str]:
    """Return a table's cells in the order of its columns."""
    return numbers.number(sums.people), numbers.number(sums.tokens), numbers.points(sums.earned)


def _said(at: float, pattern: str) -> str:
    return QLocale().toString(QDateTime.fromSecsSinceEpoch(int(at)), pattern)
