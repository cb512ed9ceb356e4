"""The page Settings: the app itself, what starts with the computer, and what is needed when something is wrong."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSignalBlocker

from potluck_app.pages.calls import DaemonCaller
from potluck_app.pages.destination import Destination
from potluck_app.pages.first_run.engine import EngineSection
from potluck_app.pages.first_run.login import LoginSection
from potluck_app.pages.page import Fold, PageSection
from potluck_app.pages.preferences import NewsKind, Preferences
from potluck_app.pages.settings.backup import BackupSection
from potluck_app.pages.settings.diagnostics import DiagnosticsSection
from potluck_app.pages.settings.updates import UpdatesSection
from potluck_app.pages.settings_form import SettingsForm
from potluck_app.widgets import theme
from potluck_app.widgets.button import Switch
from potluck_app.widgets.controls import Segments
from potluck_app.widgets.parts import Card, divided, row, stack, text
from potluck_app.widgets.row import Row


class PreferencesPage(SettingsForm):
    """The page Settings. The app's own preferences change at once."""

    def __init__(self, link: DaemonCaller, preferences: Preferences | None = None) -> None:
        super().__init__(link, self.tr("Settings"))
        self._preferences = preferences or Preferences()
        languages = (("", self.tr("System")), ("en", "English"), ("de", "Deutsch"), ("es", "Español"))
        self._languages: Segments[str] = Segments(self.tr("Language"), languages)
        themes = (("system", self.tr("System")), ("light", self.tr("Light")), ("dark", self.tr("Dark")))
        self._themes: Segments[str] = Segments(self.tr("Colours"), themes)
        self._notifications = Switch()
        self._switches = {news: Switch() for news in NewsKind}
        self._build()

    def refresh(self) -> None:
        super().refresh()
        preferences = self._preferences
        with QSignalBlocker(self._notifications), QSignalBlocker(self._themes), QSignalBlocker(self._languages):
            self._notifications.setChecked(preferences.notifications)
            self._themes.choose(preferences.theme)
            self._languages.choose(preferences.language)
        self._show_news()

    def _choose_language(self, language: str) -> None:
        self._preferences.language = language
        self.preference_changed.emit("language", language)

    def _choose_theme(self, name: str) -> None:
        self._preferences.theme = name
        theme.choose(name)
        self.preference_changed.emit("theme", name)

    def _choose_notifications(self, is_on: bool) -> None:
        self._preferences.notifications = is_on
        self.preference_changed.emit("notifications", is_on)
        self._show_news()

    def _show_news(self) -> None:
        for news, switch in self._switches.items():
            with QSignalBlocker(switch):
                switch.setChecked(self._preferences.has_chosen(news))
            switch.setEnabled(self._preferences.notifications)

    def _build(self) -> None:
        self._languages.chosen.connect(self._choose_language)
        self._themes.chosen.connect(self._choose_theme)
        self._notifications.toggled.connect(self._choose_notifications)
        rows = (
            stack(text(self.tr("Language")), row(self._languages, None), spacing=theme.SPACE_S),
            stack(text(self.tr("Colours")), row(self._themes, None), spacing=theme.SPACE_S),
        )
        message = {
            NewsKind.FRIEND: self.tr("A friend joined"),
            NewsKind.COMPLETE: self.tr("The model is complete"),
            NewsKind.MISSING: self.tr("A layer is missing"),
            NewsKind.UPDATE: self.tr("An update is ready"),
            NewsKind.MILESTONE: self.tr("Milestones"),
            NewsKind.PROBLEM: self.tr("Problems, and a pause that you may have forgotten"),
        }
        for news, switch in self._switches.items():
            switch.toggled.connect(partial(self._preferences.choose_news, news))
        notified = (Row(title, "", self._switches[news]) for news, title in message.items())
        head = Row(self.tr("Notifications"), "", self._notifications)
        self.add(
            Card(self.tr("This app"), *divided(rows)),
            Card(self.tr("News"), *divided((head, *notified))),
            LoginSection(self),
            Fold(
                self,
                self.tr("Installation and updates"),
                self.tr("The compute engine, and newer versions of Potluck"),
                lambda: PageSection(self, EngineSection(self, self.tr("Compute engine")), UpdatesSection(self)),
                Destination.INSTALLATION,
            ),
            Fold(
                self,
                self.tr("Backup"),
                self.tr("Your keys, and the founder's recovery code"),
                lambda: BackupSection(self),
                Destination.BACKUP,
            ),
            Fold(
                self,
                self.tr("Diagnostics"),
                self.tr("A check-up, a report for people who help, detectors and the log"),
                lambda: DiagnosticsSection(self),
                Destination.DIAGNOSTICS,
            ),
        )
