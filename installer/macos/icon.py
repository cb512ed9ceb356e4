"""Draws the application's icon: the glyph of a serving node on a plate, in the sizes of an .icns file.

Source of the format: a four letter name and a length before each PNG, big-endian; the names stand for sizes.
"""

from __future__ import annotations

import re
import struct

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from installer.tree import SOURCE

SIZES = {  # pixels; some for screens with two pixels a point
    b"ic11": 32,
    b"ic12": 64,
    b"ic07": 128,
    b"ic13": 256,
    b"ic08": 256,
    b"ic14": 512,
    b"ic09": 512,
    b"ic10": 1024,
}
_PLATE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect x="6" y="6" width="52" height="52" rx="12"
fill="#0b6e63"/><g transform="translate(16 15) scale(0.5)">{glyph}</g></svg>"""


def icns() -> bytes:
    """Return the .icns file."""
    parts = b"".join(_part(name, _png(size)) for name, size in SIZES.items())
    return _part(b"icns", parts)


def _part(name: bytes, content: bytes) -> bytes:
    return name + struct.pack(">I", len(content) + 8) + content


def _png(size: int) -> bytes:
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(_svg().encode())).render(painter, QRectF(0, 0, size, size))
    painter.end()
    out = QByteArray()
    buffer = QBuffer(out)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return bytes(out.data())


def _svg() -> str:
    drawn = (SOURCE / "resources" / "icons" / "serving.svg").read_text().replace("currentColor", "#ffffff")
    glyph = re.sub(r"</?svg[^>]*>", "", drawn)
    return _PLATE.format(glyph=glyph)
