"""Findings of a check, one line each: its sign, the sentence, and what to do about it."""

from __future__ import annotations

from potluck_control.methods.health import Severity
from PySide6.QtWidgets import QHBoxLayout

from potluck_app.widgets.card import Sign, text
from potluck_app.widgets.layout import column, row
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
    label = text(said=title)
    label.setAccessibleName(f"{tr(named)}: {title}")
    details = (text("muted", kind=Type.CAPTION, said=detail),) if detail else ()
    return row(column(Sign(glyph, role), None), (column(label, *details, spacing=2), 1))
