"""The page Rules: when this computer donates, and how much of it."""

from __future__ import annotations

from potluck_control.api.schema import Status

from potluck_app.pages.calls import DaemonCaller
from potluck_app.pages.page import Fold, PageSection
from potluck_app.pages.rules.devices import MIB_IN_GB, DevicesSection
from potluck_app.pages.rules.schedule import ProgramListsSection, ScheduleSection
from potluck_app.pages.settings_form import SettingsForm
from potluck_app.widgets.parts import Card, caption
from potluck_app.widgets.row import Row
from potluck_app.words import formats


class LimitsSection(PageSection):
    """The limits that few people need. Some restart the engine, which the swarm notices for seconds."""

    def __init__(self, page: SettingsForm) -> None:
        super().__init__(page)
        self._form, self._none = page, self.tr("No limit")
        self._month = caption()
        self.fill(self._memory(), self._network(), self._disk(), self._electricity())

    def show_status(self, status: Status) -> None:
        text = self.tr("This month so far: {sent} sent, {received} received")
        sent, received = formats.size(status.use.month_sent_bytes), formats.size(status.use.month_received_bytes)
        self._month.setText(text.format(sent=sent, received=received))

    def refresh(self) -> None:
        self._form.show_again()

    def _size(self, key: str, title: str, help_text: str = "", *, zero: str = "") -> Row:
        return self._form.number(key, title, help_text, unit="GB", zero=zero, scale=MIB_IN_GB)

    def _memory(self) -> Card:
        fits = self.tr("All that fits")
        return self._form.card(
            self.tr("Memory"),
            self._size("limits.ram_mb", self.tr("System memory for Potluck as a whole"), zero=self._none),
            self._size("yield.reserve_mb", self.tr("Always left free for other programs")),
            self._form.number("serve.num_blocks", self.tr("Layers to serve"), zero=fits),
            self._form.number("serve.threads", self.tr("Processor cores to use"), zero=self.tr("Half of them")),
        )

    def _network(self) -> Card:
        speed = self.tr("Mbit/s")
        return self._form.card(
            self.tr("Network"),
            self._form.number("limits.upload_mbps", self.tr("Upload speed"), unit=speed, zero=self._none),
            self._form.number("limits.download_mbps", self.tr("Download speed"), unit=speed, zero=self._none),
            self._size("limits.upload_mb_day", self.tr("Upload per day"), zero=self._none),
            self._size("limits.download_mb_day", self.tr("Download per day"), zero=self._none),
            self._size("limits.upload_mb_month", self.tr("Upload per month"), zero=self._none),
            self._size("limits.download_mb_month", self.tr("Download per month"), zero=self._none),
            self._month,
            note=self.tr("When a day's or a month's data is used up, Potluck stops until the next one begins."),
        )

    def _disk(self) -> Card:
        where, least = self.tr("Choose their folder on the page Swarm."), self.tr("Downloads wait while less is free.")
        return self._form.card(
            self.tr("Disk"),
            self._size("limits.disk_mb", self.tr("Space for downloaded models"), where, zero=self._none),
            self._size("limits.disk_free_mb", self.tr("Always left free on the disk"), least),
        )

    def _electricity(self) -> Card:
        return self._form.card(
            self.tr("Electricity"),
            self._form.number(
                "limits.price_kwh",
                self.tr("Price per kilowatt-hour"),
                self.tr("In your currency. Earnings then shows your costs."),
                zero=self.tr("Not set"),
            ),
            self._form.number(
                "limits.cost_day",
                self.tr("Cost per day"),
                self.tr("Potluck stops for the day when the cost reaches this."),
                zero=self._none,
            ),
            self._form.number(
                "limits.serving_w",
                self.tr("Power while serving"),
                self.tr("Enter the reading of a power meter, if you have one."),
                unit="W",
                zero=self.tr("Measured"),
            ),
        )


class RulesPage(SettingsForm):
    """The page of the rules; every row takes effect at once."""

    AGAIN_MS = 5000  # temperatures and running programs change

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Rules"))
        self.add(
            ScheduleSection(self),
            Fold(
                self,
                self.tr("Programs"),
                self.tr("Programs that Potluck always or never steps aside for"),
                lambda: ProgramListsSection(self),
            ),
            DevicesSection(self),
            Fold(
                self,
                self.tr("More limits"),
                self.tr("Memory, network, disk and electricity"),
                lambda: LimitsSection(self),
            ),
        )
