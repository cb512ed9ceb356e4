"""The user's own computers: those there are, a code to add another one, and a backup of the keys."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from potluck_control.methods import computers, members
from potluck_control.methods.computers import Adding, AddParams, Backup, BackupParams
from potluck_control.methods.members import Member, MemberMachine, MemberParams, MembersList
from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtWidgets import QFileDialog, QLineEdit, QWidget

from potluck_app.pages.changing import Changing
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, divided, text
from potluck_app.widgets.layout import Poll, Slot, column, holder, row
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row
from potluck_app.widgets.theme import SPACE_L, Type
from potluck_app.words import dates, sentences

_LOOK_MS = 1000


class OwnComputers(QWidget):
    """Asks by way of its page."""

    def __init__(self, page: Changing) -> None:
        super().__init__()
        self._page = page
        self._list, self._keys = Slot(), BackupForm(page)
        self._add = Button(self.tr("Add a computer…"), "plus")
        self._add.clicked.connect(lambda: page.ask(computers.ADD, AddParams(), self._show_code))
        self._code, self._how = text(kind=Type.TITLE), text("muted")
        self._code.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._code.setAccessibleName(self.tr("Code for the other computer"))
        cancel = Button(self.tr("Cancel"))
        cancel.clicked.connect(lambda: page.ask(computers.CANCEL, None, self._show_code))
        self._waiting = holder(column(self._code, self._how, row(cancel, None)))
        self._waiting.hide()
        self._problem = text("error")
        self._problem.hide()
        self._poll = Poll(self, lambda: page.ask(computers.ADDING, None, self._show_code))
        self._adding = holder(column(row(self._add, None), self._waiting, self._problem))
        card = Card(self.tr("Your computers"), self._list, self._adding)
        self.setLayout(column(card, self._keys, spacing=SPACE_L))

    @property
    def is_begun(self) -> bool:
        return self._keys.is_begun

    def show_members(self, found: MembersList) -> None:
        you = next((member for member in found.members if member.is_you), None)
        self.setVisible(you is not None)
        self._adding.setVisible(found.has_key)
        self._keys.setVisible(found.has_key)
        if you is not None:
            rows = [self._row(machine, you, may_remove=found.has_key) for machine in you.machines]
            self._list.show_content(holder(column(*divided(rows))))

    def _show_code(self, adding: Adding) -> None:
        self._waiting.setVisible(bool(adding.code))
        self._add.setVisible(not adding.code)
        self._code.setText(adding.code)
        how = self.tr(
            "On the other computer, choose “I use Potluck on another computer” and enter this code. Both must be in "
            "one network. It works once, until {time}."
        )
        self._how.setText(how.format(time=dates.time_of_day(adding.expires_at)))
        said = sentences.reason(adding.problem)
        self._problem.setText(said)
        self._problem.setVisible(bool(said))
        self._poll.run_while(bool(adding.code), _LOOK_MS)
        if adding.added:
            self._page.ask(computers.CANCEL, None, lambda _: None)
            self._page.tell(self.tr("{name} is one of your computers now.").format(name=adding.added))
            self._page.refresh()

    def _row(self, machine: MemberMachine, you: Member, *, may_remove: bool) -> Row:
        remove = Button(self.tr("Remove…"), style="quiet")
        remove.setAccessibleName(self.tr("Remove {name}").format(name=machine.name))
        remove.clicked.connect(lambda: self._ask_remove(machine, you))
        made = Row(machine.name, self.tr("Added {day}").format(day=dates.date(machine.added_at)), remove)
        remove.setVisible(may_remove)  # once it has a place: alone it would be a window
        return made

    def _ask_remove(self, machine: MemberMachine, you: Member) -> None:
        question = Question(self, self.tr("Remove {name}?").format(name=machine.name), self.tr("Remove"))
        question.setInformativeText(
            self.tr("That computer loses access to the swarm for good, within a minute. Your other computers stay.")
        )
        done = self.tr("{name} was removed.").format(name=machine.name)
        params = MemberParams(you.id, machine.peer_id)
        question.confirmed.connect(lambda: self._page.change(members.REMOVE, params, done))
        question.open()


class BackupForm(QWidget):
    """A password twice, and the file to which the keys are written."""

    def __init__(self, page: Changing) -> None:
        super().__init__()
        self._page = page
        self._first, self._second = QLineEdit(), QLineEdit()
        for field, name in ((self._first, self.tr("Password")), (self._second, self.tr("Password again"))):
            field.setEchoMode(QLineEdit.EchoMode.Password)
            field.setPlaceholderText(name)
            field.setAccessibleName(name)
            field.setMaxLength(1024)
            field.textChanged.connect(self._check)
        self._save, self._hint = Button(self.tr("Save backup…"), "save"), text("muted")
        self._save.clicked.connect(self._choose)
        why = self.tr(
            "If this computer breaks, a backup makes a new one yours, in all your swarms. Keep the file and the "
            "password apart."
        )
        fields = row((self._first, 1), (self._second, 1), self._save)
        self.setLayout(column(Card(self.tr("Backup of your keys"), text("muted", said=why), fields, self._hint)))
        self._check()

    @property
    def is_begun(self) -> bool:
        """Tell whether the user has written something."""
        return bool(self._first.text() or self._second.text())

    def write(self, path: Path, made: Backup) -> None:
        """Write the backup where only the user can read it, and say so."""
        self._first.clear()
        self._second.clear()
        try:
            path.unlink(missing_ok=True)  # the user has been asked
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(base64.b64decode(made.data))
        except OSError as error:
            self._say(sentences.sentence(f"{path}: {error.strerror or error}"))
        else:
            self._page.tell(self.tr("Your keys are in {file}.").format(file=path))

    def _check(self) -> None:
        first, second = self._first.text(), self._second.text()
        is_short = bool(first) and len(first) < computers.MIN_PASSWORD_CHARS
        differ = bool(second) and not first.startswith(second)
        short = self.tr("The password needs at least %n letters.", "", computers.MIN_PASSWORD_CHARS)
        self._say(short if is_short else self.tr("The two passwords differ.") if differ else "")
        self._save.setEnabled(bool(first) and first == second and not is_short)

    def _say(self, hint: str) -> None:
        self._hint.setText(hint)
        self._hint.setVisible(bool(hint))

    def _choose(self) -> None:
        folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        suggested = str(Path(folder) / "potluck-keys")
        chosen, _ = QFileDialog.getSaveFileName(self, self.tr("Save backup"), suggested)
        if chosen:
            params = BackupParams(self._first.text())
            self._page.ask(computers.BACK_UP, params, lambda made: self.write(Path(chosen), made))
