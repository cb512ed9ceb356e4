"""The user's own lists: programs to step aside for whenever they run, and programs never to step aside for."""

from __future__ import annotations

from potluck_control.methods.programs import PlaceParams, ProgramPlace, Programs
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox

from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, divided, text
from potluck_app.widgets.layout import Slot, column, holder, row
from potluck_app.widgets.row import Row
from potluck_app.widgets.theme import Type


class ProgramList(Card):
    """A card with one of the two lists. Signal: `placed(PlaceParams)`, to put a program on it or take it off."""

    placed = Signal(object)

    def __init__(self, place: ProgramPlace, title: str, explanation: str) -> None:
        super().__init__()
        self._place = place
        self._shown: tuple[tuple[str, ...], tuple[tuple[str, str], ...]] | None = None
        self._choice, self._add = QComboBox(), Button(self.tr("Add"), "plus", act=self._add_chosen)
        self._entries = Slot()
        self._prepare_choice(title)
        note = text("muted", kind=Type.CAPTION, said=explanation)
        self.fill(title, note, self._entries, row((self._choice, 1), self._add))

    def show_programs(self, found: Programs) -> None:
        listed = found.always if self._place is ProgramPlace.ALWAYS else found.never
        offered = tuple((item.app, item.title) for item in found.running if item.place is not self._place)
        if (listed, offered) == self._shown or self._choice.view().isVisible():
            return  # nothing new, or somebody is choosing
        self._shown = (listed, offered)
        titles = {program.app: program.title for program in found.running}
        entries = divided(self._entry(app, titles.get(app, app)) for app in listed)
        self._entries.show_content(holder(column(*entries, spacing=theme.SPACE_S)))
        typed = self._choice.currentText()
        self._choice.clear()
        for app, title in offered:
            self._choice.addItem(title, app)
        self._choice.setCurrentIndex(-1)
        self._choice.setEditText(typed)

    def _entry(self, app: str, title: str) -> Row:
        about = self.tr("Remove {program}").format(program=title)
        remove = Button(self.tr("Remove"), "close", "quiet", lambda: self._take_off(app), about=about)
        return Row(title, app if title != app else "", remove)

    def _take_off(self, app: str) -> None:
        self.placed.emit(PlaceParams(app, ProgramPlace.NONE))

    def _prepare_choice(self, title: str) -> None:
        self._choice.setEditable(True)
        self._choice.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self._choice.setAccessibleName(self.tr("Program for the list: {list}").format(list=title))
        self._choice.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        field = self._choice.lineEdit()
        assert field is not None
        field.setPlaceholderText(self.tr("A running program, or its name"))
        field.returnPressed.connect(self._add_chosen)

    def _add_chosen(self) -> None:
        typed = self._choice.currentText().strip()
        place = self._choice.findText(typed)
        app = str(self._choice.itemData(place)) if place >= 0 else typed
        try:
            params = PlaceParams(app, self._place)
        except ValueError:
            return  # nothing typed
        self._choice.setEditText("")
        self.placed.emit(params)
