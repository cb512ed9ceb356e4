"""The card of the energy and time that serving took, with the source of each number of watts."""

from __future__ import annotations

from collections.abc import Sequence

from potluck_control.methods.earnings import EarningsSeries, EnergySource

from potluck_app.widgets.card import Card, text
from potluck_app.widgets.figure import Figure, in_a_row
from potluck_app.widgets.theme import Type
from potluck_app.words import numbers, sentences
from potluck_app.words.daemon_texts import translated
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

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
        self._sources = text("muted", kind=Type.CAPTION)
        figures = in_a_row(self._energy, self._cost, self._served)
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
        self._sources.setText(" ".join(map(described, sources)))
        self._sources.setVisible(bool(sources))


def described(source: EnergySource) -> str:
    """Return a sentence about the power that serving takes now."""
    said = tr(_SOURCES.get(source.kind, _SOURCES["nvml"]))
    return said.format(name=sentences.capital(translated(source.name)), watts=numbers.number(source.watts))
