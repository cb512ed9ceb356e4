"""The chat's options: the instructions before the first message, how words are drawn, and the longest answer."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QPlainTextEdit, QWidget

from potluck_app.pages.chat.answer import ChatSampling
from potluck_app.pages.preferences import Preferences
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.controls import NumberBox
from potluck_app.widgets.parts import caption, column, row, text
from potluck_app.widgets.row import Row

_FIELD_HEIGHT, _WIDTH = 100, 460
_HOTTEST, _LONGEST = 2.0, 1 << 20


class ChatOptions(QDialog):
    """A window with the options. They are saved among the app's preferences when it closes."""

    def __init__(self, preferences: Preferences, parent: QWidget) -> None:
        super().__init__(parent)
        self._preferences = preferences
        self.setWindowTitle(self.tr("Options"))
        self.setFixedWidth(_WIDTH)
        self._instructions = QPlainTextEdit(preferences.chat_instructions)
        self._instructions.setFixedHeight(_FIELD_HEIGHT)
        self._instructions.setTabChangesFocus(True)
        self._instructions.setAccessibleName(self.tr("Instructions"))
        self._instructions.setPlaceholderText(self.tr("For example: Answer in one sentence."))
        self._temperature, self._length = NumberBox(), NumberBox(self.tr("tokens"), self.tr("No limit"))
        self._temperature.setSingleStep(0.1)
        self._length.setSingleStep(100)
        self._temperature.show_value(preferences.chat_temperature, 0.0, _HOTTEST, is_whole=False)
        self._length.show_value(preferences.chat_max_tokens, 0, _LONGEST, is_whole=True)
        message = self.tr("At 0 the likeliest word always comes next; about 1 gives more variety.")
        heading = column(
            text(self.tr("Instructions")),
            caption(self.tr("The model reads them before each conversation.")),
            self._instructions,
            spacing=theme.SPACE_XS,
        )
        parts = (
            heading,
            Row(self.tr("Temperature"), message, self._temperature),
            Row(self.tr("Longest answer"), self.tr("About 75 words are 100 tokens."), self._length),
            row(None, Button(self.tr("Close"), style="primary", act=self.accept)),
        )
        self.setLayout(column(*parts, spacing=theme.SPACE_L, margin=theme.SPACE_L))
        self.finished.connect(self._keep)

    @property
    def instructions(self) -> str:
        """The system message of each conversation; "" for none."""
        return self._instructions.toPlainText().strip()

    @property
    def sampling(self) -> ChatSampling:
        return ChatSampling(self._temperature.value(), round(self._length.value()))

    def _keep(self) -> None:
        kept, sampling = self._preferences, self.sampling
        kept.chat_instructions, kept.chat_temperature = self.instructions, sampling.temperature
        kept.chat_max_tokens = sampling.max_tokens
