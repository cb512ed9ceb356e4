"""The page Limits: what donating may take of this computer, its network and its electricity."""

from __future__ import annotations

from potluck_control.methods.settings import Setting

from potluck_app.pages import devices
from potluck_app.pages.devices import Devices
from potluck_app.pages.page import DaemonCaller
from potluck_app.pages.settings_page import SettingsForm
from potluck_app.widgets.row import Row

_MIB = 1e9 / (1 << 20)  # in a GB
_AUTO = "auto"


class LimitsPage(SettingsForm):
    """All rows change at once; some restart the engine, which the swarm notices for seconds."""

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Limits"))
        self._devices = Devices(self, has_switches=True)
        self._devices.chosen.connect(lambda chosen: self.change(*devices.choice(chosen)))
        self._devices.setup_wanted.connect(self.installation_wanted)
        self._none = self.tr("No limit")
        self.add_card(
            self.tr("Devices"),
            self._devices,
            note=self.tr("Several graphics cards share the layers. Choose none, and Potluck takes the fastest."),
        )
        self._add_memory()
        self._add_network_and_disk()
        self._add_heat()
        self._add_electricity()

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

    def _size(self, key: str, title: str, help_text: str = "", *, zero: str = "") -> Row:
        return self.number(key, title, help_text, unit="GB", zero=zero, scale=_MIB)

    def _add_memory(self) -> None:
        fits = self.tr("All that fits")
        help_text = self.tr("With less memory, Potluck serves fewer layers. A change reloads them.")
        title = self.tr("GPU memory limit (system memory if no GPU)")
        self.add_card(
            self.tr("Memory"),
            self._size("serve.memory_limit_mb", title, help_text, zero=fits),
            self._size("limits.ram_mb", self.tr("System memory for Potluck as a whole"), zero=self._none),
            self._size("yield.reserve_mb", self.tr("Always left free for other programs")),
            self.number("serve.num_blocks", self.tr("Layers to serve"), zero=fits),
            self.number("serve.threads", self.tr("Processor cores to use"), zero=self.tr("Half of them")),
        )

    def _add_network_and_disk(self) -> None:
        speed = self.tr("Mbit/s")
        self.add_card(
            self.tr("Network"),
            self.number("limits.upload_mbps", self.tr("Upload speed"), unit=speed, zero=self._none),
            self.number("limits.download_mbps", self.tr("Download speed"), unit=speed, zero=self._none),
            self._size("limits.upload_mb_day", self.tr("Upload per day"), zero=self._none),
            self._size("limits.download_mb_day", self.tr("Download per day"), zero=self._none),
        )
        where, least = self.tr("Choose their folder on Models."), self.tr("Downloads wait while less is free.")
        self.add_card(
            self.tr("Disk"),
            self._size("limits.disk_mb", self.tr("Space for downloaded models"), where, zero=self._none),
            self._size("limits.disk_free_mb", self.tr("Always left free on the disk"), least),
        )

    def _add_heat(self) -> None:
        gpu, cpu = self.tr("Graphics card temperature"), self.tr("Processor temperature")
        self.add_card(
            self.tr("Heat and power"),
            self.number("limits.gpu_temperature_c", gpu, unit="°C", zero=self._none),
            self.number("limits.cpu_temperature_c", cpu, unit="°C", zero=self._none),
            self.number("limits.gpu_power_w", self.tr("Graphics card power"), unit="W", zero=self._none),
            note=self.tr("Above these limits, Potluck slows down."),
        )

    def _add_electricity(self) -> None:
        self.add_card(
            self.tr("Electricity"),
            self.number(
                "limits.price_kwh",
                self.tr("Price per kilowatt-hour"),
                self.tr("In your currency. Earnings then shows your costs."),
                zero=self.tr("Not set"),
            ),
            self.number(
                "limits.cost_day",
                self.tr("Cost per day"),
                self.tr("Potluck stops for the day when the cost reaches this."),
                zero=self._none,
            ),
            self.number(
                "limits.serving_w",
                self.tr("Power while serving"),
                self.tr("Enter the reading of a power meter, if you have one."),
                unit="W",
                zero=self.tr("Measured"),
            ),
        )
