"""The page Swarm: who serves the model, the people, an invite for more, and the user's own swarms and computers."""

from __future__ import annotations

import time

from potluck_control.api.schema import Status
from potluck_control.methods import members
from potluck_control.methods.members import MembersList, SwarmParams
from potluck_control.states import State

from potluck_app.pages.page import DaemonCaller, Fold, Page, PageSection
from potluck_app.pages.swarm.inviting import InvitingCard
from potluck_app.pages.swarm.layers import LayerStrip
from potluck_app.pages.swarm.members import MembersCard
from potluck_app.pages.swarm.models import ModelsCard
from potluck_app.pages.swarm.own_computers import OwnComputers
from potluck_app.pages.swarm.swarms import SwarmsCard
from potluck_app.pages.swarm.wrong_results import WrongResultsCard
from potluck_app.widgets.parts import Card, text
from potluck_app.widgets.progress import DownloadProgress
from potluck_app.widgets.theme import TextStyle
from potluck_app.words import formats as dates
from potluck_app.words import layers
from potluck_app.words.people import served_by, stable_part

_OLD_S = 60  # from which it matters when the servers were seen


class SwarmPage(Page):
    """Asks for one `MembersList`, that of the served swarm, and shows it in the sections that are always there."""

    AGAIN_MS = 10_000

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Swarm"))
        self._seen: tuple[str, State] | None = None
        self._found: MembersList | None = None
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
            self.refresh()  # others serve now, or others are asked for

    def refresh(self) -> None:
        super().refresh()
        self.ask(members.LIST, SwarmParams(), self._show)

    def _show(self, found: MembersList) -> None:
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


class LayersCard(PageSection):
    """The swarm's model as a strip of layers, who serves them, and what that means for the user."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._status: Status | None = None
        self._found: MembersList | None = None
        self._name, self._strip, self._said = text(kind=TextStyle.HEADING), LayerStrip(), text()
        self._more, self._when = text("muted"), text("muted", kind=TextStyle.CAPTION)
        self._bar = DownloadProgress(self.tr("Download progress"))
        self.fill(Card("", self._name, self._strip, self._said, self._more, self._when, self._bar))
        self.hide()

    def show_status(self, status: Status) -> None:
        before, self._status = self._status, status
        if before is None or before.swarm is None or status.swarm is None or before.swarm.prefix != status.swarm.prefix:
            self._found = None  # it was about another swarm or model
        self._draw()

    def show_members(self, found: MembersList) -> None:
        self._found = found
        self._draw()

    def _draw(self) -> None:
        status = self._status
        self.setVisible(status is not None and status.swarm is not None)
        if status is None or status.swarm is None:
            return
        swarm, found = status.swarm, self._found
        if found is not None and (found.swarm != swarm.name or found.servers_at is None):
            found = None
        served = served_by(found, swarm)
        counts = [len(people) for people in served if people is not None]
        said = layers.summary(counts, swarm.num_blocks, swarm.span)
        self._name.setText(self.tr("{swarm} runs {model}").format(swarm=swarm.name, model=layers.model(swarm.model)))
        self._strip.show_layers(served, swarm.span, said)
        self._said.setText(said)
        self._more.say(layers.one_more(swarm))
        at = found.servers_at if found is not None else swarm.coverage_at
        is_old = at is not None and at < time.time() - _OLD_S
        self._when.say(self.tr("As of {time}.").format(time=dates.clock(at)) if at is not None and is_old else "")
        self._bar.setVisible(status.loading is not None)
        if status.loading is not None:
            self._bar.say(self.tr("Downloading…"), status.loading.done_bytes, status.loading.total_bytes)
