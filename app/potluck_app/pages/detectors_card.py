"""The card of the detectors: which of them see a game or activity, and which fail."""

from __future__ import annotations

from collections.abc import Sequence

from potluck_control.schema import ProbeState, ProbeStatus
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout

from potluck_app.widgets import theme
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.layout import Item, Slot, column, holder
from potluck_app.widgets.theme import Type
from potluck_app.words.daemon_texts import translated
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

_GROUPS = {
    ProbeState.SEEN: QT_TRANSLATE_NOOP("", "Detecting something now"),
    ProbeState.FAILED: QT_TRANSLATE_NOOP("", "Not working"),
    ProbeState.WATCHING: QT_TRANSLATE_NOOP("", "Active, nothing detected"),
    ProbeState.ASLEEP: QT_TRANSLATE_NOOP("", "Resting while Potluck is not serving"),
    ProbeState.UNAVAILABLE: QT_TRANSLATE_NOOP("", "Not available on this computer"),
    ProbeState.OFF: QT_TRANSLATE_NOOP("", "Off in your settings"),
    ProbeState.UNKNOWN: QT_TRANSLATE_NOOP("", "Known only to a newer version"),
}


class DetectorsCard(Card):
    """Hidden while the daemon has no detectors to show."""

    def __init__(self) -> None:
        super().__init__()
        self._probes: Sequence[ProbeStatus] = ()
        self._list = Slot()
        self.fill(self.tr("Detectors"), self._list)
        self.hide()

    def show_probes(self, probes: Sequence[ProbeStatus]) -> None:
        if probes != self._probes:
            self._probes = probes
            parts = [_group(state, [probe for probe in probes if probe.state is state]) for state in _GROUPS]
            self._list.show_content(holder(column(*(item for group in parts for item in group))))
        self.setVisible(bool(probes))


def _group(state: ProbeState, probes: Sequence[ProbeStatus]) -> tuple[Item, ...]:
    """Return the heading of the detectors in a state, and what each of them says; nothing without any."""
    if not probes:
        return ()
    heading = text(kind=Type.STRONG, said=tr(_GROUPS[state]))
    if not any(probe.detail for probe in probes):
        return heading, text("muted", said=", ".join(translated(probe.name) for probe in probes))
    grid = QGridLayout()
    grid.setHorizontalSpacing(theme.SPACE_L)
    grid.setVerticalSpacing(theme.SPACE_S)
    grid.setColumnStretch(0, 1)
    grid.setColumnStretch(1, 3)
    for place, probe in enumerate(probes):
        name, detail = translated(probe.name), translated(probe.detail)
        why = text("error" if state is ProbeState.FAILED else "muted", said=detail)
        why.setAccessibleName(f"{name}: {detail}")
        grid.addWidget(text(said=name), place, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(why, place, 1)
    return heading, grid
