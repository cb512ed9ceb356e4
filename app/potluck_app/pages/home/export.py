"""What somebody earned, for use elsewhere: a table of all days, and a picture to show to others.

Both are made and written on this computer, without blocking the window.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from itertools import dropwhile
from pathlib import Path

from msgspec import structs
from potluck_control.methods import earnings
from potluck_control.states import State
from PySide6.QtCore import QBuffer, QIODevice, QSize
from PySide6.QtGui import QImage, QImageWriter

from potluck.protocol.codec import readable
from potluck_app.pages.page import Page
from potluck_app.widgets import style, theme
from potluck_app.widgets.dialogs import StandardFolder, choose_file, write_file
from potluck_app.widgets.parts import Card, Figure, StateIcon, figure_row, muted, row, stack, text
from potluck_app.widgets.theme import TextStyle
from potluck_app.words.language import tr

_SIZE, _SCALE, _ICON = QSize(600, 315), 2, 60  # twice as many pixels are the usual size of previews


def choose_export_file(page: Page) -> None:
    """Ask for a file, and write all days to it."""
    table = tr("Table (CSV)")  # outside of the braces: the tool that collects texts finds none in them
    kinds = f"{table} (*.csv);;JSON (*.json)"
    file = choose_file(page, tr("Export all entries"), "potluck-earnings.csv", kinds)
    if file is not None:
        export_days(page, file)


def export_days(page: Page, path: Path) -> None:
    """Write JSON if the name ends in .json, and CSV otherwise; the page shows how it ended."""

    def write(found: earnings.EarningsSeries) -> None:
        days = list(dropwhile(lambda day: not (day.earned or day.received or day.served_s), found.periods))
        data = _encode_days(days, is_json=path.suffix.lower() == ".json")
        _write(page, path, data, tr("%n entries written to {file}.", "", len(days)))

    every_day = earnings.SeriesParams(earnings.Period.DAY, earnings.MAX_PERIODS)
    page.link.call(earnings.SERIES, every_day, done=write, failed=page.show_error)


def paint_picture(title: str, figures: Sequence[tuple[str, str]], note: str) -> QImage:
    """Return a picture of a card with up to four `figures`, each a number and what it counts."""
    shown = [Figure(name) for _, name in figures]
    for figure, (number, _) in zip(shown, figures, strict=True):
        figure.say(number)
    head = row(StateIcon(_ICON, State.SERVING), (text(title, style=TextStyle.TITLE), 1), spacing=theme.SPACE_L)
    parts = head, None, figure_row(*shown), None, muted(note)
    picture = stack(Card("", *parts), margin=theme.SPACE_XL)
    picture.setStyleSheet(style.style_sheet(theme.colours()))
    picture.setPalette(theme.palette(theme.colours()))
    picture.setFixedSize(_SIZE)
    image = QImage(_SIZE * _SCALE, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(_SCALE)
    picture.render(image)
    return image


def save_picture(page: Page, image: QImage) -> None:
    """Ask where to write a picture, and write it there."""
    kind = tr("Picture (PNG)")
    file = choose_file(page, tr("Save the picture"), "potluck.png", f"{kind} (*.png)", StandardFolder.PicturesLocation)
    if file is not None:
        write_picture(page, image, file)


def write_picture(page: Page, image: QImage, path: Path) -> None:
    """Write a picture as PNG; the page shows how it ended."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, b"PNG").write(image)
    _write(page, path, bytes(buffer.data().data()), tr("The picture is in {file}."))


def _encode_days(days: Sequence[earnings.Sums], *, is_json: bool) -> bytes:
    rows = [structs.asdict(day) for day in days]
    if is_json:
        return readable(rows).encode()
    table = StringIO(newline="")
    writer = csv.DictWriter(table, earnings.Sums.__struct_fields__)
    writer.writeheader()
    writer.writerows(rows)
    return table.getvalue().encode()


def _write(page: Page, path: Path, data: bytes, done: str) -> None:
    problem = write_file(path, data)
    if problem:
        page.show_error(problem)
    else:
        page.announce(done.format(file=path))
