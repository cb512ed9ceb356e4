"""Two newcomers do what two pages say: `first_hour`. Real daemons, the demo model, everything on loopback.

Ana and Bob have fresh homes. Both type at terminals what `first-hour.md` and `friends.md` tell them to,
and what stands beside each command here is what the page says of its answer. A fault is one of:

- *wrong*: another exit code or text than on the page, or a command of the page that was not typed;
- *silent*: nothing new at the terminal for more than two seconds while a command runs; for a quiet machine;
- *untrue*: it says what another command, the ledger or the other person's computer contradicts.

`python -m benchmarks.people.first_hour` prints each answer, and the faults in the end.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from subprocess import TimeoutExpired
from typing import Any

from potluck_control.resources import DEMO_MODEL, resource

from benchmarks.figures import Measured, figure
from tests.helpers.daemon_process import scripted_game
from tests.helpers.documents import Kind, commands, passages
from tests.helpers.reader import Reader

_PAGES = ("first-hour", "friends")
_SILENT_S = 2.0
_WAIT_S = 60.0  # what a command said has to happen by then
_LONGEST_S = 90.0  # limit of a command
_PASSWORD = "correct horse battery"
_NUMBERS = " 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18."
_NEVER_SAID = {  # pattern in any answer -> why it is a fault
    r"(?im)\bblocks? +\d+:\d+|^blocks\b|\bevery block\b": "blocks that count from 0, not layers from 1",
    r"\blayers \d+(?![-\d,])|\b1 (servers|layers|computers|people|sessions|invites|seats|days)\b": "a plural",
    r"(?i)\bcapacity\b": "a capacity, not the speed for you",
    r"Traceback|internal error|\bNone\b|\{\w+\}": "a program's words",
}
_SPEED = re.compile(r"[Aa]bout ([\d,.]+) tokens/s for you")
_TYPED_ELSEWHERE = {
    "potluck members remove Bob --machine tower": "the only computer of somebody is that person",
    "potluck members dismiss Bob --machine tower": "nobody computes wrongly here: `report_reaches`",
}


@dataclass
class Walk:
    """What both typed, and what was at fault with the answers. `words`: what stands for the pages' capital words."""

    ana: Reader
    bob: Reader
    laptop: Reader  # Ana's, from when the page speaks of it
    words: dict[str, str]
    shows: bool = False
    faults: list[str] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)

    def type(
        self,
        page: str,
        who: Reader,
        command: str,
        *says: str,
        codes: tuple[int, ...] = (0,),
        until: str = "",
        **answers: str,
    ) -> str:
        """Type a command, and note what is at fault with its answer.

        Args:
            says: patterns, each of which a part of the answer has to match.
            until: what it shows before it gets Ctrl-C; 130 is then its exit code as well.
            answers: by a word of the question; the names and secrets of this person answer the others.
        """
        known = {
            "call you": "Bob" if who is self.bob else "Ana",
            "be called": {id(self.ana): "desk", id(self.bob): "tower"}.get(id(who), "old laptop"),
            "nvite": "INVITE",
            "assword": _PASSWORD,
            "nce more": _PASSWORD,
            "ecovery code": self.words.get("CODE", ""),
            "[y/N]": "y",
            "[Y/n]": "y",
        }
        typed = who.type_at_terminal(command, answers | known, until=until, limit_s=_LONGEST_S)
        self.typed.append(command)
        if self.shows:
            print(f"{'Bob' if who is self.bob else 'Ana'} $ {command}\n{typed.said}", flush=True)
        if typed.code not in (codes if not until else (*codes, 130)):
            self.fault("wrong", page, command, f"exit code {typed.code}", typed.said)
        for pattern in says:
            if not re.search(pattern, typed.said, re.MULTILINE):
                self.fault("wrong", page, command, f"does not say {pattern!r}", typed.said)
        for pattern, why in _NEVER_SAID.items():
            if found := re.search(pattern, typed.said):
                self.fault("wrong", page, command, f"says {found[0]!r}: {why}")
        if typed.silent_s > _SILENT_S:
            self.fault("silent", page, command, f"for {typed.silent_s:.1f} s")
        return typed.said

    def true(self, page: str, command: str, what: str, holds: object, said: object = "") -> None:
        """Note an untrue answer unless what it says holds."""
        if not holds:
            self.fault("untrue", page, command, what, str(said))

    def fault(self, kind: str, page: str, command: str, what: str, said: str = "") -> None:
        last = " ".join(said.split())[-160:]
        self.faults.append(f"{kind}: {page}: {command}: {what}" + (f" [... {last}]" if last else ""))
        if self.shows:
            print(f"!! {self.faults[-1]}\n", flush=True)

    def soon(self, page: str, command: str, what: str, is_so: Callable[[], object]) -> None:
        """Wait until something that a command said has happened; note it as untrue if it does not."""
        deadline = time.monotonic() + _WAIT_S
        while not (found := is_so()) and time.monotonic() < deadline:
            time.sleep(0.2)
        self.true(page, command, what, found)

    def asked(self, who: Reader, command: str) -> Any:
        """Return the answer of another command as data; {}: it failed."""
        done = who.type(f"{command} --json")
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {}

    def status(self, who: Reader) -> Any:
        return self.asked(who, "potluck status")

    def members(self, who: Reader, name: str) -> list[Any]:
        """Return the people of that name whom a computer's list has."""
        return [each for each in self.asked(who, "potluck members").get("members", ()) if each["name"] == name]

    def rank(self, who: Reader, name: str) -> str:
        return next((str(each["rank"]) for each in self.members(who, name)), "")

    def untyped(self) -> Iterator[str]:
        """Yield the commands of the pages that nobody typed."""
        for page in _PAGES:
            for command in commands(page):
                if command not in self.typed and command not in _TYPED_ELSEWHERE:
                    yield f"wrong: {page}: {command}: on the page, but not typed here"


