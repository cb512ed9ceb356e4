"""The card on People of the model's layers, in the colours of the people who serve them."""

from __future__ import annotations

from potluck_control.methods.members import MembersList
from potluck_control.schema import SwarmStatus

from potluck_app.widgets.card import Card, text
from potluck_app.widgets.people_strip import PeopleStrip
from potluck_app.widgets.theme import Type
from potluck_app.words import dates, layers
from potluck_app.words.people import named, places_of, served_by


class LayersCard(Card):
    """Shown once it is known who serves."""

    def __init__(self) -> None:
        super().__init__()
        self._swarm: SwarmStatus | None = None
        self._found: MembersList | None = None
        self._strip, self._said = PeopleStrip(), text("muted")
        self._when = text("muted", kind=Type.CAPTION)
        self.fill(self.tr("Who serves the model"), self._strip, self._said, self._when)

    def show_swarm(self, swarm: SwarmStatus | None) -> None:
        self._swarm = swarm
        self._draw()

    def show_members(self, found: MembersList) -> None:
        self._found = found
        self._draw()

    def _draw(self) -> None:
        found, swarm = self._found, self._swarm
        if found is None or swarm is None or found.servers_at is None or found.swarm != swarm.name:
            self.hide()
            return
        served = served_by(found, swarm.num_blocks)
        coverage = layers.coverage([len(people) for people in served], swarm.num_blocks)
        said = f"{coverage} {self._by(found, served)}".strip()
        self._strip.show_layers(served, said)
        self._said.setText(said)
        self._when.setText(self.tr("As of {time}.").format(time=dates.clock(found.servers_at)))
        self.show()

    def _by(self, found: MembersList, served: list[tuple[int, ...]]) -> str:
        """Return who serves, as a sentence; empty if nobody does."""
        who = {place for people in served for place in people}
        places = places_of(found)
        names = [
            self.tr("you") if member.is_you else member.name
            for member in sorted(found.members, key=lambda member: (member.is_you, places[member.id]))
            if places[member.id] in who
        ]
        strangers = sum(place < 0 for place in who)
        said = named(names, strangers)
        return self.tr("Served by {people}.").format(people=said) if said else ""
