"""One line of a settings card: what it is, a sentence of help, and the control that changes it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.card import text
from potluck_app.widgets.theme import Type


class Row(QWidget):
    """Title and help on the left, the control on the right. The control is named after the title for screen readers.

    `show_problem` writes below it why a value was refused.
    """

    def __init__(self, title: str, help_text: str, control: QWidget) -> None:
        super().__init__()
        self.control = control
        self._problem = text("error", kind=Type.CAPTION)
        self._problem.hide()
        if not control.accessibleName():
            control.setAccessibleName(title)
        control.setAccessibleDescription(help_text)
        texts = QVBoxLayout()
        texts.setSpacing(theme.SPACE_XS)
        label = text(said=title)
        label.setBuddy(control)
        texts.addWidget(label)
        self._help = text("muted", kind=Type.CAPTION, said=help_text)
        if not help_text:
            self._help.hide()
        texts.addWidget(self._help)
        texts.addWidget(self._problem)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.SPACE_XL)
        row.addLayout(texts, 1)
        row.addWidget(control, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def show_help(self, message: str) -> None:
        self._help.setText(message)
        self._help.setVisible(bool(message))
        self.control.setAccessibleDescription(message)

    def show_problem(self, message: str) -> None:
        """ "" takes it away."""
        self._problem.setText(message)
        self._problem.setVisible(bool(message))