@figure("first_hour", unit="faults", reach=0, shown=True)
def count(soak: bool) -> Measured:
    """Faults that two newcomers meet who type what `first-hour.md`, `friends.md` and the README say.

    A fault is an answer that differs from the page, that is silent for more than two seconds, or that another
    command, the ledger or the other computer contradicts. For a quiet machine.
    """
    walk, seconds = walked()
    kinds = {kind: sum(each.startswith(kind) for each in walk.faults) for kind in ("wrong", "silent", "untrue")}
    return Measured(
        len(walk.faults), {**kinds, "typed": len(walk.typed), "seconds": round(seconds), "faults": walk.faults}
    )


def walked(*, shows: bool = False) -> tuple[Walk, float]:
    """Do all that the pages say; return what came of it and how long it took in seconds."""
    model = str(resource(DEMO_MODEL))
    words = {"MODEL": model, "resources/demo-model": model, "--port 31330": "--host 127.0.0.1 --port 0"}
    words["--host 0.0.0.0"] = "--host 127.0.0.1 --port 0"
    began = time.monotonic()
    with Reader(words) as ana, Reader(words) as bob, Reader(words) as laptop:
        walk = Walk(ana, bob, laptop, words, shows)
        for part in (_first_hour, _friends, *_FOUNDERS):
            try:
                part(walk)
            except (AssertionError, KeyError, TypeError, OSError, TimeoutExpired) as error:
                walk.fault("wrong", part.__name__.strip("_"), "the rest of it", f"cannot be done: {error!r}")
    walk.faults += walk.untyped()
    return walk, time.monotonic() - began


