"""The page Limits: what donating may take of this computer, its network and its electricity."""

from __future__ import annotations

from potluck_control.methods.settings import Setting
from potluck_control.schema import Status

from potluck_app.pages.device_cards import MIB_IN_GB, DeviceCards
from potluck_app.pages.page import DaemonCaller
from potluck_app.pages.settings_page import SettingsForm
from potluck_app.widgets.card import text
from potluck_app.widgets.row import Row
from potluck_app.widgets.theme import Type
from potluck_app.words import numbers


class LimitsPage(SettingsForm):
    """All rows change at once; some restart the engine, which the swarm notices for seconds."""

    AGAIN_MS = 5000  # temperatures change

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Limits"))
        self._devices, self._none = DeviceCards(self), self.tr("No limit")
        self._month = text("muted", kind=Type.CAPTION)
        self._devices.setup_wanted.connect(self.installation_wanted)
        self.column.addWidget(self._devices)
        self._add_memory()
        self._add_network_and_disk()
        self._add_electricity()

    def refresh(self) -> None:
        super().refresh()
        self._devices.refresh()

    def show_status(self, status: Status) -> None:
        self._devices.show_status(status)
        said = self.tr("This month so far: {sent} sent, {received} received")
        sent, received = numbers.size(status.use.month_sent_bytes), numbers.size(status.use.month_received_bytes)
        self._month.setText(said.format(sent=sent, received=received))

    def show_settings(self, found: dict[str, Setting]) -> None:
        self._devices.show_settings(found)

    def _size(self, key: str, title: str, help_text: str = "", *, zero: str = "") -> Row:
        return self.number(key, title, help_text, unit="GB", zero=zero, scale=MIB_IN_GB)

    def _add_memory(self) -> None:
        fits = self.tr("All that fits")
        self.add_card(
            self.tr("Memory"),
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
            self._size("limits.upload_mb_month", self.tr("Upload per month"), zero=self._none),
            self._size("limits.download_mb_month", self.tr("Download per month"), zero=self._none),
            self._month,
            note=self.tr("When a day's or a month's data is used up, Potluck stops until the next one begins."),
        )
        where, least = self.tr("Choose their folder on Models."), self.tr("Downloads wait while less is free.")
        self.add_card(
            self.tr("Disk"),
            self._size("limits.disk_mb", self.tr("Space for downloaded models"), where, zero=self._none),
            self._size("limits.disk_free_mb", self.tr("Always left free on the disk"), least),
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
