"""Earnings: figures, chart and table of one range, their export, and the picture to share."""

import csv
import json
from pathlib import Path

import pytest
from helpers.app_answers import ANSWERS, DAYS, EARNINGS
from helpers.screen import button, opened_alone, press, shown
from potluck_app.pages.home.chart import DataTable
from potluck_app.pages.home.earnings import EarningsRange, EarningsSection
from potluck_app.pages.home.export import export_days, paint_picture, write_picture
from potluck_app.widgets.controls import Segments
from potluck_control.methods.earnings import MAX_PERIODS, GroupParams, Period, SeriesParams
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QTableWidget

from potluck.errors import PotluckError

UNSUMMED = {name: answer for name, answer in ANSWERS.items() if name != "earnings.summary"}


def cells(table: QTableWidget) -> list[list[str]]:
    columns = range(table.columnCount())
    return [[table.item(row, column).text() for column in columns] for row in range(table.rowCount())]


def test_earnings_show_a_week_with_its_energy_and_cost_and_every_number_of_the_chart_as_a_table() -> None:
    page, _ = opened_alone(EarningsSection, ANSWERS)
    assert {"2,500,000", "1,234", "3", "1.5 kWh", "0.30", "1 h 0 min"} <= set(shown(page))
    assert "RTX 3090: 140 W (measured)." in shown(page)
    press(page, "Show as table")
    by_time, by_model = page.findChildren(DataTable)
    assert [row[-1] for row in cells(by_time)] == ["6", "5", "4", "3", "2", "1", "0"]
    assert cells(by_model) == [["demo", "3", "1,234", "2,500,000"]]


def test_an_answer_about_another_stretch_than_the_chosen_one_is_not_shown() -> None:
    page, link = opened_alone(EarningsSection, UNSUMMED)
    assert shown(page) == ["Loading…"]
    late, _ = link._waiting["earnings.summary"]
    page.findChild(Segments).choose(EarningsRange.DAY)
    link.answer("earnings.summary", EARNINGS)
    late(EARNINGS)
    assert "2,500,000" not in shown(page)
    assert link.named("earnings.by_model") == [GroupParams(7), GroupParams(1)]


def test_what_fails_is_said_with_a_way_to_try_again() -> None:
    page, link = opened_alone(EarningsSection, UNSUMMED)
    link.fail("earnings.summary", PotluckError("the ledger is locked", hint="wait a moment"))
    assert "The ledger is locked. Wait a moment." in shown(page)
    assert "Not loaded" in shown(page)
    link.answers = dict(ANSWERS)
    press(page, "Try again")
    assert "Loading…" not in shown(page)
    assert "2,500,000" in shown(page)
    assert page.notice_bar.isHidden()


def test_what_was_given_becomes_a_picture_that_is_written_where_its_owner_wants(tmp_path: Path) -> None:
    page, _ = opened_alone(EarningsSection, ANSWERS)
    assert button(page, "Share…").isEnabled()
    title, figures, note = page.sections[0]._shared()
    assert title == "My computer's week with Potluck"
    assert ("2,500,000", "points earned") in figures
    image, longer = paint_picture(title, figures, note), paint_picture(title * 20, figures, note)
    assert (image.width(), image.height()) == (1200, 630)
    assert image != longer
    edge = QRect(1161, 0, 39, 630)
    assert longer.copy(edge) == paint_picture("", [], "").copy(edge)  # a long line is broken
    write_picture(page, image, tmp_path / "given.png")
    assert f"The picture is in {tmp_path / 'given.png'}." in shown(page)
    assert QImage(str(tmp_path / "given.png")).size() == image.size()
    write_picture(page, image, tmp_path / "missing" / "given.png")
    assert any("No such file" in line for line in shown(page))


@pytest.mark.parametrize("name", ["all.csv", "all.json"])
def test_an_export_has_all_days_or_says_why_it_cannot_be_written(name: str, tmp_path: Path) -> None:
    page, link = opened_alone(EarningsSection, ANSWERS)
    page.link.answers = {"earnings.series": DAYS}
    export_days(page, tmp_path / name)
    assert link.named("earnings.series")[-1] == SeriesParams(Period.DAY, MAX_PERIODS)
    assert f"6 entries written to {tmp_path / name}." in shown(page)
    with (tmp_path / name).open() as file:
        rows = list(csv.DictReader(file)) if name.endswith("csv") else json.load(file)
    assert [int(row["earned"]) for row in rows] == [1, 2, 3, 4, 5, 6], "days before the first one are left out"
    assert [path.name for path in tmp_path.iterdir()] == [name]
    export_days(page, tmp_path / "nowhere" / name)
    assert any("No such file" in line for line in shown(page))
