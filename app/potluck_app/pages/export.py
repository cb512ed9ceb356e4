"""Writes what each day brought and took to a file that the user chose, without blocking the window."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import dropwhile
from pathlib import Path

from msgspec import structs
from potluck_control.methods import earnings
from potluck_control.methods.earnings import EarningsSeries, Sums
from potluck_control.methods.periods import MAX_PERIODS, Period, SeriesParams

from potluck.protocol.codec import readable
from potluck_app.pages.page import Page
from potluck_app.widgets.saving import choose_file
from potluck_app.words import sentences
from potluck_app.words.language import tr


def choose(page: Page) -> None:
    """Ask for a file and write it."""
    kinds = f"{tr('Table (CSV)')} (*.csv);;JSON (*.json)"
    file = choose_file(page, tr("Export all entries"), "potluck-earnings.csv", kinds)
    if file is not None:
        export(page, file)


def export(page: Page, path: Path) -> None:
    """Write JSON if the name ends so, and CSV otherwise; the page says how it ended."""

    def write(found: EarningsSeries) -> None:
        days = list(dropwhile(lambda day: not (day.earned or day.received or day.served_s), found.periods))
        try:
            _write(path, days)
        except OSError as error:
            page.complain(sentences.sentence(f"{path}: {error.strerror or error}"))
        else:
            page.tell(tr("%n entries written to {file}.", "", len(days)).format(file=path))

    page.link.call(earnings.SERIES, SeriesParams(Period.DAY, MAX_PERIODS), done=write, failed=page.complain)


def _write(path: Path, days: Sequence[Sums]) -> None:
    """Write beside the file first, so that an existing one is replaced as a whole or not at all."""
    rows = [structs.asdict(day) for day in days]
    beside = path.with_name(f".{path.name}.part")
    with beside.open("w", newline="", encoding="utf-8") as file:
        if path.suffix.lower() == ".json":
            file.write(readable(rows))
        else:
            writer = csv.DictWriter(file, Sums.__struct_fields__)
            writer.writeheader()
            writer.writerows(rows)
    beside.replace(path)