def _first_hour(walk: Walk) -> None:
    page, ana = "first-hour", walk.ana

    def type_(command: str, *says: str, **options: Any) -> str:
        return walk.type(page, ana, command, *says, **options)

    type_("potluck start --demo", "Started|serves", "home")
    type_('potluck generate "Count from 7 to 18:"', re.escape(_NUMBERS))
    began = time.monotonic()
    type_('potluck generate "Count from 7 to 18:"', re.escape(_NUMBERS))
    fastest_tps = 10 * 45 / (time.monotonic() - began)  # ten times what all of the command took for its tokens
    said = type_("potluck status", r"^● Serving layers 1-12 of demo-model")
    status, earned = walk.status(ana), walk.asked(ana, "potluck earnings")
    walk.true(page, "potluck status", "serves other layers", status["swarm"]["span"] == [0, 12], status["swarm"])
    _speed(walk, page, "potluck status", said, fastest_tps)
    tokens = re.search(r"([\d,]+) tokens today", said)
    told = int(tokens[1].replace(",", "")) if tokens else 0
    walk.true(page, "potluck status", f"{told} tokens today, the ledger another number", told == _today(earned), earned)
    said = type_("potluck swarm show", r"Every layer is served\.", r"(?i)one more")
    walk.true(page, "potluck swarm show", "a layer is not served", 0 not in walk.status(ana)["swarm"]["coverage"])
    _speed(walk, page, "potluck swarm show", said, fastest_tps)
    for fault in faults_of_readme(ana):
        walk.fault("wrong", "README", "its program", fault.strip().splitlines()[-1])
    type_("potluck top", "Serving layers 1-12", until="Serving")
    _limits(walk)
    type_("potluck programs list", "PROGRAM")
    type_("potluck programs never steamwebhelper", "never", "steamwebhelper")
    type_("potluck programs always blender", "always", "blender")
    _pauses(walk)
    walk.soon(page, "potluck config set", "does not serve all again", lambda: _serves_all(walk, ana))
    type_("potluck earnings", "(?i)today")
    walk.true(
        page, "potluck earnings", "points without anybody else", _points(walk.asked(ana, "potluck earnings")) == 0
    )
    type_("potluck leave", "(?i)recovery code", "(?i)founder", codes=(0, 1, 2, 3), **{"": ""})
    walk.true(page, "potluck leave", "the founder's key is gone", walk.asked(ana, "potluck swarm list").get("swarms"))
    type_("potluck stop", "ended")
    walk.true(
        page, "potluck stop", "it still runs", ana.type("potluck status --json").returncode != 0 or not _runs(walk)
    )


def faults_of_readme(reader: Reader) -> list[str]:
    """Start Python as the README says, paste its program, and return how what it prints differs."""
    shown = [each for each in passages("../README") if each.kind is Kind.SHOWN]
    (command,) = (each for each in commands("../README") if each.endswith("bin/python"))
    (program,) = (each for each in passages("../README") if each.kind is Kind.PYTHON)
    reader.type(command.removesuffix(" .venv/bin/python").replace(".venv/bin/", ""))
    printed, error = reader.run_program(program.text)
    return [error] if error else [f"does not print {each.text!r}" for each in shown if each.text not in printed]


def _speed(walk: Walk, page: str, command: str, said: str, fastest_tps: float) -> None:
    found = _SPEED.search(said)
    if found is None:
        walk.fault("wrong", page, command, "does not say how fast it is for you", said)
    else:
        told = float(found[1].replace(",", ""))
        walk.true(page, command, f"{told:g} tokens/s for you, which got {fastest_tps / 10:.0f}", told <= fastest_tps)


def _today(earned: Any) -> int:
    return int(earned.get("today", {}).get("tokens", -1))


def _points(earned: Any) -> int:
    return int(earned.get("today", {}).get("earned", -1))


def _runs(walk: Walk) -> bool:
    return (walk.ana.home / "run" / "potluck" / "potluckd.sock").exists()


def _limits(walk: Walk) -> None:
    """Each limit that is set, and that it is listed; those of hours and idleness would end the serving, so they go."""
    page, ana = "first-hour", walk.ana
    for name, text, shown in (
        ("serve.memory_limit_mb", "6000", "6000"),
        ("limits.gpu_temperature_c", "75", "75"),
        ("limits.upload_mb_day", "5000", "5000"),
        ("limits.upload_mb_month", "100GB", "95367"),
        ("when.only_when_idle", "true", "true"),
        ("when.hours", '"mon-fri 22:00-07:00"', "mon-fri 22:00-07:00"),
    ):
        walk.type(page, ana, f"potluck config set {name} {text}", f"{re.escape(name)} = {shown}")
        got = walk.ana.type(f"potluck config get {name}").stdout
        walk.true(page, f"potluck config set {name}", "another value is kept", shown in got, got)
    walk.type(page, ana, "potluck config list", "when.hours = mon-fri 22:00-07:00", "limits.gpu_temperature_c = 75")
    walk.type(page, ana, "potluck config unset when.hours", "when.hours")
    walk.type(page, ana, "potluck config unset when.only_when_idle", "when.only_when_idle = false")
    _serves(walk, ana, page, "potluck config unset when.only_when_idle")


