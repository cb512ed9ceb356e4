"""What the window and the menu offer in each state; widgets are known by what is written on them."""

import itertools

import pytest
from helpers import app_answers
from helpers.app_answers import PROBES
from helpers.fake_link import FakeLink
from helpers.screen import button, said, shown, unfold
from msgspec import structs
from potluck_app.pages.destination import Destination
from potluck_app.pages.first_run.joining import JoinForm
from potluck_app.pages.first_run.page import FirstRunPage
from potluck_app.pages.home.page import HomePage
from potluck_app.pages.settings.diagnostics import DiagnosticsSection
from potluck_app.shell.tray import Tray
from potluck_app.shell.window import MainWindow
from potluck_app.widgets.icons import icon, name_of
from potluck_control.api import schema
from potluck_control.methods.gateway import GatewayState, GatewayStatus
from potluck_control.methods.machine import PlacedProgram, PlaceParams, ProgramPlace
from potluck_control.states import Reason, State
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QColor, QImage, QPainter
from PySide6.QtWidgets import QCheckBox, QLabel, QPlainTextEdit
from pytestqt.qtbot import QtBot

from potluck.errors import PotluckError, UsageError
from potluck.protocol.codec import decode, encode
from potluck.sentences import Blocks, sentence

SWARM = schema.SwarmStatus("friday", "demo", 4, span=(0, 2), coverage=(2, 1, 0, 0), coverage_at=0.0, is_live=True)
SERVING = structs.replace(
    app_answers.SERVING,
    text=sentence("Serving {what}", what=sentence("layers {blocks} of {model}", blocks=Blocks(0, 2), model="demo")),
    swarm=SWARM,
    tokens_per_s=12.5,
)
PAUSED = structs.replace(
    SERVING,
    swarm=structs.replace(SWARM, span=None, is_live=False),
    state=State.PAUSED,
    reason=Reason.TIMER,
    text=sentence("Paused by you"),
    until=4e9,
    engine=schema.EngineStatus(),
)
NO_SWARM = structs.replace(
    SERVING, state=State.IDLE, reason=Reason.NO_SWARM, text=sentence("No swarm joined yet"), swarm=None
)
YIELDED = structs.replace(
    SERVING, state=State.YIELDED, reason=Reason.GAME, text=sentence("Giving way to {who}", who="hades2")
)
GAME = structs.replace(
    YIELDED,
    text=sentence("Giving way to {who}", who="Hades II"),
    ends=sentence("{time} s after {who} is done", time=15, who="Hades II"),
    app="hades2",
    app_title="Hades II",
)
FINISHING = structs.replace(
    SERVING, state=State.DRAINING, reason=Reason.SHUTDOWN, text=sentence("Finishing"), until=4e9, sessions=2
)
STOPPED = structs.replace(PAUSED, reason=Reason.USER, text=sentence("Paused by you until you resume"), until=None)
NEVER = "Never step aside for Hades II"
PAUSES = {"Pause for an hour", "Pause until tomorrow, 08:00", "Pause until I resume"}


def choices(page: HomePage) -> dict[str, QAction]:
    """What the one control offers in a menu."""
    menu = page.focusProxy().menu()
    return {action.text(): action for action in menu.actions() if action.isVisible()} if menu is not None else {}


def home(status: schema.Status) -> tuple[HomePage, FakeLink]:
    link = FakeLink()
    page = HomePage(link)
    page.show_status(status)
    return page, link


# -- Home --------------------------------------------------------------------------------------------------------------


def test_home_shows_state_reason_speed_and_what_the_day_has_used() -> None:
    page, _ = home(SERVING)
    unfold(page)
    text = said(page)
    assert "Serving layers 1–2 of demo" in text
    assert "12.5" in text.splitlines()
    assert "Today:" not in text
    page.show_status(structs.replace(SERVING, use=schema.UseStatus(5 << 20, 1 << 20, 12.4)))
    assert "Today: 5.2 MB sent, 1.0 MB received" in said(page)


def test_home_pauses_by_one_control_and_until_the_end_of_a_game_while_one_runs() -> None:
    page, link = home(SERVING)
    assert set(choices(page)) == PAUSES
    choices(page)["Pause for an hour"].trigger()
    choices(page)["Pause until I resume"].trigger()
    page.show_status(GAME)
    choices(page)["Pause until the game ends"].trigger()
    assert link.named("pause") == [
        schema.PauseParams(3600.0),
        schema.PauseParams(),
        schema.PauseParams(until_game_ends=True),
    ]


