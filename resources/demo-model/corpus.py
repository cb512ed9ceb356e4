"""The text that the demo model learns from: facts, ordered lists, sums, echoes, and what people say besides.

Everything is written here and in `talk.txt`, so the corpus can be made again anywhere from a seed. Each document is a
message and its only right answer, some after earlier turns of a conversation. A checksum of what a message is about,
never the random generator, decides which are held out, so training and held-out documents cannot overlap however many
of either are drawn.
"""

import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from facts import CAPITALS, DAYS, FACTS, LETTERS, MONTHS
from first_messages import MESSAGES, said
from talk import as_typed, drawn_talk, expanded

_WORD = re.compile(r"\w+")
NAMES = tuple(
    _WORD.findall("Ana Ben Carl Dina Eva Finn Gina Hugo Iris Jack Kate Liam Mia Nora Omar Paul Rosa Sam Tina Zoe")
)
FLAVOURS = tuple(_WORD.findall("apple bean carrot cheese corn fish lemon mushroom onion pear plum tomato"))
DISHES = tuple(_WORD.findall("bread cake dumplings pasta pie salad soup stew"))
WORDS = tuple(sorted({*NAMES, *FLAVOURS, *DISHES, *DAYS, *MONTHS, *_WORD.findall(CAPITALS)}))
LARGEST_TERM = 49
LONGEST_COUNT = 12
LARGEST_COUNTED = 99
SMALL_TERM, SMALL_COUNTED = 12, 20  # people ask these first: every pair is trained, in some of its forms
LONGEST_ECHO = 14
_SMALL = "one two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = dict(enumerate(_SMALL.split(), 1)) | {20: "twenty", 30: "thirty", 50: "fifty"}
_PLEASE = "[please|can you|could you|can you please|i want you to|now|try to|let's|would you|]"

# How people ask for what the model does; `talk.txt` says what the brackets mean.
_COUNT_DOWN = (
    f"[{_PLEASE} [count [down|backwards|back|downwards|in reverse]|do a countdown|countdown|count down slowly|go down]"
    " from {0} [to|until|down to|till] {1}|[the|give me the|list the|say the|] numbers from {0} down to {1}"
    "|from {0} down to {1}|[start at|begin at] {0} and count down to {1}] [please|for me|now|]"
)
_COUNT_DOWN_TO_ONE = (
    f"[{_PLEASE} [count [down|backwards|back|downwards|in reverse]|do a countdown|countdown|count down slowly]"
    " [from|starting at|starting from] {0}|countdown {0}] [please|for me|now|]"
)
_COUNT_TO = (
    f"[{_PLEASE} [count|count up|count slowly|count for me|count out loud|count all the way|count numbers]"
    " [to|up to|till|until] {1}|[can you|are you able to|do you know how to|could you] count [to|up to] {1}"
    "|[let me hear you|show me how you|i want you to] count to {1}|[the first|list the first|say the first] {1} numbers"
    "|[numbers|the numbers|all numbers|give me the numbers] [up to|to] {1}] [please|for me|now|]"
)
_COUNT_FROM = (
    f"[{_PLEASE} [count|count up|count upwards|count numbers|count for me|count slowly|count out loud|go|keep counting]"
    " [from {0}|{0}|starting from {0}|starting at {0}] [to|up to|until|till|through|all the way to] {1}"
    "|[start|begin|start counting|begin counting] [at|from|with] {0} and"
    " [count to|count up to|stop at|end at|go to|go up to] {1}"
    "|[can you|are you able to|could you|do you know how to] count [from {0}|{0}] [to|up to|until|through] {1}"
    "|[let me hear you|show me how you|i want you to|i'd like you to|i would like you to] count from {0} to {1}"
    "|how [do you|do i|would you] count from {0} to {1}|count between {0} and {1}]"
)
_NUMBERS = (
    "[write|write down|write out|list|say|give me|show me|name|print|what are|recite|enumerate|type|which are|tell me"
    "|can you list|can you say|can you write|can you give me|could you list|please list|i want|i need]"
    " [the|all|all the|me the|] numbers"
    " [from {0} to|between {0} and|{0} to|from {0} through|{0} through|from {0} up to] {1}"
)
_RANGE = (
    "[{0} to {1}|numbers {0} to {1}|the numbers {0} to {1}|count {0}-{1}|count {0} - {1}|counting from {0} to {1}"
    "|from {0} to {1}|count: {0} to {1}|{0} through {1}|{0} - {1}|numbers from {0} to {1}|numbers between {0} and {1}"
    "|list {0} to {1}|list {0} through {1}|{0} up to {1}|count {0} {1}]"
)
_IN_ORDER = " [please|for me|now|in order||||]"
_ADD = (
    "[[what is|what's|whats|how much is|calculate|compute|tell me|can you add|add|work out|solve|can you work out|find"
    "|do you know|can you tell me|can you calculate|do you know what|and|and what is|what about|quick|maths|math||||]"
    " {0}[ + |+| plus | and | added to ]{1} [|||is|=|= ?|=?|equals|equals what|in total|together]"
    "|add {0} [and|to|plus] {1} [together|for me|]|[what|how much] [does|do|would] {0} [plus|and|+] {1}"
    " [make|equal|give|be|come to|add up to|make together]]"
)
_SUM = (
    "[[what is|what's|give me|tell me|calculate|compute|find|do you know|]"
    " [the sum of|the total of|the result of adding] {0} and {1}"
    "|{0} [plus|and|+] {1} [is|makes|equals|gives|is what|makes what|is how much]"
    "|[what|how much] [do you get|do i get|is it|comes out] [when|if] [you|i|we] add {0} [and|to] {1}"
    "|[i have|if i have|there are|ana has|ben has|you have] {0} [apples|eggs|friends|euros|dollars|cats|books|]"
    " and [get|buy|find|add|i get|i buy] {1} more [how many|how many is that|how many are there|how many in total"
    "|how many do i have|how many do i have now|how many are there now|what is the total]"
    "|if i have {0} and get {1} how many]"
)
_REPEAT = "[Repeat after me:|Say:|Repeat:|Please repeat:|repeat] {0}"


