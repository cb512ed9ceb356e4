"""The compute engine and newer versions of Potluck, with a daemon that answers as the test says."""

import pytest
from helpers.app_answers import ANSWERS
from helpers.app_states import FETCHING, GIB, MEMBER, MISSING, OFFERED, READY, UPDATES
from helpers.fake_link import FakeLink
from helpers.screen import button, buttons, opened, press, shown
from msgspec import structs
from potluck_app.pages.first_run.engine import SetUpPlan
from potluck_app.pages.home.page import HomePage
from potluck_app.pages.settings.page import PreferencesPage
from potluck_app.pages.settings.updates import UpdatesSection
from potluck_app.shell.away import AwayPage
from potluck_app.shell.tray import Tray
from potluck_app.shell.window import MainWindow
from potluck_app.widgets.progress import DownloadRate
from potluck_control.methods.health import Finding, Severity, Subject
from potluck_control.methods.installation import BeginParams, Problem, SetupState, UpdatesState, WorkProgress
from potluck_control.methods.settings import Change, SetParams
from potluck_control.states import Reason, State
from PySide6.QtWidgets import QFileDialog, QProgressBar, QWidget

from potluck.errors import PotluckError, UsageError
from potluck.sentences import sentence

DISK = Finding(
    sentence("disk"),
    Severity.ERROR,
    sentence("1.0 GB are free, 10.0 GB are needed at most"),
    sentence("free some, or use --folder"),
    Subject.ROOM,
)
FAILED = structs.replace(
    MISSING,
    error=Problem(sentence("torch cannot be fetched from example.org: no route"), sentence("check the network")),
)


def installation(setup: SetupState = READY, updates: UpdatesState = UPDATES) -> tuple[PreferencesPage, FakeLink]:
    return opened(PreferencesPage, ANSWERS | {"setup.state": setup, "updates.state": updates})


def test_it_says_what_was_found_what_is_fetched_and_where_before_anything_happens() -> None:
    page, link = installation(structs.replace(MISSING, findings=(DISK,)))
    said = shown(page)
    assert "RTX 3090 can be used." in said
    assert "/home/me/engines" in said
    assert "Downloads up to 3.2 GB and takes 7.5 GB on the disk." in said
    assert "Free some space, or choose another folder below." in said
    assert any("only if it passes a test" in text for text in said)
    assert link.named("setup.begin") == []
    press(page, "Download and install")
    assert link.named("setup.begin") == [BeginParams()]


def test_another_folder_and_another_build_are_taken_if_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    page, link = installation(structs.replace(MISSING, findings=(DISK,)))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: "/big/disk")
    press(page, "Another folder…")
    assert "/big/disk" in shown(page)
    assert not any("needed at most" in text for text in shown(page))  # that was said of the folder before
    builds = button(page, "Another build").menu()
    assert [action.data() for action in builds.actions()] == ["cu130", "cpu"]
    builds.actions()[1].trigger()
    assert "cpu, for the processor" in shown(page)
    press(page, "Download and install")
    assert link.named("setup.begin") == [BeginParams("cpu", "/big/disk")]
    page, link = installation(structs.replace(MISSING, variants=("cpu",)))
    assert any("lacks the packages" in text for text in shown(page))
    press(page, "Download and install")
    assert link.named("setup.begin") == [BeginParams("cpu")], "a build whose packages are missing is not offered"


def test_a_failure_is_one_sentence_with_advice_and_what_is_tried_again_can_be_cancelled() -> None:
    page, link = installation(FAILED)
    assert "Torch cannot be fetched from example.org: no route. Check the network." in shown(page)
    press(page, "Try again")
    link.answer("setup.begin", FETCHING)
    assert not any("no route" in text for text in shown(page))
    assert {"Downloading torch (3 of 40).", "1.1 GB of 3.2 GB"} <= set(shown(page))
    bar = page.findChild(QProgressBar)
    assert bar.value() / bar.maximum() == pytest.approx(1 / 3, abs=0.01)
    assert "Download and install" not in buttons(page)
    press(page, "Cancel")
    link.answer("setup.cancel", MISSING)
    assert "Download and install" in buttons(page)


def test_one_that_is_there_can_be_moved_renewed_or_exchanged_for_the_one_before() -> None:
    page, link = installation()
    assert "Ready: graphics card 1, processor." in shown(page)
    assert not {"Update", "Go back to the previous one", "Download and install"} & set(buttons(page))
    press(page, "Change build or folder…")
    press(page, "Download and install")
    link.fail("setup.begin", UsageError("the environment lies elsewhere already", hint="remove that first"))
    assert "The environment lies elsewhere already. Remove that first." in shown(page)
    page, link = installation(structs.replace(READY, outdated=True, can_roll_back=True))
    assert any("Newer packages are available" in text for text in shown(page))
    press(page, "Update")
    assert link.named("setup.begin") == [BeginParams()]
    press(page, "Go back to the previous one")
    assert link.named("setup.rollback")


