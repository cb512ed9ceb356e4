"""Charts, tables, choices and the like: what they show and how they are used with the keyboard."""

import datetime

import pytest
from helpers.screen import picture
from potluck_app.pages.catalogue import SIDEBAR
from potluck_app.pages.home.chart import BarChart, ChartBar, DataTable, nice_step
from potluck_app.pages.home.earnings import EarningsRange
from potluck_app.widgets import theme
from potluck_app.widgets.button import Switch
from potluck_app.widgets.icons import glyph
from potluck_app.widgets.row import Row
from potluck_app.words import formats
from potluck_control.methods.earnings import Period, SeriesParams
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QKeySequence, QMouseEvent
from pytestqt.qtbot import QtBot

BARS = tuple(ChartBar(f"{day}", f"day {day}", float(day), f"{day} points") for day in range(1, 8))


def test_the_grid_has_round_numbers() -> None:
    for highest, step in ((0.0, 1.0), (0.9, 0.5), (1.0, 0.5), (4.0, 1.0), (7.0, 2.0), (950.0, 500.0), (0.003, 0.001)):
        assert nice_step(highest) == pytest.approx(step)


def test_the_bars_are_told_one_after_the_other_with_the_arrow_keys(qtbot: QtBot) -> None:
    chart = BarChart("Points")
    chart.show_bars(BARS, "28 points")
    assert chart.accessibleDescription() == "28 points"
    qtbot.keyClick(chart, Qt.Key.Key_Left)
    assert chart.accessibleDescription() == "day 7: 7 points"
    qtbot.keyClick(chart, Qt.Key.Key_Left)
    assert chart.accessibleDescription() == "day 6: 6 points"
    for key, day in ((Qt.Key.Key_Right, 7), (Qt.Key.Key_Left, 1)):
        for _ in range(8):  # more than there are
            qtbot.keyClick(chart, key)
        assert chart.accessibleDescription() == f"day {day}: {day} points"


def inked(image: QImage, colour: str, x: int) -> list[int]:
    """Return the rows in which the column `x` has that colour."""
    return [y for y in range(image.height()) if image.pixelColor(x, y) == QColor(colour)]


def test_bars_stand_on_the_axis_as_high_as_their_values_and_evenly_apart() -> None:
    chart = BarChart("Points")
    chart.show_bars(BARS, "")
    image, place = picture(chart, 400, 220), chart._place()
    columns = [
        inked(image, theme.colours().accent, round(place.left() + place.width() * (k + 0.5) / 7)) for k in range(7)
    ]
    assert all(abs(rows[-1] - place.bottom()) <= 2 for rows in columns)
    assert [len(rows) for rows in columns] == pytest.approx(
        [place.height() * value / 8 for value in range(1, 8)], abs=2
    )
    for times in (1, 3):
        chart.show_bars(BARS * times, "")
        between = round(place.left() + place.width() / (7 * times))
        assert inked(picture(chart, 400, 220), theme.colours().accent, between) == []


def test_each_label_stands_below_its_bar_and_what_is_marked_is_told_above(qtbot: QtBot) -> None:
    chart = BarChart("Points")
    chart.show_bars(BARS, "")
    image, place = picture(chart, 400, 220), chart._place()
    columns, feet = range(round(place.left()), 400), range(round(place.bottom()) + 3, 220)
    inks = [x for x in columns if any(image.pixelColor(x, y) != image.pixelColor(0, 0) for y in feet)]
    centres = [place.left() + place.width() * (k + 0.5) / 7 for k in range(7)]
    assert all(min(abs(x - centre) for centre in centres) < 8 for x in inks)
    assert all(min(abs(x - centre) for x in inks) < 8 for centre in centres)
    qtbot.keyClick(chart, Qt.Key.Key_Left)
    told = picture(chart, 400, 220)
    assert any(y < place.top() for x in range(300, 400) for y in inked(told, theme.colours().text, x))


def test_an_empty_bar_is_a_thin_line_and_no_bars_draw_nothing() -> None:
    chart = BarChart("Points")
    assert not any(inked(picture(chart, 200, 120), theme.colours().accent, x) for x in range(200))
    chart.show_bars([ChartBar("0", "x", 0.0, "nothing")], "")
    image, place = picture(chart, 200, 120), chart._place()
    assert len(inked(image, theme.colours().outline, round(place.center().x()))) <= 4


def test_the_grid_goes_from_the_numbers_to_the_right_edge() -> None:
    chart = BarChart("Points")
    chart.show_bars(BARS[:1], "")  # lines at 0, 0.5 and 1
    image, place = picture(chart, 400, 220), chart._place()
    for x in (place.left() + 2, place.right() - 2):
        lines = [y for y in range(220) if image.pixelColor(int(x), y) != image.pixelColor(0, 0)]
        assert {round(2 * (place.bottom() - y) / place.height()) for y in lines} == {0, 1, 2}
    plain = image.pixelColor(0, 0)
    texts = [y for y in range(220) if any(image.pixelColor(x, y) != plain for x in range(int(place.left()) - 2))]
    assert min(texts) == pytest.approx(place.top(), abs=10)
    assert max(texts) == pytest.approx(place.bottom(), abs=10)


def test_the_bar_under_the_pointer_is_told() -> None:
    chart = BarChart("Points")
    chart.show_bars(BARS, "28 points")
    before, place = picture(chart, 400, 220), chart._place()
    for day, x in ((1, place.left() + 1), (4, place.center().x()), (7, place.right() - 1)):
        point = QPointF(x, 100)
        none = Qt.MouseButton.NoButton
        chart.mouseMoveEvent(QMouseEvent(QEvent.Type.MouseMove, point, point, none, none, Qt.KeyboardModifier(0)))
        assert chart.accessibleDescription() == f"day {day}: {day} points"
    chart.leaveEvent(None)
    assert chart._marked == -1
    assert picture(chart, 400, 220) == before


def test_a_table_is_copied_as_lines(qtbot: QtBot) -> None:
    table = DataTable("Points", ("When", "Earned"))
    table.show_rows([("Monday", "1"), ("Tuesday", "2")])
    table.selectAll()
    qtbot.keySequence(table, QKeySequence(QKeySequence.StandardKey.Copy))
    assert QGuiApplication.clipboard().text() == "Monday\t1\nTuesday\t2"


def test_a_row_names_its_control_and_says_why_a_value_was_refused() -> None:
    switch = Switch()
    row = Row("Only when idle", "Serve while nobody uses the computer.", switch)
    assert switch.accessibleName() == "Only when idle"
    assert switch.accessibleDescription() == "Serve while nobody uses the computer."
    row.show_problem("too high")
    assert "too high" in [label.text() for label in row.findChildren(type(row._problem)) if not label.isHidden()]


def test_every_page_of_the_sidebar_has_a_sign() -> None:
    for entry in SIDEBAR:
        picture = glyph(entry.glyph, "#000000").pixmap(18, 18).toImage().convertToFormat(QImage.Format.Format_ARGB32)
        assert any(picture.constBits().tobytes()[3::4]), entry.key


def test_stretches_end_now() -> None:
    now = datetime.datetime(2026, 11, 21, 15, 30)
    assert EarningsRange.DAY.params(now) == SeriesParams(Period.HOUR, 16)
    assert EarningsRange.MONTH.params(now) == SeriesParams(Period.DAY, 30)


def test_points_are_whole() -> None:
    for amount, said in (
        (1_234_567, "1,234,567"),
        (-295, "-295"),
        (12_345_678, "12.3 M"),
        (123_456_789, "123 M"),
        (12_345_678_900, "12.3 bn"),
    ):
        assert formats.points(amount) == said
