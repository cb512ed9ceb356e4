"""A picker of models that a swarm could have: those on this computer, in a folder, and on Hugging Face."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from potluck_control.method import Method
from potluck_control.methods import models
from potluck_control.methods.models import Choices, FolderParams, ModelChoice, SearchParams
from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFileDialog, QLineEdit, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.page import DaemonCaller
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.layout import column, row
from potluck_app.widgets.row import Row, Rows
from potluck_app.widgets.theme import Type
from potluck_app.words import numbers, sentences
from potluck_app.words.language import tr

P = TypeVar("P")


class ModelPicker(QWidget):
    """Lists models, at first those on this computer. Signal: `chosen(model, name)`, where the daemon takes `model`."""

    chosen = Signal(str, str)

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__()
        self._link = link
        self._asked = 0  # only the last question's answer is shown
        self._words, self._search = QLineEdit(), Button(self.tr("Search"), act=self._ask)
        self._words.setPlaceholderText(self.tr("Name of a model on Hugging Face"))
        self._words.setAccessibleName(self.tr("Name of a model on Hugging Face"))
        self._words.setClearButtonEnabled(True)
        self._words.setMaxLength(200)
        self._words.returnPressed.connect(self._ask)
        folder = Button(self.tr("Look in a folder…"), "folder", act=self._choose_folder)
        self._said, self._problem, self._list = text("muted", kind=Type.CAPTION), text("error"), Rows()
        items = (row((self._words, 1), self._search), row(folder, None), self._said, self._problem, self._list)
        self.setLayout(column(Card(self.tr("Models to choose from"), *items)))
        self.setFocusProxy(self._words)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 (Qt's name)
        super().showEvent(event)
        if not self._asked:
            self._ask()

    def _ask(self) -> None:
        words = self._words.text().strip().lstrip("-")
        if words:
            self._call(models.SEARCH, SearchParams(words), self.tr("Searching Hugging Face…"))
        else:
            self._call(models.ON_DISK, FolderParams(), self.tr("Looking on this computer…"))

    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.tr("Choose a folder with a model"))
        if folder:
            self._call(models.ON_DISK, FolderParams(folder), self.tr("Looking on this computer…"))

    def _call(self, method: Method[P, Choices], params: P, meanwhile: str) -> None:
        self._asked += 1
        asked = self._asked
        self._say(meanwhile)

        def done(found: Choices) -> None:
            if asked == self._asked:
                self._show(found)

        def failed(error: PotluckError) -> None:
            if asked == self._asked:
                self._say(problem=sentences.failure(error))

        self._link.call(method, params, done=done, failed=failed)

    def _say(self, said: str = "", problem: str = "") -> None:
        self._said.say(said)
        self._problem.say(problem)

    def _show(self, found: Choices) -> None:
        lends = self.tr("This computer now lends a model {size}. That decides how many friends a model needs.")
        nothing = self.tr("No model has such a name.")
        self._say(lends.format(size=numbers.size(found.lent_bytes)) if found.models else nothing)
        self._list.show_rows(found.models, lambda: map(self._row, found.models))

    def _row(self, choice: ModelChoice) -> Row:
        about = self.tr("Choose {model}").format(model=choice.name)
        choose = partial(self.chosen.emit, choice.model, choice.name)
        return Row(choice.name, described(choice), Button(self.tr("Choose"), act=choose, about=about))


def described(choice: ModelChoice) -> str:
    """Return a model's size and licence, whether it is here, and how many computers like this one it needs."""
    size = numbers.size(choice.bytes) if choice.bytes else tr("size unknown")
    unknown = "" if choice.is_here else tr("licence unknown")
    licence = tr("licence {name}").format(name=choice.licence) if choice.licence else unknown
    place = tr("on this computer") if choice.is_here else tr("to be downloaded")
    gated = tr("its owner must grant you access") if choice.is_gated else ""
    return "\n".join(filter(None, (fit(choice.num_computers), " · ".join(filter(None, (size, licence, place, gated))))))


def fit(num_computers: int) -> str:
    """Return how many people with such a computer hold a model together; empty: not known."""
    if not num_computers:
        return ""
    if num_computers == 1:
        return tr("Fits on this computer")
    return tr("Fits with %n friend(s) like you", "", num_computers - 1)
