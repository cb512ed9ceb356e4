"""Every page, and every sentence of the daemon, in each language: no English is left."""

import ast
import re
from itertools import chain
from pathlib import Path

from helpers.app_answers import ANSWERS, PROBES, SERVING
from helpers.app_texts import english_left, in_language, is_english, window_texts
from helpers.fake_link import FakeLink
from msgspec import structs
from potluck_app.pages.catalogue import SIDEBAR
from potluck_app.shell import window
from potluck_app.shell.window import MainWindow
from potluck_app.words import daemon_texts
from potluck_app.words.daemon_texts import translated
from potluck_control.schema import LoadStatus
from potluck_daemon.policy import decide as policy
from PySide6.QtCore import QSize
from test_app_widgets import GAME

ROOT = Path(__file__).parents[3]


def test_no_page_says_anything_in_english() -> None:
    status = structs.replace(GAME, probes=PROBES)
    english = window_texts("en", status, ANSWERS)
    for language in ("de", "es"):
        assert english_left(english, window_texts(language, status, ANSWERS)) == []


def test_every_page_fits_the_smallest_window() -> None:
    for language in ("en", "de", "es"):
        with in_language(language):
            small = MainWindow(FakeLink(ANSWERS))
            small.resize(small.minimumSize())
            small.show()
            small.show_status(structs.replace(SERVING, load=LoadStatus(45.0, 30.0, 72.0, 4 << 30, 8 << 30, 8 << 30)))
            too_wide = []
            for entry in SIDEBAR:
                small.open(entry.key)
                small.grab()
                if small.page.widget().minimumSizeHint().width() > small.page.viewport().width():
                    too_wide.append(entry.key)
            small.close()
        assert too_wide == []


def test_the_window_opens_no_larger_than_its_screen() -> None:
    for screen, opened in (
        (QSize(1920, 1040), QSize(960, 720)),
        (QSize(1280, 680), QSize(960, 640)),
        (QSize(853, 453), QSize(853, 413)),  # 1280 x 720 at 150 %, with a panel
        (QSize(640, 360), QSize(680, 400)),
    ):
        assert window._size_on(screen) == opened


def test_no_sentence_of_the_daemon_stays_in_english() -> None:
    for language in ("de", "es"):
        templates = [template for _, template in daemon_texts._patterns()]
        assert set(daemon_texts._REPHRASED) <= set(templates)
        with in_language(language):
            for template in templates:
                said = translated(re.sub(r"\{\w+\}", "7", template))
                assert not is_english(said), said


def test_every_reason_of_the_policy_follows_a_template() -> None:
    reasons = [
        *policy._NEEDS_DEVICE.values(),
        *(part for pair in policy._NOT_NOW.values() for part in pair),
        *(f"Serving blocks 0:4 of demo {how}" for how, _ in policy._SPARED.values()),
        *(f"{said}; waiting a moment" for said in policy._OVER.values()),
    ]
    with in_language("de"):
        said = [reason.format(who="Doom") for reason in reasons]
        assert [reason for reason in said if translated(reason) == reason] == []


def test_every_problem_of_a_detector_follows_a_template() -> None:
    presence = ROOT / "daemon" / "potluck_daemon" / "presence"
    nodes = chain(*(ast.walk(ast.parse(path.read_text())) for path in presence.glob("*.py")))
    raised = (node.exc for node in nodes if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call))
    texts = (ast.unparse(call.args[0]) for call in raised if "Probe" in ast.unparse(call.func))
    problems = [re.sub(r"\{.*?\}", "7", text.removeprefix("f").strip("'\"")) for text in texts]
    assert len(problems) > 20
    with in_language("de"):
        assert [problem for problem in problems if translated(problem) == problem] == []


def test_what_the_daemon_says_is_translated_if_it_follows_a_template() -> None:
    for said, german in (
        ("Giving way to Hades II, which fills the screen", "Macht Platz für Hades II im Vollbild"),  # who
        ("15 s after Hades II has ended", "15 s nach dem Ende von Hades II"),  # ending
        (
            "Serving blocks 0:1 of demo while loading 0:12 slowly, while you use the computer",
            "Stellt die Schichten 1 von demo (lädt 1–12) langsam bereit, während du den Computer benutzt",
        ),  # growing
        (
            "models of the family zamba cannot be split: one block's weights are shared between many layers",
            "Modelle der Familie zamba lassen sich nicht aufteilen: viele Schichten teilen sich dieselben Gewichte",
        ),  # nested
        ("cannot read /x: No such file", "/x lässt sich nicht lesen: No such file"),  # system
        ("the wind has changed", "the wind has changed"),  # unknown
        ("the driver does not answer", "the driver does not answer"),  # half known
    ):
        with in_language("de"):
            assert translated(said) == german
