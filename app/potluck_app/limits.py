"""The page Limits: what donating may take of this computer, its network and its electricity. 0 is no limit."""

from __future__ import annotations

from potluck_daemon.control.schema import Status
from PySide6.QtWidgets import QFrame

from potluck_app.card import card, text
from potluck_app.page import Link
from potluck_app.settings_page import SettingsForm, rows
from potluck_app.theme import Type


class LimitsPage(SettingsForm):
    """All rows change at once; some restart the engine, which the swarm notices for seconds."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, self.tr("Limits"))
        self._devices: tuple[str, ...] = ()
        for widget in (self._memory(), self._network(), self._disk(), self._heat(), self._electricity()):
            self.column.addWidget(widget)

    def show_status(self, status: Status) -> None:
        """Nothing here follows the status; the daemon's answers to changes do."""

    def _memory(self) -> QFrame:
        frame, column = card(self.tr("Memory"))
        none, gib = self.tr("What fits"), self.tr("GiB")
        rows(
            column,
            self.number(
                "serve.memory_limit_mb",
                self.tr("Graphics memory, or the computer's if it has no card"),
                self.tr("A hard cap: fewer blocks are served. Changing it loads the blocks again."),
                unit=gib,
                zero=none,
                scale=1024,
            ),
            self.number(
                "limits.ram_mb",
                self.tr("Memory of the computer"),
                self.tr("Of the engine and the network together."),
                unit=gib,
                zero=self.tr("No limit"),
                scale=1024,
            ),
            self.number(
                "yield.reserve_mb",
                self.tr("Always left free for other programs"),
                unit=gib,
                scale=1024,
            ),
            self.number("serve.num_blocks", self.tr("Blocks to serve at most"), zero=self.tr("As many as fit")),
            self.number("serve.threads", self.tr("Processor cores to compute with"), zero=self.tr("Half of them")),
        )
        return frame

    def _network(self) -> QFrame:
        frame, column = card(self.tr("Network"))
        none = self.tr("No limit")
        rows(
            column,
            self.number("limits.upload_mbps", self.tr("Upload"), unit=self.tr("Mbit/s"), zero=none),
            self.number("limits.download_mbps", self.tr("Download"), unit=self.tr("Mbit/s"), zero=none),
            self.number("limits.upload_mb_day", self.tr("Upload in a day"), unit=self.tr("GiB"), zero=none, scale=1024),
            self.number(
                "limits.download_mb_day", self.tr("Download in a day"), unit=self.tr("GiB"), zero=none, scale=1024
            ),
        )
        return frame

    def _disk(self) -> QFrame:
        frame, column = card(self.tr("Disk"))
        column.addWidget(
            text("muted", kind=Type.CAPTION, said=self.tr("Where models lie and what they take is on the page Models."))
        )
        rows(
            column,
            self.number(
                "limits.disk_mb",
                self.tr("Downloaded models may take"),
                unit=self.tr("GiB"),
                zero=self.tr("No limit"),
                scale=1024,
            ),
            self.number(
                "limits.disk_free_mb",
                self.tr("Always left free on the disk"),
                self.tr("No download begins when less is free."),
                unit=self.tr("GiB"),
                scale=1024,
            ),
        )
        return frame

    def _heat(self) -> QFrame:
        frame, column = card(self.tr("Heat and power"))
        column.addWidget(
            text("muted", kind=Type.CAPTION, said=self.tr("Above these, donating goes more slowly before it stops."))
        )
        none = self.tr("No limit")
        rows(
            column,
            self.number("limits.gpu_temperature_c", self.tr("Temperature of a graphics card"), unit="°C", zero=none),
            self.number("limits.cpu_temperature_c", self.tr("Temperature of the processor"), unit="°C", zero=none),
            self.number("limits.gpu_power_w", self.tr("Power of a graphics card"), unit="W", zero=none),
        )
        return frame

    def _electricity(self) -> QFrame:
        frame, column = card(self.tr("Electricity"))
        rows(
            column,
            self.number(
                "limits.price_kwh",
                self.tr("Price of a kilowatt-hour"),
                self.tr("In your currency; with it, costs are shown."),
                zero=self.tr("Not known"),
            ),
            self.number("limits.cost_day", self.tr("Costs in a day"), zero=self.tr("No limit")),
        )
        return frame
