"""A home in which real commands run, and what a stranger would complain about.

The process that makes a `Home` has namespaces of its own: nothing that it mounts or starts outlives it, and every
process there belongs to the home. Each command is judged by what it says and by what then runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

NAME_OF = {"daemon": "potluck_cli.daemon", "engine": "potluck_engine", "gateway": "potluck_gateway", "p2pd": "p2pd"}
_COMMAND_S = 60.0  # a command that takes longer hangs
_SERVES_S = 100.0
_PROGRAM = Path(sys.executable).with_name("potluck")
_UNHANDLED = re.compile(r"Traceback \(|potluck: internal error|exception was never retrieved|was never awaited")
_LOOKS = ("status", "doctor", "config list", "swarm list", "history", "logs", "earnings", "models")
_MAX_QUOTED = 500
OTHER = 12_345  # a user whom the system doesn't know
PEER = "/ip4/127.0.0.1/tcp/9/p2p/12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp"
CREATE = f"swarm create friends some/model --bootstrap {PEER}"
HUB_S = 150.0  # the hub's client tries again for a while
_ROOTS = Path("/root")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a command; `code` is None if it had to be killed."""

    words: str
    code: int | None
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    def __str__(self) -> str:
        return f"`{self.words}` ({self.code}) says {' '.join(self.text.split())[-_MAX_QUOTED:]!r}"


class Home:
    """Folders, an environment and a working directory, and the commands of a person there.

    Attributes:
        findings: what is wrong here.
        before: a command that becomes the command of Potluck, such as `taskset -c 0`.
        preexec: runs in the child before the command, such as a change of the user.
    """

    def __init__(self, folder: str, shared: Path) -> None:
        self.folder, self._shared = folder, shared
        self.findings: list[str] = []
        self.before: tuple[str, ...] = ()
        self.preexec: Callable[[], object] | None = None
        self.environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
        self.environment["HF_ENDPOINT"] = "http://127.0.0.1:9"
        self.cwd = f"{folder}/here"
        os.mkdir(self.cwd)
        self.move(f"{folder}/home", f"{folder}/run")

    def move(self, path: str = "", runtime: str = "") -> None:
        """Make the home's folder or the runtime folder anew, at another place if one is named."""
        if path:
            self.path = self.environment["HOME"] = path
        if runtime:
            self.runtime = self.environment["XDG_RUNTIME_DIR"] = runtime
        for each in (self.path, self.runtime):
            Path(each).mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copytree(self._shared / "kernels", Path(self.path, ".cache", "potluck", "kernels"), dirs_exist_ok=True)

    @property
    def state(self) -> Path:
        return Path(self.path, ".local", "state", "potluck")

    @property
    def config(self) -> Path:
        return Path(self.path, ".config", "potluck")

    @property
    def log(self) -> Path:
        return self.state / "potluckd.log"

    def write_settings(self, text: str | bytes) -> None:
        self.config.mkdir(parents=True, exist_ok=True, mode=0o700)
        (self.config / "settings.toml").write_bytes(text if isinstance(text, bytes) else text.encode())

    def preload(self, **settings: str) -> None:
        """Have `shim.c` change what the system says to the commands."""
        self.environment |= {"LD_PRELOAD": str(self._shared / "shim.so"), **settings}

    def complain(self, what: object) -> None:
        if str(what) not in self.findings:
            self.findings.append(str(what))

    # --- commands ---

    def popen(self, words: str | tuple[str, ...], program: Path = _PROGRAM, **options: Any) -> subprocess.Popen[bytes]:
        command = [*self.before, str(program), *(words.split() if isinstance(words, str) else words)]
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        streams |= options
        return subprocess.Popen(command, env=self.environment, cwd=self.cwd, preexec_fn=self.preexec, **streams)

    def run(
        self, words: str | tuple[str, ...], *, works: bool | None = None, within_s: float = _COMMAND_S, **options: Any
    ) -> Outcome:
        """Run a command and judge what it says. It has to work if `works`, and must not if that is False."""
        process = self.popen(words, **options)
        try:
            out, err = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        name = words if isinstance(words, str) else " ".join(words)
        code = None if process.returncode == -signal.SIGKILL else process.returncode
        outcome = Outcome(ascii(name)[1:-1], code, *((text or b"").decode(errors="replace") for text in (out, err)))
        if (problem := _problem(outcome, works, is_heard=out is not None)) is not None:
            self.complain(f"{problem}: {outcome}")
        return outcome

    def start(self, words: str = "start", *, works: bool | None = None) -> Outcome:
        outcome = self.run(words, works=works)
        if len(alive := self.alive("daemon")) != (outcome.code == 0):
            self.complain(f"untrue: {outcome}, and these daemons run: {alive}")
        return outcome

    def serve(self, *, works: bool = True) -> bool:
        """Start the swarm of the bundled model, and return whether it serves."""
        return self.start("start --demo", works=works or None).code == 0 and self.wait_serving()

    def status(self) -> dict[str, Any]:
        """Return the daemon's status, empty without one."""
        outcome, alive = self.run("status --json"), self.alive("daemon")
        if (outcome.code == 0) != bool(alive):
            self.complain(f"untrue: {outcome}, and these daemons run: {alive}")
        try:
            told = json.loads(outcome.out) if outcome.code == 0 else {}
        except ValueError:
            self.complain(f"no JSON: {outcome}")
            told = {}
        if told.get("state") == "serving" and not (self.alive("engine") and self.alive("p2pd")):
            self.complain(f"untrue: {outcome}, and no engine with a p2pd runs")
        return dict(told)

    def wait_serving(self) -> bool:
        deadline, told = time.monotonic() + _SERVES_S, self.status()
        while told.get("state") != "serving":
            if not told or time.monotonic() > deadline:
                self.complain(f"does not serve: {told.get('state')}, {told.get('text')}")
                return False
            time.sleep(1)
            told = self.status()
        return True

    def stop(self) -> Outcome:
        before, outcome = self.alive("daemon"), self.run("stop")
        left = {part: alive for part in NAME_OF if (alive := self.alive(part))}
        if left or ("not running" in outcome.text and before) or ("has ended" in outcome.text and not before):
            self.complain(f"untrue: {outcome}, these daemons ran: {before}, and these processes run: {left}")
        return outcome

    def generate(self) -> None:
        self.run(("generate", "--max-new-tokens", "4", "Once upon a time"), works=True)

    def look(self) -> str:
        """Run the commands that only look, and return what they say."""
        self.status()
        return "\n".join(self.run(words).text for words in _LOOKS)

    def change(self) -> None:
        """Run commands that change something."""
        for words in ("config set serve.threads 1", "config unset serve.threads", "programs list", "diag"):
            self.run(words)

    def day(self, *, works: bool | None = True, serves: bool = False) -> None:
        """Start, look, change, pause, resume, stop, look. `works`: None if it may be refused."""
        if serves:
            if self.serve():
                self.generate()
        else:
            self.start(works=works)
        is_running = bool(self.alive("daemon"))
        self.look()
        self.change()
        if is_running:
            for words, is_paused in (("pause", True), ("resume", False)):
                outcome = self.run(words, works=works)
                if outcome.code == 0 and (self.status().get("state") == "paused") != is_paused:
                    self.complain(f"untrue: {outcome}, and the status says otherwise")
        self.stop()
        self.run("status")
        self.run("logs")

    # --- facts ---

    def alive(self, part: str) -> list[int]:
        """Return the processes of one part of Potluck."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = process.cmdline()
                is_part = any(Path(word).name == NAME_OF[part] for word in words[:8]) and "--standby" not in words
                if is_part and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process.pid)
        return found

    def send(self, part: str, number: signal.Signals) -> None:
        for pid in self.alive(part):
            os.kill(pid, number)

    def judge_logs(self) -> None:
        for log in filter(Path.is_file, self.state.glob("*.log*")):
            text = log.read_text(errors="replace")
            if (found := _UNHANDLED.search(text)) is not None:
                self.complain(f"{log.name} has {text[max(found.start() - 200, 0) : found.end() + 3 * _MAX_QUOTED]!r}")


def _problem(outcome: Outcome, works: bool | None, *, is_heard: bool) -> str | None:
    """Return what is wrong with what a command says."""
    lines = outcome.err.strip().splitlines()
    if outcome.code is None:
        return "hangs"
    if outcome.code in (70, 120) or outcome.code < 0 or _UNHANDLED.search(outcome.text):
        return "internal error"
    if works is not None and works != (outcome.code == 0):
        return "should work" if works else "should fail"
    if outcome.code and is_heard and not outcome.text.strip():
        return "fails without a word"
    if outcome.code and lines and not lines[-1].startswith(("potluck", "usage")) and not outcome.out.strip():
        return "no sentence of ours"
    if lines and lines[-1].startswith("potluck: ") and not lines[-1].endswith(")") and outcome.code:
        return "no hint"
    return None


def sh(*words: str) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


Surrounding = Callable[[Home, bool], None]
"""Makes an odd computer around a home and has a person's day there; True: it serves and answers as well."""

