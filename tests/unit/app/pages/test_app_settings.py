"""The pages that change settings, with a daemon that answers as the test says."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import app_answers
from helpers.application import Wait
from helpers.fake_link import FakeLink
from helpers.screen import control, opened, picture, press, shown
from msgspec import structs
from potluck_app.pages.destination import Destination
from potluck_app.pages.first_run.login import LoginSection
from potluck_app.pages.page import Page
from potluck_app.pages.preferences import NewsKind, Preferences
from potluck_app.pages.rules import week_grid
from potluck_app.pages.rules.devices import device_changes, toggle_device
from potluck_app.pages.rules.page import RulesPage
from potluck_app.pages.rules.schedule import ProgramList
from potluck_app.pages.rules.week_grid import WeekGrid
from potluck_app.pages.settings.page import PreferencesPage
from potluck_app.widgets import theme
from potluck_app.widgets.controls import LimitSlider, NumberBox
from potluck_control.api.schema import EngineStatus, LoadStatus, Status, UseStatus
from potluck_control.methods.machine import (
    Device,
    DeviceList,
    LoginParams,
    LoginStart,
    PlacedProgram,
    PlaceParams,
    ProgramPlace,
    Programs,
    RunningProgram,
)
from potluck_control.methods.settings import Change, Changed, SetParams, SettingsPage
from potluck_control.settings import ServeSettings, Settings
from potluck_control.states import Reason, State
from potluck_daemon.settings.store import Loaded
from potluck_daemon.topics.settings import settings_page
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QColor, QMouseEvent
from PySide6.QtWidgets import QSlider, QWidget
from pytestqt.qtbot import QtBot

from potluck.errors import PotluckError
from potluck.sentences import NOTHING, sentence

GIB = 1 << 30


def page_of(settings: Settings | None = None, **environment: str) -> SettingsPage:
    """What a real daemon with these settings says; None: it has none of its own."""
    return settings_page(Loaded(settings or Settings()), Path("/x/settings.toml"), environment)


GPUS = Device("cuda:0", "RTX 3090", 24 * GIB, 20 * GIB), Device("cuda:1", "RTX 2060", 6 * GIB, GIB)
BOTH = Settings(serve=ServeSettings(devices=("cuda:0", "cuda:1")))
MACHINE = DeviceList((*GPUS, Device("cpu", "Ryzen", 32 * GIB, 30 * GIB)), "cuda:0")
DOOM = RunningProgram("doom", "Doom", "", True, 5, ProgramPlace.NONE)
ANSWERS: dict[str, object] = {
    "settings.get": page_of(),
    "programs.running": Programs((DOOM,), ("blender",), ()),
    "login.get": LoginStart(app=False, daemon=True),
    "machine.get": MACHINE,
}


def enter(page: QWidget, name: str, value: float) -> None:
    box = control(page, name)
    box.setValue(value)
    box.editingFinished.emit()


# -- forms -------------------------------------------------------------------------------------------------------------


def test_a_number_that_changed_is_told_in_the_daemons_unit_and_can_be_taken_back() -> None:
    page, link = opened(RulesPage, ANSWERS)
    enter(page, "Always left free for other programs", 1.07)
    assert link.named("settings.set") == []
    enter(page, "Always left free for other programs", 2.5)
    assert link.named("settings.set") == [SetParams((Change("yield.reserve_mb", 2384),))]
    link.answer("settings.set", Changed(page_of(), (Change("yield.reserve_mb", 1024),)))
    press(page, "Undo")
    assert link.named("settings.set")[-1] == SetParams((Change("yield.reserve_mb", 1024),))


def test_a_refused_value_is_said_at_its_row() -> None:
    page, link = opened(RulesPage, ANSWERS)
    switch = control(page, "Donate on battery power")
    switch.click()
    link.fail("settings.set", PotluckError("the file is not yours", hint="ask root"))
    assert "The file is not yours. Ask root." in shown(page)
    assert page.notice_bar.isHidden()


def test_a_setting_that_the_environment_fixes_cannot_be_changed_and_says_so() -> None:
    page, _ = opened(RulesPage, ANSWERS | {"settings.get": page_of(POTLUCK_WHEN_ON_BATTERY="yes")})
    assert not control(page, "Donate on battery power").isEnabled()
    assert "Set by the environment variable POTLUCK_WHEN_ON_BATTERY." in shown(page)


def test_every_row_has_its_setting() -> None:
    page, _ = opened(RulesPage, ANSWERS)
    assert not any("Update Potluck to use this" in said for said in shown(page))
    assert all(box.isEnabled() for box in page.findChildren(NumberBox))


def test_a_number_has_no_needless_digits_and_zero_is_a_word() -> None:
    box = NumberBox("GB", "No limit")
    texts = []
    for value in (0.0, 2.0, 2.5, 2.25, 1234.0):
        box.show_value(value, 0, 1e6, is_whole=False)
        texts.append(box.text())
    assert texts == ["No limit", "2 GB", "2.5 GB", "2.25 GB", "1,234 GB"]


# -- the week ----------------------------------------------------------------------------------------------------------


def test_hours_come_back_as_they_were_written() -> None:
    for lines in (
        (),
        ("mon-fri 22:00-24:00", "mon-sun 00:00-07:00"),
        ("sat 10:00-12:00", "sat 14:00-15:00"),
        ("sun 23:00-24:00",),
    ):
        hours = week_grid.hours_of_schedule(lines)
        assert week_grid.hours_of_schedule(week_grid.schedule_of_hours(hours)) == hours
        assert week_grid.has_whole_hours(lines)


def test_a_night_goes_on_after_midnight_and_sunday_goes_on_on_monday() -> None:
    assert week_grid.hours_of_schedule(("sun 22:00-02:00",)) == {6 * 24 + 22, 6 * 24 + 23, 0, 1}


def test_minutes_are_not_exact_in_hours() -> None:
    assert not week_grid.has_whole_hours(("mon 10:30-12:00",))
    assert week_grid.hours_of_schedule(("mon 10:30-11:10",)) == {10, 11}


def test_hours_are_painted_with_mouse_and_keyboard(qtbot: QtBot) -> None:
    page, link = opened(RulesPage, ANSWERS)
    grid = page.findChild(WeekGrid)
    grid.resize(grid.sizeHint())
    first, last = (grid._cell(hour).center().toPoint() for hour in (9, 11))
    qtbot.mousePress(grid, Qt.MouseButton.LeftButton, pos=first)
    grid.show_hours(frozenset())  # what the daemon says meanwhile does not disturb
    none, left = Qt.KeyboardModifier(0), Qt.MouseButton.LeftButton
    for hour in (10, 11):
        place = grid._cell(hour).center()
        grid.mouseMoveEvent(QMouseEvent(QEvent.Type.MouseMove, place, place, left, left, none))
    qtbot.mouseRelease(grid, Qt.MouseButton.LeftButton, pos=last)
    (told,) = link.named("settings.set")
    lines = told.changes[0].value
    assert week_grid.hours_of_schedule(lines) == frozenset(range(168)) - {9, 10, 11}
    qtbot.keyClick(grid, Qt.Key.Key_Right)
    assert "10:00-11:00: not donating" in grid.accessibleDescription()
    assert grid._hour_at(QPointF(0, 0)) is None


def test_each_hour_is_drawn_and_found_in_its_cell() -> None:
    """The names of days take 56 pixels, the hours 20 above; 8 stay free on the right."""
    grid = WeekGrid("Hours")
    chosen = frozenset({0, 23, 24 + 5, 6 * 24})
    grid.show_hours(chosen)
    image = picture(grid, 56 + 24 * 20 + 8, 20 + 7 * 26)
    colours = {True: QColor(theme.colours().accent), False: QColor(theme.colours().card)}
    for hour in range(7 * 24):
        x, y = 56 + hour % 24 * 20 + 10, 20 + hour // 24 * 26 + 12
        assert image.pixelColor(x, y) == colours[hour in chosen], hour
        assert grid._hour_at(QPointF(x, y)) == hour
    assert [grid._hour_at(QPointF(x, y)) for x, y in ((50, 30), (540, 30), (60, 10), (60, 210))] == [None] * 4
    blank = image.pixelColor(0, 0)
    names = {y // 26 for y in range(182) if any(image.pixelColor(x, y + 20) != blank for x in range(50))}
    heads = {round((x - 56) / 120) for x in range(544) if any(image.pixelColor(x, y) != blank for y in range(16))}
    assert (names, heads) == (set(range(7)), set(range(5)))


def test_the_keyboard_goes_by_hours_and_days_and_only_the_left_button_paints(qtbot: QtBot) -> None:
    grid = WeekGrid("Hours")
    places = []
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Up):
        qtbot.keyClick(grid, key)
        places.append(grid._at)
    assert places == [24, 25, 1, 0, 167, 143]
    assert (grid.accessibleName(), grid.sizeHint().height()) == ("Hours", 202)
    grid.resize(544, 202)
    with qtbot.assertNotEmitted(grid.changed):
        qtbot.mouseClick(grid, Qt.MouseButton.RightButton, pos=grid._cell(3).center().toPoint())
    with qtbot.waitSignal(grid.changed) as painted:
        qtbot.mouseClick(grid, Qt.MouseButton.LeftButton, pos=grid._cell(3).center().toPoint())
    assert painted.args == [{3}]


# -- programs ----------------------------------------------------------------------------------------------------------


def test_a_running_program_is_chosen_and_one_is_taken_off_its_list() -> None:
    page, link = opened(RulesPage, ANSWERS)
    box = control(page, "Program for the list: Always step aside for")
    assert [box.itemText(i) for i in range(box.count())] == ["Doom"]
    box.setEditText("Doom")
    page.findChild(ProgramList)._add_chosen()
    press(page, "Remove blender")
    assert link.named("programs.place") == [
        PlaceParams("doom", ProgramPlace.ALWAYS),
        PlaceParams("blender", ProgramPlace.NONE),
    ]
    link.answer("programs.place", PlacedProgram("blender", ProgramPlace.NONE, ProgramPlace.ALWAYS))
    assert "blender is no longer on a list." in shown(page)


# -- devices -----------------------------------------------------------------------------------------------------------


def test_graphics_cards_compute_together_and_the_processor_alone() -> None:
    both = toggle_device(frozenset({"cuda:0"}), "cuda:1", is_on=True)
    assert device_changes(both) == (Change("serve.device", None), Change("serve.devices", ("cuda:0", "cuda:1")))
    assert toggle_device(both, "cpu", is_on=True) == {"cpu"}
    assert toggle_device(frozenset({"cpu"}), "cuda:1", is_on=True) == {"cuda:1"}
    assert device_changes(frozenset({"cuda:1"})) == (Change("serve.device", "cuda:1"), Change("serve.devices", None))
    none = toggle_device(both, "cuda:0", is_on=False) - {"cuda:1"}
    assert device_changes(none) == (Change("serve.device", None), Change("serve.devices", None))


def test_the_card_of_a_device_says_what_it_does_and_what_potluck_takes_of_it() -> None:
    hot = structs.replace(GPUS[0], temperature_c=61.4, power_w=180.2)
    page, link = opened(
        RulesPage, ANSWERS | {"machine.get": structs.replace(MACHINE, devices=(hot, *MACHINE.devices[1:]))}
    )
    load = LoadStatus(memory_used_bytes=3 * GIB, memory_limit_bytes=12 * GIB, memory_total_bytes=24 * GIB)
    running = Status(State.SERVING, Reason.NONE, NOTHING, 0.0, "1", engine=EngineStatus(pid=7), load=load)
    page.show_status(running)
    assert {"61 °C", "180 W"} <= set(shown(page))
    assert "Potluck 3.2 GB of 12.9 GB · other programs 1.1 GB · 21.5 GB of 25.8 GB free" in shown(page)
    assert shown(page).count("Memory for Potluck") == 1, "a device that is not in use has no limits"
    page.show_status(structs.replace(running, engine=EngineStatus()))
    assert "Other programs 4.3 GB · 21.5 GB of 25.8 GB free" in shown(page)
    link.answers["machine.get"] = MACHINE
    page.refresh()
    assert "61 °C" not in shown(page), "a sensor that is gone leaves no number behind"
    page.show_status(
        structs.replace(running, use=UseStatus(month_sent_bytes=12 * 10**9, month_received_bytes=3 * 10**9))
    )
    assert "This month so far: 12.0 GB sent, 3.0 GB received" in shown(page)


def sliders(page: QWidget, name: str) -> list[LimitSlider]:
    return [slider for slider in page.findChildren(LimitSlider) if slider.accessibleName() == name]


def test_a_slider_changes_the_setting_once_it_rests_and_a_refusal_stands_below_it(wait: Wait) -> None:
    page, link = opened(RulesPage, ANSWERS)
    (memory,), (heat, _) = sliders(page, "Memory for Potluck"), sliders(page, "Temperature limit")
    assert (memory.limit, heat.limit) == (0.0, 80.0)
    (box,) = [item for item in page.findChildren(NumberBox) if item.accessibleName() == "Memory for Potluck"]
    for _ in range(3):
        memory.triggerAction(QSlider.SliderAction.SliderSingleStepSub)
    assert box.text() == "24.5 GB"
    assert link.named("settings.set") == [], "each step would load the layers again"
    wait(lambda: link.named("settings.set") != [])
    assert link.named("settings.set") == [SetParams((Change("serve.memory_limit_mb", 23365),))]
    link.fail("settings.set", PotluckError("the file is not yours"))
    assert "The file is not yours." in shown(page)
    box.setValue(2.0)
    box.editingFinished.emit()
    assert link.named("settings.set")[-1] == SetParams((Change("serve.memory_limit_mb", 1907),))


def test_cards_that_share_their_limits_say_so_and_the_processor_has_one_of_its_own() -> None:
    for settings, environment, cards, limits in (
        (BOTH, {}, 2, [80.0, 80.0, 90.0]),
        (BOTH, {"POTLUCK_SERVE_DEVICES": "cuda:0,cuda:1"}, 2, [80.0, 80.0, 90.0]),
        (Settings(serve=ServeSettings(devices=("cuda:0",))), {}, 0, [80.0, 90.0]),
        (Settings(), {}, 0, [80.0, 90.0]),
    ):
        page, _ = opened(RulesPage, ANSWERS | {"settings.get": page_of(settings, **environment)})
        note = "These limits hold for each graphics card in use. Changing one here changes it for all."
        assert shown(page).count(note) == cards
        assert [slider.limit for slider in sliders(page, "Temperature limit")] == limits
        assert "Above this, Potluck slows down, even if a graphics card computes." in shown(page)
        assert control(page, "Use RTX 2060").isEnabled() is not bool(environment), "the environment fixes the devices"


def test_a_second_card_joins_the_first_and_the_keyboard_stays_at_its_switch(qtbot: QtBot, wait: Wait) -> None:
    page, link = opened(RulesPage, ANSWERS)
    qtbot.addWidget(page)
    page.show()
    assert {"In use, selected automatically", "Not in use"} <= set(shown(page))
    second = control(page, "Use RTX 2060")
    second.setFocus()
    second.click()
    assert link.named("settings.set") == [SetParams(device_changes(frozenset({"cuda:0", "cuda:1"})))]
    link.answer("settings.set", Changed(page_of(BOTH), ()))
    drawn = control(page, "Use RTX 2060")
    assert drawn is not second
    assert page.focusWidget() is drawn
    wait(drawn.isVisible)
    after = drawn.nextInFocusChain()
    while not after.isVisible() or after.focusPolicy() is Qt.FocusPolicy.NoFocus:
        after = after.nextInFocusChain()
    assert after.accessibleName() == "Memory for Potluck"


def test_a_machine_without_an_engine_leads_to_where_one_is_made(qtbot: QtBot) -> None:
    page, _ = opened(RulesPage, ANSWERS | {"machine.get": structs.replace(MACHINE, has_engine=False)})
    assert "The compute engine is not installed yet." in shown(page)
    with qtbot.waitSignal(page.requested) as led:
        press(page, "Set up…")
    assert led.args == [Destination.INSTALLATION]


# -- log-in, and how much to give --------------------------------------------------------------------------------------


def test_a_switch_of_log_in_shows_what_the_system_does() -> None:
    link = FakeLink(ANSWERS)
    login = LoginSection(Page(link, ""))
    login.refresh()
    daemon, app = control(login, "Start donating"), control(login, "Show Potluck in the tray")
    assert (daemon.isChecked(), app.isChecked()) == (True, False)
    app.click()
    assert link.named("login.set") == [LoginParams(app=True)]
    link.answer("login.set", LoginStart(app=False, daemon=True, app_problem=sentence("no such folder")))
    assert not app.isChecked()
    assert not app.isEnabled()
    assert "Not available on this computer." in shown(login)
    login._show(LoginStart(app=True, daemon=True, daemon_problem=sentence("for all users")))
    assert "Set up for all users of this computer." in shown(login)
    assert (app.isEnabled(), daemon.isEnabled()) == (True, False)


# -- the app's own -----------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _light_again() -> Iterator[None]:
    yield
    theme.choose("light")


def preferences(file: Path) -> PreferencesPage:
    page = PreferencesPage(FakeLink(dict(app_answers.ANSWERS)), Preferences(str(file)))
    page.refresh()
    return page


def test_colours_change_at_once_and_are_kept(tmp_path: Path, qtbot: QtBot) -> None:
    page = preferences(tmp_path / "app.ini")
    with qtbot.waitSignal(page.preference_changed):
        press(page, "Colours: Dark")
    assert theme.colours() is theme.DARK
    assert Preferences(str(tmp_path / "app.ini")).theme == "dark"


def test_each_kind_of_news_is_switched_by_itself_and_none_while_all_are_off(tmp_path: Path) -> None:
    page, file = preferences(tmp_path / "app.ini"), str(tmp_path / "app.ini")
    everything = control(page, "Notifications")
    control(page, "A friend joined").click()
    assert [news for news in NewsKind if not Preferences(file).notifies_of(news)] == [NewsKind.FRIEND]
    everything.click()
    assert not any(Preferences(file).notifies_of(news) for news in NewsKind)
    assert not control(page, "An update is ready").isEnabled()
    everything.click()
    assert not Preferences(file).has_chosen(NewsKind.FRIEND)


def test_notifications_are_switched_here_and_shown_as_the_menu_left_them(tmp_path: Path, qtbot: QtBot) -> None:
    page = preferences(tmp_path / "app.ini")
    switch = control(page, "Notifications")
    with qtbot.waitSignal(page.preference_changed) as told:
        switch.click()
    assert told.args == ["notifications", False]
    Preferences(str(tmp_path / "app.ini")).notifications = True
    page.refresh()
    assert switch.isChecked()


def test_a_preference_that_nobody_knows_is_that_of_the_desktop(tmp_path: Path) -> None:
    (tmp_path / "app.ini").write_text("[General]\ntheme=mauve\nlanguage=tlh\n")
    kept = Preferences(str(tmp_path / "app.ini"))
    assert (kept.theme, kept.language) == ("system", "")
