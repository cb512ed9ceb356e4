"""What today brought: points and tokens, as the ledger has them, and who was helped."""

from __future__ import annotations

from collections.abc import Sequence

from potluck_control.methods import earnings, members
from potluck_control.methods.earnings import Earnings, EarningsGroups, Group, GroupParams
from potluck_control.methods.members import MembersList
from potluck_control.schema import Status

from potluck_app.pages.page import Page
from potluck_app.pages.section import Section
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.figure import Figure, in_a_row
from potluck_app.words import numbers, people


class Today(Section):
    """A card with two numbers and a sentence."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._points, self._tokens = Figure(self.tr("points earned")), Figure(self.tr("tokens served"))
        self._helped = text("muted")
        self._helped.hide()
        self._swarm = ""
        self._members: MembersList | None = None
        self._groups: Sequence[Group] = ()
        self.fill(Card(self.tr("Today"), in_a_row(self._points, self._tokens), self._helped))

    def show_status(self, status: Status) -> None:
        name = status.swarm.name if status.swarm is not None else ""
        if name != self._swarm:
            self._swarm = name
            self._ask_members()

    def refresh(self) -> None:
        self.page.ask(earnings.SUMMARY, None, self._show_sums)
        self.page.ask(earnings.BY_PERSON, GroupParams(days=1), self._show_groups)
        self._ask_members()

    def _ask_members(self) -> None:
        if self._swarm:
            self.page.link.call(members.LIST, members.SwarmParams(self._swarm), done=self._show_members)

    def _show_sums(self, sums: Earnings) -> None:
        self._points.say(numbers.points(sums.today.earned))
        self._tokens.say(numbers.number(sums.today.tokens))

    def _show_groups(self, found: EarningsGroups) -> None:
        self._groups = [group for group in found.groups if group.sums.tokens > 0]
        self._show_helped()

    def _show_members(self, found: MembersList) -> None:
        self._members = found
        self._show_helped()

    def _show_helped(self) -> None:
        known = people.helped(self._groups, self._members) if self._members is not None else ([], 0)
        names = people.named(*known) or self.tr("%n people", "", len(self._groups))
        self._helped.say(self.tr("You helped {people}.").format(people=names) if self._groups else "")
