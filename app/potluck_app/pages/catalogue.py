"""The catalogue of pages in the order of the sidebar. A page's file is imported when the page is first opened."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from potluck_app.pages.calls import DaemonCaller
from potluck_app.pages.page import Page
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page of the window. `source`: the module and the class, a `Page` that takes the way to the daemon."""

    key: str
    label: str
    glyph: str
    source: str

    @property
    def title(self) -> str:
        return tr(self.label)

    def make(self, link: DaemonCaller) -> Page:
        module, _, name = self.source.partition(":")
        page = getattr(import_module(f"potluck_app.pages.{module}"), name)(link)
        assert isinstance(page, Page)
        return page


SIDEBAR = (
    PageEntry("home", QT_TRANSLATE_NOOP("", "Home"), "home", "home.page:HomePage"),
    PageEntry("chat", QT_TRANSLATE_NOOP("", "Chat"), "chat", "chat.page:ChatPage"),
    PageEntry("swarm", QT_TRANSLATE_NOOP("", "Swarm"), "people", "swarm.page:SwarmPage"),
    PageEntry("rules", QT_TRANSLATE_NOOP("", "Rules"), "limits", "rules.page:RulesPage"),
    PageEntry("connect", QT_TRANSLATE_NOOP("", "Connect"), "apps", "connect.page:ConnectPage"),
    PageEntry("settings", QT_TRANSLATE_NOOP("", "Settings"), "settings", "settings.page:PreferencesPage"),
)
FIRST_RUN = PageEntry("first-run", QT_TRANSLATE_NOOP("", "Welcome"), "home", "first_run.page:FirstRunPage")
