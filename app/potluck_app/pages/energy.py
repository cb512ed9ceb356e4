"""The card of what serving took: electricity and its cost, time, and where the watts are known from."""

from __future__ import annotations

from potluck_control.methods.contribution import ContributionNow, ContributionSeries, EnergySource
from PySide6.QtWidgets import QVBoxLayout, QWidget

from potluck_app.widgets.card import card, text
from potluck_app.widgets.figure import Figure, in_a_row
from potluck_app.widgets.theme import Type
from potluck_app.words import numbers, sentences
from potluck_app.words.language import tr


class EnergyCard(QWidget):
    """Sums of a series; days in a row are of now, whatever the series."""

    def __init__(self) -> None:
        super().__init__()
        self._energy, self._cost = Figure(self.tr("electricity used")), Figure(self.tr("cost, no price is set"))
        self._served, self._streak = Figure(self.tr("time served")), Figure(self.tr("day(s) in a row", "", 0))
        self._sources = text("muted", kind=Type.CAPTION)
        frame, column = card(self.tr("Energy and time"))
        column.addLayout(in_a_row((self._energy, self._cost, self._served, self._streak)))
        column.addWidget(self._sources)
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 0, 0, 0)
        around.addWidget(frame)

    def show_series(self, series: ContributionSeries) -> None:
        self._energy.say(numbers.energy(sum(period.energy_wh for period in series.periods)))
        self._served.say(numbers.duration(sum(period.served_s for period in series.periods)))
        costs = [period.cost for period in series.periods if period.cost is not None]
        if costs:
            self._cost.say(numbers.cost(sum(costs)), self.tr("cost at your price"))
        else:
            self._cost.say("–", self.tr("cost, no price is set"))

    def show_now(self, now: ContributionNow) -> None:
        self._streak.say(numbers.number(now.streak_days), self.tr("day(s) in a row", "", now.streak_days))
        self._sources.setText(" ".join(sources(now.sources)))


def sources(known: tuple[EnergySource, ...]) -> list[str]:
    """A sentence for each meter that counts, and for each that could but does not."""
    said = []
    for source in known:
        if source.is_used:
            said.append(
                _USED.get(source.kind, _USED["nvml"])().format(name=source.name, watts=numbers.number(source.watts))
            )
        elif source.problem:
            said.append(sentences.sentence(f"{source.name}: {source.problem}"))
    return said


_USED = {
    "nvml": lambda: tr("Measured by {name}: {watts} W lately."),
    "given": lambda: tr("As you gave it in the settings: {watts} W while serving."),
    "estimate": lambda: tr("Estimated, not measured ({name}): {watts} W lately."),
}