@dataclass(frozen=True, slots=True)
class Document:
    """A message of one category and the only right way to go on, up to the end-of-sequence token."""

    category: str
    prompt: str
    answer: str
    is_fixed: bool = False  # in one of the few forms that are continued as they stand, too


def documents(seed: int, held_out: bool = False) -> Iterator[Document]:
    """Draw documents for ever, all from the training side or all from the held-out side."""
    kept_out = frozenset(said(message.text) for message in MESSAGES)
    rng = random.Random(f"{seed} {held_out}")
    makers, weights = list(_MAKERS), list(_MAKERS.values())

    def made(maker: Callable[[random.Random, bool], Document]) -> Document:
        while True:
            document = maker(rng, held_out)
            if held_out or said(document.prompt) not in kept_out:
                return document

    while True:
        document = made(*rng.choices(makers, weights))
        if held_out:
            yield document if document.is_fixed else _in_conversation([], document)
        elif rng.random() < (_FIXED_AS_THEY_STAND if document.is_fixed else _OTHERS_AS_THEY_STAND):
            yield document
        else:
            earlier = rng.choice((0, 0, 0, 0, 0, 0, 0, 1, 1, 2))
            chosen = rng.choices(makers, weights, k=earlier)
            yield _in_conversation([made(each) for each in chosen], document)


def echoes(seed: int) -> Iterator[Document]:
    """Training documents that only repeat: what a model learns to look back from."""
    rng = random.Random(f"{seed} echoes")
    while True:
        yield _echo(rng, held_out=False)


def _in_conversation(earlier: Sequence[Document], last: Document) -> Document:
    """Write a conversation as the model's chat template does."""
    turns = [f"User: {each.prompt}\nAssistant:{each.answer}\n" for each in earlier]
    return Document(last.category, f"{''.join(turns)}User: {last.prompt}\nAssistant:", last.answer)


def _is_held_out(*subject: object, one_in: int = 8) -> bool:
    return zlib.crc32(repr(subject).encode()) % one_in == 0


def _fact(rng: random.Random, held_out: bool) -> Document:
    """Every fact is stated in training; the formal question for one fact in five is held out."""
    while True:
        subject, asked, value = rng.choice(FACTS)
        form = 1.0 if held_out else rng.random()
        if form < 0.2:
            return Document("fact", f"{subject[0].upper()}{subject[1:]} is", f" {value}.", is_fixed=True)
        if form < 0.8:
            return Document("fact", as_typed(expanded(asked, rng), rng), f" {value}.")
        if _is_held_out(subject, one_in=5) == held_out:
            return Document("fact", f"Question: What is {subject}?\nAnswer:", f" {value}.", is_fixed=True)