def _pauses(walk: Walk) -> None:
    """Try all pauses of the page beside a game, and check that each happens."""
    page, ana = "first-hour", walk.ana
    with scripted_game(ana.home, "blender"):
        walk.soon(page, "potluck programs always blender", "does not step aside", lambda: _is(walk, ana, "yielded"))
        walk.type(page, ana, "potluck pause until the game ends", "(?i)paused", "(?i)game")
    walk.soon(page, "potluck pause until the game ends", "no end with the game", lambda: _is(walk, ana, "serving"))
    for command, lasts_h in (
        ("potluck pause until tomorrow", (0.01, 32)),
        ("potluck pause until I resume", None),
        ("potluck pause", (0.98, 1.01)),
    ):
        said = walk.type(page, ana, command, "(?i)paused", "potluck resume")
        status = walk.status(ana)
        walk.true(page, command, f"the state is {status['state']}", status["state"] == "paused", said)
        ends = status.get("until")
        if lasts_h is None:
            walk.true(page, command, "it ends by itself", ends is None, said)
        else:
            lasts = (ends or 0) - time.time()
            walk.true(page, command, "another time", lasts_h[0] * 3600 < lasts < lasts_h[1] * 3600, said)
            clock = time.strftime("%H:%M", time.localtime(ends or 0))
            walk.true(page, command, f"it ends at {clock}", clock in said, said)
        walk.soon(page, command, "the memory is not free", lambda: not walk.status(ana)["engine"].get("pid"))
    walk.type(page, ana, "potluck resume", "(?i)start|serving|resum|checking")
    _serves(walk, ana, page, "potluck resume")
    walk.type(page, ana, "potluck history", "(?i)blender", "(?i)paused by you")


def _is(walk: Walk, who: Reader, state: str) -> bool:
    return bool(walk.status(who).get("state") == state)


def _serves(walk: Walk, who: Reader, page: str, command: str) -> None:
    walk.soon(page, command, "does not serve again", lambda: _is(walk, who, "serving"))


def _friends(walk: Walk) -> None:
    page, ana, bob, words = "friends", walk.ana, walk.bob, walk.words
    words.pop("INVITE", None)
    ana.type_and_leave("potluck bootstrap --port 31330", "/ip4/127.0.0.1/")
    walk.typed.append("potluck bootstrap --port 31330")
    walk.type(page, ana, "potluck start", "Started")
    walk.type(page, ana, "potluck swarm create friends MODEL --bootstrap ADDRESS", "friends", "potluck4:")
    walk.soon(page, "potluck swarm create", "serves another swarm", lambda: _serves_swarm(walk, ana, "friends"))
    walk.type(page, ana, "potluck swarm invite friends", "potluck4:")
    first = words.get("INVITE")
    walk.type(page, ana, "potluck swarm invite friends", "potluck4:")
    walk.true(page, "potluck swarm invite friends", "another invite the second time", words.get("INVITE") == first)
    invites = [(each["people"], round((each["expires_at"] - time.time()) / 86400)) for each in _open_invites(walk)]
    walk.true(page, "potluck swarm invite friends", "not one for 10 people and 14 days", invites == [(10, 14)], invites)
    said = walk.type(page, bob, "potluck join", "Joined friends")
    walk.true(page, "potluck join", "the list of the founder lacks Bob", walk.members(ana, "Bob"), said)
    is_told = "not confirmed" not in said
    walk.true(page, "potluck join", "he is not confirmed", is_told == walk.status(bob)["is_confirmed"], said)
    walk.soon(page, "potluck join", "does not serve all", lambda: _serves_all(walk, bob))
    walk.soon(page, "potluck join", "sees no other server", lambda: min(walk.status(bob)["swarm"]["coverage"]) > 1)
    walk.soon(page, "potluck join", "never confirmed", lambda: walk.rank(ana, "Bob") == "member")
    span = walk.status(bob)["swarm"]["span"] or (0, 0)
    said = walk.type(page, bob, "potluck status", rf"^● Serving layers? {span[0] + 1}-{span[1]} of demo-model")
    walk.type(page, bob, "potluck doctor", codes=(0, 1))
    said = walk.type(page, bob, "potluck swarm show friends", r"^Every layer is served\.$")
    walk.true(page, "potluck swarm show friends", "a layer is missing", 0 not in walk.status(bob)["swarm"]["coverage"])
    servers = [line for line in said.splitlines() if " online " in line]
    walk.true(page, "potluck swarm show friends", "not two servers", len({*servers}) == 2, said)
    walk.type(page, bob, 'potluck generate --swarm friends "Count from 7 to 18:"', re.escape(_NUMBERS))
    words["LINK"] = next(
        iter(re.findall(r"potluck:friends:[0-9a-f]+", ana.type("potluck swarm show friends").stdout)), ""
    )


