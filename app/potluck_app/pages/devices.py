"""The devices that can compute, each with its memory, and the settings that choose among them."""

from __future__ import annotations

from potluck_control.methods import machine
from potluck_control.methods.machine import Device, DeviceList
from potluck_control.methods.settings import Change
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from potluck_app.pages.page import Page
from potluck_app.widgets.button import Button
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
    """Lists the devices of this computer, asked for by way of its page.

    Signal: `setup_wanted()` while no engine is installed.
    """

    setup_wanted = Signal()

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self._machine: DeviceList | None = None
        self._list, self._setup = Slot(), SetUpOffer()
        self._poll = Poll(self, self.refresh)
        self._setup.pressed.connect(self.setup_wanted)
        self._setup.hide()
        self.setLayout(column(self._list, self._setup))

    def refresh(self) -> None:
        self._page.ask(machine.GET, None, self.show_machine)

    def show_machine(self, found: DeviceList) -> None:
        self._setup.setVisible(not found.has_engine)
        before, self._machine = self._machine, found
        if before is None or before.devices != found.devices:
            rows = [self._row(device, is_taken=device.name == found.best) for device in found.devices]
            self._list.show_content(holder(column(*divided(rows))))
        self._poll.run_while(not found.has_engine, _WAIT_MS)

    def _row(self, device: Device, *, is_taken: bool) -> Row:
        sign = Sign("good" if is_taken else "off", "serving" if is_taken else "muted", _SIGN)
        sign.setAccessibleName(self.tr("In use") if is_taken else self.tr("Not in use"))
        return Row(device.title, described(device, is_taken=is_taken), sign)


class SetUpOffer(QWidget):
    """Says that no engine is installed, and leads to where one is. Signal: `pressed()`."""

    pressed = Signal()

    def __init__(self) -> None:
        super().__init__()
        wanted = Button(self.tr("Set up…"), "next", act=self.pressed.emit, is_trailing=True)
        warning = text("warning", said=self.tr("The compute engine is not installed yet."))
        self.setLayout(column(warning, row(wanted, None)))


def described(device: Device, *, is_taken: bool) -> str:
    """Return the device's memory, and whether the engine takes it by itself."""
    memory = tr("{free} of {all} free").format(
        free=numbers.size(device.free_bytes), all=numbers.size(device.memory_bytes)
    )
    parts = (memory if device.memory_bytes else "", tr("selected automatically") if is_taken else "")
    return " · ".join(filter(None, parts))
