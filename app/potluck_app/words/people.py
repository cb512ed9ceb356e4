"""The people of a swarm joined with the servers that its directory lists: who serves what, how fast, and how far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs
from potluck_control.api.schema import Status, SwarmStatus
from potluck_control.methods.earnings import Group
from potluck_control.methods.members import Member, MembersList, SeenServer
from potluck_control.states import Reason, State

from potluck_app.words import formats, layers, states
from potluck_app.words.language import tr

_MOST_NAMED = 3


def places_of(found: MembersList) -> dict[str, int]:
    """Return each person's place by id, in the order in which they became known; it decides the colour."""
    ordered = sorted(found.members, key=lambda member: (member.heard_at, member.id))
    return {member.id: place for place, member in enumerate(ordered)}


def guest_notice(status: Status) -> str:
    """Return what a guest waits for, or "" for a member, and before anybody let this computer in."""
    is_guest = not status.is_confirmed and status.reason not in (Reason.NOT_ADMITTED, Reason.INVITE_OVER)
    return tr("You are not confirmed yet: that happens when a leader's computer is online.") if is_guest else ""


def stable_part(found: MembersList) -> MembersList:
    """Return the list without its constantly changing parts, to redraw controls only when they change."""
    return structs.replace(found, servers=(), servers_at=None, leader_heard_at=None)


def servers_of(member: Member, found: MembersList) -> list[SeenServer]:
    peers = {machine.peer_id for machine in member.machines}
    return [server for server in found.servers if server.peer_id in peers]


def current_work(member: Member, found: MembersList, own: Status | None) -> str:
    """Return what a person's computers do now, as one line. `own`: the status of this computer."""
    if member.is_you and own is not None and own.state is not State.SERVING:
        return states.title(own) if not own.app_title else f"{states.title(own)}: {own.app_title}"
    if found.servers_at is None:
        return tr("Not known yet")
    seen = servers_of(member, found)
    online = [server for server in seen if server.state == "online"]
    if not online:
        text = {"joining": tr("Getting ready"), "offline": tr("Stepped aside")}
        absent = tr("Getting ready") if member.is_you else tr("Away")  # the directory learns of it in a moment
        return text.get(seen[0].state, absent) if seen else absent
    spans = ", ".join(dict.fromkeys(layers.span(server.start, server.end) for server in online))
    is_one = len(online) == 1 and online[0].end - online[0].start == 1
    parts = [(tr("Serves layer {layers}") if is_one else tr("Serves layers {layers}")).format(layers=spans)]
    pings = [server.ping_s for server in online if server.ping_s is not None]
    if pings and not member.is_you:
        parts.append(tr("{time} ms away").format(time=formats.number(1000 * min(pings), 1 if min(pings) < 0.01 else 0)))
    return " · ".join(parts)


def served_by(found: MembersList | None, swarm: SwarmStatus) -> list[layers.Layer]:
    """Return for each layer the places of the people who serve it now, one for each computer.

    Args:
        found: the people and servers of that swarm; None: not known, so that all are strangers.
    """
    if found is None:
        is_known = len(swarm.coverage) == swarm.num_blocks
        return [(layers.STRANGER,) * count for count in swarm.coverage] if is_known else [None] * swarm.num_blocks
    places = places_of(found)
    owners = {machine.peer_id: places[member.id] for member in found.members for machine in member.machines}
    others = [each for each in found.servers if each.state == "online" and each.peer_id != swarm.peer_id]
    spans = [(owners.get(server.peer_id, layers.STRANGER), range(server.start, server.end)) for server in others]
    if swarm.peer_id is not None and swarm.span is not None:  # the directory learns of this computer later
        spans.append((owners.get(swarm.peer_id, layers.STRANGER), range(*swarm.span)))
    return [tuple(sorted(place for place, span in spans if layer in span)) for layer in range(swarm.num_blocks)]


def helped_people(groups: Iterable[Group], found: MembersList) -> tuple[list[str], int]:
    """Return the members among the people who signed for work, most tokens first, and how many others did."""
    served = sorted((group for group in groups if group.sums.tokens > 0), key=lambda group: -group.sums.tokens)
    members = [next((each for each in found.members if group.name.startswith(each.id)), None) for group in served]
    return [member.name for member in members if member is not None], members.count(None)


def join_names(people: Sequence[str], others: int) -> str:
    """Return names as they stand in a sentence: Ana; Ana and Bob; Ana and 2 others. Empty without a name."""
    if not people:
        return ""
    if others == 0 and len(people) <= _MOST_NAMED:
        *first, last = people
        return tr("{names} and {name}").format(names=", ".join(first), name=last) if first else last
    return tr("{name} and %n other(s)", "", others + len(people) - 1).format(name=people[0])
