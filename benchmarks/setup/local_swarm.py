"""Runs a whole swarm on this machine: a bootstrap node and engines as child processes on loopback.

For the demo, benchmarks and tests. The children are the real commands, and all their files lie in one temporary folder.
They end with this process, even if it is killed. A shell that waits for the end of a pipe then removes the folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

import psutil
from potluck_daemon.swarms.new_model import num_blocks_of

from potluck.errors import PotluckError
from potluck.membership.invite import Invite, encode_invite, link_of, public_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import ChosenModel, choose_model, public_seats, seats
from potluck.membership.membership import Membership
from potluck.membership.records import Application, Confirm, Content, Record, read_record
from potluck.model_files import make_manifest
from potluck.processes import tied_to_parent
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.swarm import Swarm, new_swarm

_ONLINE_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 15.0
_KILL_TIMEOUT_S = 30.0
_INVITED = 20  # people
_PLACES = ("TMPDIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")
_CLEANER = 'trap "" INT TERM HUP; read -r _; rm -rf -- "$1"'


def start_python(arguments: Sequence[str], *, before: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start `python ARGUMENTS` so that it ends with this process."""
    return subprocess.Popen(tied_to_parent([*before, sys.executable, *arguments]), **options)


class LocalProcess:
    """A `potluck` command as a child process that reports in JSON lines.

    Attributes:
        start_python: starts an interpreter; tests, which start hundreds, have a faster way.
    """

    start_python = staticmethod(start_python)

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        log_path: Path,
        before: Sequence[str] = (),
    ) -> None:
        """Start the command; `before` is a command that becomes it, such as `unshare`."""
        self.name = name
        self.events: dict[str, dict[str, Any]] = {}
        self._log_path = log_path
        self._started_at = time.monotonic()
        self._news: queue.Queue[dict[str, Any] | None] = queue.Queue()
        with log_path.open("wb") as log:
            self._process = self.start_python(
                ["-m", "potluck_cli.main", *arguments],
                before=before,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the process that started the swarm
            )
        self._reader = threading.Thread(target=self._read, name=f"events of {name}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def wait_online(self, timeout_s: float = _ONLINE_TIMEOUT_S) -> dict[str, Any]:
        """Wait for the event `online` and return its fields. Raises PotluckError if the process ends before."""
        return self.wait_event("online", timeout_s)

    def wait_event(self, name: str, timeout_s: float = _ONLINE_TIMEOUT_S) -> dict[str, Any]:
        """Wait for the first event of this name. Raises PotluckError if the process ends before."""
        deadline = time.monotonic() + timeout_s
        while name not in self.events:
            try:
                event = self._news.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise PotluckError(f"{self.name} is not {name} after {timeout_s:g} s") from None
            if event is None:
                raise PotluckError(f"{self.name} ended before it was {name}: {self._last_words()}")
            if event["event"] == "failed":
                hint = f"{event['advice']['text']}; last in its log: {self._last_words()}"
                raise PotluckError(f"{self.name} cannot start: {event['error']['text']}", hint=hint)
            self.events[event["event"]] = event
        return self.events[name]

    def seconds_to(self, event: str) -> float:
        """Return the seconds from the start to an event. Raises KeyError if it did not come."""
        return float(self.events[event]["at"]) - self._started_at

    def kill(self) -> None:
        """Kill the process with SIGKILL and wait until it is gone."""
        self._process.kill()
        self._process.wait(_KILL_TIMEOUT_S)

    def freeze(self) -> None:
        """Stop the process but not its p2pd, so that it stays connected and silent."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def ask_to_stop(self) -> None:
        if self.is_alive:
            self.thaw()
            self._process.terminate()

    def wait_stopped(self, deadline: float) -> None:
        """Wait until `deadline` (monotonic), then kill the process."""
        try:
            self._process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
        self._reader.join(_KILL_TIMEOUT_S)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._news.put({**json.loads(line), "at": time.monotonic()})
        self._news.put(None)

    def _last_words(self) -> str:
        self._reader.join(_KILL_TIMEOUT_S)
        lines = self._log_path.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"nothing, exit code {self._process.poll()}"


class LocalEngine(LocalProcess):
    """An engine of a local swarm. `span` is set only if the engine was given one."""

    span: Span

    @property
    def peer_id(self) -> PeerId:
        return PeerId(self.wait_online()["peer_id"])

    def processes(self) -> list[psutil.Process]:
        """Return the engine and its descendants."""
        engine = psutil.Process(self.pid)
        return [engine, *engine.children(recursive=True)]


@dataclass
class LocalSwarm:
    """A swarm on loopback. Use it as a context manager: inside, the swarm is online.

    Args:
        checkpoint: a local folder.
        spans: one engine for each, in this order.
        threads: of each engine, and of each library in it.
        serve_options: more options for `potluck serve`.
        is_open: the swarm has no members; any peer may use it.
        pins_files: members know the checkpoint's files by their SHA-256, and get them from each other.
        is_public: anybody may join.
        host: the address at which everybody listens.
    """

    checkpoint: Path
    spans: Sequence[Span]
    threads: int = 1
    serve_options: Sequence[str] = ()
    is_open: bool = False
    pins_files: bool = False
    is_public: bool = False
    host: str = "127.0.0.1"
    engines: list[LocalEngine] = field(default_factory=list, init=False)
    _ports: set[int] = field(default_factory=set, init=False)
    bootstrap: LocalProcess | None = field(default=None, init=False)
    membership: Membership = field(init=False)

    def __enter__(self) -> LocalSwarm:
        self.folder = Path(tempfile.mkdtemp(prefix="potluck-"))
        self._cleaner = subprocess.Popen(
            ["sh", "-c", _CLEANER, "potluck-cleaner", str(self.folder)], stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def swarm(self) -> Swarm:
        return self.membership.swarm

    @cached_property
    def invite(self) -> str:
        """An invite for people who are not the founder."""
        if self.swarm.is_open:
            return encode_invite(Invite(self.swarm))
        if (public := public_invite(self.membership)) is not None:
            return encode_invite(public)
        offer, seed = seats(time.time(), people=_INVITED)
        return encode_invite(Invite(self.swarm, seed, self.lead([offer])[-1].data))

    def lead(self, contents: Sequence[Content]) -> list[Record]:
        """Have the founder decide something. Return the entries; who joins later brings them to the nodes that run."""
        known, entries = self._joined.lead(self.swarm.name, lambda membership: contents)
        self.membership = replace(known, swarm=replace(known.swarm, bootstrap_peers=self.swarm.bootstrap_peers))
        return entries

    @property
    def invite_file(self) -> Path:
        """The file with the invite, in a folder that only this user can enter."""
        return self.folder / "invite"

    def join(self, person: str) -> tuple[Membership, Path]:
        """Return the membership of a person whom the founder confirms, and the key of their computer."""
        folder = self.folder / person / "potluck"
        identity = folder / "identity.key"
        joined = JoinedSwarms(folder / "swarms.json", identity)
        application = read_record(joined.join(self.invite, name=person).application).body
        assert isinstance(application, Application)
        self.lead([Confirm(application.person, application.name, application.invite)])
        return joined.learn(self.swarm.name, self.membership.records), identity

    def add_engine_of(
        self,
        person: str,
        span: Span,
        before: Sequence[str] = (),
        *,
        has_files: bool = True,
        options: Sequence[str] = (),
    ) -> LocalEngine:
        """Start an engine of a person who has joined, without waiting until it is online.

        Args:
            has_files: whether that person has the checkpoint, or has to get it from others.
        """
        home = str(self.folder / person)
        return self.add_engine(
            span,
            has_files=has_files,
            name=person,
            options=("--identity", f"{home}/potluck/identity.key", *options),
            environment={"XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home, "HF_HUB_CACHE": f"{home}/hub"},
            before=before,
        )

    def add_engine(
        self,
        span: Span | None,
        *,
        name: str | None = None,
        options: Sequence[str] = (),
        environment: Mapping[str, str] = MappingProxyType({}),
        before: Sequence[str] = (),
        has_files: bool = True,
    ) -> LocalEngine:
        """Start one more engine, without waiting until it is online. Without a `span`, it chooses its own."""
        number = len(self.engines)
        name = name or f"engine-{number}"
        arguments = [
            *("serve", *((str(self.checkpoint),) if has_files else ())),
            *("--swarm", self.swarm.name, "--name", name, "--json"),
            *(("--blocks", str(span)) if span is not None else ()),
            *("--host", self.host, "--threads", str(self.threads), *self.serve_options, *options),
        ]
        engine = LocalEngine(
            name, arguments, {**self.environment(), **environment}, self.folder / f"{number}-{name}.log", before
        )
        if span is not None:
            engine.span = span
        self.engines.append(engine)
        return engine

    def environment(self) -> dict[str, str]:
        """Return the environment of a process of this swarm: files in its folder, libraries with `threads` threads."""
        folder = str(self.folder)
        places = dict.fromkeys(_PLACES, folder)
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(self.threads))
        return {**os.environ, **places, **threads, "TOKENIZERS_PARALLELISM": "false"}

    def close(self) -> None:
        """End all processes and remove the folder. Safe to call twice."""
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        children = [child for child in (*self.engines, self.bootstrap) if child is not None]
        for child in children:
            child.ask_to_stop()
        for child in children:
            child.wait_stopped(deadline)
        _wait_gone(self._processes_of_folder())
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._cleaner.stdin is not None:
            self._cleaner.stdin.close()
        self._cleaner.wait(_KILL_TIMEOUT_S)

    def leftovers(self) -> list[str]:
        """List what a closed swarm left behind: processes, listening and Unix sockets, files."""
        found = [f"process {process.pid} ({process.name()})" for process in self._processes_of_folder()]
        listening = {item.laddr for item in psutil.net_connections("tcp") if item.status == psutil.CONN_LISTEN}
        found += [f"port {port} in use" for _, port in filter(None, listening) if port in self._ports]
        unix = Path("/proc/net/unix")
        if unix.exists():
            found += [
                f"socket {line.split()[-1]}" for line in unix.read_text().splitlines() if str(self.folder) in line
            ]
        if self.folder.exists():
            found += [f"file {path}" for path in (self.folder, *self.folder.rglob("*"))]
        return found

    def _start(self) -> None:
        num_blocks = num_blocks_of(self.checkpoint)
        prefix = "local-swarm" if self.is_open else None
        swarm = new_swarm("local", self.checkpoint.resolve().name, num_blocks, "local", prefix=prefix)
        self._joined = joined = JoinedSwarms(self.folder / "potluck" / "swarms.json", self.folder / "founder.key")
        created = joined.create(swarm, is_open=self.is_open)
        arguments = ["bootstrap", "--port", "0", "--host", self.host, "--json"]
        arguments += [] if self.is_open else ["--swarm", link_of(created.swarm)]
        self.bootstrap = LocalProcess("bootstrap", arguments, self.environment(), self.folder / "bootstrap.log")
        peers = tuple(self.bootstrap.wait_online()["addresses"])
        self.membership = replace(created, swarm=replace(created.swarm, bootstrap_peers=peers))
        joined.change(created.swarm.name, lambda _: self.membership)
        if self.is_public:
            self.lead([public_seats(self.membership, time.time())])
        if self.pins_files:
            model = ChosenModel(swarm.model, num_blocks, "local", make_manifest(self.checkpoint).digest)
            self.lead([choose_model(self.membership, model)])
        self.invite_file.write_text(self.invite)
        for span in self.spans:
            self.add_engine(span)
        for engine in self.engines:
            addresses = engine.wait_online()["addresses"]
            self._ports |= {_port_of(address) for address in (*peers, *addresses)}

    def _processes_of_folder(self) -> list[psutil.Process]:
        """Find processes whose environment names our folder, p2pd and grandchildren included."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.pid != os.getpid() and process.environ().get("TMPDIR") == str(self.folder):
                    found.append(process)
            except psutil.Error:  # ended, or owned by another user
                continue
        return found


def _port_of(address: str) -> int:
    parts = address.split("/")
    return int(parts[parts.index("tcp") + 1])


def _wait_gone(processes: list[psutil.Process]) -> None:
    """Wait for children of killed engines, which end by themselves a moment later."""
    _, alive = psutil.wait_procs(processes, timeout=_KILL_TIMEOUT_S)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=_KILL_TIMEOUT_S)
