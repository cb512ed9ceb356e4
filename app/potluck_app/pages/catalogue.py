"""The catalogue of pages in the order of the sidebar. A page's file is imported when the page is first opened."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr


@dataclass(frozen=True, slots=True)
class PageEntry:
    """`source`: module:class of this package; the class is a `Page` that takes the link."""

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
    PageEntry("home", QT_TRANSLATE_NOOP("", "Home"), "home", "home:HomePage"),
    PageEntry("chat", QT_TRANSLATE_NOOP("", "Chat"), "chat", "chat:ChatPage"),
    PageEntry("swarm", QT_TRANSLATE_NOOP("", "Swarm"), "people", "swarm:SwarmPage"),
    PageEntry("rules", QT_TRANSLATE_NOOP("", "Rules"), "limits", "rules:RulesPage"),
    PageEntry("connect", QT_TRANSLATE_NOOP("", "Connect"), "apps", "connect:ConnectPage"),
    PageEntry("settings", QT_TRANSLATE_NOOP("", "Settings"), "settings", "preferences_page:PreferencesPage"),
)
FIRST_RUN = PageEntry("first-run", QT_TRANSLATE_NOOP("", "Welcome"), "home", "first_run:FirstRunPage")
