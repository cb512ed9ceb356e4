"""Engines that are told nothing but their swarm: `self_organise` and `self_heal`.

Six engines of different memory and links, a model of 24 tiny blocks, everything on loopback. What is served is read off
the engines' own events, which they send when a block answers.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalSwarm
from benchmarks.loops import generate, longest_wait_s, swarm_model
from benchmarks.models import checkpoint, local_model
from potluck.protocol.blocks import Span

NUM_BLOCKS = 24
HIDDEN_SIZE = 64
SEED = 6
_PATIENCE_S = 240.0
_LOOK_EVERY_S = 0.05
_NUM_CLIENTS = 4
_NUM_TOKENS = 24
_CALM_S = 8.0  # without a move, before engines are killed
_AFTER_S = 20.0  # that clients go on for after the last block is back


@dataclass(frozen=True, slots=True)
class Volunteer:
    """What an engine may hold, and its link, which is what limits it."""

    num_blocks: int
    link_mbps: float


VOLUNTEERS = (
    Volunteer(12, 0.8),
    Volunteer(10, 0.4),
    Volunteer(8, 0.6),
    Volunteer(8, 0.2),
    Volunteer(6, 0.3),
    Volunteer(12, 0.5),
)


class FreeEngine:
    """One engine in a process of its own; `spans` is what it served since when (monotonic)."""

    def __init__(self, swarm: LocalSwarm, number: int, volunteer: Volunteer) -> None:
        self.spans: list[tuple[float, Span]] = []
        self.moves: list[str] = []
        self.failed: str | None = None
        self.is_imported = self.is_settled = False
        self.changed_at = time.monotonic()
        options = {
            "swarm": swarm.swarm.name,
            "checkpoint": str(swarm.checkpoint),
            "runtime_dir": str(swarm.folder),
            "num_blocks": volunteer.num_blocks,
            "link_mbps": volunteer.link_mbps,
        }
        self.log_path = swarm.folder / f"free-{number}.log"
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.free_engine", json.dumps(options)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=swarm.environment(),
                cwd=Path(__file__).parents[1],
                text=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def span(self) -> Span | None:
        """What it serves now."""
        return self.spans[-1][1] if self.spans and self._process.poll() is None else None

    def go(self) -> None:
        """Start, once everything is imported."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> FreeEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            self.changed_at = now = time.monotonic()
            self.is_imported = True
            if event["event"] in ("Online", "Reshaped", "Settled"):
                self.spans.append((now, Span.parse(event["span"])))
            if event["event"] == "Failed":
                self.failed = event["error"]["text"]
            if event["event"] in ("Moving", "Settled"):
                self.is_settled = event["event"] == "Settled"
            if event["event"] == "Moving":
                self.moves.append(f"{event['span']} -> {event['target']}: {event['why']['text']}")


def organise(soak: bool) -> Measured:
    folder = checkpoint(HIDDEN_SIZE, NUM_BLOCKS)
    rounds = [_organise_once(folder) for _ in range(5 if soak else 1)]
    return Measured(max(each["covered_s"] for each in rounds), {"rounds": rounds})


def _organise_once(folder: Path) -> dict[str, Any]:
    with ExitStack() as stack:
        engines = _start(stack, stack.enter_context(LocalSwarm(folder, ())))
        begin = time.monotonic()
        _until(lambda: min(_coverage(engines)) > 0, "full coverage")
        covered_s = time.monotonic() - begin
        _until(lambda: _is_calm(engines), "calm swarm")
        return {
            "covered_s": round(covered_s, 1),
            "calm_s": round(max(engine.changed_at for engine in engines) - begin, 1),
            "spans": [str(engine.span) for engine in engines],
        }


def heal(soak: bool) -> Measured:
    folder = checkpoint(HIDDEN_SIZE, NUM_BLOCKS)
    expected = generate(local_model(folder), _NUM_TOKENS).tokens
    rounds = [_heal_once(folder, expected, random.Random(SEED + seed)) for seed in range(10 if soak else 1)]
    holds = all(not each["errors"] and not each["wrong"] for each in rounds)
    return Measured(max(each["unserved_s"] for each in rounds), {"rounds": rounds}, holds)


