"""The people of a swarm joined with the servers that its directory lists: who serves what, how fast, and how far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from potluck_control.methods.earnings import Group
from potluck_control.methods.members import Member, MembersList, SeenServer
from potluck_control.schema import Status
from potluck_control.states import Reason, State

from potluck_app.words import layers, numbers, states
from potluck_app.words.language import tr

_STRANGER = -1
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Helped:
    """Those whom this computer helped. `names`: of members, most tokens first; `others`: how many more there are."""

    names: tuple[str, ...] = ()
    others: int = 0


def places_of(found: MembersList) -> dict[str, int]:
    """Return each person's place by id, in the order in which they became known; it decides the colour."""
    ordered = sorted(found.members, key=lambda member: (member.heard_at, member.id))
    return {member.id: place for place, member in enumerate(ordered)}


def unconfirmed(status: Status) -> str:
    """Return what a guest waits for; empty for a member, and before anybody let this computer in."""
    is_guest = not status.is_confirmed and status.reason is not Reason.NOT_ADMITTED
    return tr("You are not confirmed yet: that happens when a leader's computer is online.") if is_guest else ""


def servers_of(member: Member, found: MembersList) -> list[SeenServer]:
    peers = {machine.peer_id for machine in member.machines}
    return [server for server in found.servers if server.peer_id in peers]


def doing(member: Member, found: MembersList, own: Status | None) -> str:
    """Return what a person's computers do now, as one line. `own`: the status of this computer."""
    if member.is_you and own is not None and own.state is not State.SERVING:
        return states.title(own) if not own.app_title else f"{states.title(own)}: {own.app_title}"
    if found.servers_at is None:
        return tr("Not known yet")
    seen = servers_of(member, found)
    online = [server for server in seen if server.state == "online"]
    if not online:
        said = {"joining": tr("Getting ready"), "offline": tr("Stepped aside")}
        return said.get(seen[0].state, tr("Away")) if seen else tr("Away")
    spans = ", ".join(dict.fromkeys(layers.span(server.start, server.end) for server in online))
    is_one = len(online) == 1 and online[0].end - online[0].start == 1
    parts = [(tr("Serves layer {layers}") if is_one else tr("Serves layers {layers}")).format(layers=spans)]
    fastest = max(server.steps_per_s for server in online)
    if fastest > 0.0:
        parts.append(numbers.rate(fastest))
    pings = [server.ping_s for server in online if server.ping_s is not None]
    if pings and not member.is_you:
        parts.append(tr("{time} ms away").format(time=numbers.number(1000 * min(pings), 1 if min(pings) < 0.01 else 0)))
    return " · ".join(parts)


def served_by(found: MembersList, num_layers: int) -> list[tuple[int, ...]]:
    """Return for each layer the places of the people who serve it now; strangers have -1."""
    places = places_of(found)
    owners = {machine.peer_id: places[member.id] for member in found.members for machine in member.machines}
    online = [server for server in found.servers if server.state == "online"]
    spans = [(owners.get(server.peer_id, _STRANGER), range(server.start, server.end)) for server in online]
    return [tuple(sorted({place for place, span in spans if layer in span})) for layer in range(num_layers)]


def helped(groups: Iterable[Group], found: MembersList) -> Helped:
    """Return the members among the people who signed for work, and how many others did."""
    served = sorted((group for group in groups if group.sums.tokens > 0), key=lambda group: -group.sums.tokens)
    members = [next((each for each in found.members if group.name.startswith(each.id)), None) for group in served]
    return Helped(tuple(member.name for member in members if member is not None), members.count(None))


def named(people: Sequence[str], others: int) -> str:
    """Return names as they stand in a sentence: Ana; Ana and Bob; Ana and 2 others. Empty without a name."""
    if not people:
        return ""
    if others == 0 and len(people) <= _MOST_NAMED:
        *first, last = people
        return tr("{names} and {name}").format(names=", ".join(first), name=last) if first else last
    return tr("{name} and %n other(s)", "", others + len(people) - 1).format(name=people[0])