def test_the_rate_is_that_of_the_last_seconds() -> None:
    pace = DownloadRate()
    pace.add(0, 0.0)
    assert pace.left_s(100) is None
    for second in range(1, 61):
        pace.add(second if second < 30 else 30 + 10 * (second - 30), float(second))
    assert pace.bytes_per_s == pytest.approx(10.0)
    assert pace.left_s(340) == pytest.approx(1.0)
    pace.add(5, 61.0)  # another fetch
    assert pace.bytes_per_s == 0.0


def test_home_says_that_the_engine_is_missing_and_leads_to_where_it_is_set_up() -> None:
    window = MainWindow(FakeLink({"setup.state": MISSING, "updates.state": UPDATES}))
    window.show_status(MEMBER)
    assert isinstance(window.page, HomePage)
    assert "The compute engine is not set up yet" in shown(window.page)
    window.show_setup(FETCHING)
    assert {"Downloading torch (3 of 40)."} <= set(shown(window.page))
    assert "Show progress" in buttons(window.page)
    window.show_setup(MISSING)
    press(window.page, "Set up the compute engine")
    assert isinstance(window.page, PreferencesPage)
    assert window.page.findChild(SetUpPlan).isVisibleTo(window.page)


def test_looking_for_updates_is_off_until_it_is_switched_on() -> None:
    page, link = installation()
    (switch,) = [item for item in page.findChildren(QWidget) if item.accessibleName() == "Look for updates"]
    assert not switch.isChecked()
    switch.click()
    assert link.named("settings.set") == [SetParams((Change("updates.check", True),))]


def test_an_offer_is_told_with_its_changes_and_installed_when_wanted() -> None:
    page, link = installation()
    press(page, "Check now")
    link.answer("updates.check", structs.replace(UPDATES, offered=OFFERED, checked_at=1.0))
    assert "• Faster <b>starts</b>\n• Less memory" in shown(page)
    assert any("returns to this one" in text for text in shown(page))
    press(page, "Install version 0.2.0")
    running = structs.replace(UPDATES, offered=OFFERED, progress=WorkProgress(sentence("fetching"), GIB, 2 * GIB))
    link.answer("updates.install", running)
    assert "1.1 GB of 2.1 GB" in shown(page)
    assert "Install version 0.2.0" not in buttons(page)


def test_what_a_package_manager_looks_after_is_not_installed_here() -> None:
    page, _ = installation(updates=structs.replace(UPDATES, can_install=False, offered=OFFERED))
    assert any("apt, or pip" in text for text in shown(page))
    assert "Install version 0.2.0" not in buttons(page)


def test_an_update_that_failed_says_what_runs_now() -> None:
    page, link = installation(
        updates=structs.replace(UPDATES, error=Problem(sentence("version 0.2.0 did not come up; 0.1.0 runs")))
    )
    assert "Version 0.2.0 did not come up; 0.1.0 runs." in shown(page)
    press(page, "Try again")
    link.fail("updates.check", PotluckError("updates cannot be looked up", hint="try again later"))
    assert "Updates cannot be looked up. Try again later." in shown(page)
    assert button(page, "Check now").isEnabled()


def test_home_and_the_menu_tell_of_an_offer_and_lead_to_it() -> None:
    window, tray = MainWindow(FakeLink({"updates.state": UPDATES})), Tray()
    window.show_updates(structs.replace(UPDATES, offered=OFFERED))
    window.show_status(structs.replace(MEMBER, state=State.SERVING, reason=Reason.NONE))
    assert "Potluck 0.2.0 is available." in shown(window.page)
    press(window.page, "What's new")
    assert isinstance(window.page, PreferencesPage)
    assert window.page.findChild(UpdatesSection).isVisibleTo(window.page)
    tray.show_offer("0.2.0")
    assert "Version 0.2.0 is available…" in [item.text() for item in tray.menu.actions() if item.isVisible()]
    tray.show_offer("")
    assert not [item for item in tray.menu.actions() if item.isVisible() and "available" in item.text()]


def test_a_daemon_that_is_away_because_it_is_updated_is_started_only_if_it_does_not_come_back() -> None:
    window = MainWindow(FakeLink({}))
    window.show_status(MEMBER)
    waiting = WorkProgress(sentence("waiting for open sessions to end"))
    window.show_updates(structs.replace(UPDATES, offered=OFFERED, progress=waiting))
    window.show_away("The daemon has ended.")
    away = window.findChild(AwayPage)
    started: list[bool] = []
    away.start_wanted.connect(lambda: started.append(True))
    assert "Potluck is being updated" in shown(away)
    assert (buttons(away), started) == ([], [])
    away._patience.timeout.emit()
    assert (buttons(away), started) == (["Start Potluck"], [True])
    window.show_updates(UPDATES)
    window.show_away("The daemon has ended.")
    assert buttons(away) == ["Start Potluck"]
