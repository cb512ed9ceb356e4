"""What keeps a person's place if this computer breaks: the founder's recovery code, and a backup of the keys.

The founder's key: the recovery code to write down, and the way back with it.
"""

from __future__ import annotations

import base64
import os
from functools import partial
from pathlib import Path

from potluck_control.methods import members
from potluck_control.methods import members as computers
from potluck_control.methods.members import Backup, BackupParams, MembersList, RecoveryCode, SwarmParams
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QMessageBox

from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets.button import Button, DisclosureButton
from potluck_app.widgets.dialogs import choose_file
from potluck_app.widgets.parts import Card, column, holder, row, text
from potluck_app.words import sentences


class FounderKeyCard(PageSection):
    """Shows a founder the code, and others where to enter it."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        code = partial(page.ask, members.RECOVERY_CODE, SwarmParams(), self._show_code)
        show = Button(self.tr("Show recovery code…"), act=code)
        why = self.tr("If you lose this computer, only the recovery code lets you remove admins and appoint new ones.")
        self._founder = Card(self.tr("Founder's key"), text("muted", said=why), row(show, None))
        self._code = QLineEdit()
        self._recover = Button(self.tr("Become the founder again"), act=self._press_recover)
        self._code.setEchoMode(QLineEdit.EchoMode.Password)
        self._code.setAccessibleName(self.tr("Recovery code"))
        self._code.setPlaceholderText(self.tr("14 groups of four letters"))
        self._code.setMaxLength(256)
        self._code.textChanged.connect(lambda: self._recover.setEnabled(bool(self._code.text().strip())))
        self._recover.setEnabled(False)
        form = holder(row((self._code, 1), self._recover))
        self._more = DisclosureButton(self.tr("I have a recovery code"), form)
        self._lost = holder(column(row(self._more, None), form))
        self.fill(self._founder, self._lost)

    @property
    def is_unsaved(self) -> bool:
        return bool(self._code.text())

    def show_members(self, found: MembersList) -> None:
        self._founder.setVisible(found.is_founder)
        self._lost.setVisible(not found.is_founder)

    def _show_code(self, found: RecoveryCode) -> None:
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setText(found.code)
        said = self.tr("Write it down and keep it safe: whoever has it is the founder of {swarm}.")
        box.setInformativeText(said.format(swarm=found.swarm))
        box.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        box.open()

    def _press_recover(self) -> None:
        params = RecoveryCode(self._code.text().strip())
        self._code.clear()
        self._more.setChecked(False)
        self.page.carry_out(members.RECOVER, params, self.tr("This computer has the founder's key again."))


class BackupSection(PageSection):
    """The cards that fit the user: a founder's code to write down, the way back with it, and a file with all keys."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._founder, self._keys = FounderKeyCard(page), BackupForm(page)
        self._nothing = text("muted", said=self.tr("This computer has no keys of its own."))
        self.fill(self._founder, self._keys, self._nothing)
        self._nothing.hide()

    def refresh(self) -> None:
        self.page.ask(members.LIST, SwarmParams(), self._show)

    def _show(self, found: MembersList) -> None:
        self._founder.setVisible(not found.is_open)
        self._founder.show_members(found)
        self._keys.setVisible(found.has_key)
        self._nothing.setVisible(found.is_open)


class BackupForm(PageSection):
    """A password twice, and the file to which the keys are written."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._first, self._second = QLineEdit(), QLineEdit()
        for field, name in ((self._first, self.tr("Password")), (self._second, self.tr("Password again"))):
            field.setEchoMode(QLineEdit.EchoMode.Password)
            field.setPlaceholderText(name)
            field.setAccessibleName(name)
            field.setMaxLength(1024)
            field.textChanged.connect(self._check)
        self._save, self._hint = Button(self.tr("Save backup…"), "save", act=self._choose), text("muted")
        why = self.tr(
            "If this computer breaks, a backup makes a new one yours, in all your swarms. Keep the file and the "
            "password apart."
        )
        fields = row((self._first, 1), (self._second, 1), self._save)
        self.fill(Card(self.tr("Backup of your keys"), text("muted", said=why), fields, self._hint))
        self._check()

    @property
    def is_unsaved(self) -> bool:
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
            self._hint.say(sentences.sentence(f"{path}: {error.strerror or error}"))
        else:
            self.page.tell(self.tr("Your keys are in {file}.").format(file=path))

    def _check(self) -> None:
        first, second = self._first.text(), self._second.text()
        is_short = bool(first) and len(first) < computers.MIN_PASSWORD_CHARS
        differ = bool(second) and not first.startswith(second)
        short = self.tr("The password needs at least %n letters.", "", computers.MIN_PASSWORD_CHARS)
        self._hint.say(short if is_short else self.tr("The two passwords differ.") if differ else "")
        self._save.setEnabled(bool(first) and first == second and not is_short)

    def _choose(self) -> None:
        file = choose_file(self, self.tr("Save backup"), "potluck-keys")
        if file is not None:
            self.page.ask(computers.BACK_UP, BackupParams(self._first.text()), partial(self.write, file))
