"""The page Rules: when this computer donates, and how much of it."""

from __future__ import annotations

from potluck_app.pages.device_cards import DeviceCards
from potluck_app.pages.limits import MoreLimits
from potluck_app.pages.page import DaemonCaller
from potluck_app.pages.section import Fold
from potluck_app.pages.settings_form import SettingsForm
from potluck_app.pages.when import Programs, When


class RulesPage(SettingsForm):
    """All rows change at once."""

    AGAIN_MS = 5000  # temperatures and running programs change

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Rules"))
        self.add(
            When(self),
            Fold(
                self,
                self.tr("Programs"),
                self.tr("Programs that Potluck always or never steps aside for"),
                lambda: Programs(self),
            ),
            DeviceCards(self),
            Fold(
                self,
                self.tr("More limits"),
                self.tr("Memory, network, disk and electricity"),
                lambda: MoreLimits(self),
            ),
        )
