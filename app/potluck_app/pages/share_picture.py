"""A picture of what somebody gave, to show to others. It is painted and written on this computer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from potluck_control.states import State
from PySide6.QtCore import QSaveFile, QSize
from PySide6.QtGui import QImage, QImageWriter

from potluck_app.pages.page import Page
from potluck_app.widgets import style, theme
from potluck_app.widgets.card import Card, Pot, text
from potluck_app.widgets.figure import Figure, in_a_row
from potluck_app.widgets.layout import column, holder, row
from potluck_app.widgets.saving import Place, choose_file
from potluck_app.widgets.theme import Type
from potluck_app.words import sentences
from potluck_app.words.language import tr

_SIZE, _SCALE, _POT = QSize(600, 315), 2, 60  # twice as many pixels are the usual size of previews


def painted(title: str, figures: Sequence[tuple[str, str]], note: str) -> QImage:
    """Return a picture of a card with up to four `figures`, each a number and what it counts."""
    shown = [Figure(caption) for _, caption in figures]
    for figure, (number, _) in zip(shown, figures, strict=True):
        figure.say(number)
    head = row(Pot(_POT, State.SERVING), (text(kind=Type.TITLE, said=title), 1), spacing=theme.SPACE_L)
    parts = head, None, in_a_row(*shown), None, text("muted", said=note)
    picture = holder(column(Card("", *parts), margin=theme.SPACE_XL))
    picture.setStyleSheet(style.style_sheet(theme.colours()))
    picture.setPalette(theme.palette(theme.colours()))
    picture.setFixedSize(_SIZE)
    image = QImage(_SIZE * _SCALE, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(_SCALE)
    picture.render(image)
    return image


def share(page: Page, image: QImage) -> None:
    """Ask where to write a picture, and do so."""
    kind = tr("Picture (PNG)")
    file = choose_file(page, tr("Save the picture"), "potluck.png", f"{kind} (*.png)", Place.PicturesLocation)
    if file is not None:
        write(page, image, file)


def write(page: Page, image: QImage, path: Path) -> None:
    """Write the picture as a whole or not at all, and have the page say so."""
    file = QSaveFile(str(path))
    is_written = (
        file.open(QSaveFile.OpenModeFlag.WriteOnly) and QImageWriter(file, b"PNG").write(image) and file.commit()
    )
    if is_written:
        page.tell(tr("The picture is in {file}.").format(file=path))
    else:
        page.complain(sentences.sentence(f"{path}: {file.errorString()}"))