def test_home_offers_no_pause_but_to_go_on_where_serving_ends() -> None:
    leaving = structs.replace(PAUSED, state=State.DRAINING)  # the engine ends for the pause
    for status, text, offered in (
        (FINISHING, "2 sessions left", "Keep serving"),
        (PAUSED, "Paused by you\nThe pause ends at ", "Resume"),
        (STOPPED, "Paused by you until you resume", "Resume"),
        (leaving, "The pause ends at ", "Resume"),
    ):
        page, link = home(status)
        assert text in said(page)
        assert choices(page) == {}
        button(page, offered).click()
        assert link.named("resume") == [None]
        page.show_status(SERVING)
        assert set(choices(page)) == PAUSES


def test_home_offers_both_to_go_on_and_to_pause_while_it_waits() -> None:
    page, link = home(structs.replace(YIELDED, reason=Reason.QUIET_TIME))
    assert page.focusProxy().text() == "Serve now"
    assert set(choices(page)) == {"Serve now", *PAUSES}
    choices(page)["Serve now"].trigger()
    assert link.named("resume") == [None]


def test_home_leads_to_the_rules_that_hold_it_back(qtbot: QtBot) -> None:
    page, _ = home(structs.replace(SERVING, state=State.IDLE, reason=Reason.SCHEDULE))
    with qtbot.waitSignal(page.requested) as asked:
        button(page, "Change the rules").click()
    assert asked.args == [Destination.RULES]
    page.show_status(structs.replace(SERVING, reason=Reason.USER_ACTIVE, duty=0.5))
    assert button(page, "Change the rules").isHidden()


def test_names_of_programs_are_never_read_as_markup() -> None:
    page, _ = home(structs.replace(GAME, text=sentence("Giving way to {who}", who="<b>x</b>")))
    (reason,) = [label for label in page.findChildren(QLabel) if "<b>" in label.text()]
    assert reason.textFormat() is Qt.TextFormat.PlainText


def test_a_command_that_fails_is_told_until_one_works() -> None:
    page, link = home(SERVING)
    choices(page)["Pause for an hour"].trigger()
    link.fail("pause", PotluckError("the daemon is not running", hint="start it with: potluck start"))
    assert "Start it with: potluck start." in said(page)
    choices(page)["Pause for an hour"].trigger()
    link.answer("pause", PAUSED)
    assert page.notice_bar.isHidden()


# -- first run ---------------------------------------------------------------------------------------------------------


def test_first_run_joins_lines_that_a_mail_program_broke_and_forgets_the_invite() -> None:
    link = FakeLink({"join": schema.Joined("friday", "demo")})
    page = FirstRunPage(link)
    join, field = button(page, "Join this swarm"), page.findChild(QPlainTextEdit)
    field.setPlainText(" \n ")
    assert not join.isEnabled()
    field.setPlainText("potluck4:abc\n  def \n")
    join.click()
    assert link.named("join") == [schema.JoinParams("potluck4:abc\n  def")], "the daemon finds the invite"
    assert field.toPlainText() == ""


def test_first_run_asks_once_for_a_swarm_public_if_wanted_and_again_after_a_failure() -> None:
    for is_public in (False, True):
        link = FakeLink()
        page = FirstRunPage(link)
        button(page, "Continue").click()
        next(box for box in page.findChildren(QCheckBox) if "Anybody" in box.text()).setChecked(is_public)
        start = button(page, "Start a swarm with the demo model")
        start.click()
        start.click()
        assert link.named("create") == [schema.CreateParams(is_public=is_public)]
        link.fail("create", PotluckError("this installation lacks demo-model", hint="install Potluck again"))
        assert "Install Potluck again." in said(page)
        assert start.isEnabled()


def test_a_computer_that_serves_a_swarm_moves_to_a_new_one_only_if_the_user_says_so() -> None:
    for served, moves in (("", False), ("home", False), ("home", True)):
        link = FakeLink()
        form = JoinForm(link)
        form.show_served(served)
        (question,) = (box for box in form.findChildren(QCheckBox) if "new swarm" in box.text())
        assert question.isVisibleTo(form) is bool(served)
        assert served in question.text()
        question.setChecked(moves)
        button(form, "Start a swarm with the demo model").click()
        form.findChild(QPlainTextEdit).setPlainText("potluck4:abc")
        link.fail("create", PotluckError("no"))
        button(form, "Join this swarm").click()
        assert link.named("create") == [schema.CreateParams(moves=moves)]
        assert link.named("join") == [schema.JoinParams("potluck4:abc", moves=moves)]


def test_first_run_stays_open_until_the_last_step_is_done() -> None:
    link, finished = FakeLink({"create": schema.Joined("home", "demo")}), []
    page = FirstRunPage(link)
    page.finished.connect(lambda: finished.append(page.is_open))
    page.show_status(NO_SWARM)
    button(page, "Continue").click()
    assert not button(page, "Continue").isVisibleTo(page)  # a swarm comes first
    button(page, "Start a swarm with the demo model").click()
    page.show_status(SERVING)
    assert (page.is_open, finished, page._title.text()) == (True, [], "You come first")
    button(page, "Done").click()
    assert finished == [False]


