"""How much to donate and when to step aside, in two choices that suit most people; other pages have them in full."""

from __future__ import annotations

from enum import Enum

from potluck_control.methods import machine, settings
from potluck_control.methods.machine import DeviceList
from potluck_control.methods.settings import Change, SetParams, SettingsPage
from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QWidget

from potluck_app.pages.page import Page
from potluck_app.widgets.card import divided
from potluck_app.widgets.layout import column
from potluck_app.widgets.row import Row
from potluck_app.widgets.segments import Segments
from potluck_app.words import numbers, sentences

_LIMIT, _PERCENT, _IDLE = "serve.memory_limit_mb", "when.active_percent", "when.only_when_idle"


class Share(Enum):
    """A part of the computing device's memory; the value divides it."""

    FITS = 1
    HALF = 2
    QUARTER = 4

    def limit_mb(self, total_bytes: int) -> int:
        """Return the value of the setting, in which 0 stands for as much as fits."""
        return 0 if self is Share.FITS else (total_bytes // self.value) >> 20

    @classmethod
    def of(cls, limit_mb: int, total_bytes: int) -> Share:
        """Return the share that is nearest to the setting."""
        part = (limit_mb << 20) / total_bytes if limit_mb and total_bytes else 1.0
        return min(cls, key=lambda share: abs(1 / share.value - part))


class Company(Enum):
    """What happens while somebody uses the computer; the value is what to change."""

    FULL = (Change(_PERCENT, 100.0), Change(_IDLE, False))
    HALF = (Change(_PERCENT, 50.0), Change(_IDLE, False))
    REST = (Change(_IDLE, True),)

    @classmethod
    def of(cls, percent: float, *, only_when_idle: bool) -> Company:
        return cls.REST if only_when_idle else cls.FULL if percent > 75 else cls.HALF


class SharePanel(QWidget):
    """Asks by way of its page, and changes the settings at once."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page, self._total_bytes = page, 0
        shares = (
            (Share.FITS, self.tr("All that fits")),
            (Share.HALF, self.tr("Half")),
            (Share.QUARTER, self.tr("A quarter")),
        )
        companies = (
            (Company.FULL, self.tr("At full speed")),
            (Company.HALF, self.tr("At half speed")),
            (Company.REST, self.tr("Not at all")),
        )
        share, company = self.tr("Memory to donate"), self.tr("Donate while I use the computer")
        self._share: Segments[Share] = Segments(share, shares)
        self._company: Segments[Company] = Segments(company, companies)
        self._share_row = Row(share, "", self._share)
        self._company_row = Row(company, self.tr("Games always come first."), self._company)
        self._share.chosen.connect(
            lambda chosen: self._change(self._share_row, Change(_LIMIT, chosen.limit_mb(self._total_bytes)))
        )
        self._company.chosen.connect(lambda chosen: self._change(self._company_row, *chosen.value))
        self.setLayout(column(*divided((self._share_row, self._company_row))))

    def refresh(self) -> None:
        self._page.ask(machine.GET, None, self._show_machine)

    def _show_machine(self, found: DeviceList) -> None:
        best = next((device for device in found.devices if device.name == found.best), None)
        self._total_bytes = best.memory_bytes if best is not None else 0
        if best is not None:
            said = self.tr("{device} has {size}. Potluck leaves enough for other programs.")
            self._share_row.show_help(said.format(device=best.title, size=numbers.size(best.memory_bytes)))
        self._share.setEnabled(bool(self._total_bytes))
        self._page.ask(settings.GET, None, self._show_settings)

    def _show_settings(self, page: SettingsPage) -> None:
        found = {setting.key: setting.value for section in page.sections for setting in section.settings}
        limit, percent = found.get(_LIMIT, 0), found.get(_PERCENT, 50.0)
        with QSignalBlocker(self._share), QSignalBlocker(self._company):
            self._share.choose(Share.of(int(str(limit)), self._total_bytes))
            self._company.choose(Company.of(float(str(percent)), only_when_idle=bool(found.get(_IDLE))))

    def _change(self, row: Row, *changes: Change) -> None:
        row.show_problem("")
        self._page.link.call(
            settings.SET, SetParams(changes), failed=lambda error: row.show_problem(sentences.failure(error))
        )
