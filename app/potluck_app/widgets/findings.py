"""What a check found, one line each: its sign, the sentence, and what to do about it."""

from __future__ import annotations

from potluck_control.methods.health import Severity
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from potluck_app.widgets import theme
from potluck_app.widgets.card import Sign, text
from potluck_app.widgets.theme import Type
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

_GLYPHS = {
    Severity.ERROR: ("problem", "error", QT_TRANSLATE_NOOP("", "Problem")),
    Severity.WARNING: ("warning", "yielded", QT_TRANSLATE_NOOP("", "Warning")),
    Severity.NOTE: ("info", "muted", QT_TRANSLATE_NOOP("", "Note")),
    Severity.OK: ("good", "serving", QT_TRANSLATE_NOOP("", "Fine")),
}


def finding_line(severity: Severity, title: str, detail: str = "") -> QHBoxLayout:
    glyph, role, named = _GLYPHS[severity]
    texts, label = QVBoxLayout(), text(said=title)
    label.setAccessibleName(f"{tr(named)}: {title}")
    texts.setSpacing(2)
    texts.addWidget(label)
    if detail:
        texts.addWidget(text("muted", kind=Type.CAPTION, said=detail))
    row = QHBoxLayout()
    row.setSpacing(theme.SPACE_M)
    row.addWidget(Sign(glyph, role), 0, Qt.AlignmentFlag.AlignTop)
    row.addLayout(texts, 1)
    return row
