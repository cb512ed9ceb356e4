"""The joined swarms: which one is served, another model for one, how to leave one, and the way into another."""

from __future__ import annotations

from functools import partial

from potluck_control.methods import members, settings, swarms
from potluck_control.methods.members import MembersList, SwarmParams
from potluck_control.methods.settings import Change, SetParams
from potluck_control.methods.swarms import ChooseModelParams, JoinedSwarm, LeaveParams, ModelChange
from PySide6.QtWidgets import QWidget

from potluck_app.pages.join_form import JoinForm
from potluck_app.pages.model_picker import ModelPicker
from potluck_app.pages.page import Page
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button, Opener
from potluck_app.widgets.card import Card, divided, text
from potluck_app.widgets.layout import Slot, column, holder, row
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row
from potluck_app.words import layers, sentences


class SwarmsCard(QWidget):
    """Asks by way of its page."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self._shown: swarms.Swarms | None = None
        self._list, self._joining = Slot(), JoinForm(page.link)
        self._more = Opener(self.tr("Join or start another swarm"), self._joining)
        self._joining.joined.connect(self._joined)
        self._led = ""  # the swarm that gets another model
        self._is_changing = False
        self._reading, self._problem, self._picker = text("muted"), text("error"), ModelPicker(page.link)
        self._picker.chosen.connect(self._ask_change)
        self._picker.hide()
        self._say()
        frame = Card(self.tr("Your swarms"), self._list, self._reading, self._problem, row(self._more, None))
        self.setLayout(column(frame, self._picker, self._joining, spacing=theme.SPACE_L))

    @property
    def is_unsaved(self) -> bool:
        return self._joining.is_begun

    def ask_invite(self, swarm: str) -> None:
        """Show where an invite is entered, that of `swarm` if it is known."""
        self._more.setChecked(True)
        self._joining.ask_invite(swarm)

    def refresh(self) -> None:
        self._page.ask(swarms.LIST, None, self._show)
        if self._is_changing:
            self._page.ask(swarms.MODEL_CHANGE, None, self._show_change)

    def _show(self, found: swarms.Swarms) -> None:
        if found == self._shown:
            return
        self._shown = found
        self._joining.show_served(next((swarm.name for swarm in found.swarms if swarm.is_served), ""))
        self._list.show_content(holder(column(*divided(map(self._row, found.swarms)))))

    def _row(self, swarm: JoinedSwarm) -> Row:
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
        if swarm.may_lead:
            about = self.tr("Change the model of {swarm}").format(swarm=swarm.name)
            act = partial(self._open_picker, swarm.name)
            buttons.append(Button(self.tr("Change the model…"), "models", "quiet", act, about=about))
        about = self.tr("Leave {swarm}").format(swarm=swarm.name)
        leave = partial(self._page.ask, members.LIST, SwarmParams(swarm.name), self._ask_leave)
        buttons.append(Button(self.tr("Leave…"), "close", "quiet", leave, about=about))
        return Row(swarm.name, " · ".join(parts), holder(column(*buttons, spacing=0)))

    def _joined(self) -> None:
        self._more.setChecked(False)
        self._page.refresh()

    def _serve(self, name: str) -> None:
        self._page.ask(settings.SET, SetParams((Change("serve.swarm", name),)), lambda _: self._page.refresh())

    def _open_picker(self, name: str) -> None:
        """Show the picker for a swarm; the second press hides it."""
        opens = self._picker.isHidden() or self._led != name
        self._led = name
        self._picker.setVisible(opens)
        if opens:
            self._picker.setFocus()
        self._page.order_tabs()

    def _ask_change(self, model: str, name: str) -> None:
        asked = self.tr("Change the model of {swarm} to {model}?").format(swarm=self._led, model=layers.model(name))
        said = self.tr(
            "Everybody in the swarm gets the new model, and their computers download it. Conversations with the "
            "present model end within ten minutes. Invites stay valid."
        )
        change = partial(self._page.ask, swarms.CHOOSE_MODEL, ChooseModelParams(model, self._led), self._show_change)
        Question(self, asked, said, self.tr("Change the model"), change).open()

    def _show_change(self, change: ModelChange) -> None:
        """Say how far the change is; reading a large model's files takes minutes."""
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
            self._page.tell(done.format(**about))
            self._page.refresh()

    def _say(self, said: str = "", problem: str = "") -> None:
        self._reading.say(said)
        self._problem.say(problem)

    def _ask_leave(self, found: MembersList) -> None:
        name = found.swarm
        said = self.tr("You need a new invite to come back. You keep your points.")
        if found.is_founder:
            lost = self.tr(
                "You founded this swarm, and the founder's key on this computer is deleted. Without its recovery code "
                "(page People), nobody can ever appoint admins again."
            )
            alone = self.tr("It has no admin, so nobody can invite, confirm or remove people either.")
            has_admin = any(member.rank == "admin" for member in found.members)
            said = " ".join((lost, *(() if has_admin else (alone,)), said))
        params = LeaveParams(name, is_sure=True)
        leave = partial(self._page.ask, swarms.LEAVE, params, lambda _: self._page.refresh())
        Question(self, self.tr("Leave the swarm {swarm}?").format(swarm=name), said, self.tr("Leave"), leave).open()
