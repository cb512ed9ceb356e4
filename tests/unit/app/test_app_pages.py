"""What the pages beside Home show and do, with a daemon that answers as the test says."""

import csv
import json
from pathlib import Path

import pytest
from helpers.app_answers import ANSWERS, DAYS, EARNINGS, SERVING
from helpers.application import PATIENCE_MS
from helpers.fake_link import FakeLink
from helpers.screen import button, buttons, confirm, control, opened, opened_alone, press, shown
from msgspec import structs
from potluck_app.pages.catalogue import SIDEBAR
from potluck_app.pages.connect.page import ConnectPage
from potluck_app.pages.home.activity import ActivitySection, worth_showing
from potluck_app.pages.home.chart import DataTable
from potluck_app.pages.home.earnings import EarningsRange, EarningsSection
from potluck_app.pages.home.export import export_days, paint_picture, write_picture
from potluck_app.pages.home.page import HomePage
from potluck_app.pages.settings.diagnostics import DiagnosticsSection, describe_installation
from potluck_app.pages.settings.page import PreferencesPage
from potluck_app.shell.link import Absence
from potluck_app.shell.window import MainWindow
from potluck_app.widgets.controls import Segments
from potluck_control.api.schema import EngineStatus, HistoryPage, ProbeState, ProbeStatus, ProgramQuestion, Transition
from potluck_control.api.versions import Agreement, Difference
from potluck_control.methods.earnings import MAX_PERIODS, GroupParams, Period, SeriesParams
from potluck_control.methods.gateway import GatewayState, GatewayStatus, KeyInfo, KeyList, KeyName, MadeKey, StartParams
from potluck_control.methods.health import Bundle, Examination, Finding, Severity
from potluck_control.methods.machine import PlacedProgram, PlaceParams, ProgramPlace
from potluck_control.states import Reason, State
from PySide6.QtCore import QEvent, QObject, QRect
from PySide6.QtGui import QAccessible, QGuiApplication, QImage, QShortcut
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QPlainTextEdit, QPushButton, QTableWidget, QWidget
from pytestqt.qtbot import QtBot

from potluck.errors import PotluckError
from potluck.sentences import sentence, verbatim

UNSUMMED = {name: answer for name, answer in ANSWERS.items() if name != "earnings.summary"}


def cells(table: QTableWidget) -> list[list[str]]:
    columns = range(table.columnCount())
    return [[table.item(row, column).text() for column in columns] for row in range(table.rowCount())]


# -- earnings ----------------------------------------------------------------------------------------------------------


def test_earnings_show_a_week_with_its_energy_and_cost_and_every_number_of_the_chart_as_a_table() -> None:
    page, _ = opened_alone(EarningsSection, ANSWERS)
    assert {"2,500,000", "1,234", "3", "1.5 kWh", "0.30", "1 h 0 min"} <= set(shown(page))
    assert "RTX 3090: 140 W (measured)." in shown(page)
    press(page, "Show as table")
    by_time, by_model = page.findChildren(DataTable)
    assert [row[-1] for row in cells(by_time)] == ["6", "5", "4", "3", "2", "1", "0"]
    assert cells(by_model) == [["demo", "3", "1,234", "2,500,000"]]


def test_an_answer_about_another_stretch_than_the_chosen_one_is_not_shown() -> None:
    page, link = opened_alone(EarningsSection, UNSUMMED)
    assert shown(page) == ["Loading…"]
    late, _ = link._waiting["earnings.summary"]
    page.findChild(Segments).choose(EarningsRange.DAY)
    link.answer("earnings.summary", EARNINGS)
    late(EARNINGS)
    assert "2,500,000" not in shown(page)
    assert link.named("earnings.by_model") == [GroupParams(7), GroupParams(1)]


def test_what_fails_is_said_with_a_way_to_try_again() -> None:
    page, link = opened_alone(EarningsSection, UNSUMMED)
    link.fail("earnings.summary", PotluckError("the ledger is locked", hint="wait a moment"))
    assert "The ledger is locked. Wait a moment." in shown(page)
    assert "Not loaded" in shown(page)
    link.answers = dict(ANSWERS)
    press(page, "Try again")
    assert "Loading…" not in shown(page)
    assert "2,500,000" in shown(page)
    assert page.notice_bar.isHidden()


