"""Writes what each day brought and took to a file that the user chose, without blocking the window.

A picture of what somebody gave, to show to others. It is painted and written on this computer.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import dropwhile
from pathlib import Path

from msgspec import structs
from potluck_control.methods import earnings
from potluck_control.methods.earnings import MAX_PERIODS, EarningsSeries, Period, SeriesParams, Sums
from potluck_control.states import State
from PySide6.QtCore import QSaveFile, QSize
from PySide6.QtGui import QImage, QImageWriter

from potluck.protocol.codec import readable
from potluck_app.pages.page import Page
from potluck_app.widgets import style, theme
from potluck_app.widgets.dialogs import Place, choose_file
from potluck_app.widgets.parts import Card, Figure, StateIcon, column, figure_row, holder, row, text
from potluck_app.widgets.theme import TextStyle
from potluck_app.words import sentences
from potluck_app.words.language import tr


def choose_export_file(page: Page) -> None:
    """Ask for a file and write it."""
    kinds = f"{tr('Table (CSV)')} (*.csv);;JSON (*.json)"
    file = choose_file(page, tr("Export all entries"), "potluck-earnings.csv", kinds)
    if file is not None:
        export_days(page, file)


def export_days(page: Page, path: Path) -> None:
    """Write JSON if the name ends so, and CSV otherwise; the page says how it ended."""

    def write(found: EarningsSeries) -> None:
        days = list(dropwhile(lambda day: not (day.earned or day.received or day.served_s), found.periods))
        try:
            _write_days(path, days)
        except OSError as error:
            page.complain(sentences.sentence(f"{path}: {error.strerror or error}"))
        else:
            page.tell(tr("%n entries written to {file}.", "", len(days)).format(file=path))

    page.link.call(earnings.SERIES, SeriesParams(Period.DAY, MAX_PERIODS), done=write, failed=page.complain)


def _write_days(path: Path, days: Sequence[Sums]) -> None:
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


_SIZE, _SCALE, _POT = QSize(600, 315), 2, 60  # twice as many pixels are the usual size of previews


def paint_picture(title: str, figures: Sequence[tuple[str, str]], note: str) -> QImage:
    """Return a picture of a card with up to four `figures`, each a number and what it counts."""
    shown = [Figure(caption) for _, caption in figures]
    for figure, (number, _) in zip(shown, figures, strict=True):
        figure.say(number)
    head = row(StateIcon(_POT, State.SERVING), (text(kind=TextStyle.TITLE, said=title), 1), spacing=theme.SPACE_L)
    parts = head, None, figure_row(*shown), None, text("muted", said=note)
    picture = holder(column(Card("", *parts), margin=theme.SPACE_XL))
    picture.setStyleSheet(style.style_sheet(theme.colours()))
    picture.setPalette(theme.palette(theme.colours()))
    picture.setFixedSize(_SIZE)
    image = QImage(_SIZE * _SCALE, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(_SCALE)
    picture.render(image)
    return image


def save_picture(page: Page, image: QImage) -> None:
    """Ask where to write a picture, and do so."""
    kind = tr("Picture (PNG)")
    file = choose_file(page, tr("Save the picture"), "potluck.png", f"{kind} (*.png)", Place.PicturesLocation)
    if file is not None:
        write_picture(page, image, file)


def write_picture(page: Page, image: QImage, path: Path) -> None:
    """Write the picture as a whole or not at all, and have the page say so."""
    file = QSaveFile(str(path))
    is_written = (
        file.open(QSaveFile.OpenModeFlag.WriteOnly) and QImageWriter(file, b"PNG").write(image) and file.commit()
    )
    if is_written:
        page.tell(tr("The picture is in {file}.").format(file=path))
    else:
        page.complain(sentences.sentence(f"{path}: {file.errorString()}"))
