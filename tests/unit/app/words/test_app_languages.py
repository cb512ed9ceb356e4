"""Every page, and every sentence of the daemon, in each language: no English is left."""

import re

from helpers.app_answers import ANSWERS, PROBES, SERVING
from helpers.app_states import GAME
from helpers.app_texts import english_left, in_language, is_english, window_texts
from helpers.fake_link import FakeLink
from msgspec import structs
from potluck_app.pages.catalogue import SIDEBAR
from potluck_app.shell import window
from potluck_app.shell.window import MainWindow
from potluck_app.words import sentences
from potluck_app.words.sentences import translated
from potluck_control.api.schema import LoadStatus
from PySide6.QtCore import QSize
from test_app_translations import tool

from potluck.sentences import Blocks, Sentence, Size, sentence, verbatim

_PLACE = re.compile(r"\{(\w+)\}")


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
        with in_language(language):
            for template in tool.templates():
                said = translated(Sentence(template, dict.fromkeys(_PLACE.findall(template), "7"), template))
                assert not is_english(said), said


def test_the_app_rephrases_what_the_daemon_says_with_its_arguments() -> None:
    templates = set(tool.templates())
    for template, ours in sentences._REPHRASED.items():
        assert template in templates
        assert set(_PLACE.findall(ours)) <= set(_PLACE.findall(template)), ours


def test_what_the_daemon_says_is_shown_in_the_language_of_the_user() -> None:
    split = sentence("one block's weights are shared between many layers")
    for said, german in (
        (sentence("Giving way to {who}", who="Hades II"), "Macht Platz für Hades II"),
        (
            sentence("models of the family {family} cannot be split: {why}", family="zamba", why=split),
            "Modelle der Familie zamba lassen sich nicht aufteilen: viele Schichten teilen sich dieselben Gewichte",
        ),
        (sentence("layers {blocks} of {model}", blocks=Blocks(0, 12), model="demo"), "die Schichten 1–12 von demo"),
        (
            sentence(
                "{free} are free, {least} are needed at most", free=Size(1_500_000_000), least=Size(2_000_000_000)
            ),
            "1,5 GB sind frei, höchstens 2,0 GB sind nötig",
        ),
        (verbatim("No such file"), "No such file"),
        (Sentence("{number} winds", {"number": 2.5}, "2.5 winds"), "2,5 winds"),
    ):
        with in_language("de"):
            assert translated(said) == german


def test_a_sentence_that_the_app_cannot_fill_is_shown_in_english() -> None:
    for template, arguments in (
        ("", {}),
        ("The wind has changed", {}),
        ("Giving way to {who}", {"what": "Doom"}),
        ("only {free} free at {path}", {"free": Size(10**400), "path": "/x"}),
    ):
        with in_language("de"):
            assert translated(Sentence(template, arguments, "The wind has changed")) == "The wind has changed"