def test_the_window_keeps_the_first_run_open_after_joining() -> None:
    window = MainWindow(FakeLink())
    window.show_status(NO_SWARM)
    button(window.page, "Continue").click()
    window.show_status(SERVING)
    assert isinstance(window.page, FirstRunPage)
    assert "You are in the swarm “friday”, which runs demo." in said(window.page)


# -- the window --------------------------------------------------------------------------------------------------------


def test_the_window_shows_the_page_that_fits() -> None:
    window = MainWindow(FakeLink())
    window.show_away("The daemon is not running.")
    assert window.currentWidget() is window.away
    assert "The daemon is not running." in said(window.away)
    window.show_status(NO_SWARM)
    assert isinstance(window.page, FirstRunPage)
    window.show_status(YIELDED)
    assert isinstance(window.page, HomePage)
    assert "Giving way to hades2" in said(window.page)


def test_a_daemon_that_starts_is_not_called_away_until_it_fails(qtbot: QtBot) -> None:
    window = MainWindow(FakeLink())
    window.show_away("Potluck is not running\nYour settings are safe.")
    with qtbot.waitSignal(window.away.start_wanted):
        button(window.away, "Start Potluck").click()
    window.show_away("Potluck is not running\nYour settings are safe.")
    assert shown(window.away)[0] == "Starting Potluck…"
    assert not button(window.away, "Start Potluck").isEnabled()
    window.away.show_failure("The disk is full.")
    assert shown(window.away)[:1] + shown(window.away)[-1:] == ["Potluck is not running", "The disk is full."]
    assert button(window.away, "Start Potluck").isEnabled()
    button(window.away, "Start Potluck").click()
    window.away.show_failure("Your settings are safe.")
    assert shown(window.away).count("Your settings are safe.") == 1


OLDEST = {
    "state": "yielded",
    "reason": "game",
    "text": {"text": "Giving way to hades2"},
    "since": 1.0,
    "version": "0.1",
}


def test_the_window_and_the_menu_show_daemons_of_other_versions() -> None:
    for told in (
        OLDEST,
        OLDEST | {"state": "dancing", "reason": "music", "probes": [{"name": {"text": "Ears"}, "state": "deaf"}]},
    ):
        status = decode(schema.Status, encode(told))
        window, tray = MainWindow(FakeLink()), Tray()
        window.show_status(status)
        tray.show_status(status)
        assert "Giving way to hades2" in said(window)
        assert not any("Never" in action.text() for action in tray.menu.actions() if action.isVisible())


def visible_window(link: FakeLink, qtbot: QtBot) -> MainWindow:
    window = MainWindow(link)
    qtbot.addWidget(window)
    window.show()
    return window


def link_with(gateway: GatewayState = GatewayState.STOPPED) -> FakeLink:
    return FakeLink({"gateway.status": GatewayStatus(gateway)})


def started(link: FakeLink) -> int:
    return len(link.named("gateway.start"))


def test_the_window_has_the_chat_made_ready_once_each_time_it_is_shown(qtbot: QtBot) -> None:
    link = link_with()
    window = MainWindow(link)
    qtbot.addWidget(window)
    window.show_status(SERVING)
    assert started(link) == 0  # in the tray
    window.show()
    window.show_status(SERVING)
    window.open("rules")
    assert started(link) == 1
    window.hide()
    window.show()
    assert started(link) == 2


def test_a_computer_that_does_not_serve_makes_the_chat_ready_only_on_its_page_if_at_all(qtbot: QtBot) -> None:
    for status, on_its_page in (
        (structs.replace(SERVING, state=State.PAUSED), 1),
        (structs.replace(SERVING, state=State.STARTING), 1),
        (YIELDED, 0),
        (structs.replace(SERVING, swarm=None), 0),
    ):
        link = link_with()
        window = visible_window(link, qtbot)
        window.show_status(status)
        assert started(link) == 0
        window.open("chat")
        assert started(link) == on_its_page


def test_the_chat_is_made_ready_as_soon_as_a_computer_that_starts_can_be_found(qtbot: QtBot) -> None:
    link = link_with()
    window = visible_window(link, qtbot)
    window.open("chat")
    window.show_status(structs.replace(SERVING, state=State.IDLE, reason=Reason.NO_ENGINE))
    assert started(link) == 0  # nothing could run it
    window.show_status(structs.replace(SERVING, state=State.STARTING))
    link.fail("gateway.start", UsageError("the swarm cannot be found by others yet"))
    window.show_status(structs.replace(SERVING, state=State.JOINING))
    link.answer("gateway.start", GatewayStatus(GatewayState.STARTING))
    window.show_status(SERVING)
    assert started(link) == 2


