"""Drafting while the ring answers: how much of its bound it reaches, and that no fault then changes a token.

The drafter is a stand-in that knows the text: after a time it guesses the next token, right with some probability. As
long as it is right, tokens can come as fast as it guesses; a wrong guess costs a ring. So 1 / (1 - p) tokens take
R + d p / (1 - p) at best, where R is a plain step, d the time of a guess and p the share of right ones.

The model is made to write a text in which no token comes twice, so that nothing else drafts. The client is beside the
first server. Needs root.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from potluck_gateway.answers.completion import Completion, Options, complete

from benchmarks.figures import Measured, figure
from benchmarks.network.drafts import Written
from benchmarks.network.far_swarm import CLIENT, FarSwarm, far_swarm
from benchmarks.setup.generation import generate, prompt, swarm_model
from benchmarks.setup.local_swarm import LocalEngine
from benchmarks.setup.models import checkpoint, local_model
from potluck.client import Session
from potluck.protocol.blocks import Span
from tests.helpers.internet import Link

_VOCABULARY = 1536  # the vocabulary of `checkpoint`
_HIDDEN_SIZE, _NUM_BLOCKS = 128, 6  # small, because the way is what is measured
_LINK, _BESIDE = Link(0.03), Link(0.0002)
_PROMPT_TOKENS, _LINKING_STEPS, _PLAIN_STEPS = 16, 8, 12  # servers push to each other from the fourth step on
_TOKENS = 200  # drafted or not
_ROOM = 64  # tokens after the end, for drafts and for what a serial step gives too many
_LUCK = 50  # guesses of which the given share is right, in a drawn order
_MAIN = (0.8, 0.015)  # right guesses, seconds of each
_OTHERS = ((0.6, 0.015), (0.9, 0.015), (0.8, 0.005), (0.8, 0.03))
_SERIAL_LENGTHS = (6, 8)  # around the best by the formula: 6 or 7 tokens
_FAULT_TOKENS, _FAULT_GUESS_S = 64, 0.005
_STRIKE_FROM, _STRIKE_UNTIL = 16, 40  # tokens
_AHEAD = 5  # tokens on their way when a fault strikes: four windows at least, where each drafted token leaves alone
_SEED = 41


@dataclass(slots=True)
class StandIn:
    """A draft model, and its text, that knows what the text will be.

    Of its guesses after a right beginning a share is right. After a wrong one it guesses anything.
    """

    truth: Sequence[int]
    share: float
    guess_s: float
    seed: int = _SEED
    has: list[int] = field(default_factory=list)
    _luck: Iterator[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._luck = _luck(self.share, random.Random(self.seed))

    def text(self) -> StandIn:
        return self

    def begin(self, ids: Sequence[int]) -> None:
        self.has = list(ids)

    def guess(self) -> tuple[int, float]:
        time.sleep(self.guess_s)
        length = len(self.has)
        right = self.truth[length] if length < len(self.truth) else 0
        is_right = self.has == self.truth[:length] and next(self._luck)
        return (right if is_right else (right + 1) % _VOCABULARY), self.share

    def follow(self, token: int) -> None:
        self.has.append(token)

    @property
    def is_behind(self) -> bool:
        return False

    def catch_up(self) -> None:
        """Do nothing, because it is never behind."""


def _luck(share: float, rng: random.Random) -> Iterator[bool]:
    """Yield which guesses are right; the share is exact in the long run, which makes short runs comparable."""
    right = round(share * _LUCK)
    while True:
        yield from rng.sample([True] * right + [False] * (_LUCK - right), _LUCK)


@dataclass(frozen=True, slots=True)
class _Speed:
    ring_s: float  # a plain step of the same session
    tokens_per_s: float

    def share_of_bound(self, share: float, guess_s: float) -> float:
        wrong = 1 - share
        return self.tokens_per_s * wrong * (self.ring_s + guess_s * share / wrong)

    @property
    def over_plain(self) -> float:
        return self.tokens_per_s * self.ring_s


@figure("overlap_100ms", unit="ratio", reach=0.9, better="higher")
def of_bound(soak: bool) -> Measured:
    """Speed of drafting that overlaps the ring over its bound: six servers, a ring of 180 ms, a drafter that is right
    four times of five.

    The bound is 1/(1-p) tokens in R + d p/(1-p), R being a plain step of the same session and d the 15 ms that the
    drafter, a stand-in that knows the text, takes for a token. `detail` has p of 0.6 and 0.9, d of 5 and 30 ms, and
    tokens a second over plain (bound 3.75). Needs root.
    """
    found = dict[str, list[_Speed]]()
    shares = dict[str, list[float]]()
    with _ring() as model:
        _overlapping(model, *_MAIN, _SEED)  # The client knows what steps cost from then on.
        for number in range(5 if soak else 3):
            for share, guess_s in (_MAIN, *(() if number and not soak else _OTHERS)):
                name, speed = f"p {share}, {1000 * guess_s:g} ms", _overlapping(model, share, guess_s, _SEED + number)
                found.setdefault(name, []).append(speed)
                shares.setdefault(name, []).append(speed.share_of_bound(share, guess_s))
                print(f"{name}: {shares[name][-1]:.3f} of the bound, {speed.over_plain:.2f} times plain", flush=True)
    detail = {
        name: {
            "share": round(statistics.median(shares[name]), 3),
            "shares": [round(each, 3) for each in shares[name]],
            "over_plain": round(statistics.median(speed.over_plain for speed in speeds), 3),
            "ring_ms": round(1000 * statistics.median(speed.ring_s for speed in speeds), 1),
        }
        for name, speeds in found.items()
    }
    (main, *_) = shares.values()
    value = statistics.median(main)
    return Measured(
        value, {**detail, "tokens": _TOKENS}, holds=value <= 1.02
    )  # a value above 1 means that a plain step was slowed down


@figure("overlap_gain", unit="ratio", reach=1.3, better="higher")
def over_serial(soak: bool) -> Measured:
    """Speed of drafting that overlaps the ring over the best drafting that waits for each answer (bound 1.43).

    Drafts of 6 or 8 tokens. Needs root.
    """
    overlapping, serial = list[float](), {length: list[float]() for length in _SERIAL_LENGTHS}
    with _ring() as model:
        _overlapping(model, *_MAIN, _SEED)
        for number in range(5 if soak else 2):
            overlapping.append(_overlapping(model, *_MAIN, _SEED + number).tokens_per_s)
            for length, found in serial.items():
                found.append(_serial(model, *_MAIN, _SEED + number, length))
            last = {length: round(found[-1], 2) for length, found in serial.items()}
            print(f"{overlapping[-1]:.2f} tokens/s, serial {last}", flush=True)
    means = {length: statistics.mean(found) for length, found in serial.items()}
    detail = {
        "tokens_per_s": [round(each, 2) for each in overlapping],
        "serial_tokens_per_s": {str(length): round(mean, 2) for length, mean in means.items()},
        "tokens": _TOKENS,
    }
    return Measured(statistics.mean(overlapping) / max(means.values()), detail)


@figure("draft_faults", unit="tokens", reach=0)
def faults(soak: bool) -> Measured:
    """Tokens that differ after 12 kills, drains, freezes and games with drafted tokens on their way (200 in soak).

    Six servers, two for each third of the blocks, 60 ms round trips; one fault in each generation. `detail` has the
    longest wait in plain steps. Needs root.
    """
    folder, rng = checkpoint(_HIDDEN_SIZE, _NUM_BLOCKS), random.Random(_SEED)
    spans = [span for span in (Span(0, 2), Span(2, 4), Span(4, 6)) for _ in range(2)]
    kinds = itertools.cycle(("kill", "drain", "freeze", "game"))
    want = generate(local_model(folder), _FAULT_TOKENS).tokens
    differing, found = 0, list[dict[str, Any]]()
    with far_swarm(folder, spans, _LINK, runner=(sys.executable, "-m", "benchmarks.network.gaming_engine")) as far:
        with swarm_model(far.swarm, folder) as model:
            ring_s = _step_s(generate(model, _LINKING_STEPS + _PLAIN_STEPS))
        for kind in itertools.islice(kinds, 200 if soak else 12):
            fault = _Fault(kind, far, rng, want)
            got, wait_s = fault.generate(folder)
            same = sum(one == other for one, other in zip(got, want, strict=False))
            differing += max(len(got), len(want)) - same
            found.append({"fault": kind, "ahead": fault.ahead, "longest_wait_rings": round(wait_s / ring_s, 2)})
            print(found[-1], "tokens that differ so far:", differing, flush=True)
    longest = {
        kind: max(each["longest_wait_rings"] for each in found if each["fault"] == kind)
        for kind in dict.fromkeys(each["fault"] for each in found)
    }
    detail = {
        "longest_wait_rings": max(longest.values()),
        "longest_by_fault": longest,
        "ring_ms": round(1000 * ring_s, 1),
        "faults": found,
        "seed": _SEED,
    }
    return Measured(float(differing), detail, holds=all(each["ahead"] >= _AHEAD for each in found))


@contextlib.contextmanager
def _ring() -> Iterator[Any]:
    """Yield a client's model beside the first of six servers, 30 ms from each to the next and from the last to it."""
    folder, spans = checkpoint(_HIDDEN_SIZE, _NUM_BLOCKS), [Span(block, block + 1) for block in range(_NUM_BLOCKS)]
    with far_swarm(folder, spans, _LINK) as far, swarm_model(far.swarm, folder) as model:
        far.world.change(CLIENT, far.places[far.swarm.engines[0]], _BESIDE)
        yield model


