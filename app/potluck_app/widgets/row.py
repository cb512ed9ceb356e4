"""Lines of a card: a setting or thing with its control, and a finding with its sign."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from potluck_control.methods.health import Severity
from PySide6.QtWidgets import QHBoxLayout, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.parts import ContentArea, Glyph, beside, caption, column, divided, row, text
from potluck_app.widgets.theme import TextStyle
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

_GLYPHS = {
    Severity.ERROR: ("problem", "error", QT_TRANSLATE_NOOP("", "Problem")),
    Severity.WARNING: ("warning", "yielded", QT_TRANSLATE_NOOP("", "Warning")),
    Severity.NOTE: ("info", "muted", QT_TRANSLATE_NOOP("", "Note")),
    Severity.OK: ("good", "serving", QT_TRANSLATE_NOOP("", "Fine")),
}


class Row(QWidget):
    """A line with a title and a sentence of help on the left, and the control that it names on the right.

    Args:
        sign: a picture before the title.
    """

    def __init__(self, title: str, help_text: str, control: QWidget, sign: QWidget | None = None) -> None:
        super().__init__()
        self.control = control
        self._help, self._problem = caption(), text(style=TextStyle.CAPTION, colour="error")
        if not control.accessibleName():
            control.setAccessibleName(title)
        label = text(title)
        label.setBuddy(control)
        texts = column(label, self._help, self._problem, spacing=theme.SPACE_XS)
        left = (texts, 1) if sign is None else (beside(sign, texts), 1)
        self.setLayout(row(left, column(None, control, None), spacing=theme.SPACE_XL))
        self.show_help(help_text)
        self.show_problem("")

    def show_help(self, message: str) -> None:
        self._help.say(message)
        self.control.setAccessibleDescription(message)

    def show_problem(self, message: str) -> None:
        """Show below the help why a value was refused; "" for no problem."""
        self._problem.say(message)


class RowList(ContentArea):
    """A list of rows with lines between them, which stay, with the keyboard on one, until others are needed."""

    def __init__(self) -> None:
        super().__init__()
        self._of: object = None

    def show_rows(self, of: object, make: Callable[[], Iterable[QWidget]]) -> None:
        """Show the rows that `make` returns. It is called only if `of`, everything that they show, has changed."""
        if of != self._of:
            self._of = of
            self.show_items(*divided(make()))


def finding_line(severity: Severity, title: str, detail: str = "") -> QHBoxLayout:
    """Return a line about a finding: its sign, the sentence, and what to do about it."""
    glyph, role, named = _GLYPHS[severity]
    label = text(title)
    label.setAccessibleName(f"{tr(named)}: {title}")
    details = (caption(detail),) if detail else ()
    return beside(Glyph(glyph, role), label, *details)