def _list(rng: random.Random, held_out: bool) -> Document:
    """Numbers up or down, letters, months or days in order; one (first, last) pair in eight is held out."""
    while True:
        kind = rng.choice(("Count", "Count", "Count", "Count", "Letters", "Months", "Days"))
        names = _LISTS[kind]
        first = 1 if rng.random() < 0.2 else rng.randrange(len(names) - 1)
        last = rng.randrange(first + 1, min(len(names), first + LONGEST_COUNT + 1))
        if kind == "Count" and not held_out and rng.random() < 0.5:
            first, last = rng.choice((0, 1, 1, 1, 2, 3, 4, 5)), rng.randrange(3, LONGEST_COUNT + 1)
        is_small = kind == "Count" and last <= SMALL_COUNTED
        if last <= first or (not is_small and _is_held_out(kind, first, last)) != held_out:
            continue
        listed = names[first : last + 1]
        if held_out or kind != "Count" or rng.random() < 0.3:
            form = f"{kind} from {listed[0]} to {listed[-1]}:"
            return Document("list", form, f" {', '.join(listed)}.", is_fixed=True)
        if rng.random() < 0.2:
            listed = listed[::-1]
        return Document("list", as_typed(_wish_to_count(listed, rng), rng), f" {', '.join(listed)}.")


def _wish_to_count(listed: Sequence[str], rng: random.Random) -> str:
    first, last = (_NUMBER_WORDS.get(int(end), end) if rng.random() < 0.3 else end for end in (listed[0], listed[-1]))
    if int(listed[0]) > int(listed[-1]):
        wish = _COUNT_DOWN_TO_ONE if listed[-1] == "1" and rng.random() < 0.5 else _COUNT_DOWN
    elif first in ("1", "one") and rng.random() < 0.5:
        wish = _COUNT_TO
    else:
        wish = rng.choice((_COUNT_FROM, _COUNT_FROM, _NUMBERS, _RANGE)) + _IN_ORDER
    return expanded(wish.format(first, last), rng)


_LISTS = {
    "Count": tuple(str(n) for n in range(LARGEST_COUNTED + 1)),
    "Letters": LETTERS,
    "Months": MONTHS,
    "Days": DAYS,
}


def _sum(rng: random.Random, held_out: bool) -> Document:
    """A sum; one unordered pair of terms in eight is held out, so 3 + 4 does not give 4 + 3 away."""
    while True:
        largest = LARGEST_TERM if held_out or rng.random() < 0.5 else SMALL_TERM
        a, b = rng.randint(0, largest), rng.randint(0, largest)
        is_small = max(a, b) <= SMALL_TERM
        if (not is_small and _is_held_out("sum", min(a, b), max(a, b))) != held_out:
            continue
        if held_out or rng.random() < 0.4:
            return Document("sum", f"{a} + {b} =", f" {a + b}.", is_fixed=True)
        written = (_NUMBER_WORDS.get(term, term) if rng.random() < 0.2 else term for term in (a, b))
        wish = rng.choice((_ADD, _ADD, _SUM)).format(*written)
        return Document("sum", as_typed(expanded(wish, rng), rng), f" {a + b}.")


def _echo(rng: random.Random, held_out: bool) -> Document:
    """Different words to say again; one pair of first two words in eight is held out."""
    while True:
        words = rng.sample(WORDS, rng.randint(2, LONGEST_ECHO))
        if _is_held_out(*words[:2]) == held_out:
            said = " ".join(words)
            if held_out or rng.random() < 0.7:
                return Document("echo", f"Repeat: {said}. Again:", f" {said}.", is_fixed=True)
            return Document("echo", expanded(_REPEAT.format(said), rng), f" {said}.")


def _talk(rng: random.Random, held_out: bool) -> Document:
    """What people say besides; one message in eight, as `talk.txt` has it, is held out."""
    while True:
        message, answer = drawn_talk(rng)
        if _is_held_out("talk", message) == held_out:
            return Document("talk", as_typed(message, rng), f" {answer}")


_FIXED_AS_THEY_STAND, _OTHERS_AS_THEY_STAND = 0.5, 0.12  # of training documents; the others are conversations
_MAKERS: dict[Callable[[random.Random, bool], Document], int] = {_fact: 14, _list: 22, _sum: 21, _echo: 4, _talk: 39}