def _overlapping(model: Any, share: float, guess_s: float, seed: int) -> _Speed:
    text = _text(seed)
    with model.session(max_length=len(text)) as session:
        ring_s, begun = _plain(model, session, text)
        model.draft_with(StandIn(text, share, guess_s, seed))
        try:
            done = _write(model, session, text, begun, _TOKENS, drafts=True)
        finally:
            model.draft_with(None)
    return _Speed(ring_s, done.tokens_per_s)


def _serial(model: Any, share: float, guess_s: float, seed: int, length: int) -> float:
    """Return the tokens a second where a step of `length` drafted tokens is answered before the next is drafted."""
    text = _text(seed)
    stand_in = StandIn(text, share, guess_s, seed)
    with model.session(max_length=len(text)) as session, torch.inference_mode():
        _, known = _plain(model, session, text)
        first, began_s = known, time.perf_counter()
        while known < first + _TOKENS:
            stand_in.begin(text[:known])
            for _ in range(length):
                stand_in.follow(stand_in.guess()[0])
            model(torch.tensor([stand_in.has[known - 1 :]]), past_key_values=session.cache)
            drafted = zip(stand_in.has[known:], text[known:], strict=False)
            known += sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], drafted)) + 1
            session.rewind(known - 1)
        return (known - first) / (time.perf_counter() - began_s)


