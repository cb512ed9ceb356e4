"""The card of the detectors: which of them see a game or activity, and which fail."""

from __future__ import annotations

from collections.abc import Sequence

from potluck_control.schema import ProbeStatus
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout

from potluck_app.widgets import theme
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.layout import Item, Slot, column, holder
from potluck_app.widgets.theme import Type
from potluck_app.words import detectors


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
            parts = (part for group in detectors.probe_groups(probes) for part in _parts(group))
            self._list.show_content(holder(column(*parts)))
        self.setVisible(bool(probes))


def _parts(group: detectors.ProbeGroup) -> tuple[Item, Item]:
    heading = text(kind=Type.STRONG, said=group.heading)
    if not any(detail for _, detail in group.probes):
        return heading, text("muted", said=", ".join(name for name, _ in group.probes))
    grid = QGridLayout()
    grid.setHorizontalSpacing(theme.SPACE_L)
    grid.setVerticalSpacing(theme.SPACE_S)
    grid.setColumnStretch(0, 1)
    grid.setColumnStretch(1, 3)
    for place, (name, detail) in enumerate(group.probes):
        why = text("error" if group.is_problem else "muted", said=detail)
        why.setAccessibleName(f"{name}: {detail}")
        grid.addWidget(text(said=name), place, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(why, place, 1)
    return heading, grid
