"""Diagnostics: the check-up, the report for people who help, and the detectors."""

from pathlib import Path

from helpers.app_answers import ANSWERS, PROBES
from helpers.app_states import SERVING
from helpers.fake_link import FakeLink
from helpers.screen import button, opened, press, said, shown
from msgspec import structs
from potluck_app.pages.settings.diagnostics import DiagnosticsSection, describe_installation
from potluck_app.pages.settings.page import PreferencesPage
from potluck_app.shell.window import MainWindow
from potluck_control.api.schema import EngineStatus, ProbeState, ProbeStatus
from potluck_control.methods.health import Bundle, Examination, Finding, Severity
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from potluck.sentences import sentence, verbatim


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
