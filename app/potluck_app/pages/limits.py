"""The page Limits: what donating may take of this computer, its network and its electricity."""

from __future__ import annotations

from potluck_control.methods.settings import Setting
from PySide6.QtWidgets import QFrame

from potluck_app.pages import devices
from potluck_app.pages.devices import Devices
from potluck_app.pages.page import DaemonCaller
from potluck_app.pages.settings_page import SettingsForm, rows
from potluck_app.widgets.card import card, text
from potluck_app.widgets.theme import Type

_MIB = 1024  # in a GiB
_AUTO = "auto"


class LimitsPage(SettingsForm):
    """All rows change at once; some restart the engine, which the swarm notices for seconds."""

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Limits"))
        self._devices = Devices(self, has_switches=True)
        self._devices.chosen.connect(lambda chosen: self.change(*devices.choice(chosen)))
        self._devices.setup_wanted.connect(self.installation_wanted)
        self._none = self.tr("No limit")
        for widget in (
            self._computing(),
            self._memory(),
            self._network(),
            self._disk(),
            self._heat(),
            self._electricity(),
        ):
            self.column.addWidget(widget)

    def refresh(self) -> None:
        super().refresh()
        self._devices.refresh()

    def show_settings(self, found: dict[str, Setting]) -> None:
        both = [found[key] for key in ("serve.device", "serve.devices") if key in found]
        if len(both) == 2:
            alone, together = both
            named = frozenset(map(str, together.value)) if isinstance(together.value, tuple | list) else frozenset()
            one = frozenset() if alone.value == _AUTO else frozenset({str(alone.value)})
            self._devices.show_chosen(named or one, is_fixed=any(setting.overridden_by for setting in both))

    def _computing(self) -> QFrame:
        frame, column = card(self.tr("Computes on"))
        note = self.tr("Several graphics cards hold the blocks together. With none chosen, the best one is taken.")
        column.addWidget(text("muted", kind=Type.CAPTION, said=note))
        column.addWidget(self._devices)
        return frame

    def _memory(self) -> QFrame:
        frame, column = card(self.tr("Memory"))
        gib = self.tr("GiB")
        rows(
            column,
            self.number(
                "serve.memory_limit_mb",
                self.tr("On the graphics card, or in the computer without one"),
                self.tr("Never takes more, so fewer blocks may be served. A change loads the blocks again."),
                unit=gib,
                zero=self.tr("What fits"),
                scale=_MIB,
            ),
            self.number(
                "limits.ram_mb",
                self.tr("In the computer, engine and network together"),
                unit=gib,
                zero=self._none,
                scale=_MIB,
            ),
            self.number("yield.reserve_mb", self.tr("Always left free for other programs"), unit=gib, scale=_MIB),
            self.number("serve.num_blocks", self.tr("Blocks to serve"), zero=self.tr("What fits")),
            self.number("serve.threads", self.tr("Processor cores to compute with"), zero=self.tr("Half of them")),
        )
        return frame

    def _network(self) -> QFrame:
        frame, column = card(self.tr("Network"))
        speed, gib = self.tr("Mbit/s"), self.tr("GiB")
        rows(
            column,
            self.number("limits.upload_mbps", self.tr("Upload"), unit=speed, zero=self._none),
            self.number("limits.download_mbps", self.tr("Download"), unit=speed, zero=self._none),
            self.number("limits.upload_mb_day", self.tr("Upload in a day"), unit=gib, zero=self._none, scale=_MIB),
            self.number("limits.download_mb_day", self.tr("Download in a day"), unit=gib, zero=self._none, scale=_MIB),
        )
        return frame

    def _disk(self) -> QFrame:
        frame, column = card(self.tr("Disk"))
        rows(
            column,
            self.number(
                "limits.disk_mb",
                self.tr("Downloaded models may take"),
                self.tr("Where they lie is on the page Models."),
                unit=self.tr("GiB"),
                zero=self._none,
                scale=_MIB,
            ),
            self.number(
                "limits.disk_free_mb",
                self.tr("Always left free on the disk"),
                self.tr("No download begins when less is free."),
                unit=self.tr("GiB"),
                scale=_MIB,
            ),
        )
        return frame

    def _heat(self) -> QFrame:
        frame, column = card(self.tr("Heat and power"))
        note = self.tr("Above these, it computes more slowly until it is below them again.")
        column.addWidget(text("muted", kind=Type.CAPTION, said=note))
        rows(
            column,
            self.number(
                "limits.gpu_temperature_c", self.tr("Temperature of a graphics card"), unit="°C", zero=self._none
            ),
            self.number(
                "limits.cpu_temperature_c", self.tr("Temperature of the processor"), unit="°C", zero=self._none
            ),
            self.number("limits.gpu_power_w", self.tr("Power of a graphics card"), unit="W", zero=self._none),
        )
        return frame

    def _electricity(self) -> QFrame:
        frame, column = card(self.tr("Electricity"))
        rows(
            column,
            self.number(
                "limits.price_kwh",
                self.tr("Price of a kilowatt-hour"),
                self.tr("In your currency. With it, Earnings shows what donating costs."),
                zero=self.tr("Not known"),
            ),
            self.number(
                "limits.cost_day",
                self.tr("Costs in a day"),
                self.tr("When they are reached, donating rests until midnight."),
                zero=self._none,
            ),
            self.number(
                "limits.serving_w",
                self.tr("Power that donating takes"),
                self.tr("From a meter at the plug, if you have one."),
                unit="W",
                zero=self.tr("Measured"),
            ),
        )
        return frame
