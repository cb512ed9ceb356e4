"""The user's own computers: those there are, an invite to add another one, and a backup of the keys."""

from __future__ import annotations

import base64
import os
import time
from functools import partial
from pathlib import Path

from potluck_control.methods import computers, members
from potluck_control.methods.computers import Backup, BackupParams, ConfirmParams, MachineInvite
from potluck_control.methods.members import Member, MemberMachine, MemberParams, MembersList, SwarmParams
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from potluck_app.pages.changing import Changing
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, divided, text
from potluck_app.widgets.copy_field import CopyField
from potluck_app.widgets.layout import Poll, Slot, column, holder, row
from potluck_app.widgets.qr_code import QrCode
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row
from potluck_app.widgets.saving import choose_file
from potluck_app.widgets.theme import SPACE_L
from potluck_app.words import dates, sentences

_LOOK_MS = 2000


class OwnComputers(QWidget):
    """Asks by way of its page."""

    def __init__(self, page: Changing) -> None:
        super().__init__()
        self._page = page
        self._list, self._asking, self._keys = Slot(), Slot(), BackupForm(page)
        add = partial(page.ask, computers.ADD, SwarmParams(), self._show_invite)
        self._add = Button(self.tr("Add a computer…"), "plus", act=add)
        self._invite = CopyField(self.tr("Invite for the other computer"), self.tr("Copy the invite"))
        self._code, self._how = QrCode(self.tr("Invite for the other computer as a QR code")), text()
        hide = Button(self.tr("Hide"), act=self._hide_invite)
        self._made = holder(column(self._how, self._invite, row(self._code, None), row(hide, None)))
        self._made.hide()
        self._expires_at = 0.0
        self._poll = Poll(self, self._look)
        self._adding = holder(column(self._asking, row(self._add, None), self._made))
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
        self._asking.show_content(self._row_of_asking(found.asking) if found.asking else QWidget())
        if you is not None:
            rows = [self._row(machine, you, may_remove=found.has_key) for machine in you.machines]
            self._list.show_content(holder(column(*divided(rows))))

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 (Qt's name)
        self._hide_invite()

    def _show_invite(self, made: MachineInvite) -> None:
        """Show the invite until it was used or has expired, or the page is left."""
        how = self.tr(
            "On the other computer, enter this invite under “I have an invite”. Then confirm the computer here. "
            "The invite works once, until {time}."
        )
        self._how.setText(how.format(time=dates.time_of_day(made.expires_at)))
        self._invite.show_content(made.invite)
        self._code.show_text(made.invite)
        self._expires_at = made.expires_at
        self._show_made(True)

    def _hide_invite(self) -> None:
        self._invite.show_content("")
        self._code.show_text("")
        self._show_made(False)

    def _show_made(self, is_made: bool) -> None:
        self._made.setVisible(is_made)
        self._add.setVisible(not is_made)
        self._poll.run_while(is_made, _LOOK_MS)

    def _look(self) -> None:
        """Look whether a computer used the invite."""
        if time.time() > self._expires_at:
            self._hide_invite()
        self._page.refresh()

    def _row_of_asking(self, name: str) -> Row:
        about = self.tr("Confirm {name}").format(name=name)
        confirm = Button(self.tr("Confirm"), "check", "primary", lambda: self._confirm(name), about=about)
        asks = self.tr("{name} asks to be one of your computers").format(name=name)
        return Row(asks, self.tr("Confirm it only if it is yours and you have just entered the invite there."), confirm)

    def _confirm(self, name: str) -> None:
        self._hide_invite()
        done = self.tr("{name} is one of your computers now.").format(name=name)
        self._page.change(computers.CONFIRM, ConfirmParams(name), done)

    def _row(self, machine: MemberMachine, you: Member, *, may_remove: bool) -> Row:
        about = self.tr("Remove {name}").format(name=machine.name)
        remove = Button(self.tr("Remove…"), "", "quiet", lambda: self._ask_remove(machine, you), about=about)
        made = Row(machine.name, "", remove)
        remove.setVisible(may_remove)  # once it has a place: alone it would be a window
        return made

    def _ask_remove(self, machine: MemberMachine, you: Member) -> None:
        asked = self.tr("Remove {name}?").format(name=machine.name)
        said = self.tr("That computer loses access to the swarm for good, within a minute. Your other computers stay.")
        done = self.tr("{name} was removed.").format(name=machine.name)
        remove = partial(self._page.change, members.REMOVE, MemberParams(you.id, machine.peer_id), done)
        Question(self, asked, said, self.tr("Remove"), remove).open()


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
        self._save, self._hint = Button(self.tr("Save backup…"), "save", act=self._choose), text("muted")
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
            self._hint.say(sentences.sentence(f"{path}: {error.strerror or error}"))
        else:
            self._page.tell(self.tr("Your keys are in {file}.").format(file=path))

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
            self._page.ask(computers.BACK_UP, BackupParams(self._first.text()), partial(self.write, file))
