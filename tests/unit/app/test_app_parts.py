"""Charts, tables, choices and the like: what they show and how they are used with the keyboard."""

from __future__ import annotations

import datetime

import pytest
from potluck_app.pages.catalogue import SIDEBAR
from potluck_app.widgets import theme
from potluck_app.widgets.button import Switch
from potluck_app.widgets.chart import BarChart, ChartBar, Sparkline, nice_step
from potluck_app.widgets.icons import glyph
from potluck_app.widgets.row import Row
from potluck_app.widgets.segments import Segments
from potluck_app.widgets.table import DataTable
from potluck_app.words import numbers
from potluck_app.words.stretch import Stretch
from potluck_control.methods.periods import Period, SeriesParams
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QKeySequence
from pytestqt.qtbot import QtBot

BARS = tuple(ChartBar(f"{day}", f"day {day}", float(day), f"{day} credits") for day in range(1, 8))


@pytest.mark.parametrize(
    ("highest", "step"), [(0.0, 1.0), (0.9, 0.5), (1.0, 0.5), (4.0, 1.0), (7.0, 2.0), (950.0, 500.0), (0.003, 0.001)]
)
def test_the_grid_has_round_numbers(highest: float, step: float) -> None:
    assert nice_step(highest) == pytest.approx(step)


def test_the_bars_are_told_one_after_the_other_with_the_arrow_keys(qtbot: QtBot) -> None:
    chart = BarChart("Credits")
    chart.show_bars(BARS, "28 credits")
    assert chart.accessibleDescription() == "28 credits"
    qtbot.keyClick(chart, Qt.Key.Key_Left)
    assert chart.accessibleDescription() == "day 7: 7 credits"
    qtbot.keyClick(chart, Qt.Key.Key_Left)
    assert chart.accessibleDescription() == "day 6: 6 credits"
    qtbot.keyClick(chart, Qt.Key.Key_Right)
    qtbot.keyClick(chart, Qt.Key.Key_Right)
    assert chart.accessibleDescription() == "day 7: 7 credits"


@pytest.mark.parametrize("bars", [(), BARS, tuple(ChartBar("0", "x", 0.0, "nothing") for _ in range(24))])
def test_a_chart_draws_any_number_of_bars(bars: tuple[ChartBar, ...]) -> None:
    chart = BarChart("Credits")
    chart.resize(400, 200)
    chart.show_bars(bars, "")
    ink = QColor(theme.colours().accent)
    picture = chart.grab().toImage()
    is_inked = any(picture.pixelColor(x, y) == ink for x in range(0, 400, 3) for y in range(0, 200, 3))
    assert is_inked is any(bar.value for bar in bars)


def test_the_small_chart_says_what_it_draws() -> None:
    spark = Sparkline("Credit")
    spark.show_values([0, 1, 2], "3 credits")
    assert spark.accessibleDescription() == "3 credits"
    spark.resize(100, 40)
    assert not spark.grab().isNull()


def test_a_table_is_copied_as_lines(qtbot: QtBot) -> None:
    table = DataTable("Credits", ("When", "Earned"))
    table.show_rows([("Monday", "1"), ("Tuesday", "2")])
    table.selectAll()
    qtbot.keySequence(table, QKeySequence(QKeySequence.StandardKey.Copy))
    assert QGuiApplication.clipboard().text() == "Monday\t1\nTuesday\t2"


def test_a_choice_is_told_when_the_user_makes_it(qtbot: QtBot) -> None:
    segments: Segments[int] = Segments("Size", ((1, "One"), (2, "Two"), (3, "Three")))
    with qtbot.waitSignal(segments.chosen) as chosen:
        segments.choose(3)
    assert [segments.value] == chosen.args == [3]


def test_a_row_names_its_control_and_says_why_a_value_was_refused() -> None:
    switch = Switch()
    row = Row("Only when idle", "Serve while nobody uses the computer.", switch)
    assert switch.accessibleName() == "Only when idle"
    assert switch.accessibleDescription() == "Serve while nobody uses the computer."
    row.show_problem("too high")
    assert "too high" in [label.text() for label in row.findChildren(type(row._problem)) if not label.isHidden()]


@pytest.mark.parametrize("is_on", [False, True])
def test_a_switch_is_pressed_with_the_space_bar(is_on: bool, qtbot: QtBot) -> None:
    switch = Switch("Notifications")
    switch.setChecked(is_on)
    qtbot.keyClick(switch, Qt.Key.Key_Space)
    assert switch.isChecked() is not is_on
    assert not switch.grab().isNull()


def test_every_page_of_the_sidebar_has_a_sign() -> None:
    for entry in SIDEBAR:
        picture = glyph(entry.glyph, "#000000").pixmap(18, 18).toImage().convertToFormat(QImage.Format.Format_ARGB32)
        assert any(picture.constBits().tobytes()[3::4]), entry.key


def test_stretches_end_now() -> None:
    now = datetime.datetime(2026, 11, 21, 15, 30)
    assert Stretch.DAY.params(now) == SeriesParams(Period.HOUR, 16)
    assert Stretch.MONTH.params(now) == SeriesParams(Period.DAY, 30)


@pytest.mark.parametrize(
    ("microcredits", "said"),
    [
        (0, "0"),
        (7, "0.000007"),
        (1234, "0.0012"),
        (1_234_567, "1.23"),
        (123_456_789, "123.5"),
        (12_345_678_900, "12,346"),
    ],
)
def test_credits_have_as_many_digits_as_say_something(microcredits: int, said: str) -> None:
    assert numbers.credits(microcredits) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (59, "59 s"), (61, "1 min"), (7500, "2 h 5 min"), (90_000, "1 d 1 h")]
)
def test_durations_have_the_units_that_matter(seconds: float, said: str) -> None:
    assert numbers.duration(seconds) == said