def _serves_all(walk: Walk, who: Reader) -> bool:
    return bool((walk.status(who).get("swarm") or {}).get("span") == [0, 12])


def _serves_swarm(walk: Walk, who: Reader, name: str) -> bool:
    status = walk.status(who)
    return bool(status.get("state") == "serving" and status["swarm"]["name"] == name)


def _leaders(walk: Walk) -> None:
    page, ana, bob = "friends", walk.ana, walk.bob
    said = walk.type(page, ana, "potluck members", "Ana.*founder", "Bob", "desk", "tower")
    rows = [line.split() for line in said.splitlines() if re.match(r"(Ana|Bob)\b", line)]
    walk.true(page, "potluck members", "equal rows", len({tuple(row) for row in rows}) == len(rows) == 2, said)
    walk.type(page, ana, "potluck members confirm Bob", "Bob", codes=(0, 1, 2))
    said = walk.type(page, ana, "potluck members recovery-code", r"(\w{4}-){13}\w{4}", "(?i)write it down")
    walk.words["CODE"] = next(iter(re.findall(r"(?:\w{4}-){13}\w{4}", said)), "")
    walk.type(page, ana, "potluck members promote Bob", "Bob", "admin")
    walk.true(page, "potluck members promote Bob", "no admin", walk.rank(ana, "Bob") == "admin")
    walk.soon(page, "potluck members promote Bob", "he does not hear it", lambda: walk.rank(bob, "Bob") == "admin")
    for number in range(4):
        bob.type(f"potluck swarm invite friends --people {number + 1}")
    walk.soon(page, "potluck members promote Bob", "his invites are unknown", lambda: len(_open_invites(walk)) >= 5)
    walk.type(page, ana, "potluck members decisions Bob", "(?i)4 .*invite")
    walk.type(page, ana, "potluck members demote Bob --keep 4", "Bob")
    walk.true(page, "potluck members demote Bob --keep 4", "still an admin", walk.rank(ana, "Bob") == "member")
    walk.true(page, "potluck members demote Bob --keep 4", "fewer invites", len(_open_invites(walk)) >= 5)
    ana.type("potluck members promote Bob")
    walk.type(page, ana, "potluck members demote Bob", "Bob")
    walk.true(page, "potluck members demote Bob", "still an admin", walk.rank(ana, "Bob") == "member")


def _open_invites(walk: Walk) -> list[Any]:
    return [*walk.asked(walk.ana, "potluck members").get("invites", ())]


def _invites(walk: Walk) -> None:
    page, ana, words = "friends", walk.ana, walk.words
    before = {each["id"] for each in _open_invites(walk)}
    said = walk.type(page, ana, "potluck swarm invite friends --people 3 --expires 2d", "potluck4:")
    new = [each for each in _open_invites(walk) if each["id"] not in before]
    people = [each["people"] for each in new]
    walk.true(page, "potluck swarm invite friends --people 3", "no such invite", people == [3], said)
    words["3fa9"] = new[0]["id"] if new else "00000000"
    walk.type(page, ana, "potluck members end-invite 3fa9", "(?i)end")
    left = [each["id"] for each in _open_invites(walk)]
    walk.true(page, "potluck members end-invite", "still open", words["3fa9"] not in left)


def _another_model(walk: Walk) -> None:
    page, ana, bob = "friends", walk.ana, walk.bob
    shutil.copytree(resource(DEMO_MODEL), ana.home / "a-better-model")
    walk.type(page, ana, "potluck swarm model ./a-better-model", "a-better-model")
    for who in (ana, bob):
        walk.soon(page, "potluck swarm model", "does not follow", lambda who=who: _serves_model(walk, who))  # type: ignore[misc]


def _serves_model(walk: Walk, who: Reader) -> bool:
    status = walk.status(who)
    return bool(status.get("state") == "serving" and status["swarm"]["model"] == "a-better-model")


def _lost(walk: Walk) -> None:
    """Bob's computer is Ana's new one: it joins with an invite, and she types the recovery code."""
    page, ana, bob = "friends", walk.ana, walk.bob
    _leaves(walk, bob)
    ana.type("potluck swarm invite friends --people 2")
    walk.type(page, bob, "potluck join", "Joined friends")
    walk.type(page, bob, "potluck members recover", "founder")
    walk.true(page, "potluck members recover", "not the founder", walk.asked(bob, "potluck members").get("is_founder"))


