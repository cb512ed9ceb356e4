"""The figures about the app's screens see what they are there to see."""

from helpers.app_texts import english_left
from helpers.application import english, qapp_args
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QWidget

from benchmarks.people import app_screens

__all__ = ["english", "qapp_args"]


def test_texts_that_are_cut_and_parts_that_overlap_or_stick_out_are_seen(qapp: QApplication) -> None:
    parent, one, other = QWidget(), QLabel("A sentence of several words"), QLabel("other")
    layout = QHBoxLayout(parent)
    layout.addWidget(one)
    layout.addWidget(other)
    parent.resize(400, 60)
    parent.show()
    qapp.processEvents()
    assert app_screens._cut_text(one) == ""
    assert list(app_screens._overlaps(layout)) == []
    assert not app_screens._sticks_out(other)
    one.resize(40, 60)
    assert app_screens._cut_text(one) == one.text()
    other.setGeometry(one.geometry())
    assert list(app_screens._overlaps(layout)) == [f"overlap: {one.text()} and other"]
    other.move(380, 0)
    assert app_screens._sticks_out(other)
    parent.close()


def test_english_is_what_stayed_the_same_and_what_has_english_words() -> None:
    german = {"Potluck", "Start", "Platz auf the Platte", "in „the wind“"}
    assert english_left({"Potluck", "Start"}, german) == ["Platz auf the Platte", "Start"]