def _heal_once(folder: Path, expected: Sequence[int], rng: random.Random) -> dict[str, Any]:
    with ExitStack() as stack:
        swarm = stack.enter_context(LocalSwarm(folder, ()))
        engines = _start(stack, swarm)
        _until(lambda: _is_calm(engines), "calm swarm")
        crowd = stack.enter_context(Crowd(swarm, folder, expected))
        crowd.wait_for(2 * _NUM_CLIENTS)
        return _strike(engines, rng) | crowd.end()


def _start(stack: ExitStack, swarm: LocalSwarm) -> list[FreeEngine]:
    """All at once, when all have imported what they need."""
    engines = [stack.enter_context(FreeEngine(swarm, number, volunteer)) for number, volunteer in enumerate(VOLUNTEERS)]
    _until(lambda: all(engine.is_imported for engine in engines), "engine that has imported everything")
    for engine in engines:
        engine.go()
    return engines


def _strike(engines: Sequence[FreeEngine], rng: random.Random) -> dict[str, Any]:
    """Kill the two who are missed most; how long a block was served by nobody."""
    before = [str(engine.span) for engine in engines]
    pairs = list(combinations(range(len(engines)), 2))
    rng.shuffle(pairs)
    victims = max(pairs, key=lambda pair: _coverage([e for i, e in enumerate(engines) if i not in pair]).count(0))
    begin = time.monotonic()
    for victim in victims:
        engines[victim].kill()
    holes = [block for block, count in enumerate(_coverage(engines)) if not count]
    _until(lambda: min(_coverage(engines)) > 0, "full coverage after two were killed")
    unserved_s = time.monotonic() - begin if holes else 0.0
    moves = [move for engine in engines for move in engine.moves[1:]]
    return {
        "unserved_s": round(unserved_s, 1),
        "holes": len(holes),
        "killed": victims,
        "before": before,
        "after": [str(engine.span) for engine in engines],
        "moves": moves,
    }


class Crowd:
    """Clients that generate the same tokens again and again, each in a thread with a node of its own."""

    def __init__(self, swarm: LocalSwarm, folder: Path, expected: Sequence[int]) -> None:
        self._swarm = swarm
        self._folder = folder
        self._expected = list(expected)
        self._is_over = threading.Event()
        self._wrong = self._done = 0
        self._errors: list[str] = []
        self._longest_s = 0.0
        self._models = ExitStack()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Crowd:
        for _ in range(_NUM_CLIENTS):  # one after the other: two loops cannot start processes at the same time
            model = self._models.enter_context(swarm_model(self._swarm, self._folder))
            self._threads.append(threading.Thread(target=self._use, args=(model,), daemon=True))
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        self._models.close()

    def wait_for(self, completions: int) -> None:
        _until(lambda: self._done >= completions or bool(self._errors), "answers")

    def end(self) -> dict[str, Any]:
        """Let them go on for a while, then stop them; what they saw."""
        time.sleep(_AFTER_S)
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        return {
            "completions": self._done,
            "wrong": self._wrong,
            "errors": self._errors,
            "longest_wait_s": round(self._longest_s, 1),
        }

    def _use(self, model: Any) -> None:
        try:
            while not self._is_over.is_set():
                completion = generate(model, _NUM_TOKENS)
                self._wrong += list(completion.tokens) != self._expected
                self._longest_s = max(self._longest_s, longest_wait_s(completion))
                self._done += 1
        except Exception as error:  # counted, whatever it is
            self._errors.append("".join(traceback.format_exception(error)[-3:]))


def _coverage(engines: Sequence[FreeEngine]) -> list[int]:
    spans = [engine.span for engine in engines]
    return [sum(span is not None and block in span for span in spans) for block in range(NUM_BLOCKS)]


def _is_calm(engines: Sequence[FreeEngine]) -> bool:
    """Raises RuntimeError if one could not start."""
    for engine in engines:
        if engine.failed is not None:
            raise RuntimeError(f"an engine cannot start: {engine.failed}")
    now = time.monotonic()
    rests = all(engine.is_settled and now - engine.changed_at > _CALM_S for engine in engines)
    return rests and min(_coverage(engines)) > 0


def _until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {what} within {_PATIENCE_S:g} s")
        time.sleep(_LOOK_EVERY_S)