_SURROUNDINGS: dict[str, Surrounding] = {}


def surrounding(make: Surrounding) -> Surrounding:
    """Add an odd computer to those that `rough_places` examines."""
    _SURROUNDINGS[make.__name__] = make
    return make


def all_surroundings() -> dict[str, Surrounding]:
    """Import the modules that make odd computers, and return these by their names."""
    for name in ("files", "network", "processes"):
        import_module(f"benchmarks.faults.places.{name}")
    return _SURROUNDINGS


def tmpfs(place: str, *options: str) -> None:
    sh("mount", "-t", "tmpfs", "-o", ",".join(("mode=700", *options)), "none", place)


def become_other(home: Home, more: Callable[[], object] = lambda: None) -> None:
    """Have commands run as a user other than root, who may use this Python although it lies in root's home."""
    if (python := _ROOTS / ".pyenv").exists() and not _ROOTS.stat().st_mode & 1:
        aside = f"{home.folder}/aside"
        os.mkdir(aside)
        sh("mount", "--bind", str(python), aside)
        tmpfs(str(_ROOTS), "mode=755")
        python.mkdir()
        sh("mount", "--bind", aside, str(python))
    os.chmod(home.folder, 0o755)
    sh("chown", "-R", f"{OTHER}:{OTHER}", home.path, home.runtime, home.cwd)

    def become() -> None:
        os.setgroups([])
        os.setresgid(OTHER, OTHER, OTHER)
        os.setresuid(OTHER, OTHER, OTHER)
        more()

    home.preexec = become


def wait_said(home: Home, word: str) -> str:
    """Return what status and doctor say, when they have said `word` or after a while."""
    deadline, told = time.monotonic() + 30, ""
    while word not in told and time.monotonic() < deadline:
        time.sleep(1)
        told = home.run("status").text + home.run("doctor").text
    return told
