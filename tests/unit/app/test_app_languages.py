"""Every page, and every sentence of the daemon, in each language: no English is left."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.fake_link import FakeLink
from potluck_app.pages.catalogue import FIRST_RUN, SIDEBAR, WATCHING
from potluck_app.shell.tray import Tray
from potluck_app.shell.window import MainWindow
from potluck_app.words import daemon_texts
from potluck_app.words.daemon_texts import translated
from potluck_daemon.policy import decide as policy
from PySide6.QtCore import QCoreApplication, QLocale, QTranslator
from PySide6.QtWidgets import QLabel, QLineEdit, QPlainTextEdit, QPushButton, QWidget
from test_app_pages import ANSWERS, SERVING
from test_app_widgets import GAME, PROBES

ROOT = Path(__file__).parents[3]
ENGLISH = re.compile(r"\b(the|is|are|of|and|with|not|when|your?|for|this|be|it|that|from|by|which|does|cannot)\b")
# Words of both languages, units, names, and what a user or a model wrote.
SAME = re.findall(
    r"\S+",
    """B Chat Details Doom GB GPU GameMode Hades Home II Installation JSON Limit Mbit/s Name Potluck RTX Ryzen Steam
    System TFLOPS Version W Watt Wh blender cpu d demo engines friday h hub kB kWh log min one potluck potluckd s
    tokens/s two x""",
)


@contextmanager
def in_language(language: str) -> Iterator[None]:
    translator, before = QTranslator(), QLocale()
    assert translator.load(f"potluck_{language}", str(ROOT / "resources" / "translations"))
    QCoreApplication.installTranslator(translator)
    QLocale.setDefault(QLocale(language))
    try:
        yield
    finally:
        QLocale.setDefault(before)
        QCoreApplication.removeTranslator(translator)


def texts(language: str) -> set[str]:
    """Return all that the window and the menu say, to the eye and to screen readers."""
    with in_language(language):
        window, tray = MainWindow(FakeLink(ANSWERS)), Tray()
        status = replace(GAME, probes=PROBES)
        window.show_status(status)
        tray.show_status(status)
        found = {action.text() for action in tray.menu.actions()}
        for entry in (*SIDEBAR, WATCHING, FIRST_RUN):
            window._page(entry).show_status(status)
            window._page(entry).refresh()
        for widget in window.findChildren(QWidget):
            found |= {widget.accessibleName(), widget.accessibleDescription(), widget.toolTip()}
            if isinstance(widget, QLabel | QPushButton):
                found.add(widget.text())
            if isinstance(widget, QLineEdit | QPlainTextEdit):
                found.add(widget.placeholderText())
        return found


@pytest.mark.parametrize("language", ["de", "es"])
def test_no_page_says_anything_in_english(language: str) -> None:
    shared = texts("en") & texts(language)
    assert [text for text in sorted(shared) if set(re.findall(r"[^\W\d_]+(?:/s)?", text)) - {*SAME}] == []


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_every_page_fits_the_smallest_window(language: str) -> None:
    with in_language(language):
        window = MainWindow(FakeLink(ANSWERS))
        window.resize(window.minimumSize())
        window.show()
        window.show_status(SERVING)
        too_wide = {}
        for entry in SIDEBAR:
            window.open(entry.key)
            window.grab()
            assert window.page is not None
            too_wide[entry.key] = window.page.widget().minimumSizeHint().width() - window.page.viewport().width()
        window.close()
    assert {key: more for key, more in too_wide.items() if more > 0} == {}


@pytest.mark.parametrize("language", ["de", "es"])
def test_no_sentence_of_the_daemon_stays_in_english(language: str) -> None:
    templates = [template for _, template in daemon_texts._patterns()]
    assert set(daemon_texts._REPHRASED) <= set(templates)
    with in_language(language):
        for template in templates:
            said = translated(re.sub(r"\{\w+\}", "7", template))
            assert not ENGLISH.search(re.sub(r"[‘`“«„].*?[’`”»“]|potluck \w+", "", said)), said


def test_every_reason_of_the_policy_follows_a_template() -> None:
    reasons = [
        *policy._NEEDS_DEVICE.values(),
        *(part for pair in policy._NOT_NOW.values() for part in pair),
        *(f"Serving blocks 0:4 of demo {how}" for how, _ in policy._SPARED.values()),
        *(f"{said}; waiting a moment" for said in policy._OVER.values()),
    ]
    with in_language("de"):
        assert [
            reason for reason in reasons if translated(reason.format(who="Doom")) == reason.format(who="Doom")
        ] == []


def test_every_problem_of_a_detector_follows_a_template() -> None:
    problems = []
    for path in (ROOT / "daemon" / "potluck_daemon" / "presence").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and "Probe" in ast.unparse(node.exc.func):
                text = ast.unparse(node.exc.args[0])
                problems.append(re.sub(r"\{.*?\}", "7", text.removeprefix("f").strip("'\"")))
    assert len(problems) > 20
    with in_language("de"):
        assert [problem for problem in problems if translated(problem) == problem] == []


@pytest.mark.parametrize(
    ("said", "german"),
    [
        ("Giving way to Hades II", "Macht Platz für Hades II"),
        ("Giving way to Hades II, which fills the screen", "Macht Platz für Hades II im Vollbild"),
        ("15 s after Hades II has ended", "15 s nach dem Ende von Hades II"),
        ("Serving blocks 0:4 of demo", "Stellt die Schichten 1–4 von demo bereit"),
        (
            "Serving blocks 0:1 of demo while loading 0:12 slowly, while you use the computer",
            "Stellt die Schichten 1 von demo (lädt 1–12) langsam bereit, während du den Computer benutzt",
        ),
        ("cannot read /x: no such file", "cannot read /x: no such file"),
        ("the driver does not answer", "the driver does not answer"),
    ],
    ids=["who", "how", "ending", "serving", "growing", "unknown", "half known"],
)
def test_what_the_daemon_says_is_translated_if_it_follows_a_template(said: str, german: str) -> None:
    with in_language("de"):
        assert translated(said) == german
