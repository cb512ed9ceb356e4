"""The figures about the app's screens see what they are there to see."""

from __future__ import annotations

import pytest
from helpers.app_texts import english_left
from helpers.application import english, qapp_args
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QPushButton, QWidget

from benchmarks import app_screens

__all__ = ["english", "qapp_args"]


def test_a_text_that_does_not_fit_is_cut() -> None:
    label, button = QLabel("A sentence of several words"), QPushButton("Never step aside")
    label.setWordWrap(True)
    for widget in (label, button):
        widget.resize(300, 60)
        assert app_screens._cut_text(widget) == ""
        widget.resize(40, 60)
        assert app_screens._cut_text(widget) == widget.text()
    label.resize(300, 4)
    assert app_screens._cut_text(label) == label.text()


def test_parts_that_lie_on_each_other_or_beyond_their_parent_are_seen(qapp: QApplication) -> None:
    parent, one, other = QWidget(), QLabel("one"), QLabel("other")
    layout = QHBoxLayout(parent)
    layout.addWidget(one)
    layout.addWidget(other)
    parent.resize(300, 60)
    parent.show()
    qapp.processEvents()
    assert list(app_screens._overlaps(layout)) == []
    assert not app_screens._sticks_out(other)
    other.setGeometry(one.geometry())
    assert list(app_screens._overlaps(layout)) == ["overlap: one and other"]
    other.move(280, 0)
    assert app_screens._sticks_out(other)
    parent.close()


def test_english_is_what_stayed_the_same_and_what_has_english_words() -> None:
    german = {"Potluck", "Start", "Platz auf the Platte", "in „the wind“"}
    assert english_left({"Potluck", "Start"}, german) == ["Platz auf the Platte", "Start"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('raise UsageError("no " "place", hint="make room")', ["no place", "make room"]),
        ('raise PotluckError(f"{name} is gone")', ["7 is gone"]),
        ('raise ValueError("not shown")', []),
    ],
)
def test_errors_are_found_in_the_source(source: str, said: list[str], tmp_path: object) -> None:
    path = app_screens.Path(str(tmp_path), "module.py")
    path.write_text(source)
    assert list(app_screens._errors_in(path)) == said


def test_names_and_commands_need_no_translation() -> None:
    assert not app_screens._is_untranslated("7: 7")
    assert not app_screens._is_untranslated("potluck status")
    assert app_screens._is_untranslated("the wind has changed")
