"""The facts that the demo model knows, and how people ask for each; `talk.txt` says what the brackets mean."""

import re
from collections.abc import Iterator

_WORD = re.compile(r"\w+")
CAPITALS = (
    "Austria Vienna,Belgium Brussels,Brazil Brasilia,Canada Ottawa,Chile Santiago,China Beijing,Cuba Havana,"
    "Denmark Copenhagen,Egypt Cairo,Finland Helsinki,France Paris,Germany Berlin,Ghana Accra,Greece Athens,"
    "Hungary Budapest,India Delhi,Ireland Dublin,Italy Rome,Japan Tokyo,Kenya Nairobi,Nepal Kathmandu,Norway Oslo,"
    "Peru Lima,Poland Warsaw,Portugal Lisbon,Russia Moscow,Spain Madrid,Sweden Stockholm,Turkey Ankara,Vietnam Hanoi"
)
OPPOSITES = (
    "hot cold,big small,up down,left right,old new,fast slow,day night,open closed,full empty,wet dry,high low,"
    "hard soft,long short,early late,happy sad,rich poor,light dark,strong weak,loud quiet,thick thin"
)
YOUNG = "bear cub,cat kitten,cow calf,deer fawn,dog puppy,duck duckling,frog tadpole,goat kid,horse foal,sheep lamb"
DAYS = tuple(_WORD.findall("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"))
MONTHS = tuple(_WORD.findall("January February March April May June July August September October November December"))
LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_WHAT_IS = "[what is|what's|whats|name|tell me|do you know|which is|]"

_CAPITAL = (
    f"[{_WHAT_IS} [the capital of {{0}}|{{0}}'s capital|the capital city of {{0}}]"
    "|[[which|what] city is the capital of {0}|capital of {0}|the capital of {0} is]]"
)
_OPPOSITE = (
    f"[{_WHAT_IS} [the opposite of|the opposite word of|the antonym of|the contrary of] {{0}}"
    "|[opposite of|opposite|antonym of|what word is the opposite of|the opposite of] {0}]"
)
_YOUNG = (
    f"[{_WHAT_IS} [a young {{0}} called|a baby {{0}} called|the name for a young {{0}}|a baby {{0}}]"
    "|[[what|how] do you call a [young|baby] {0}|name of a baby {0}|the [young|baby] of a {0}]]"
)
_SIDES = (
    (1, "after", "after|that comes after|following|that follows"),
    (-1, "before", "before|that comes before"),
)
_NEIGHBOUR = (
    f"[{_WHAT_IS} the {{kind}} [{{wordings}}] {{name}}"
    "|[which|what] [{kind} [comes|is] {side} {name}|comes {side} {name}]|{kind} {side} {name}]"
)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for pair in text.split(","):
        left, right = pair.split()
        yield left, right


def _all_facts() -> Iterator[tuple[str, str, str]]:
    """Yield each fact's subject, how people ask for it, and the answer."""
    for country, city in _pairs(CAPITALS):
        yield f"the capital of {country}", _CAPITAL.format(country), city
    for pair in _pairs(OPPOSITES):
        for one, other in (pair, pair[::-1]):
            yield f"the opposite of {one}", _OPPOSITE.format(one), other
    for animal, young in _pairs(YOUNG):
        yield f"the name for a young {animal}", _YOUNG.format(animal), young
    yield from _neighbours("day", DAYS, is_ring=True)
    yield from _neighbours("month", MONTHS, is_ring=True)
    yield from _neighbours("letter", LETTERS, is_ring=False)


def _neighbours(kind: str, names: tuple[str, ...], is_ring: bool) -> Iterator[tuple[str, str, str]]:
    for i, name in enumerate(names):
        for step, side, wordings in _SIDES:
            if is_ring or 0 <= i + step < len(names):
                asked = _NEIGHBOUR.format(kind=kind, wordings=wordings, name=name, side=side)
                yield f"the {kind} {side} {name}", asked, names[(i + step) % len(names)]


FACTS = tuple(_all_facts())
