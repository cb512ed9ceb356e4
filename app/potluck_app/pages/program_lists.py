"""The user's own lists: programs to step aside for whenever they run, and programs never to step aside for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from potluck_control.methods.programs import PlaceParams, ProgramPlace, Programs

from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, divided, text
from potluck_app.widgets.layout import Slot, column, holder, row
from potluck_app.widgets.row import Row
from potluck_app.widgets.steady import ComboBox
from potluck_app.widgets.theme import Type


class ProgramList(Card):
    """A card with one of the two lists. `put`: puts a program on it, or takes it off."""

    def __init__(self, place: ProgramPlace, put: Callable[[PlaceParams], object], title: str, explanation: str) -> None:
        super().__init__()
        self._place, self._put = place, put
        self._shown: tuple[tuple[str, ...], tuple[tuple[str, str], ...]] | None = None
        named = self.tr("Program for the list: {list}").format(list=title)
        self._choice, self._add = ComboBox(named), Button(self.tr("Add"), "plus", act=self._add_chosen)
        self._entries = Slot()
        self._prepare_choice()
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
        off = partial(self._put, PlaceParams(app, ProgramPlace.NONE))
        remove = Button(self.tr("Remove"), "close", "quiet", off, about=about)
        return Row(title, app if title != app else "", remove)

    def _prepare_choice(self) -> None:
        self._choice.setEditable(True)
        self._choice.setInsertPolicy(ComboBox.InsertPolicy.NoInsert)
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
        self._put(params)
