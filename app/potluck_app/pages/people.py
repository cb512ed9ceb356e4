"""The page People: who belongs to the swarm, and what the user may do about it."""

from __future__ import annotations

from typing import TypeVar

from msgspec import structs
from potluck_control.methods import members
from potluck_control.methods.members import MembersChanged, MembersList, SwarmParams
from potluck_control.schema import Method, Status
from PySide6.QtCore import QTimer

from potluck_app.pages.founder_key import FounderKeyCard
from potluck_app.pages.inviting import InvitingCard
from potluck_app.pages.layers_card import LayersCard
from potluck_app.pages.members_card import MembersCard
from potluck_app.pages.own_computers import OwnComputers
from potluck_app.pages.page import DaemonCaller, Page, Part
from potluck_app.pages.wrong_results import WrongResultsCard
from potluck_app.widgets.card import Card
from potluck_app.widgets.layout import column, holder
from potluck_app.widgets.placeholder import Waiting
from potluck_app.widgets.theme import SPACE_L

P = TypeVar("P")


class PeoplePage(Page):
    """Shows one `MembersList`: that of the served swarm."""

    AGAIN_MS = 10_000

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("People"))
        self._shown: MembersList | None = None  # without what changes all the time
        self._swarm, self._leads_to_inviting = "", False
        self._placeholder = Waiting("people")
        self._waiting = Card("", self._placeholder)
        self._layers, self._wrong = LayersCard(), WrongResultsCard(self)
        self._members, self._inviting, self._key = MembersCard(self), InvitingCard(self), FounderKeyCard(self)
        self._own = OwnComputers(self)
        self._content = holder(
            column(self._wrong, self._members, self._inviting, self._own, self._key, spacing=SPACE_L)
        )
        self._content.hide()
        self._layers.hide()
        self.column.addWidget(self._layers)
        self.column.addWidget(self._waiting)
        self.column.addWidget(self._content)

    @property
    def is_unsaved(self) -> bool:
        return self._key.is_begun or self._own.is_begun

    def show_status(self, status: Status) -> None:
        self._members.show_status(status)
        self._layers.show_swarm(status.swarm)
        self._inviting.show_status(status)
        name = status.swarm.name if status.swarm is not None else ""
        if name != self._swarm:
            self._swarm = name
            self.refresh()

    def refresh(self) -> None:
        self.ask(members.LIST, SwarmParams(), self._show)
        self._inviting.refresh()

    def lead_to(self, part: Part, swarm: str = "") -> None:
        """Go to the card that invites, at once or when it is known who may."""
        if part is Part.INVITE:
            self._leads_to_inviting = True
            self._lead_to_inviting()

    def _lead_to_inviting(self) -> None:
        if self._leads_to_inviting and self._inviting.isVisibleTo(self):
            self._leads_to_inviting = False
            self._inviting.setFocus()
            QTimer.singleShot(0, self, lambda: self.ensureWidgetVisible(self._inviting))  # once all has its place

    def change(self, method: Method[P, MembersChanged], params: P, done: str) -> None:
        """Have the daemon change something, then say `done` and show the people anew."""

        def changed(result: MembersChanged) -> None:
            later = self.tr("The others learn of it when this computer serves again.")
            self.tell(done if result.is_known else f"{done} {later}")
            self.refresh()

        self.ask(method, params, changed)

    def _show(self, found: MembersList) -> None:
        self._layers.show_members(found)
        self._waiting.setVisible(found.is_open)
        self._content.setVisible(not found.is_open)
        if found.is_open:
            said = self.tr("{swarm} is open to everybody").format(swarm=found.swarm)
            self._placeholder.say(said, self.tr("It has no members. Everybody who finds it can use it."))
            return
        self._wrong.show_members(found)
        self._members.show_members(found)
        known = structs.replace(found, servers=(), servers_at=None, leader_heard_at=None)
        if known != self._shown:
            self._own.show_members(found)
            self._inviting.show_members(found)
            self._key.show_members(found)
        self._shown = known
        self._lead_to_inviting()
