"""The card of recipes: what to enter in another program, with the address and the key filled in."""

from __future__ import annotations

from potluck_control.recipes import RECIPES

from potluck_app.widgets.controls import ComboBox
from potluck_app.widgets.copying import CopyButton, FixedText
from potluck_app.widgets.parts import Card, muted, row
from potluck_app.words.sentences import translated

_ROOM = 32  # height of what is around the text, and of a scroll bar below it
_USUAL_ADDRESS = "http://127.0.0.1:8737/v1"


class RecipeCard(Card):
    """A card with one recipe at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._programs = ComboBox(self.tr("Program"))
        self._programs.addItems([recipe.program for recipe in RECIPES])
        self._where, self._content = muted(), FixedText(self.tr("What to enter"))
        self._copy = CopyButton(self.tr("Copy the recipe"))
        self._values = ("", "", "")
        self._programs.currentIndexChanged.connect(lambda _: self._show())
        self.fill(self.tr("Recipes"), row(self._programs, None), self._where, self._content, row(self._copy, None))
        self._show()

    def show_values(self, address: str, key: str, model: str) -> None:
        """Fill in the values; an empty one leaves a placeholder."""
        if (address, key, model) != self._values:
            self._values = address, key, model
            self._show()

    def _show(self) -> None:
        recipe, (address, key, model) = RECIPES[self._programs.currentIndex()], self._values
        self._where.setText(translated(recipe.place))
        values = address or _USUAL_ADDRESS, key or self.tr("YOUR-KEY"), model or self.tr("MODEL")
        content, then = recipe.filled(*values)
        text = f"{content}\n{then}" if then else content
        self._content.setPlainText(text.rstrip())
        lines = text.count("\n")
        self._content.setFixedHeight(self._content.fontMetrics().lineSpacing() * lines + _ROOM)
        self._copy.show_content(content)
