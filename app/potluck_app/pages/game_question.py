"""The question whether a program that Potluck stepped aside for is a game. The answer puts it on a list."""

from __future__ import annotations

from potluck_control.methods import programs
from potluck_control.methods.programs import PlaceParams, ProgramPlace
from potluck_control.schema import Status

from potluck_app.pages.page import Page
from potluck_app.pages.section import Section
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.layout import row
from potluck_app.words import sentences


class GameQuestion(Section):
    """Hidden unless a question is open; the oldest comes first."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._app, self._question = "", text()
        yes = Button(self.tr("It is a game"), act=lambda: self._answer(ProgramPlace.ALWAYS))
        no = Button(self.tr("Not a game"), act=lambda: self._answer(ProgramPlace.NEVER))
        self.fill(Card("", self._question, row(None, yes, no)))
        self.hide()

    def show_status(self, status: Status) -> None:
        question = next((item for item in status.questions if item.is_open), None)
        self._app = question.app if question is not None else ""
        if question is not None:
            asked = self.tr("Is {program} a game?")
            self._question.setText(asked.format(program=sentences.short(question.title)))
        self.setVisible(question is not None)

    def _answer(self, place: ProgramPlace) -> None:
        self.page.ask(programs.PLACE, PlaceParams(self._app, place), lambda _: None)