def test_what_was_given_becomes_a_picture_that_is_written_where_its_owner_wants(tmp_path: Path) -> None:
    page, _ = opened_alone(EarningsSection, ANSWERS)
    assert button(page, "Share…").isEnabled()
    title, figures, note = page.sections[0]._shared()
    assert title == "My computer's week with Potluck"
    assert ("2,500,000", "points earned") in figures
    image, longer = paint_picture(title, figures, note), paint_picture(title * 20, figures, note)
    assert (image.width(), image.height()) == (1200, 630)
    assert image != longer
    edge = QRect(1161, 0, 39, 630)
    assert longer.copy(edge) == paint_picture("", [], "").copy(edge)  # a long line is broken
    write_picture(page, image, tmp_path / "given.png")
    assert f"The picture is in {tmp_path / 'given.png'}." in shown(page)
    assert QImage(str(tmp_path / "given.png")).size() == image.size()
    write_picture(page, image, tmp_path / "missing" / "given.png")
    assert any("No such file" in line for line in shown(page))


@pytest.mark.parametrize("name", ["all.csv", "all.json"])
def test_an_export_has_all_days_or_says_why_it_cannot_be_written(name: str, tmp_path: Path) -> None:
    page, link = opened_alone(EarningsSection, ANSWERS)
    page.link.answers = {"earnings.series": DAYS}
    export_days(page, tmp_path / name)
    assert link.named("earnings.series")[-1] == SeriesParams(Period.DAY, MAX_PERIODS)
    assert f"6 entries written to {tmp_path / name}." in shown(page)
    with (tmp_path / name).open() as file:
        rows = list(csv.DictReader(file)) if name.endswith("csv") else json.load(file)
    assert [int(row["earned"]) for row in rows] == [1, 2, 3, 4, 5, 6], "days before the first one are left out"
    assert [path.name for path in tmp_path.iterdir()] == [name]
    export_days(page, tmp_path / "nowhere" / name)
    assert any("No such file" in line for line in shown(page))


# -- home --------------------------------------------------------------------------------------------------------------


def test_an_open_question_about_a_game_is_shown_until_it_is_answered() -> None:
    for said, place in (("It is a game", ProgramPlace.ALWAYS), ("Not a game", ProgramPlace.NEVER)):
        page, link = opened(HomePage, ANSWERS)
        page.show_status(structs.replace(SERVING, questions=(ProgramQuestion("hedgewars", "Hedgewars"),)))
        question = "Is Hedgewars a game?"
        assert question in shown(page)
        press(page, said)
        assert link.named("programs.place") == [PlaceParams("hedgewars", place)]
        page.show_status(SERVING)
        assert question not in shown(page)


# -- activity ----------------------------------------------------------------------------------------------------------


def test_a_program_is_never_stepped_aside_for_and_that_can_be_undone() -> None:
    page, link = opened_alone(ActivitySection, ANSWERS)
    assert "Giving way to Doom" in shown(page)
    press(page, "Never for this app")
    assert link.named("programs.place") == [PlaceParams("doom", ProgramPlace.NEVER)]
    link.answer("programs.place", PlacedProgram("doom", ProgramPlace.NEVER, ProgramPlace.ALWAYS))
    assert "Potluck now keeps serving while doom runs." in shown(page)
    assert "Never for this app" not in buttons(page)
    press(page, "Undo")
    assert link.named("programs.place")[-1] == PlaceParams("doom", ProgramPlace.ALWAYS)
    link.answer("programs.place", PlacedProgram("doom", ProgramPlace.ALWAYS, ProgramPlace.NEVER))
    assert "Never for this app" in buttons(page)


def test_the_history_is_asked_for_again_when_the_state_changes() -> None:
    page, link = opened_alone(ActivitySection, ANSWERS | {"history": HistoryPage(())})
    assert "Nothing here yet" in shown(page)
    page.show_status(SERVING)
    page.show_status(structs.replace(SERVING, tokens_today=5))
    asked = len(link.named("history"))
    page.show_status(structs.replace(SERVING, since=6.0))
    assert len(link.named("history")) == asked + 1


