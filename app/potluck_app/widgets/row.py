"""One line of a card: what it is, a sentence of help, and the control that changes it; and a list of such lines.

Findings of a check, one line each: its sign, the sentence, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from potluck_control.methods.health import Severity
from PySide6.QtWidgets import QHBoxLayout, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.parts import ContentArea, Glyph, column, divided, holder, row, text
from potluck_app.widgets.theme import TextStyle
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr


class Row(QWidget):
    """Title and help on the left, the control on the right, which screen readers call by the title.

    `sign`: a picture before the title.
    """

    def __init__(self, title: str, help_text: str, control: QWidget, sign: QWidget | None = None) -> None:
        super().__init__()
        self.control = control
        self._help, self._problem = text("muted", kind=TextStyle.CAPTION), text("error", kind=TextStyle.CAPTION)
        if not control.accessibleName():
            control.setAccessibleName(title)
        label = text(said=title)
        label.setBuddy(control)
        texts = column(label, self._help, self._problem, spacing=theme.SPACE_XS)
        said = (texts, 1) if sign is None else (row(column(sign, None), (texts, 1)), 1)
        self.setLayout(row(said, column(None, control, None), spacing=theme.SPACE_XL))
        self.show_help(help_text)
        self.show_problem("")

    def show_help(self, message: str) -> None:
        self._help.say(message)
        self.control.setAccessibleDescription(message)

    def show_problem(self, message: str) -> None:
        """Write below the help why a value was refused; "" takes it away."""
        self._problem.say(message)


class RowList(ContentArea):
    """Rows with lines between them. They stay, with the keyboard on one of them, until they have to be others."""

    def __init__(self) -> None:
        super().__init__()
        self._of: object = None

    def show_rows(self, of: object, make: Callable[[], Iterable[QWidget]]) -> None:
        """Show the rows that `make` returns, which is called if `of`, all that they say, isn't as the last time."""
        if of != self._of:
            self._of = of
            self.show_content(holder(column(*divided(make()))))


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
    details = (text("muted", kind=TextStyle.CAPTION, said=detail),) if detail else ()
    return row(column(Glyph(glyph, role), None), (column(label, *details, spacing=2), 1))
