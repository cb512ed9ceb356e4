"""The devices that can compute, each with its memory."""

from __future__ import annotations

from collections.abc import Callable

from potluck_control.methods import machine
from potluck_control.methods.machine import Device, DeviceList
from potluck_control.methods.settings import Change
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from potluck_app.pages.page import Page
from potluck_app.widgets.button import Button, Switch
from potluck_app.widgets.card import Sign, divided, text
from potluck_app.widgets.layout import Poll, Slot, column, holder, row
from potluck_app.widgets.row import Row
from potluck_app.words import numbers
from potluck_app.words.language import tr

CPU = "cpu"
_SIGN = 24
_WAIT_MS = 5000  # for an engine that is being installed


def choice(chosen: frozenset[str]) -> tuple[Change, ...]:
    """Return the settings that make the engine compute on the chosen devices; without any, on the best one."""
    together = tuple(sorted(chosen)) if len(chosen) > 1 else ()
    alone = next(iter(chosen)) if len(chosen) == 1 else None
    return Change("serve.device", alone), Change("serve.devices", together or None)


def toggled(chosen: frozenset[str], name: str, *, is_on: bool) -> frozenset[str]:
    """Return the choice after a switch: the processor computes alone, graphics cards also together."""
    if not is_on:
        return chosen - {name}
    return frozenset({name}) if name == CPU else (chosen - {CPU}) | {name}


class Devices(QWidget):
    """Asks by way of its page; with `has_switches` the user may choose among several devices.

    Signals: `chosen(frozenset)` with names of devices, `setup_wanted()` while no engine is installed.
    """

    chosen = Signal(object)
    setup_wanted = Signal()

    def __init__(self, page: Page, *, has_switches: bool) -> None:
        super().__init__()
        self._page, self._has_switches = page, has_switches
        self._machine: DeviceList | None = None
        self._chosen, self._is_fixed = frozenset[str](), True
        self._list = Slot()
        self._poll = Poll(self, self.refresh)
        self._build()

    def refresh(self) -> None:
        self._page.ask(machine.GET, None, self.show_machine)

    def show_chosen(self, chosen: frozenset[str], *, is_fixed: bool) -> None:
        """Show the choice of the settings; `is_fixed`: it cannot be changed here."""
        self._chosen, self._is_fixed = chosen, is_fixed
        self._draw()

    def show_machine(self, found: DeviceList) -> None:
        self._setup.setVisible(not found.has_engine)
        before, self._machine = self._machine, found
        if before is None or before.devices != found.devices:
            self._draw()
        self._poll.run_while(not found.has_engine, _WAIT_MS)

    def _draw(self) -> None:
        if self._machine is None:
            return
        rows = [self._row(device, self._machine.best) for device in self._machine.devices]
        self._list.show_content(holder(column(*divided(rows))))

    def _row(self, device: Device, best: str) -> Row:
        is_on = device.name in self._chosen if self._chosen else device.name == best
        assert self._machine is not None
        if not self._has_switches or len(self._machine.devices) == 1:
            control: QWidget = Sign("good" if is_on else "off", "serving" if is_on else "muted", _SIGN)
            control.setAccessibleName(self.tr("In use") if is_on else self.tr("Not in use"))
        else:
            control = Switch()
            control.setChecked(is_on)
            control.setEnabled(not self._is_fixed)
            control.toggled.connect(self._toggler(device.name, best))
        return Row(device.title, described(device, is_taken=not self._chosen and device.name == best), control)

    def _toggler(self, name: str, best: str) -> Callable[[bool], None]:
        def toggle(is_on: bool) -> None:
            self.chosen.emit(toggled(self._chosen or frozenset({best}), name, is_on=is_on))

        return toggle

    def _build(self) -> None:
        wanted = Button(self.tr("Set up…"), "next", is_trailing=True)
        wanted.clicked.connect(self.setup_wanted)
        warning = text("warning", said=self.tr("The compute engine is not installed yet."))
        self._setup = holder(column(warning, row(wanted, None)))
        self._setup.hide()
        self.setLayout(column(self._list, self._setup))


def described(device: Device, *, is_taken: bool) -> str:
    """Return the device's memory, and whether the engine takes it by itself."""
    memory = tr("{free} of {all} free").format(
        free=numbers.size(device.free_bytes), all=numbers.size(device.memory_bytes)
    )
    parts = (memory if device.memory_bytes else "", tr("selected automatically") if is_taken else "")
    return " · ".join(filter(None, parts))
