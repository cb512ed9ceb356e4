"""The page Swarm: who serves the model, the people, an invite for more, and the user's own swarms and computers."""

from __future__ import annotations

from potluck_control.api.schema import Status
from potluck_control.methods import members
from potluck_control.states import State

from potluck_app.pages.calls import DaemonCaller
from potluck_app.pages.page import Fold, Page
from potluck_app.pages.swarm.inviting import InvitingCard
from potluck_app.pages.swarm.layers import LayersCard
from potluck_app.pages.swarm.members import MembersCard, WrongResultsCard
from potluck_app.pages.swarm.models import ModelsCard
from potluck_app.pages.swarm.own_computers import OwnComputers
from potluck_app.pages.swarm.swarms import SwarmsCard
from potluck_app.words.people import stable_part


class SwarmPage(Page):
    """The page of the served swarm. It asks for the list of members once, and gives it to its sections."""

    AGAIN_MS = 10_000

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Swarm"))
        self._seen: tuple[str, State] | None = None
        self._found: members.MembersList | None = None
        self._wrong, self._layers = WrongResultsCard(self), LayersCard(self)
        self._members, self._inviting = MembersCard(self), InvitingCard(self)
        self._computers = Fold(
            self,
            self.tr("Your computers"),
            self.tr("Those that serve in your name. Add another one, or remove a lost one."),
            lambda: OwnComputers(self),
        )
        models = Fold(
            self,
            self.tr("Models on this computer"),
            self.tr("What is computed here, and how much of the disk models take."),
            lambda: ModelsCard(self),
        )
        self.add(self._wrong, self._layers, self._members, self._inviting, SwarmsCard(self), self._computers, models)

    def show_status(self, status: Status) -> None:
        super().show_status(status)
        seen = status.swarm.prefix if status.swarm is not None else "", status.state
        if seen != self._seen:
            self._seen = seen
            self.refresh()  # other people serve now, or it is another swarm

    def refresh(self) -> None:
        super().refresh()
        self.call(members.LIST, members.SwarmParams(), self._show)

    def _show(self, found: members.MembersList) -> None:
        for section in (self._wrong, self._layers, self._members):
            section.show_members(found)
        if stable_part(found) == self._found:
            return
        self._found = stable_part(found)
        self._inviting.show_members(found)
        self._inviting.setVisible(not found.is_open)
        self._computers.setVisible(not found.is_open)
        if found.asking:
            self._computers.open()
