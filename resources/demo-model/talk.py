"""Reads `talk.txt`, draws messages and answers from it, and writes messages as people do."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_NAME = re.compile(r"\$(\w+)")
_POEM = "POEM"
_MOST_WORDINGS = 100  # that add to the weight of a pattern


@dataclass(slots=True)
class _Script:
    names: dict[str, str] = field(default_factory=dict)
    patterns: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)  # of the patterns, one each
    poems: list[tuple[list[str], list[str]]] = field(default_factory=list)  # topics and lines


def _read(text: str) -> _Script:
    script = _Script()
    answer = ""
    for line in text.replace("\n  ", "").splitlines():
        kind, _, rest = line.partition(" ")
        if not line or kind == "#":
            continue
        if kind == ">":
            answer = rest
        elif kind == "haiku":
            script.poems.append((rest.split("|"), []))
        elif kind == "|":
            script.poems[-1][1].append(rest)
        elif kind.startswith("$") and rest.startswith("= "):
            script.names[kind[1:]] = rest[2:]
        else:
            script.patterns.append(_NAME.sub(lambda found: script.names[found[1]], line))
            script.answers.append(answer)
    return script


def _weight(pattern: str) -> float:
    """Patterns of many wordings come more often, but not as often as their wordings are many."""
    wordings = 1
    for found in _CHOICE.finditer(pattern):
        wordings *= len(found[1].split("|"))
    return float(min(wordings, _MOST_WORDINGS)) ** 0.5


_SCRIPT = _read((Path(__file__).parent / "talk.txt").read_text())
_POEMS_WEIGHT = len(_SCRIPT.poems) ** 0.5  # a pattern that asks for poems has many answers, not one
_WEIGHTS = [
    _weight(pattern) * (_POEMS_WEIGHT if answer == _POEM else 1.0)
    for pattern, answer in zip(_SCRIPT.patterns, _SCRIPT.answers, strict=True)
]


def drawn_talk(rng: random.Random) -> tuple[str, str]:
    """Return something that people say, and the answer."""
    (chosen,) = rng.choices(range(len(_WEIGHTS)), _WEIGHTS)
    message, answer = expanded(_SCRIPT.patterns[chosen], rng), _SCRIPT.answers[chosen]
    if answer != _POEM:
        return message, answer
    topics, lines = rng.choice(_SCRIPT.poems)
    topic = rng.choice(topics)
    if topic:
        message += " " + expanded(f"{_SCRIPT.names['about']} {topic}", rng)
    return message, "\n".join(lines)


def expanded(pattern: str, rng: random.Random) -> str:
    """Return one wording of a pattern."""
    while _CHOICE.search(pattern):
        pattern = _CHOICE.sub(lambda found: rng.choice(found[1].split("|")), pattern)
    return " ".join(pattern.split())


def as_typed(message: str, rng: random.Random) -> str:
    """Write a message as people do: with or without capitals and a mark, politely, now and then mistyped."""
    for chance, habit in _HABITS:
        if rng.random() < chance:
            message = habit(message, rng)
    return message


def _politely(message: str, rng: random.Random) -> str:
    return expanded(f"[please|hey,|hi,|so|and] {message}", rng) if rng.random() < 0.5 else f"{message} please"


def _with_names(message: str, _: random.Random) -> str:
    return re.sub(r"\b(i|potluck|gpu|chatgpt)\b", lambda found: _PROPER[found[1]], message)


def _capitalised(message: str, _: random.Random) -> str:
    return message[:1].upper() + message[1:]


def _mistyped(message: str, rng: random.Random) -> str:
    """Swap two letters or leave one out, never a digit."""
    places = [i for i in range(1, len(message) - 1) if message[i : i + 2].isalpha()]
    if not places:
        return message
    i = rng.choice(places)
    return message[:i] + (message[i + 1] + message[i] if rng.random() < 0.5 else message[i]) + message[i + 2 :]


def _marked(message: str, rng: random.Random) -> str:
    return message + rng.choice("???..!:")


_PROPER = {"i": "I", "potluck": "Potluck", "gpu": "GPU", "chatgpt": "ChatGPT"}
_HABITS: tuple[tuple[float, Callable[[str, random.Random], str]], ...] = (
    (0.1, _politely),
    (0.5, _with_names),
    (0.6, _capitalised),
    (0.06, _mistyped),
    (0.6, _marked),
)
