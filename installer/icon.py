"""Draws the application's icon in the formats of macOS and Windows, from the glyph of a serving node."""

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
_ICO_PIXELS = 256
_PLATE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect x="6" y="6" width="52" height="52" rx="12"
fill="#0b6e63"/><g transform="translate(16 15) scale(0.5)">{glyph}</g></svg>"""


def icns() -> bytes:
    """Return an .icns file, with the glyph on a plate.

    Source of the format: a four letter name and a length before each PNG, big-endian; the names stand for sizes.
    """
    glyph = re.sub(r"</?svg[^>]*>", "", _drawing().replace("currentColor", "#ffffff"))
    drawing = _PLATE.format(glyph=glyph)
    return _part(b"icns", b"".join(_part(name, _png(drawing, size)) for name, size in SIZES.items()))


def ico() -> bytes:
    """Return an .ico file with one picture of 256 pixels, which Windows scales (ICONDIR, ICONDIRENTRY)."""
    picture = _png(_drawing(), _ICO_PIXELS)
    entry = struct.pack("<BBBBHHII", 0, 0, 0, 0, 1, 32, len(picture), 22)  # 0 pixels stands for 256
    return struct.pack("<HHH", 0, 1, 1) + entry + picture


def _drawing() -> str:
    return (SOURCE / "resources" / "icons" / "serving.svg").read_text()


def _part(name: bytes, content: bytes) -> bytes:
    return name + struct.pack(">I", len(content) + 8) + content


def _png(drawing: str, size: int) -> bytes:
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(drawing.encode())).render(painter, QRectF(0, 0, size, size))
    painter.end()
    out = QByteArray()
    buffer = QBuffer(out)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return bytes(out.data())
