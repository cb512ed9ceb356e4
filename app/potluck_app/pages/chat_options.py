"""What the chat tells the model before the first message, and how it draws words."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QPlainTextEdit

from potluck_app.pages.preferences import Preferences
from potluck_app.widgets import theme
from potluck_app.widgets.card import Card, line, text
from potluck_app.widgets.layout import column
from potluck_app.widgets.number_box import NumberBox
from potluck_app.widgets.row import Row
from potluck_app.widgets.theme import Type

_FIELD_HEIGHT = 60
_HOTTEST = 2.0
_KEEP_MS = 500  # after the last key


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is drawn. `instructions`: a system message, empty for none; `temperature` 0: the likeliest word."""

    instructions: str = ""
    temperature: float = 0.0


class ChatOptions(Card):
    """A card with the options, which are kept among the app's preferences."""

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self._preferences = preferences
        self._instructions = QPlainTextEdit(preferences.chat_instructions)
        self._instructions.setFixedHeight(_FIELD_HEIGHT)
        self._instructions.setTabChangesFocus(True)
        self._instructions.setAccessibleName(self.tr("Instructions"))
        self._instructions.setPlaceholderText(self.tr("For example: Answer in one sentence."))
        self._temperature = NumberBox()
        self._temperature.show_value(preferences.chat_temperature, 0.0, _HOTTEST, is_whole=False)
        self._temperature.setSingleStep(0.1)
        said = self.tr("At 0 the likeliest word always comes next; about 1 gives more variety.")
        heading = column(
            text(said=self.tr("Instructions")),
            text("muted", kind=Type.CAPTION, said=self.tr("The model reads them before each conversation.")),
            self._instructions,
            spacing=theme.SPACE_XS,
        )
        self.fill(self.tr("Options"), heading, line(), Row(self.tr("Temperature"), said, self._temperature))
        self._later = QTimer(self, singleShot=True, interval=_KEEP_MS)
        self._later.timeout.connect(self._keep)
        self._instructions.textChanged.connect(self._later.start)
        self._temperature.valueChanged.connect(self._later.start)
        self.setFocusProxy(self._instructions)

    @property
    def sampling(self) -> Sampling:
        """What holds now, kept or not yet."""
        return Sampling(self._instructions.toPlainText().strip(), self._temperature.value())

    def _keep(self) -> None:
        self._preferences.set_chat(self._instructions.toPlainText(), self._temperature.value())
