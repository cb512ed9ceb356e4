"""The page Settings: what it changes is kept, and takes effect."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.app_answers import ANSWERS
from helpers.fake_link import FakeLink
from helpers.screen import control, press, shown
from potluck_app.pages.preferences import News, Preferences
from potluck_app.pages.preferences_page import PreferencesPage
from potluck_app.widgets import theme
from pytestqt.qtbot import QtBot

RESTART = "The app speaks the chosen language once it has started again. Serving goes on."


@pytest.fixture(autouse=True)
def _light_again() -> Iterator[None]:
    yield
    theme.choose("light")


def page_of(file: Path) -> PreferencesPage:
    page = PreferencesPage(FakeLink(dict(ANSWERS)), Preferences(str(file)))
    page.refresh()
    return page


def test_colours_change_at_once_and_are_kept(tmp_path: Path, qtbot: QtBot) -> None:
    page = page_of(tmp_path / "app.ini")
    with qtbot.waitSignal(page.theme_changed):
        press(page, "Colours: Dark")
    assert theme.colours() is theme.DARK
    assert Preferences(str(tmp_path / "app.ini")).theme == "dark"


def test_a_language_is_kept_and_waits_for_a_restart(tmp_path: Path, qtbot: QtBot) -> None:
    page = page_of(tmp_path / "app.ini")
    press(page, "Language: Deutsch")
    assert RESTART in shown(page)
    with qtbot.waitSignal(page.restart_wanted):
        press(page, "Restart")
    assert Preferences(str(tmp_path / "app.ini")).language == "de"
    press(page, "Language: System")
    assert RESTART not in shown(page)


def test_each_kind_of_news_is_switched_by_itself_and_none_while_all_are_off(tmp_path: Path) -> None:
    page, file = page_of(tmp_path / "app.ini"), str(tmp_path / "app.ini")
    everything = control(page, "Notifications")
    control(page, "A friend joined").click()
    assert [news for news in News if not Preferences(file).notifies_of(news)] == [News.FRIEND]
    everything.click()
    assert not any(Preferences(file).notifies_of(news) for news in News)
    assert not control(page, "An update is ready").isEnabled()
    everything.click()
    assert not Preferences(file).has_chosen(News.FRIEND)


def test_notifications_are_switched_here_and_shown_as_the_menu_left_them(tmp_path: Path, qtbot: QtBot) -> None:
    page = page_of(tmp_path / "app.ini")
    switch = control(page, "Notifications")
    with qtbot.waitSignal(page.notifications_changed) as told:
        switch.click()
    assert told.args == [False]
    Preferences(str(tmp_path / "app.ini")).set_notifications(True)
    page.refresh()
    assert switch.isChecked()


def test_a_preference_that_nobody_knows_is_that_of_the_desktop(tmp_path: Path) -> None:
    (tmp_path / "app.ini").write_text("[General]\ntheme=mauve\nlanguage=tlh\n")
    kept = Preferences(str(tmp_path / "app.ini"))
    assert (kept.theme, kept.language) == ("system", "")
