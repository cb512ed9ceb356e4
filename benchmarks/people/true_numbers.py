"""What Potluck says about itself at one moment, in all its places: `true_numbers`.

Two people with daemons of their own share the demo model on loopback. Both ask, one pauses, plays a game and founds a
second swarm. After each event every place is read: ledger, `status`, `earnings`, `swarm show`, the web page, the
metrics of daemon and gateway, and the app's pages and tooltip (`app_texts`). The ledger's entries are the truth about
tokens, points and people; the answers' own reports are that about speed, and the script knows what is served.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Self

from potluck_control.api import schema
from potluck_control.methods import earnings, gateway
from potluck_control.methods.earnings import Period, SeriesParams
from potluck_control.states import State
from potluck_daemon.host.listening import free_port

from benchmarks.figures import Measured, figure
from potluck.formatting import rounded
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess, scripted_game

_GAME = f"game-{os.getpid()}"  # nobody else on this machine plays it
_SETTINGS = LOOPBACK.replace("tcp/0", "tcp/{listens}") + (
    'blocks = "{blocks}"\nfind_nearby = false\n[when]\nactive_percent = 100\n[metrics]\nport = {metrics}\n'
    "[gateway]\nport = {gateway}\n"
    f'[yield]\nalways = ["{_GAME}"]\nquiet_certain_s = 0\n'
)
_ANSWER_TOKENS = 40
_CALM_S = 3.0  # the last receipts are booked after so long without a new entry
_QUIET_S = 30.0
_CLOSE = 0.02  # tolerance of speeds, which are rounded differently
_COUNTED = r"([\d,]+)"
_NEGATIVE = r"(^|\s)-\d|\b0 W\b"


@dataclass(frozen=True, slots=True)
class Truth:
    """What one person's places have to say.

    Attributes:
        answers_tps: of the person's own answers in a swarm that may run; if none, any expected speed is fine, but the
            same everywhere.
        span: the blocks that are served at this moment.
    """

    tokens: int
    points: int
    people: int
    answers_tps: Sequence[float]
    span: tuple[int, int] | None
    swarm: str


class _Entry(NamedTuple):
    """What somebody signed for, as the ledger has it."""

    person: str
    points: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Said:
    """A value that a place says, beside what it has to be."""

    place: str
    value: object
    truth: object

    @property
    def is_true(self) -> bool:
        if isinstance(self.truth, float) and isinstance(self.value, int | float):
            return abs(self.value - self.truth) <= _CLOSE * max(abs(self.truth), 1.0)
        return self.value == self.truth


@figure("true_numbers", unit="values", reach=0, shown=True)
def contradictions(soak: bool) -> Measured:
    """Values of app, tooltip, commands, web page and metrics that contradict the ledger, the answers or each other.

    A scripted day of two people: answers, a pause, a game, a second swarm.
    """
    with ExitStack() as stack:
        ana, ben = (stack.enter_context(_Person(blocks)) for blocks in ("0:8", "4:12"))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        moments = {name: list(said) for name, said in _day(ana, ben, folder)}
    wrong = {
        f"{moment}: {each.place}": f"{each.value!r} instead of {each.truth!r}"
        for moment, said in moments.items()
        for each in said
        if not each.is_true
    }
    return Measured(len(wrong), {"wrong": wrong, "values": sum(map(len, moments.values()))})


def _day(ana: _Person, ben: _Person, folder: Path) -> Iterator[tuple[str, Iterator[Said]]]:
    """Live through a day; yield the name of each moment with what is said then."""
    ana.client.call(schema.CREATE, schema.CreateParams("home"))
    ana.wait_state(State.SERVING)
    ben.client.call(schema.JOIN, schema.JoinParams(ana.client.call(schema.INVITE).invite))
    for person in (ana, ben):
        person.wait_for(_is_whole)
    yield "morning", ana.said("home", (0, 8))
    for person in (ben, ana, ben):
        person.ask()
    yield "Ana after answers", ana.said("home", (0, 8))
    yield "Ben after answers", ben.said("home", (4, 12))
    ana.client.call(schema.PAUSE, schema.PauseParams(3600.0))
    yield "a pause", ana.said("home", None, can_run=False)  # nobody else serves the first layers
    ana.client.call(schema.RESUME)
    ana.wait_for(_is_whole)
    with scripted_game(folder, _GAME):
        ana.wait_state(State.YIELDED)
        yield "a game", ana.said("home", None, can_run=False)
    ana.wait_for(_is_whole)
    ben.ask()
    yield "after the game", ana.said("home", (0, 8))
    ana.client.call(schema.CREATE, schema.CreateParams("second", moves=True))
    ana.wait_for(lambda status: status.swarm is not None and status.swarm.name == "second" and status.swarm.is_live)
    yield "a second swarm", ana.said("second", (0, 8))


class _Person(DaemonProcess):
    """One person's daemon, and what the person got."""

    def __init__(self, blocks: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
            self._port, gateway_port = one.getsockname()[1], other.getsockname()[1]
        super().__init__(_SETTINGS.format(blocks=blocks, metrics=self._port, gateway=gateway_port, listens=free_port()))
        self._answers_tps: list[float] = []

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def ask(self) -> None:
        """Have a prompt completed through the gateway."""
        done = self._potluck("generate", "--max-new-tokens", str(_ANSWER_TOKENS), "--json", "One day")
        self._answers_tps.append(json.loads(done)["tokens_per_s"])

    def said(self, swarm: str, span: tuple[int, int] | None, *, can_run: bool = True) -> Iterator[Said]:
        """Read all places, once the ledger is quiet. `can_run`: not known to be without a server for some blocks."""
        earned = self._quiet_entries()
        answers_tps = self._answers_tps if can_run and swarm == "home" else []
        truth = Truth(
            sum(entry.tokens for entry in earned),
            sum(entry.points for entry in earned),
            len({entry.person for entry in earned}),
            answers_tps,
            span,
            swarm,
        )
        yield from self._of_status(truth)
        yield from self._of_earnings(truth)
        yield from self._of_swarm(truth)
        yield from self._of_metrics(truth)
        yield from self._of_app(truth)

    def _of_status(self, truth: Truth) -> Iterator[Said]:
        status, text = self.status(), self._potluck("status")
        swarm = status.swarm
        assert swarm is not None
        yield Said("status: tokens today", status.tokens_today, truth.tokens)
        yield Said("status as text: tokens today", _number(text, f"{_COUNTED} tokens today"), truth.tokens)
        yield Said("status: swarm", swarm.name, truth.swarm)
        yield Said("status: span", swarm.span, truth.span)
        yield Said("status as text: yours", "^" in text, truth.span is not None)
        yield Said("status: tokens/s when nobody asks", status.tokens_per_s, 0.0)
        speed = swarm.speed_for_you
        yield Said("status: speed is measured", speed is not None and speed.is_measured, bool(truth.answers_tps))
        if truth.answers_tps:
            median = statistics.median(truth.answers_tps)
            yield Said("status: speed for you", speed and speed.tokens_per_s, median)
            yield Said("status as text: speed", _found(text, r"About (\S+) tokens/s for you"), rounded(median))

    def _of_earnings(self, truth: Truth) -> Iterator[Said]:
        sums = self.client.call(earnings.SUMMARY)
        for name, earned in (("today", sums.today), ("week", sums.week), ("total", sums.total)):
            yield Said(f"earnings: tokens {name}", earned.tokens, truth.tokens)
            yield Said(f"earnings: points {name}", earned.earned, truth.points)
            yield Said(f"earnings: people {name}", earned.people, truth.people)
        day = SeriesParams(Period.DAY, 1)
        (by_day,), use = self.client.call(earnings.SERIES, day).periods, self.status().use
        yield Said("earnings by day: tokens", by_day.tokens, truth.tokens)
        yield Said("earnings by day: people", by_day.people, truth.people)
        for name, each in (("today", sums.today), ("total", sums.total)):
            yield Said(f"earnings: sent {name}", each.sent_bytes, use.sent_bytes)
            yield Said(f"earnings: energy {name}", each.energy_wh, use.energy_wh)
        for method in (earnings.BY_MODEL, earnings.BY_PERSON):
            groups = self.client.call(method, earnings.GroupParams(1)).groups
            yield Said(f"{method.name}: points", sum(group.sums.earned for group in groups), truth.points)
        text = self._potluck("earnings")
        yield Said("earnings as text: points", _number(text, rf"today\s+{_COUNTED}"), truth.points)
        yield Said("earnings as text: less than nothing", re.search(_NEGATIVE, text), None)

    def _of_swarm(self, truth: Truth) -> Iterator[Said]:
        known = self.status().swarm
        speed = known.speed_for_you if known is not None else None
        shown = json.loads(self._potluck("swarm", "show", truth.swarm, "--json"))["speed_for_you"]
        file = self.folder / "page.html"
        self._potluck("swarm", "page", truth.swarm, "--output", str(file))
        page = file.read_text()
        yield Said("swarm show: speed for you", shown and shown["tokens_per_s"], speed and speed.tokens_per_s)
        said = _found(page, r"Speed of an answer</dt><dd>about (\S+) tokens/s")
        yield Said("web page: speed", said, speed and rounded(speed.tokens_per_s))
        yield Said("web page: one server, one reading", re.search(r"\b1 (servers|readings|hours)\b", page), None)

    def _of_metrics(self, truth: Truth) -> Iterator[Said]:
        page = urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=20).read().decode()
        yield Said("metrics: tokens today", _number(page, r"\npotluck_tokens_today (\S+)"), truth.tokens)
        if truth.answers_tps:
            speed = _found(page, r'\npotluck_answer_tokens_per_second\{source="answers"\} (\S+)')
            yield Said("metrics: speed for you", float(speed or 0), statistics.median(truth.answers_tps))
        yield Said("metrics: blocks served", "\npotluck_blocks{" in page, truth.span is not None)
        if (found := self.client.call(gateway.STATUS)).url:
            asked = urllib.request.Request(
                f"{found.url.removesuffix('/v1')}/metrics", headers={"Authorization": f"Bearer {found.token}"}
            )
            page = urllib.request.urlopen(asked, timeout=20).read().decode()
            answered = _number(page, r'\npotluck_gateway_tokens_total\{kind="answer"\} (\S+)')
            seconds = _found(page, r"\npotluck_gateway_answer_seconds_total (\S+)")
            if answered <= 0:  # it was started anew
                return
            tps = (answered - len(self._answers_tps)) / float(seconds or 1)
            mean = len(self._answers_tps) / sum(1 / each for each in self._answers_tps)
            yield Said("gateway's metrics: mean speed", tps, mean)

    def _of_app(self, truth: Truth) -> Iterator[Said]:
        command = [sys.executable, "-m", "benchmarks.people.app_texts", str(self.socket)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        said = json.loads(done.stdout)
        home, swarm, tooltip = said["home"], said["swarm"], said["tooltip"]
        (self.folder / "app.json").write_text(done.stdout)
        for number, name in ((truth.tokens, "tokens served"), (truth.points, "points earned")):
            for place, found in enumerate(re.findall(rf"{_COUNTED}\n{name}", home), 1):
                yield Said(f"Home: {name}, place {place}", float(found.replace(",", "")), number)
            yield Said(f"Home: {name} is there", f"\n{name}" in home, True)
        speed = _found(home, r"[Aa]bout (\S+) tokens/s for you")
        if truth.answers_tps:
            median = statistics.median(truth.answers_tps)
            yield Said("Home: speed for you", speed, f"{median:.{1 if median < 100 else 0}f}")
        yield Said("Swarm: the swarm's name", f"{truth.swarm} runs " in swarm, True)
        served = f"You serve {truth.span[0] + 1}–{truth.span[1]}." if truth.span is not None else "You serve none."
        yield Said("Swarm: what is served here", served in swarm, True)
        yield Said("tooltip: a speed when nobody asks", "tokens/s" in tooltip, False)
        for place, text in said.items():
            yield Said(f"{place}: one, not several", re.search(r"\b1 (servers|people|persons|sessions)\b", text), None)
            yield Said(f"{place}: watts or points below nothing", re.search(_NEGATIVE, text), None)

    def _quiet_entries(self) -> list[_Entry]:
        """Return today's entries of the ledger, once no work is done and no receipt is booked for some seconds."""
        deadline, before, since = time.monotonic() + _QUIET_S, self._entries(), time.monotonic()
        while time.monotonic() < min(deadline, since + _CALM_S):
            time.sleep(0.5)
            if (now := self._entries()) != before or self.status().tokens_per_s:  # answers are checked after their end
                before, since = now, time.monotonic()
        return before

    def _entries(self) -> list[_Entry]:
        midnight = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
        address = f"file:{self.state_folder / 'ledger.sqlite'}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as ledger:
            query = "SELECT person, points, tokens FROM entry WHERE is_earned AND at >= ? ORDER BY number"
            return [_Entry(*row) for row in ledger.execute(query, (midnight,))]

    def _potluck(self, *arguments: str) -> str:
        done: subprocess.CompletedProcess[str] = self.command(*arguments)
        if done.returncode:
            raise RuntimeError(f"potluck {' '.join(arguments)}: {done.stderr}\n{self.log()}")
        return done.stdout


def _is_whole(status: schema.Status) -> bool:
    swarm = status.swarm
    is_live = swarm is not None and swarm.is_live and bool(swarm.coverage) and min(swarm.coverage) > 0
    return status.state is State.SERVING and is_live


def _found(text: str, pattern: str) -> str | None:
    found = re.search(pattern, text)
    return None if found is None else found.group(1)


def _number(text: str, pattern: str) -> float:
    """Return a number in a text; -1 if it isn't there."""
    found = _found(text, pattern)
    return -1.0 if found is None else float(found.replace(",", ""))