def _plain(model: Any, session: Session, text: Sequence[int]) -> tuple[float, int]:
    """Begin a text without drafts; return how long a step takes once the servers push, and how many tokens it has."""
    count = _LINKING_STEPS + _PLAIN_STEPS
    return _step_s(_write(model, session, text, _PROMPT_TOKENS, count)), _PROMPT_TOKENS + count


def _step_s(done: Completion) -> float:
    steps = [later - earlier for earlier, later in itertools.pairwise(done.times_s)]
    return statistics.median(steps[_LINKING_STEPS:])


def _write(
    model: Any, session: Session, text: Sequence[int], begun: int, count: int, *, drafts: bool = False
) -> Completion:
    """Have the model write `count` more tokens of a text of which it has the first `begun`."""
    options = Options(count, min_new_tokens=count, steps=(Written(text),), drafts=drafts)
    return complete(model, torch.tensor([text[:begun]]), options, lambda _: None, session=session)


def _text(seed: int) -> list[int]:
    """Return tokens none of which comes twice."""
    length = _PROMPT_TOKENS + _LINKING_STEPS + _PLAIN_STEPS + _TOKENS + _ROOM
    return random.Random(seed).sample(range(1, _VOCABULARY), length)


class _Fault:
    """A fault that strikes one server in the middle of a generation.

    Attributes:
        ahead: tokens that were on their way when it struck.
    """

    def __init__(self, kind: str, far: FarSwarm, rng: random.Random, want: Sequence[int]) -> None:
        self.ahead = 0
        self._kind = kind
        self._far = far
        self._place = rng.randrange(3)  # the server's place in the route
        self._from = rng.randrange(_STRIKE_FROM, _STRIKE_UNTIL)
        self._drafter = StandIn([*prompt()[0].tolist(), *want], _MAIN[0], _FAULT_GUESS_S, rng.randrange(1 << 30))
        self._struck: LocalEngine | None = None
        self._struck_at = 0  # tokens

    def generate(self, folder: Path) -> tuple[list[int], float]:
        """Return the tokens, and the longest wait for one from the strike on; all is well again after that."""
        with swarm_model(self._far.swarm, folder) as self._model:
            self._model.draft_with(self._drafter)
            options = Options(_FAULT_TOKENS, min_new_tokens=_FAULT_TOKENS, drafts=True)
            done = complete(self._model, prompt(), options, self._note)
        assert self._struck is not None
        self._heal(self._struck)
        waits = [later - earlier for earlier, later in itertools.pairwise(done.times_s)]
        return done.tokens, max(waits[self._struck_at - 1 :])

    def _note(self, done: Completion) -> None:
        count = len(done.tokens)
        self.ahead = self.ahead if self._struck else len(self._drafter.has) - prompt().shape[1] - count
        is_time = count >= self._from and (self.ahead >= _AHEAD or count >= _FAULT_TOKENS - _AHEAD)
        if is_time and self._struck is None:
            self._struck, self._struck_at = self._far.serving(self._model)[self._place], count
            self._strike(self._struck)

    def _strike(self, engine: LocalEngine) -> None:
        match self._kind:
            case "kill":
                engine.kill()
            case "drain":
                engine.ask_to_stop()
            case "freeze":
                engine.freeze()
            case "game":
                os.kill(engine.pid, signal.SIGUSR1)

    def _heal(self, engine: LocalEngine) -> None:
        match self._kind:
            case "freeze":
                engine.thaw()
            case "game":
                engine.wait_event("freed")
                del engine.events["freed"], engine.events["online"]
                os.kill(engine.pid, signal.SIGUSR2)
                engine.wait_online()
            case _:
                self._far.replace(engine)