def test_a_gateway_that_runs_or_failed_is_left_alone(qtbot: QtBot) -> None:
    for state in (GatewayState.STARTING, GatewayState.READY, GatewayState.FAILED):
        link = link_with(state)
        visible_window(link, qtbot).show_status(SERVING)
        assert len(link.named("gateway.status")) == 1
        assert started(link) == 0


def test_home_leads_to_the_page_that_names_every_probe(qtbot: QtBot) -> None:
    window = MainWindow(FakeLink())
    window.show_status(structs.replace(SERVING, probes=PROBES))
    button(window, "Watching for games and activity (1 detector not working)").click()
    assert window.page.findChild(DiagnosticsSection).isVisibleTo(window.page)
    lines = shown(window.page)
    place = lines.index("Detectors") + 1
    assert lines[place : place + 2] == ["Detecting something now", "Running programs"]
    assert "Not working\nGPU memory\nthe NVIDIA driver does not answer" in said(window.page)
    assert {"Steam, GameMode", "no battery"} <= set(lines)
    assert all(any(str(probe.name) in line for line in lines) for probe in PROBES)
    window.show_status(structs.replace(SERVING, probes=PROBES[:2]))
    assert "Not working" not in said(window.page)


# -- the window --------------------------------------------------------------------------------------------------------


def test_the_menu_leads_to_ignoring_the_program_that_runs_which_can_be_undone() -> None:
    link = FakeLink()
    window = MainWindow(link)
    window.show_status(GAME)
    window.raise_at(Destination.NEVER)
    assert link.named("programs.place") == [PlaceParams("hades2", ProgramPlace.NEVER)]
    link.answer("programs.place", PlacedProgram("hades2", ProgramPlace.NEVER, ProgramPlace.NONE))
    button(window, "Undo").click()
    assert link.named("programs.place")[1:] == [PlaceParams("hades2", ProgramPlace.NONE)]


def test_closing_the_window_quits_only_without_a_tray_icon(qtbot: QtBot) -> None:
    window = MainWindow(FakeLink())
    with qtbot.waitSignal(window.closed_without_tray):
        window.close()
    window.has_tray = True
    with qtbot.assertNotEmitted(window.closed_without_tray):
        window.close()


# -- the tray ----------------------------------------------------------------------------------------------------------


def test_the_menu_offers_what_makes_sense() -> None:
    for status, enabled in (
        (None, set()),
        (NO_SWARM, set()),
        (SERVING, PAUSES),
        (YIELDED, PAUSES),
        (GAME, PAUSES | {"Pause until the game ends", NEVER}),
        (FINISHING, {"Keep serving"}),
        (PAUSED, {"Resume"}),
        (STOPPED, {"Resume"}),
    ):
        tray = Tray()
        tray.show_status(SERVING)  # something else before
        tray.show_status(status)
        actions = [action for action in tray.menu.actions() if action.text() and action.isVisible()]
        offered = {action.text() for action in actions if action.isEnabled()}
        assert offered == enabled | {"Open Potluck", "Show notifications", "Quit the app"}


# -- icons -------------------------------------------------------------------------------------------------------------


def test_states_that_matter_differ_in_shape() -> None:
    shapes = {name_of(state) for state in (State.SERVING, State.IDLE, State.PAUSED, State.YIELDED, State.ERROR)}
    assert len(shapes) == 5


def contrast(one: QColor, other: QColor) -> float:
    """Return the ratio of the web's guidelines for accessibility (WCAG 2, 1.4.11)."""

    def luminance(colour: QColor) -> float:
        parts = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.getRgbF()[:3])
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("panel", ["#ffffff", "#eeeeee", "#2b2b2b", "#000000"])
def test_the_tray_icon_of_every_state_stands_out_on_light_and_dark_panels(panel: str) -> None:
    for state, side in itertools.product((None, *State), (16, 22, 24, 48)):
        picture = QImage(side, side, QImage.Format.Format_RGB32)
        picture.fill(QColor(panel))
        drawn = icon(state).pixmap(side, side)
        painter = QPainter(picture)
        painter.drawPixmap(0, 0, drawn)
        painter.end()
        alpha = drawn.toImage()
        opaque = [(x, y) for x in range(side) for y in range(side) if alpha.pixelColor(x, y).alpha() > 200]
        clear = [place for place in opaque if contrast(picture.pixelColor(*place), QColor(panel)) >= 3]
        assert len(clear) > len(opaque) / 4, (state, side)
