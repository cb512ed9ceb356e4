"""The founder's key: the recovery code to write down, and the way back with it."""

from __future__ import annotations

from functools import partial

from potluck_control.methods import members
from potluck_control.methods.members import MembersList, RecoveryCode, SwarmParams
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QMessageBox

from potluck_app.pages.page import Page
from potluck_app.pages.section import Section
from potluck_app.widgets.button import Button, Opener
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.layout import column, holder, row


class FounderKeyCard(Section):
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
        self._more = Opener(self.tr("I have a recovery code"), form)
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
