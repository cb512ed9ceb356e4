"""The joined swarms: which one is served, another model for one, how to leave one, and the way into another."""

from __future__ import annotations

from functools import partial

from potluck_control.methods import members, settings, swarms
from PySide6.QtCore import Qt

from potluck_app.pages.destination import Destination
from potluck_app.pages.first_run.joining import JoinForm
from potluck_app.pages.page import Page, PageSection
from potluck_app.pages.swarm.models import ModelPicker
from potluck_app.widgets.button import Button, DisclosureButton, MenuButton
from potluck_app.widgets.dialogs import ConfirmDialog
from potluck_app.widgets.parts import Card, holder, muted, row, text
from potluck_app.widgets.row import Row, RowList
from potluck_app.words import layers, sentences


class SwarmsCard(PageSection):
    """The joined swarms. It asks again after each change, and while a model is being changed."""

    part = Destination.JOIN

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._list, self._joining = RowList(), JoinForm(page.link)
        self._more = DisclosureButton(self.tr("Join or start another swarm"), self._joining)
        self._joining.joined.connect(self._joined)
        self._led = ""  # the swarm that gets another model
        self._is_changing = False
        self._reading, self._problem, self._picker = muted(), text(colour="error"), ModelPicker(page.link)
        self._picker.chosen.connect(self._ask_change)
        self._picker.hide()
        self._say()
        frame = Card(self.tr("Your swarms"), self._list, self._reading, self._problem, row(self._more, None))
        self.fill(frame, self._picker, self._joining)

    @property
    def is_unsaved(self) -> bool:
        return self._joining.is_begun

    def enter(self, swarm: str = "") -> None:
        """Show where an invite is entered, that of `swarm` if it is known."""
        self._more.setChecked(True)
        self._joining.ask_invite(swarm)

    def refresh(self) -> None:
        self.page.call(swarms.LIST, None, self._show)
        if self._is_changing:
            self.page.call(swarms.MODEL_CHANGE, None, self._show_change)

    def _show(self, found: swarms.Swarms) -> None:
        self._joining.show_served(next((swarm.name for swarm in found.swarms if swarm.is_served), ""))
        self._list.show_rows(found.swarms, lambda: map(self._row, found.swarms))

    def _row(self, swarm: swarms.JoinedSwarm) -> Row:
        parts = [layers.model(swarm.model), self.tr("%n layer(s)", "", swarm.num_blocks)]
        if swarm.draft:
            parts.append(self.tr("sped up by {model}").format(model=layers.model(swarm.draft)))
        if swarm.is_open:
            parts.append(self.tr("open to all"))
        if swarm.is_served:
            parts.append(self.tr("chosen for this computer"))
        buttons = []
        if not swarm.is_served:
            about = self.tr("Serve {swarm}").format(swarm=swarm.name)
            buttons.append(Button(self.tr("Serve this one"), "play", act=lambda: self._serve(swarm.name), about=about))
        leave = partial(self.page.call, members.LIST, members.SwarmParams(swarm.name), self._ask_leave)
        changes = [(self.tr("Leave…"), leave)]
        if swarm.may_lead:
            changes.insert(0, (self.tr("Change the model…"), partial(self._open_picker, swarm.name)))
        buttons.append(MenuButton(self.tr("Change {name}").format(name=swarm.name), changes))
        return Row(swarm.name, " · ".join(parts), holder(row(*buttons, spacing=0)))

    def _joined(self) -> None:
        self._more.setChecked(False)
        self.page.refresh()

    def _serve(self, name: str) -> None:
        self.page.call(
            settings.SET, settings.SetParams((settings.Change("serve.swarm", name),)), lambda _: self.page.refresh()
        )

    def _open_picker(self, name: str) -> None:
        """Show the picker for a swarm; the second press hides it."""
        opens = self._picker.isHidden() or self._led != name
        self._led = name
        self._picker.setVisible(opens)
        if opens:
            self._picker.setFocus()
        self.page.order_tabs()

    def _ask_change(self, model: str, name: str) -> None:
        asked = self.tr("Change the model of {swarm} to {model}?").format(swarm=self._led, model=layers.model(name))
        message = self.tr(
            "Everybody in the swarm gets the new model, and their computers download it. Conversations with the "
            "present model end within ten minutes. Invites stay valid."
        )
        change = partial(
            self.page.call, swarms.CHOOSE_MODEL, swarms.ChooseModelParams(model, self._led), self._show_change
        )
        ConfirmDialog(self, asked, message, self.tr("Change the model"), change).open()

    def _show_change(self, change: swarms.ModelChange) -> None:
        """Show how far the change is; reading a large model's files takes minutes."""
        self._is_changing = not change.is_done
        self._picker.setVisible(self._picker.isVisibleTo(self) and bool(change.problem))
        about = {"swarm": change.swarm, "model": layers.model(change.model)}
        if self._is_changing:
            self._say(self.tr("Reading the files of {model}…").format(**about))
        elif change.problem:
            why = sentences.reason(change.problem)
            self._say(problem=self.tr("{swarm} keeps its model. {why}").format(why=why, **about))
        else:
            self._say()
            done = self.tr("{swarm} serves {model} now. Members that are online follow within seconds.")
            self.page.announce(done.format(**about))
            self.page.refresh()

    def _say(self, message: str = "", problem: str = "") -> None:
        self._reading.say(message)
        self._problem.say(problem)

    def _ask_leave(self, found: members.MembersList) -> None:
        message = self.tr("You need a new invite to come back. You keep your points.")
        if found.is_founder:
            self.page.call(
                members.RECOVERY_CODE, members.SwarmParams(found.swarm), partial(self._ask_founder, found, message)
            )
        else:
            self._question(found.swarm, message).open()

    def _ask_founder(self, found: members.MembersList, message: str, recovery: members.RecoveryCode) -> None:
        """Show the recovery code before the key is gone."""
        lost = self.tr(
            "You founded this swarm, and this computer forgets the founder's key. Write down its recovery code, "
            "without which nobody can ever appoint admins again: {code}"
        )
        alone = self.tr("It has no admin, so nobody can invite, confirm or remove people either.")
        has_admin = any(member.rank == "admin" for member in found.members)
        parts = (lost.format(code=recovery.code), *(() if has_admin else (alone,)), message)
        question = self._question(found.swarm, "\n\n".join(parts))
        question.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        question.open()

    def _question(self, name: str, message: str) -> ConfirmDialog:
        params = swarms.LeaveParams(name, is_sure=True)
        leave = partial(self.page.call, swarms.LEAVE, params, lambda _: self.page.refresh())
        return ConfirmDialog(
            self, self.tr("Leave the swarm {swarm}?").format(swarm=name), message, self.tr("Leave"), leave
        )
