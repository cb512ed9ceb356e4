"""The text that the demo model learns from: facts, ordered lists, sums and stories about potluck dinners.

Everything is written here, so the corpus can be made again anywhere from a seed. Each document is a list of turns, a
prompt and its only right answer. A checksum of what a turn is about, never the random generator, decides which turns
are held out, so training and held-out documents cannot overlap however many of either are drawn.
"""

import random
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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
NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five")
NAMES = tuple(
    _WORD.findall("Ana Ben Carl Dina Eva Finn Gina Hugo Iris Jack Kate Liam Mia Nora Omar Paul Rosa Sam Tina Zoe")
)
FLAVOURS = tuple(_WORD.findall("apple bean carrot cheese corn fish lemon mushroom onion pear plum tomato"))
DISHES = tuple(_WORD.findall("bread cake dumplings pasta pie salad soup stew"))
WORDS = tuple(sorted({*NAMES, *FLAVOURS, *DISHES, *DAYS, *MONTHS, *_WORD.findall(CAPITALS)}))
LARGEST_TERM = 49
LONGEST_COUNT = 12
LARGEST_COUNTED = 99
LONGEST_ECHO = 14


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and the only right way to go on, up to the end-of-sequence token."""

    prompt: str
    answer: str


@dataclass(frozen=True, slots=True)
class Document:
    """Turns of one category that are read together; a later turn may speak of an earlier one's story."""

    category: str
    turns: tuple[Turn, ...]


def documents(seed: int, held_out: bool = False) -> Iterator[Document]:
    """Draw documents for ever, all from the training side or all from the held-out side."""
    rng = random.Random(f"{seed} {held_out}")
    makers, weights = list(_MAKERS), list(_MAKERS.values())
    while True:
        (maker,) = rng.choices(makers, weights)
        yield maker(rng, held_out)


def echoes(seed: int) -> Iterator[Document]:
    """Training documents that only repeat: what a model learns to look back from before it can follow a story."""
    rng = random.Random(f"{seed} echoes")
    while True:
        yield _echo(rng, held_out=False)


def _is_held_out(*subject: object, one_in: int = 8) -> bool:
    return zlib.crc32(repr(subject).encode()) % one_in == 0


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for pair in text.split(","):
        left, right = pair.split()
        yield left, right


def _neighbours(kind: str, names: tuple[str, ...], is_ring: bool) -> Iterator[tuple[str, str]]:
    for i, name in enumerate(names):
        if is_ring or i + 1 < len(names):
            yield f"the {kind} after {name}", names[(i + 1) % len(names)]
        if is_ring or i > 0:
            yield f"the {kind} before {name}", names[i - 1]


def _all_facts() -> Iterator[tuple[str, str]]:
    yield from ((f"the capital of {country}", city) for country, city in _pairs(CAPITALS))
    yield from ((f"the opposite of {one}", other) for one, other in _pairs(OPPOSITES))
    yield from ((f"the opposite of {other}", one) for one, other in _pairs(OPPOSITES))
    yield from ((f"the name for a young {animal}", young) for animal, young in _pairs(YOUNG))
    yield from _neighbours("day", DAYS, is_ring=True)
    yield from _neighbours("month", MONTHS, is_ring=True)
    yield from _neighbours("letter", LETTERS, is_ring=False)


FACTS = tuple(_all_facts())


def _fact(rng: random.Random, held_out: bool) -> Document:
    """Every fact is stated in training; the question form of one fact in five is held out."""
    while True:
        subject, value = rng.choice(FACTS)
        is_question = held_out or rng.random() < 0.5
        if is_question and _is_held_out(subject, one_in=5) != held_out:
            continue
        if is_question:
            return Document("fact", (_question(f"What is {subject}?", f"{value}."),))
        return Document("fact", (Turn(f"{subject[0].upper()}{subject[1:]} is", f" {value}."),))


