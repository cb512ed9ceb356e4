"""A picture of what somebody gave, to show to others. It is painted and written on this computer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from potluck_control.states import State
from PySide6.QtCore import QPointF, QRectF, QSaveFile, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QImageWriter, QPainter

from potluck_app.pages.page import Page
from potluck_app.widgets import icons, theme
from potluck_app.widgets.saving import Place, choose_file
from potluck_app.words import sentences
from potluck_app.words.language import tr

_WIDTH, _HEIGHT, _MARGIN = 1200, 630, 80  # pixels, the usual size of previews
_POT, _RADIUS = 120, 32
_TITLE, _NUMBER, _CAPTION = 44, 72, 28  # pixels


def painted(title: str, figures: Sequence[tuple[str, str]], note: str) -> QImage:
    """Return a picture with up to four `figures`, each a number and what it counts."""
    colours = theme.colours()
    image = QImage(_WIDTH, _HEIGHT, QImage.Format.Format_RGB32)
    image.fill(QColor(colours.window))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colours.card))
    edge = _MARGIN / 2
    painter.drawRoundedRect(QRectF(edge, edge, _WIDTH - 2 * edge, _HEIGHT - 2 * edge), _RADIUS, _RADIUS)
    icons.paint_state(painter, QRectF(_MARGIN, _MARGIN, _POT, _POT), State.SERVING, colours)
    room = _WIDTH - 2 * _MARGIN
    beside = _MARGIN + _POT + theme.SPACE_XXL
    _write(painter, QPointF(beside, _MARGIN + 0.65 * _POT), title, _TITLE, colours.text, _WIDTH - _MARGIN - beside)
    width = room / max(len(figures), 1)
    room_each = width - theme.SPACE_XL
    size = min((_fitting(painter.font(), number, _NUMBER, room_each) for number, _ in figures), default=_NUMBER)
    for place, (number, caption) in enumerate(figures):
        left = _MARGIN + place * width
        _write(painter, QPointF(left, 380), number, size, colours.accent, room_each)
        _write(painter, QPointF(left, 430), caption, _CAPTION, colours.muted, room_each)
    _write(painter, QPointF(_MARGIN, _HEIGHT - _MARGIN), note, _CAPTION, colours.muted, room)
    painter.end()
    return image


def _write(painter: QPainter, at: QPointF, said: str, pixels: int, ink: str, room: float) -> None:
    """Write one line, smaller if it would be longer than `room`."""
    painter.setFont(_font(painter.font(), _fitting(painter.font(), said, pixels, room)))
    painter.setPen(QColor(ink))
    painter.drawText(at, said)


def _fitting(font: QFont, said: str, pixels: int, room: float) -> int:
    """Return the size of letters at which a line fits into `room`, at most `pixels`."""
    width = QFontMetricsF(_font(font, pixels)).horizontalAdvance(said)
    return pixels if width <= room else max(1, int(pixels * room / width))


def _font(font: QFont, pixels: int) -> QFont:
    made = QFont(font)
    made.setPixelSize(pixels)
    made.setWeight(QFont.Weight.DemiBold if pixels > _CAPTION else QFont.Weight.Normal)
    return made


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
        page.notice.say(sentences.sentence(f"{path}: {file.errorString()}"))
