"""A card for each device: its memory, temperature and power, what Potluck takes of it, and what it may take."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from potluck_control.api.schema import Status
from potluck_control.methods import machine
from potluck_control.methods.settings import Change, Setting
from PySide6.QtCore import QRectF, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from potluck_app.pages.destination import Destination
from potluck_app.pages.page import PageSection
from potluck_app.pages.settings_form import SettingRow, SettingsForm, SliderScale
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button, Switch
from potluck_app.widgets.parts import Card, ContentArea, Figure, caption, column, figure_row, muted, row, stack, text
from potluck_app.widgets.theme import TextStyle
from potluck_app.words import formats
from potluck_app.words.language import tr

_HEIGHT, _BAR, _RADIUS, _MARK = 16, 8.0, 4.0, 2.0
MIB_IN_GB = 1e9 / (1 << 20)
MEMORY, GPU_POWER = "serve.memory_limit_mb", "limits.gpu_power_w"
GPU_HEAT, CPU_HEAT = "limits.gpu_temperature_c", "limits.cpu_temperature_c"
_HEAT = SliderScale(50, 100, 1)  # degrees Celsius
_POWER = SliderScale(50, 600, 10)  # watts; the strongest cards for one computer draw about 600
_HALF_GB = 0.5
_AUTO = "auto"
CPU = "cpu"


class ShareBar(QWidget):
    """A bar of a memory's shares: Potluck's, other programs' and free. A mark stands at the limit."""

    def __init__(self) -> None:
        super().__init__()
        self._ours, self._others, self._limit = 0.0, 0.0, 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_shares(self, ours: float, others: float, limit: float, message: str) -> None:
        """Draw the shares, from 0 to 1 each; `limit` 0 draws no mark."""
        self.setAccessibleDescription(message)
        if (ours, others, limit) != (self._ours, self._others, self._limit):
            self._ours, self._others, self._limit = ours, others, limit
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(240, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        colours = theme.colours()
        bar = QRectF(0.0, (self.height() - _BAR) / 2, self.width(), _BAR)
        outline = QPainterPath()
        outline.addRoundedRect(bar, _RADIUS, _RADIUS)
        painter.setClipPath(outline)
        painter.fillRect(bar, QColor(colours.line))
        ours, others = self._ours * bar.width(), self._others * bar.width()
        painter.fillRect(QRectF(0.0, bar.top(), ours, _BAR), QColor(colours.accent))
        painter.fillRect(QRectF(ours, bar.top(), others, _BAR), QColor(colours.outline))
        painter.setClipping(False)
        if 0 < self._limit < 1:
            mark = QRectF(self._limit * bar.width() - _MARK / 2, 0.0, _MARK, float(self.height()))
            painter.fillRect(mark, QColor(colours.text))


def device_changes(chosen: frozenset[str]) -> tuple[Change, ...]:
    """Return the settings that make the engine compute on the chosen devices; without any, on the best one."""
    together = tuple(sorted(chosen)) if len(chosen) > 1 else ()
    alone = next(iter(chosen)) if len(chosen) == 1 else None
    return Change("serve.device", alone), Change("serve.devices", together or None)


def toggle_device(chosen: frozenset[str], name: str, *, is_on: bool) -> frozenset[str]:
    """Return the choice after a switch: the processor computes alone, graphics cards also together."""
    if not is_on:
        return chosen - {name}
    return frozenset({name}) if name == CPU else (chosen - {CPU}) | {name}


class DevicesSection(PageSection):
    """The devices of this computer, and their limits, which are settings of the page."""

    def __init__(self, page: SettingsForm) -> None:
        super().__init__(page)
        self._page = page
        self._machine: machine.DeviceList | None = None
        self._chosen, self._is_fixed = frozenset[str](), True
        self._status: Status | None = None
        self._cards: list[_DeviceCard] = []
        lead = Button(
            self.tr("Set up…"), "next", act=lambda: page.requested.emit(Destination.INSTALLATION), is_trailing=True
        )
        warning = text(self.tr("The compute engine is not installed yet."), colour="warning")
        self._list, self._setup = ContentArea(), stack(warning, row(lead, None))
        self._setup.hide()
        self.setLayout(column(self._setup, self._list))

    def refresh(self) -> None:
        self._page.call(machine.DEVICES, None, self.show_machine)

    def show_machine(self, found: machine.DeviceList) -> None:
        self._setup.setVisible(not found.has_engine)
        before, self._machine = self._machine, found
        if before is None or _fixed_parts(before) != _fixed_parts(found):
            self._draw()
        self._update()

    def show_status(self, status: Status) -> None:
        self._status = status
        self._update()

    def show_settings(self, found: dict[str, Setting]) -> None:
        """Show which devices the settings choose."""
        alone, together = found.get("serve.device"), found.get("serve.devices")
        if alone is None or together is None:
            return
        named = frozenset(map(str, together.value)) if isinstance(together.value, tuple | list) else frozenset()
        one = frozenset() if alone.value == _AUTO else frozenset({str(alone.value)})
        before = self._chosen, self._is_fixed
        self._chosen, self._is_fixed = named or one, bool(alone.overridden_by or together.overridden_by)
        if before != (self._chosen, self._is_fixed):
            self._draw()
            self._update()

    def _draw(self) -> None:
        """Make the cards again; those of devices in use have sliders."""
        found = self._machine
        if found is None:
            return
        at_keyboard = self.window().focusWidget()
        focused = next((at for at, card in enumerate(self._cards) if card.switch is at_keyboard), None)
        for card in self._cards:
            self._page.forget(card.settings)
        self._cards = [self._card(device, found) for device in found.devices]
        note = self.tr("Several graphics cards share the layers. Choose none, and Potluck takes the fastest.")
        head = (muted(note),) if sum(device.name != CPU for device in found.devices) > 1 else ()
        self._list.show_items(*head, *self._cards, spacing=theme.SPACE_L)
        self._page.show_again()
        self._page.order_tabs()
        if focused is not None and focused < len(self._cards):
            self._cards[focused].switch.setFocus()

    def _card(self, device: machine.Device, found: machine.DeviceList) -> _DeviceCard:
        used = self._chosen or {found.best}
        shares = device.name != CPU and sum(name != CPU for name in used) > 1
        card = _DeviceCard(self._page, device, is_on=device.name in used, shares=shares)
        card.switch.setVisible(len(found.devices) > 1)
        card.switch.setEnabled(not self._is_fixed)
        card.switch.toggled.connect(partial(self._toggle, device.name))
        return card

    def _toggle(self, name: str, is_on: bool) -> None:
        assert self._machine is not None
        now = self._chosen or frozenset({self._machine.best})
        self._page.change(*device_changes(toggle_device(now, name, is_on=is_on)))

    def _update(self) -> None:
        """Show what each device does now; the keyboard stays where it is."""
        if self._machine is None:
            return
        taken, limit = _engine_share(self._status, sum(card.is_on for card in self._cards))
        for card, device in zip(self._cards, self._machine.devices, strict=True):
            is_automatic = not self._chosen and card.is_on
            card.show_device(device, *((taken, limit) if card.is_on else (0, 0)), is_automatic=is_automatic)


class _DeviceCard(Card):
    """The card of one device.

    Attributes:
        settings: the rows of its limits. An unused device has only those that still apply.

    Args:
        shares: other cards in use have the same limits, so a change here changes all of them.
    """

    def __init__(self, page: SettingsForm, device: machine.Device, *, is_on: bool, shares: bool) -> None:
        super().__init__()
        self.is_on = is_on
        self.switch = Switch()
        self.switch.setAccessibleName(self.tr("Use {device}").format(device=device.title))
        with QSignalBlocker(self.switch):
            self.switch.setChecked(is_on)
        self._how = caption()
        self._heat, self._power = Figure(self.tr("Temperature")), Figure(self.tr("Power"))
        self._memory, self._bar = caption(), ShareBar()
        self._bar.setAccessibleName(self.tr("Memory"))
        rows = tuple(_limits(page, device, is_on=is_on))
        note = self.tr("These limits hold for each graphics card in use. Changing one here changes it for all.")
        shared = (caption(note),) if is_on and shares else ()
        self.settings = tuple(field for field, _ in rows)
        title = column(text(device.title, style=TextStyle.HEADING), self._how, spacing=0)
        figures, self._room = figure_row(self._heat, self._power), stack(self._memory, self._bar, spacing=4)
        self.fill("", row((title, 1), self.switch), figures, self._room, *shared, *(widget for _, widget in rows))
        self.setAccessibleName(device.title)

    def show_device(self, device: machine.Device, taken_bytes: int, limit_bytes: int, *, is_automatic: bool) -> None:
        """Show what the device does; `taken_bytes` and `limit_bytes` (0: none) are Potluck's."""
        unused = self.tr("Not in use")
        message = self.tr("In use, selected automatically") if is_automatic else self.tr("In use")
        self._how.setText(message if self.is_on else unused)
        _show_figure(self._heat, device.temperature_c, "°C")
        _show_figure(self._power, device.power_w, "W")
        self._room.setVisible(device.memory_bytes > 0)
        if device.memory_bytes > 0:
            others = max(device.memory_bytes - device.free_bytes - taken_bytes, 0)
            message = _memory_text(device, taken_bytes, others, limit_bytes)
            self._memory.setText(message)
            ours, theirs, limit = (amount / device.memory_bytes for amount in (taken_bytes, others, limit_bytes))
            self._bar.show_shares(ours, theirs, limit, message)


def _limits(page: SettingsForm, device: machine.Device, *, is_on: bool) -> Iterator[tuple[SettingRow, QWidget]]:
    """Yield a row with a slider for each limit of the device. The processor's heat counts whatever computes."""
    is_gpu = device.name != CPU
    if is_on and device.memory_bytes:
        scale = SliderScale(1.0, max(device.memory_bytes / 1e9, 2.0), _HALF_GB)
        fits, help_text = (
            tr("All that fits"),
            tr("With less memory, Potluck serves fewer layers. A change reloads them."),
        )
        yield page.slider(MEMORY, tr("Memory for Potluck"), help_text, scale, unit="GB", zero=fits, factor=MIB_IN_GB)
    slower, none = tr("Above this, Potluck slows down."), tr("No limit")
    if not is_gpu:
        whatever = slower if is_on else tr("Above this, Potluck slows down, even if a graphics card computes.")
        yield page.slider(CPU_HEAT, tr("Temperature limit"), whatever, _HEAT, unit="°C", zero=none)
    elif is_on:
        yield page.slider(GPU_HEAT, tr("Temperature limit"), slower, _HEAT, unit="°C", zero=none)
        yield page.slider(GPU_POWER, tr("Power limit"), slower, _POWER, unit="W", zero=none)


def _show_figure(figure: Figure, value: float | None, unit: str) -> None:
    figure.setVisible(value is not None)
    if value is not None:
        figure.say(f"{formats.number(value)} {unit}")


def _memory_text(device: machine.Device, taken_bytes: int, others_bytes: int, limit_bytes: int) -> str:
    ours = tr("Potluck {ours} of {limit}") if limit_bytes else tr("Potluck {ours}")
    others, free = tr("other programs {others}"), tr("{free} of {all} free")
    parts = (
        ours.format(ours=formats.size(taken_bytes), limit=formats.size(limit_bytes)) if taken_bytes else "",
        others.format(others=formats.size(others_bytes)),
        free.format(free=formats.size(device.free_bytes), all=formats.size(device.memory_bytes)),
    )
    message = " · ".join(filter(None, parts))
    return message[:1].upper() + message[1:]


def _fixed_parts(found: machine.DeviceList) -> tuple[object, ...]:
    """Return what the cards are made for; the rest changes from look to look."""
    return found.best, tuple((device.name, device.title, device.memory_bytes) for device in found.devices)


def _engine_share(status: Status | None, num_devices: int) -> tuple[int, int]:
    """Return what the engine takes of each of its devices, and may take, in bytes."""
    if status is None or status.engine.pid is None or not num_devices:
        return 0, 0
    return status.load.memory_used_bytes // num_devices, status.load.memory_limit_bytes // num_devices
