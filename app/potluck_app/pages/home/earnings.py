"""All earnings: points by time and by model, and the energy, time and money that they took."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeVar

from potluck_control.methods import earnings
from PySide6.QtCore import QDateTime, QLocale
from PySide6.QtWidgets import QStackedWidget

from potluck_app.pages.home.chart import BarChart, ChartBar, DataTable
from potluck_app.pages.home.export import choose_export_file, paint_picture, save_picture
from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets.button import Button
from potluck_app.widgets.controls import Segments
from potluck_app.widgets.parts import Card, Figure, LoadingPlaceholder, caption, figure_row, headline, muted, row
from potluck_app.words import formats, sentences
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

R = TypeVar("R")
_HOURS_A_DAY, _HOUR_S = 24, 3600.0
_SOURCES = {
    "nvml": QT_TRANSLATE_NOOP("", "{name}: {watts} W (measured)."),
    "given": QT_TRANSLATE_NOOP("", "While serving: {watts} W (from your settings)."),
    "estimate": QT_TRANSLATE_NOOP("", "{name}: {watts} W (estimated)."),
}


class EnergyCard(Card):
    """The energy, money and time that serving took, with the source of each number of watts."""

    def __init__(self) -> None:
        super().__init__()
        self._energy, self._cost = Figure(self.tr("electricity used")), Figure(self.tr("cost (no price set)"))
        self._served = Figure(self.tr("time served"))
        self._sources = caption()
        figures = figure_row(self._energy, self._cost, self._served)
        self.fill(self.tr("Energy and time"), figures, self._sources)

    def show_series(self, series: earnings.EarningsSeries) -> None:
        self._energy.say(formats.energy(sum(period.energy_wh for period in series.periods)))
        self._served.say(formats.duration(sum(period.served_s for period in series.periods)))
        costs = [period.cost for period in series.periods if period.cost is not None]
        if costs:
            self._cost.say(formats.number(sum(costs), 2), self.tr("cost at your price"))
        else:
            self._cost.say("–", self.tr("cost (no price set)"))

    def show_sources(self, sources: Sequence[earnings.EnergySource]) -> None:
        self._sources.setText(" ".join(map(describe_source, sources)))
        self._sources.setVisible(bool(sources))


def describe_source(source: earnings.EnergySource) -> str:
    """Return a sentence about the power that serving takes now."""
    text = tr(_SOURCES.get(source.kind, _SOURCES["nvml"]))
    return text.format(name=sentences.capital(sentences.translated(source.name)), watts=formats.number(source.watts))


class EarningsRange(Enum):
    """A range of time that ends now. The value is its number of days, today included."""

    DAY = 1
    WEEK = 7
    MONTH = 30

    def params(self, now: datetime.datetime) -> earnings.SeriesParams:
        """Return the periods to ask for: hours of today, days of the others. `now`: local time."""
        if self is EarningsRange.DAY:
            return earnings.SeriesParams(earnings.Period.HOUR, now.hour + 1)
        return earnings.SeriesParams(earnings.Period.DAY, self.value)

    def sums(self, of: earnings.Earnings) -> earnings.Earned:
        return {EarningsRange.DAY: of.today, EarningsRange.WEEK: of.week, EarningsRange.MONTH: of.month}[self]

    def label(self, start: float) -> str:
        """Return the short name of the period that begins at `start`, for below a bar."""
        patterns = {EarningsRange.DAY: "HH", EarningsRange.WEEK: "ddd", EarningsRange.MONTH: "d"}
        return _format(start, patterns[self])

    def full(self, start: float) -> str:
        """Return the name of the period in full."""
        return _format(start, "HH:mm" if self is EarningsRange.DAY else "dddd d MMMM")


class EarningsSection(PageSection):
    """Earnings in one `EarningsRange`, except where a text says otherwise."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        choices = (
            (EarningsRange.DAY, self.tr("Day")),
            (EarningsRange.WEEK, self.tr("Week")),
            (EarningsRange.MONTH, self.tr("Month")),
        )
        self._ranges: Segments[EarningsRange] = Segments(self.tr("Period"), choices)
        self._earned, self._tokens = Figure(self.tr("points earned")), Figure(self.tr("tokens served"))
        self._people = Figure(self.tr("person(s) helped", "", 0))
        columns = (self.tr("People"), self.tr("Tokens"), self.tr("Earned"))
        self._chart = BarChart(self.tr("Points earned"))
        self._table = DataTable(self.tr("Points by time"), (self.tr("When"), *columns))
        self._views, self._switch = QStackedWidget(), Button(self.tr("Show as table"), "table", act=self._toggle)
        self._models = DataTable(self.tr("Points by model"), (self.tr("Model"), *columns))
        self._no_models = muted(self.tr("No points in this period."))
        self._energy = EnergyCard()
        self._share = Button(self.tr("Share…"), act=lambda: save_picture(page, paint_picture(*self._shared())))
        self._loading = LoadingPlaceholder("earnings")
        sums = Card("", figure_row(self._earned, self._tokens, self._people), row(None, self._share))
        models = Card(self.tr("By model"), self._models, self._no_models)
        self._cards = (sums, self._build_chart(), models, self._energy)
        self._build()

    def refresh(self) -> None:
        chosen = self._ranges.value
        params = chosen.params(datetime.datetime.now())

        def if_chosen(show: Callable[[EarningsRange, R], None]) -> Callable[[R], None]:
            """Drop an answer that comes after another range was chosen."""
            return lambda result: show(chosen, result) if chosen is self._ranges.value else None

        self.page.call(earnings.SUMMARY, None, if_chosen(self._show_sums))
        self.page.call(earnings.SERIES, params, if_chosen(self._show_series))
        self.page.call(earnings.BY_MODEL, earnings.GroupParams(chosen.value), if_chosen(self._show_models))

    def _show_sums(self, of: EarningsRange, sums: earnings.Earnings) -> None:
        self._loading.hide()
        for frame in self._cards:
            frame.show()
        self._energy.show_sources(sums.sources)
        self._share.setEnabled(True)
        shown = of.sums(sums)
        self._earned.say(formats.points(shown.earned))
        self._tokens.say(formats.number(shown.tokens))
        self._people.say(formats.number(shown.people), self.tr("person(s) helped", "", shown.people))

    def _shared(self) -> tuple[str, list[tuple[str, str]], str]:
        """Return what a picture to share says: title, figures, and a note."""
        titles = {
            EarningsRange.DAY: self.tr("My computer's day with Potluck"),
            EarningsRange.WEEK: self.tr("My computer's week with Potluck"),
            EarningsRange.MONTH: self.tr("My computer's month with Potluck"),
        }
        note = self.tr("People share their graphics cards, and together they run large language models.")
        figures = [figure.content for figure in (self._earned, self._tokens, self._people)]
        return titles[self._ranges.value], figures, note

    def _show_series(self, of: EarningsRange, series: earnings.EarningsSeries) -> None:
        self._energy.show_series(series)
        unit = self.tr("{amount} points")
        periods = series.periods
        bars = [_bar(of, period.start, period.earned, unit) for period in periods]
        if of is EarningsRange.DAY and periods:  # also draw the hours to come
            starts = (periods[-1].start + hour * _HOUR_S for hour in range(1, _HOURS_A_DAY - len(periods) + 1))
            bars.extend(_bar(of, start, 0, unit) for start in starts)
        total = sum(period.earned for period in periods)
        self._chart.show_bars(bars, unit.format(amount=formats.points(total)))
        self._table.show_rows([(of.full(period.start), *_cells(period)) for period in reversed(periods)])

    def _show_models(self, _: EarningsRange, found: earnings.EarningsGroups) -> None:
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
        self._ranges.choose(EarningsRange.WEEK)
        self._ranges.chosen.connect(lambda _: self.refresh())
        self.setFocusProxy(self._ranges)
        self._share.setEnabled(False)
        for frame in self._cards:
            frame.hide()
        self.fill(row(self._ranges, None, export), self._loading, *self._cards)

    def _build_chart(self) -> Card:
        self._views.addWidget(self._chart)
        self._views.addWidget(self._table)
        note = self.tr("Points move your requests up the queue. They are not money.")
        head = row((headline(self.tr("Points earned")), 1), self._switch)
        return Card("", head, self._views, caption(note))


def _bar(of: EarningsRange, start: float, points: int, unit: str) -> ChartBar:
    text = unit.format(amount=formats.points(points))
    return ChartBar(of.label(start), of.full(start), float(points), text)


def _cells(sums: earnings.Earned) -> tuple[str, str, str]:
    """Return a table's cells in the order of its columns."""
    return formats.number(sums.people), formats.number(sums.tokens), formats.points(sums.earned)


def _format(at: float, pattern: str) -> str:
    return QLocale().toString(QDateTime.fromSecsSinceEpoch(int(at)), pattern)