def test_more_rows_and_their_filters_are_shown_on_request() -> None:
    states = (State.ERROR, State.YIELDED, State.PAUSED, State.IDLE, State.SERVING, State.DRAINING)
    history = HistoryPage(tuple(went(at, state, Reason.BATTERY) for at, state in enumerate(states)))
    page, _ = opened_alone(ActivitySection, ANSWERS | {"history": history})
    assert "Problems" not in buttons(page)
    assert "Something failed" not in shown(page)
    press(page, "Show more")
    assert "Something failed" in shown(page)
    press(page, "Problems")
    assert "Serving" not in shown(page)
    press(page, "Show less")
    assert "Serving" in shown(page)


def went(at: float, state: State, reason: Reason = Reason.NONE, app: str = "") -> Transition:
    return Transition(at, State.SERVING, state, reason, verbatim(f"{state} at {at}"), app)


PAUSE = (went(10, State.DRAINING, Reason.TIMER), went(11, State.PAUSED, Reason.TIMER))
START = (went(50, State.STARTING), went(52, State.STARTING), went(55, State.JOINING))
GAME = (went(60, State.DRAINING, Reason.GAME, "doom"), went(61, State.YIELDED, Reason.GAME, "doom"))
OVER = (went(70, State.YIELDED, Reason.QUIET_TIME, "doom"), went(85, State.JOINING))
AGAIN = went(90, State.SERVING)


@pytest.mark.parametrize(
    ("transitions", "rows"),
    [
        ((*PAUSE, *START, AGAIN), [11, 90]),
        ((AGAIN, *GAME, *OVER, went(95, State.SERVING)), [90, 61, 95]),
        ((*GAME, *OVER[:1], *GAME), [61]),  # it came back within the wait
        ((*PAUSE[:1], *GAME), [10, 61]),
        (START, [55]),  # as it stands
        ((went(5, State.IDLE, Reason.NO_SWARM), *START, AGAIN), [90]),
        ((went(5, State.STARTING), went(5000, State.SERVING)), [5, 5000]),  # it took long
        ((went(5, State.JOINING, Reason.NOT_ADMITTED), AGAIN), [5, 90]),
        ((went(5, State.SERVING), went(50, State.SERVING, Reason.USER_ACTIVE), went(900, State.SERVING)), [5]),
        ((went(5, State.ERROR, Reason.ENGINE_FAILED), *START, went(60, State.ERROR, Reason.ENGINE_FAILED)), [5]),
        ((), []),
    ],
)
def test_each_thing_that_happened_has_one_row(transitions: tuple[Transition, ...], rows: list[float]) -> None:
    assert [row.at for row in worth_showing(transitions)] == rows


def test_a_row_of_several_states_says_the_last() -> None:
    (row,) = worth_showing((went(5, State.SERVING), AGAIN))
    assert (row.at, str(row.text)) == (5, "serving at 90")


# -- diagnostics -------------------------------------------------------------------------------------------------------


def test_findings_begin_with_what_is_wrong_and_say_what_to_do() -> None:
    fine, bad = (
        Finding(sentence("Is it clean?"), Severity.OK, sentence("fine")),
        Finding(sentence("Is there room?"), Severity.ERROR, sentence("the disk is full"), sentence("free it")),
    )
    note = Finding(sentence("Does the swarm answer?"), Severity.NOTE, sentence("{name} is slow", name="home"))
    page, link = opened(PreferencesPage, ANSWERS)
    assert "Not checked yet" in shown(page)
    press(page, "Run a check-up")
    link.answer("doctor.run", Examination((fine, note, bad), 3, False, 10.0))
    texts, full = shown(page), "Is there room? The disk is full"
    order = [texts.index(said) for said in (full, "Does the swarm answer? home is slow", "1 check found nothing wrong")]
    assert order == sorted(order)
    assert "What to do: free it." in texts
    (label,) = [label for label in page.findChildren(QLabel) if label.text() == full]
    assert label.accessibleName() == f"Problem: {full}"
    press(page, "Run a check-up")
    link.answer("doctor.run", Examination((fine, note), 9, True, 10.0))
    assert "Checked 2 of 9…" in shown(page)
    page.findChild(DiagnosticsSection)._show_bundle(Bundle("/home/me/report.zip", 2048, ("status.json", "log.txt")))
    assert "Saved /home/me/report.zip (2.0 kB): status.json, log.txt." in shown(page)