def _places(walk: Walk) -> None:
    page, ana = "friends", walk.ana
    command = "potluck bootstrap --port 31330 --swarm LINK"
    ana.end_lasting()
    ana.type_and_leave(command, "/ip4/127.0.0.1/")
    walk.typed.append(command)
    walk.type(page, ana, "potluck swarm page friends", r"friends\.html")
    text = (ana.home / "friends.html").read_text() if (ana.home / "friends.html").exists() else ""
    walk.true(page, "potluck swarm page friends", "no page of the swarm", "friends" in text)
    serving = "potluck swarm page friends --serve --host 0.0.0.0"
    walk.type(page, ana, serving, r"http://\S+/\w+/", until="http://")


@contextmanager
def _meanwhile(typing: Callable[[], str]) -> Iterator[Future[str]]:
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(typing)


def _own_computers(walk: Walk) -> None:
    """The laptop becomes Ana's second computer, twice: by an invite for one machine, and from the backup."""
    page, ana, laptop, words = "friends", walk.ana, walk.laptop, walk.words
    before = words["INVITE"]
    with _meanwhile(lambda: walk.type(page, ana, "potluck members add-computer", "potluck4:", "old laptop")) as adding:
        walk.soon(page, "potluck members add-computer", "shows no invite", lambda: words["INVITE"] != before)
        walk.type(page, laptop, "potluck join", "Joined friends")
        adding.result()
    walk.true(page, "potluck members add-computer", "not her computer", "old laptop" in _machines(walk))
    walk.type(page, ana, 'potluck members remove Ana --machine "old laptop"', "Ana|old laptop")
    walk.true(page, "potluck members remove Ana --machine", "it is in the list", "old laptop" not in _machines(walk))
    walk.type(page, ana, "potluck members backup ./potluck-keys", "potluck-keys")
    _leaves(walk, laptop)
    shutil.copy(ana.home / "potluck-keys", laptop.home)
    command = "potluck members restore ./potluck-keys"
    walk.type(page, laptop, command, "friends")
    walk.soon(page, command, "not the founder", lambda: walk.rank(laptop, "Ana") == "founder")
    _serves(walk, laptop, page, command)


def _leaves(walk: Walk, who: Reader) -> None:
    who.type("potluck leave friends --yes")
    walk.soon("friends", "potluck leave friends", "still in it", lambda: "friends" not in _swarms(walk, who))


def _swarms(walk: Walk, who: Reader) -> list[str]:
    return [each["name"] for each in walk.asked(who, "potluck swarm list").get("swarms", ())]


def _machines(walk: Walk) -> list[str]:
    return [machine["name"] for each in walk.members(walk.ana, "Ana") for machine in each["machines"]]


def _public(walk: Walk) -> None:
    page, ana, bob = "friends", walk.ana, walk.bob
    _leaves(walk, bob)
    ana.end_lasting()  # the meeting point is for members of the other swarm
    ana.type_and_leave("potluck bootstrap --port 31330", "/ip4/127.0.0.1/")
    command = "potluck swarm create open-llama MODEL --bootstrap ADDRESS --public"
    walk.type(page, ana, command, "open-llama", "potluck4:")
    walk.soon(page, command, "not served", lambda: _serves_swarm(walk, ana, "open-llama"))
    walk.type(page, bob, "potluck join", "Joined open-llama")
    walk.type(page, ana, "potluck members promote Bob --enroller", "Bob", "enroller")
    walk.true(page, "potluck members promote Bob --enroller", "no enroller", walk.rank(ana, "Bob") == "enroller")


def _removal(walk: Walk) -> None:
    page, ana, bob = "friends", walk.ana, walk.bob
    walk.type(page, ana, "potluck members remove Bob", "Bob")
    walk.true(page, "potluck members remove Bob", "he is in the list", not walk.members(ana, "Bob"))
    walk.soon(page, "potluck members remove Bob", "he still serves", lambda: not _is(walk, bob, "serving"))
    said = bob.type("potluck status").stdout
    walk.true(page, "potluck members remove Bob", "his computer does not say who did", "Ana" in said, said)


_FOUNDERS = (_leaders, _invites, _another_model, _lost, _own_computers, _places, _public, _removal)

if __name__ == "__main__":
    found, took_s = walked(shows=True)
    print(*found.faults, f"{len(found.faults)} faults, {took_s:.0f} s", sep="\n")
    sys.exit(bool(found.faults))
