"""Names the people of a swarm, their computers and its invites, and finds what a name stands for.

People choose their names, so several may be called alike. Such names get the beginning of an id in brackets, which no
chosen name can have. Every list and every question shows these names, and every request takes them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from potluck.errors import AmbiguousError, UsageError
from potluck.membership.identity import peer_id_of
from potluck.membership.members import Members, Person
from potluck.membership.records import Machine
from potluck.sentences import sentence

Key = TypeVar("Key")
ID_LETTERS = 8  # letters of an id that lists show
_UNSEEN = re.compile("[\u115f\u1160]")  # fillers of Hangul syllables, which count as letters
_ENOUGH_LETTERS = 4  # the fewest letters of an id that find its owner


def short_ids(keys: Iterable[bytes]) -> dict[bytes, str]:
    """Return the beginning of each key, but the whole key where several begin alike, which may be on purpose."""
    return _shortened({key: key.hex() for key in keys}, slice(ID_LETTERS))


def person_names(members: Members) -> dict[bytes, str]:
    """Return the name of each member and guest by key, different for each."""
    names = {key: person.name for key, person in (*members.people.items(), *members.guests.items())}
    return _distinguished(names, short_ids(names))


def machine_names(person: Person) -> dict[bytes, str]:
    """Return the name of each of a person's computers by key, different for each."""
    names = {machine.key: machine.name for machine in person.machines}
    ids = {key: str(peer_id_of(key)) for key in names}
    return _distinguished(names, _shortened(ids, slice(-ID_LETTERS, None)))  # the end, because all begin alike


def find_person(members: Members, wanted: str) -> Person:
    """Return the member or guest of a name, or of an id's beginning. Raises UsageError for none and for several."""
    people, names = (*members.people.values(), *members.guests.values()), person_names(members)
    by_id = [each for each in people if len(wanted) >= _ENOUGH_LETTERS and each.id.startswith(wanted.lower())]
    by_name = [each for each in people if _normalized(wanted) in (_normalized(each.name), _normalized(names[each.key]))]
    # A person who takes another's id, or the shown part of it, as a name is not mistaken for the other.
    found = by_id if len(wanted) >= ID_LETTERS and by_id else list(dict.fromkeys((*by_name, *by_id)))
    if not found:
        raise UsageError(
            sentence("nobody in the swarm is called {name}", name=wanted), hint="potluck members shows who is"
        )
    ids = short_ids(each.key for each in people)
    return _only(found, wanted, lambda each: f"{ids[each.key]} ({', '.join(machine_names(each).values()) or '-'})")


def find_machine(person: Person, wanted: str) -> Machine:
    """Return a person's computer by name, peer id or its end. Raises UsageError for none and for several."""
    names = machine_names(person)

    def is_meant(machine: Machine) -> bool:
        ends = len(wanted) >= _ENOUGH_LETTERS and peer_id_of(machine.key).endswith(wanted)
        return ends or wanted in (machine.name, names[machine.key])

    found = [each for each in person.machines if is_meant(each)]
    if not found:
        raise UsageError(
            sentence("{name} has no computer named {what}", name=person.name, what=wanted),
            hint=sentence("there are: {what}", what=", ".join(names.values()) or "none"),
        )
    return _only(found, wanted, lambda each: peer_id_of(each.key))


def find_invite(members: Members, wanted: str) -> bytes:
    """Return the invite of an id's beginning. Raises UsageError for none and for several."""
    found = [key for key in members.invites if wanted and key.hex().startswith(wanted.lower())]
    if not found:
        raise UsageError(sentence("there is no invite {what}", what=wanted), hint="potluck members shows the invites")
    return _only(found, wanted, bytes.hex)


def _only(found: list[Key], wanted: str, described: Callable[[Key], str]) -> Key:
    """Return the only one found. Raises AmbiguousError with the ids of all if there are several."""
    if len(found) > 1:
        ids = ", ".join(map(described, found))
        raise AmbiguousError(
            sentence("several are called {name}", name=wanted),
            hint=sentence("use one of their ids: {what}", what=ids),
        )
    return found[0]


def _shortened(ids: Mapping[bytes, str], part: slice) -> dict[bytes, str]:
    """Return only a part of each id, but the whole of those that are alike in that part."""
    alike = Counter(whole[part] for whole in ids.values())
    return {key: whole[part] if alike[whole[part]] == 1 else whole for key, whole in ids.items()}


def _distinguished(names: Mapping[bytes, str], ids: Mapping[bytes, str]) -> dict[bytes, str]:
    """Return the names by key, with the id in brackets where names look alike."""
    alike = Counter(map(_normalized, names.values()))
    return {key: name if alike[_normalized(name)] == 1 else f"{name} ({ids[key]})" for key, name in names.items()}


def _normalized(name: str) -> str:
    """Return a name without differences that people do not see: case, width, spaces, letters without a shape."""
    return " ".join(_UNSEEN.sub("", unicodedata.normalize("NFKC", name)).casefold().split())