def test_system_info_names_versions_and_no_folder_of_the_user() -> None:
    failure = verbatim(f"cannot read {Path.home()}/models")
    status = structs.replace(
        SERVING, engine=EngineStatus(None, 0, 2, failure), probes=(ProbeStatus(sentence("Steam"), ProbeState.SEEN),)
    )
    said = describe_installation(status)
    assert "daemon 1" in said
    assert "cannot read ~/models" in said
    assert "Steam: seen" in said
    page, _ = opened(PreferencesPage, ANSWERS)
    page.show_status(status)
    press(page, "Copy system info")
    assert QGuiApplication.clipboard().text() == said


# -- the window --------------------------------------------------------------------------------------------------------


def test_a_daemon_of_another_version_is_told_of_above_every_page() -> None:
    window = MainWindow(FakeLink())
    window.show_status(SERVING)
    window.show_agreement(
        Agreement(Difference.OLDER_DAEMON, sentence("The daemon runs version 1, this is 2"), sentence("restart it"))
    )
    for entry in SIDEBAR:
        window.open(entry.key)
        assert "The daemon runs version 1, this is 2. Restart it." in shown(window), entry.key
    window.show_agreement(Agreement(Difference.NONE))
    assert not any("version 1" in text for text in shown(window))


def test_a_daemon_that_cannot_be_spoken_to_is_not_called_stopped() -> None:
    window = MainWindow(FakeLink())
    window.show_away("The daemon runs version 9, this program is 1.", Absence.INCOMPATIBLE)
    assert "Potluck was updated" in shown(window)
    assert not any(
        item.text() == "Start Potluck" and item.isVisibleTo(window) for item in window.findChildren(QPushButton)
    )


def test_a_page_asks_anew_when_the_daemon_is_back(qtbot: QtBot) -> None:
    link = FakeLink(ANSWERS)
    window = MainWindow(link)
    window.show_status(SERVING)
    window.open("rules")
    qtbot.addWidget(window)
    window.show()
    before = len(link.named("settings.get"))
    window.show_away("gone")
    window.show_status(SERVING)
    assert len(link.named("settings.get")) > before


def test_opening_pages_opens_no_window_beside_the_one(qapp: QApplication, qtbot: QtBot) -> None:
    """A widget that is shown before it has its place flashes up as a window of its own."""
    seen = Windows()
    qapp.installEventFilter(seen)
    window = MainWindow(FakeLink(ANSWERS))
    qtbot.addWidget(window)
    window.show_status(structs.replace(SERVING, reason=Reason.NO_SWARM, swarm=None))
    window.show()
    for entry in SIDEBAR:
        window.show_status(SERVING)
        window.open(entry.key)
        qtbot.wait(0)
    qapp.removeEventFilter(seen)
    assert seen.shown == ["MainWindow"]


