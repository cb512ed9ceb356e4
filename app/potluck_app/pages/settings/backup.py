"""What keeps a person's place if this computer breaks: the founder's recovery code, and a backup of the keys."""

from __future__ import annotations

import base64
from functools import partial
from pathlib import Path

from potluck_control.methods import members
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox

from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets.button import Button, DisclosureButton
from potluck_app.widgets.controls import MAX_PASSWORD_CHARS, text_field
from potluck_app.widgets.dialogs import choose_file, write_file
from potluck_app.widgets.parts import Card, holder, muted, row, stack


class FounderKeyCard(PageSection):
    """The founder's key: the recovery code for a founder, and the way back with it for others."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        code = partial(page.call, members.RECOVERY_CODE, members.SwarmParams(), self._show_code)
        show = Button(self.tr("Show recovery code…"), act=code)
        why = self.tr("If you lose this computer, only the recovery code lets you remove admins and appoint new ones.")
        self._founder = Card(self.tr("Founder's key"), muted(why), row(show, None))
        self._code = text_field(self.tr("Recovery code"), self.tr("14 groups of four letters"), 256, is_secret=True)
        self._recover = Button(self.tr("Become the founder again"), act=self._press_recover)
        self._code.textChanged.connect(lambda: self._recover.setEnabled(bool(self._code.text().strip())))
        self._recover.setEnabled(False)
        form = holder(row((self._code, 1), self._recover))
        self._more = DisclosureButton(self.tr("I have a recovery code"), form)
        self._lost = stack(row(self._more, None), form)
        self.fill(self._founder, self._lost)

    @property
    def is_unsaved(self) -> bool:
        return bool(self._code.text())

    def show_members(self, found: members.MembersList) -> None:
        self._founder.setVisible(found.is_founder)
        self._lost.setVisible(not found.is_founder)

    def _show_code(self, found: members.RecoveryCode) -> None:
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setText(found.code)
        text = self.tr("Write it down and keep it safe: whoever has it is the founder of {swarm}.")
        box.setInformativeText(text.format(swarm=found.swarm))
        box.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        box.open()

    def _press_recover(self) -> None:
        params = members.RecoveryCode(self._code.text().strip())
        self._code.clear()
        self._more.setChecked(False)
        self.page.change_members(members.RECOVER, params, self.tr("This computer has the founder's key again."))


class BackupSection(PageSection):
    """The cards that fit the user: the founder's key, and a file with all keys."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._founder, self._keys = FounderKeyCard(page), BackupForm(page)
        self._nothing = muted(self.tr("This computer has no keys of its own."))
        self.fill(self._founder, self._keys, self._nothing)
        self._nothing.hide()

    def refresh(self) -> None:
        self.page.call(members.LIST, members.SwarmParams(), self._show)

    def _show(self, found: members.MembersList) -> None:
        self._founder.setVisible(not found.is_open)
        self._founder.show_members(found)
        self._keys.setVisible(found.has_key)
        self._nothing.setVisible(found.is_open)


class BackupForm(PageSection):
    """A password, entered twice, and the file to which the keys are written."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._first = text_field(self.tr("Password"), max_chars=MAX_PASSWORD_CHARS, is_secret=True)
        self._second = text_field(self.tr("Password again"), max_chars=MAX_PASSWORD_CHARS, is_secret=True)
        for field in (self._first, self._second):
            field.textChanged.connect(self._check)
        self._save, self._hint = Button(self.tr("Save backup…"), "save", act=self._choose), muted()
        why = self.tr(
            "If this computer breaks, a backup makes a new one yours, in all your swarms. Keep the file and the "
            "password apart."
        )
        fields = row((self._first, 1), (self._second, 1), self._save)
        self.fill(Card(self.tr("Backup of your keys"), muted(why), fields, self._hint))
        self._check()

    @property
    def is_unsaved(self) -> bool:
        return bool(self._first.text() or self._second.text())

    def write(self, path: Path, made: members.Backup) -> None:
        """Write the backup where only the user can read it, and show that it is done."""
        self._first.clear()
        self._second.clear()
        problem = write_file(path, base64.b64decode(made.data), is_private=True)
        self._hint.say(problem)
        if not problem:
            self.page.announce(self.tr("Your keys are in {file}.").format(file=path))

    def _check(self) -> None:
        first, second = self._first.text(), self._second.text()
        is_short = bool(first) and len(first) < members.MIN_PASSWORD_CHARS
        differ = bool(second) and not first.startswith(second)
        short = self.tr("The password needs at least %n letters.", "", members.MIN_PASSWORD_CHARS)
        self._hint.say(short if is_short else self.tr("The two passwords differ.") if differ else "")
        self._save.setEnabled(bool(first) and first == second and not is_short)

    def _choose(self) -> None:
        file = choose_file(self, self.tr("Save backup"), "potluck-keys")
        if file is not None:
            self.page.call(members.BACK_UP, members.BackupParams(self._first.text()), partial(self.write, file))