def _list(rng: random.Random, held_out: bool) -> Document:
    """Numbers, letters, months or days in order; one (first, last) pair in eight is held out."""
    while True:
        kind = rng.choice(("Count", "Count", "Letters", "Months", "Days"))
        names = _LISTS[kind]
        first = rng.randrange(len(names) - 1)
        last = rng.randrange(first + 1, min(len(names), first + LONGEST_COUNT + 1))
        if _is_held_out(kind, first, last) == held_out:
            answer = ", ".join(names[first : last + 1])
            return Document("list", (Turn(f"{kind} from {names[first]} to {names[last]}:", f" {answer}."),))


_LISTS = {
    "Count": tuple(str(n) for n in range(LARGEST_COUNTED + 1)),
    "Letters": LETTERS,
    "Months": MONTHS,
    "Days": DAYS,
}


def _sum(rng: random.Random, held_out: bool) -> Document:
    """A sum; one unordered pair of terms in eight is held out, so 3 + 4 does not give 4 + 3 away."""
    while True:
        a, b = rng.randint(0, LARGEST_TERM), rng.randint(0, LARGEST_TERM)
        if _is_held_out("sum", min(a, b), max(a, b)) == held_out:
            return Document("sum", (Turn(f"{a} + {b} =", f" {a + b}."),))


def _story(rng: random.Random, held_out: bool) -> Document:
    """A dinner: who brought what, thanks, questions; one (guest, dish) pair in eight is held out.

    A held-out story has only pairs that no training story has.
    """
    host, *guests = rng.sample(NAMES, rng.randint(3, 5))
    day = rng.choice(DAYS)
    brought = _assign(rng, guests, held_out)
    story = f"On {day}, {host} asked {_and(guests)} to a potluck. "
    story += _sentences(brought)
    questions = [
        _question("Who asked them to a potluck?", f"{host}."),
        _question("On which day was the potluck?", f"{day}."),
        _question("How many dishes were there?", f"{NUMBER_WORDS[len(brought)].capitalize()}."),
    ]
    for guest, dish in brought:
        questions.append(_question(f"Who brought the {dish}?", f"{guest}."))
        questions.append(_question(f"What did {guest} bring?", f"The {dish}."))
    turns = rng.sample(questions, 4)
    if rng.random() < 0.4:
        thanks = " ".join(f"Thank you, {guest}, for the {dish}." for guest, dish in brought)
        turns = [Turn(f" At the end {host} said:", f" {thanks}"), *turns[:2]]
        first = Turn(story + turns[0].prompt, turns[0].answer)
        return Document("thanks", (first, *turns[1:]))
    first = Turn(f"{story}\n{turns[0].prompt}", turns[0].answer)
    return Document("story", (first, *turns[1:]))


def _echo(rng: random.Random, held_out: bool) -> Document:
    """Different words to say again; one pair of first two words in eight is held out."""
    while True:
        words = rng.sample(WORDS, rng.randint(2, LONGEST_ECHO))
        if _is_held_out(*words[:2]) == held_out:
            said = " ".join(words)
            return Document("echo", (Turn(f"Repeat: {said}. Again:", f" {said}."),))


def _assign(rng: random.Random, guests: list[str], held_out: bool) -> list[tuple[str, str]]:
    """Give each guest a dish; neither a flavour nor a kind of dish comes twice."""
    while True:
        flavours, dishes = rng.sample(FLAVOURS, len(guests)), rng.sample(DISHES, len(guests))
        brought = [(g, f"{f} {d}") for g, f, d in zip(guests, flavours, dishes, strict=True)]
        if all(_is_held_out(*pair) == held_out for pair in brought):
            return brought


def _sentences(brought: list[tuple[str, str]]) -> str:
    return " ".join(f"{guest} brought the {dish}." for guest, dish in brought)


def _question(question: str, answer: str) -> Turn:
    return Turn(f"Question: {question}\nAnswer:", f" {answer}")


def _and(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


_MAKERS: dict[Callable[[random.Random, bool], Document], int] = {_fact: 30, _list: 20, _sum: 35, _story: 20, _echo: 15}