class Windows(QObject):
    """Notes every window that is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 (Qt's name)
        if event.type() is QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.shown.append(type(watched).__name__)
        return False


def test_the_keyboard_reaches_everything_and_everything_has_a_name(qtbot: QtBot) -> None:
    window = MainWindow(FakeLink(ANSWERS))
    window.show_status(SERVING)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window, timeout=PATIENCE_MS):
        window.show()
    for entry in SIDEBAR:
        window.open(entry.key)
        reached: list[QWidget] = []
        while (widget := window.focusWidget()) not in reached:
            reached.append(widget)
            window.focusNextChild()
        for widget in reached:
            assert QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name), widget
        buttons = [item for item in window.page.findChildren(QPushButton) if item.isVisible() and item.isEnabled()]
        missed = [item.text() for item in buttons if item not in reached and item.objectName() != "segment"]
        assert (entry.key, missed) == (entry.key, [])


# -- other programs ----------------------------------------------------------------------------------------------------

STOPPED = GatewayStatus(GatewayState.STOPPED)
READY = GatewayStatus(GatewayState.READY, "http://127.0.0.1:8737/v1", "t", "friday", "demo")


def other_apps(status: GatewayStatus) -> tuple[ConnectPage, FakeLink]:
    page, link = opened(ConnectPage, ANSWERS | {"gateway.status": status})
    page.show_status(SERVING)
    return page, link


def test_the_state_of_the_address_is_said_with_what_can_be_done() -> None:
    for status, said, offered in (
        (STOPPED, "It does not run.", "Start"),
        (
            structs.replace(STOPPED, state=GatewayState.STARTING, step=sentence("Importing")),
            "Getting ready, usually within a minute: Importing…",
            "Stop",
        ),
        (READY, "Ready: demo.", "Stop"),
        (structs.replace(READY, notice=sentence("port 8737 is taken")), "Ready: demo. Port 8737 is taken.", "Stop"),
        (structs.replace(STOPPED, state=GatewayState.FAILED, problem=sentence("it ended")), "It ended.", "Start"),
    ):
        page, _ = other_apps(status)
        assert said in shown(page)
        assert offered in buttons(page)


def test_the_address_is_started_to_stay_and_copied() -> None:
    page, link = other_apps(STOPPED)
    assert not button(page, "Copy the address").isEnabled()
    link.answers["gateway.start"] = READY
    press(page, "Start")
    assert link.named("gateway.start") == [StartParams(stays=True)]
    press(page, "Copy the address")
    assert QGuiApplication.clipboard().text() == READY.url
    press(page, "Stop")
    assert link.named("gateway.stop") == [None]


def test_a_key_is_made_for_a_program_shown_once_and_filled_in() -> None:
    page, link = other_apps(READY)
    name = control(page, "Name of the program")
    press(page, "Make a key")
    assert link.named("gateway.make_key") == []  # without a name
    name.setText(" webui ")
    press(page, "Make a key")
    link.fail("gateway.make_key", PotluckError("'webui' has a key", hint="use another name"))
    assert "'webui' has a key. Use another name." in shown(page)
    link.answers["gateway.make_key"] = MadeKey("webui", "potluck-secret")
    link.answers["gateway.keys"] = KeyList((KeyInfo("webui", 10.0),))
    press(page, "Make a key")
    assert link.named("gateway.make_key") == [KeyName("webui")] * 2
    assert any(said.startswith("The key of webui.") for said in shown(page))
    press(page, "Copy the new key")
    assert QGuiApplication.clipboard().text() == "potluck-secret"
    press(page, "Copy the recipe")
    copied = json.loads(QGuiApplication.clipboard().text())["env"]
    assert copied["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8737"
    assert copied["ANTHROPIC_AUTH_TOKEN"] == "potluck-secret"


def test_a_key_is_shown_with_what_its_program_used_and_revoked_after_a_question() -> None:
    page, link = other_apps(READY)
    assert "Made 1 Jan 1970 · 12 answers, 3,400 tokens" in shown(page)
    press(page, "Revoke the key of blender")
    assert link.named("gateway.revoke_key") == []
    confirm(page, "Revoke")
    assert link.named("gateway.revoke_key") == [KeyName("blender")]


def test_each_recipe_has_the_address_and_the_key() -> None:
    page, _ = other_apps(READY)
    programs = page.findChild(QComboBox)
    for place in range(programs.count()):
        programs.setCurrentIndex(place)
        text = page.findChild(QPlainTextEdit).toPlainText()
        assert READY.url.removesuffix("/v1") in text
        assert "YOUR-KEY" in text


def test_the_keyboard_leads_to_every_page_and_to_no_two_by_one_key() -> None:
    window = MainWindow(FakeLink(dict(ANSWERS)))
    window.show_status(SERVING)
    window.show()
    keys = [shortcut.key().toString() for shortcut in window.findChildren(QShortcut)]
    assert len(keys) == len(set(keys))
    forward = next(item for item in window.findChildren(QShortcut) if item.key().toString() == "Ctrl+PgDown")
    seen = []
    for _ in SIDEBAR:
        forward.activated.emit()
        seen.append(window._key)
    assert seen == [*(entry.key for entry in SIDEBAR[1:]), "home"]
    window.close()
