"""The window: the page that fits, what every page says, the keyboard, and the gateway made ready in time."""

from helpers.app_answers import ANSWERS
from helpers.app_states import GAME, NO_SWARM, SERVING, YIELDED
from helpers.application import PATIENCE_MS
from helpers.fake_link import FakeLink
from helpers.screen import button, said, shown
from msgspec import structs
from potluck_app.pages.catalogue import SIDEBAR
from potluck_app.pages.destination import Destination
from potluck_app.pages.first_run.page import FirstRunPage
from potluck_app.pages.home.page import HomePage
from potluck_app.shell.link import Absence
from potluck_app.shell.tray import Tray
from potluck_app.shell.window import MainWindow
from potluck_control.api import schema
from potluck_control.api.versions import Agreement, Difference
from potluck_control.methods.gateway import GatewayState, GatewayStatus
from potluck_control.methods.machine import PlacedProgram, PlaceParams, ProgramPlace
from potluck_control.states import Reason, State
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QAccessible, QShortcut
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from potluck.errors import UsageError
from potluck.protocol.codec import decode, encode
from potluck.sentences import sentence

NEVER = "Never step aside for Hades II"
OLDEST = {
    "state": "yielded",
    "reason": "game",
    "text": {"text": "Giving way to hades2"},
    "since": 1.0,
    "version": "0.1",
}


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
