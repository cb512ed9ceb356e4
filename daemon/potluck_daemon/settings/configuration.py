"""The settings and swarms in force: read from their files, changed on request, read again when the files change.

It knows what the user wants and what follows from that for a process that computes. It does not know what runs now.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from potluck_control.places import Places
from potluck_control.processes.launch_spec import LaunchSpec
from potluck_control.processes.python_command import child_environment
from potluck_control.resources import bundled_checkpoint
from potluck_control.settings import Settings, for_engine

from potluck.checked_files import damage_notices
from potluck.errors import PotluckError, UsageError
from potluck.membership.joined import JoinedSwarms, chosen_swarm
from potluck.membership.membership import Membership
from potluck.membership.presentation import write_pass
from potluck.membership.records import Request, read_record, ticket_expires_s
from potluck.model_files import downloaded
from potluck.p2p.listening import everywhere, is_loopback
from potluck.protocol.swarm import Swarm
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.accounting.account import models_folder
from potluck_daemon.environment.store import engine_python
from potluck_daemon.host.listening import free_port
from potluck_daemon.settings.state import LessMemory, Pause, StateFile
from potluck_daemon.settings.store import Loaded, SettingsStore
from potluck_daemon.swarms.invites import no_network, peers_for_invite

log = logging.getLogger(__name__)
_LESS_MEMORY_S = 24 * 3600.0
_LESS_MEMORY = sentence("Memory ran out, so the engine takes less for a day. To choose how much: serve.memory_limit_mb")
_WAS_OFF = sentence("The setting serve.enabled is gone. It was off, so Potluck is paused until you resume")


def launch_of(settings: Settings, membership: Membership, places: Places, port: int) -> LaunchSpec:
    """Return how to start an engine. `port`: where it listens if the settings name no address."""
    serve, swarm, gateway = settings.serve, membership.swarm, settings.gateway
    return LaunchSpec(
        membership=membership.for_node(),
        checkpoint=chosen_checkpoint(serve.checkpoint, swarm) or str(bundled_checkpoint(swarm.model) or swarm.model),
        runtime_dir=places.nodes,
        head_socket=places.head_socket,
        keeps_head=gateway.start_with_daemon and gateway.swarm in ("", swarm.name),
        identity_path=places.identity_file,
        outbox=places.receipts,
        settings=for_engine(settings),
        listen=serve.listen or everywhere(port),
        may_move_port=True,
    )


def chosen_checkpoint(chosen: str, swarm: Swarm) -> str:
    """Return the folder that the user chose; empty if it does not hold the swarm's model, which may have changed."""
    names = (swarm.model, swarm.model.rpartition("/")[2])
    return chosen if not swarm.weights or Path(chosen).name in names else ""


def file_stamps(places: Places) -> tuple[tuple[int, int] | None, ...]:
    """Return a value that changes with the files, and when the engine's environment is made or replaced."""
    return tuple(_stamp(path) for path in (places.settings_file, places.swarms_file, places.engine_manifest))


@dataclass(frozen=True, slots=True)
class OwnStanding:
    """The progress of this computer into a swarm. The default is that of an open swarm, or of none.

    Attributes:
        remover: who removed this person or computer; None: nobody.
        is_applicant: nobody has let this person or computer in yet.
        is_confirmed: a leader has confirmed the person, who is no guest any more.
        ticket_ends_at: this person's other computer can let this one in until then (Unix seconds).
        is_unlisted: the person's key is here, and others do not know this computer, as after a restore.
    """

    remover: str | None = None
    is_applicant: bool = False
    is_confirmed: bool = True
    ticket_ends_at: float = math.inf
    is_unlisted: bool = False


def standing_in(membership: Membership, machine: bytes) -> OwnStanding:
    """Return how far the computer with the key `machine` has come into a swarm with members."""
    person = membership.person(membership.members(), machine)
    request = read_record(membership.application).body if membership.application else None
    return OwnStanding(
        remover=membership.remover(machine),
        is_applicant=person is None,
        is_confirmed=person is not None and not person.is_guest,
        ticket_ends_at=ticket_expires_s(request) if isinstance(request, Request) else math.inf,
        is_unlisted=membership.person_seed is not None and not membership.has_machine(machine),
    )


class Configuration:
    """What the user wants. Call `start` first.

    Args:
        memory: has the port and the pause, and the swarm that was served last.
        on_change: called after every reading of the files.

    Attributes:
        membership: the user's part in the served swarm.
        standing: how far this computer has come into it.
    """

    def __init__(
        self, places: Places, environment: Mapping[str, str], memory: StateFile, on_change: Callable[[], None]
    ) -> None:
        self.places = places
        self.environment = environment
        self.swarms = JoinedSwarms(places.swarms_file, places.identity_file)
        self.loaded = Loaded(Settings())
        self._store = SettingsStore(places, environment)
        self._memory = memory
        self._on_change = on_change
        self.membership: Membership | None = None
        self.standing = OwnStanding()
        self._launch: LaunchSpec | None = None
        self._mistakes: tuple[Sentence, ...] = ()  # mistakes in the files, and oddities
        self._damaged: tuple[Sentence, ...] = ()
        self._stamps = file_stamps(places)
        self._was_off = False  # serve.enabled was off, which has become a pause

    def start(self) -> None:
        """Choose a port if none is remembered, and read the files."""
        if not self._memory.state.port:
            self._memory.update(port=free_port())
        self.reload()
        if self._store.drop_old_switch():
            self._memory.update(pause=Pause(time.time()))
            self._was_off = True
            self.reload()

    def reload(self) -> None:
        """Read settings and swarms again. An engine that was launched with other ones is outdated after that."""
        self._stamps = file_stamps(self.places)
        self.loaded = self._store.read()
        self._choose_swarm()
        self._find_standing()
        self._damaged = tuple(damage_notices((self.places.config, self.places.state), time.time()))
        for notice in self.notices:
            log.warning("%s", notice)
        self._on_change()

    def _choose_swarm(self) -> None:
        served = self.swarm or self._memory.state.swarm
        name = served.name if served is not None else ""
        chosen, notices = chosen_swarm(self.places.swarms_file, self.settings.serve.swarm, name)
        port = self._memory.state.port
        self.membership = chosen
        self._launch = launch_of(self.settings, chosen, self.places, port) if chosen is not None else None
        self._mistakes = self.loaded.problems + self.loaded.notices + notices

    def _find_standing(self) -> None:
        self.standing = OwnStanding()
        if self.membership is None or self.membership.swarm.is_open:
            return
        try:
            self.standing = standing_in(self.membership, self.swarms.machine().public_key)
        except PotluckError as error:
            log.warning("this computer's key cannot be read: %s", error)

    def reload_if_changed(self) -> None:
        if file_stamps(self.places) != self._stamps:
            log.info("settings, swarms or the engine's environment changed")
            self.reload()

    async def change(self, values: Mapping[str, object]) -> dict[str, Any]:
        """Change settings in the file and obey them. Return the values that undo it.

        Raises:
            UsageError: a setting is unknown, or a value is wrong.
            OSError: the file cannot be written.
        """
        before = await asyncio.to_thread(self._store.change, values)  # waits for another writer's lock
        log.info("settings changed: %s", ", ".join(values))
        self.reload()
        return before

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def swarm(self) -> Swarm | None:
        """The swarm that is served, or that would be served if nothing prevented it."""
        return self.membership.swarm if self.membership is not None else None

    def serves(self, name: str) -> bool:
        """Return whether the swarm of this name is the served one."""
        return self.swarm is not None and self.swarm.name == name

    def keeps_gateway(self, name: str) -> bool:
        """Return whether the settings want a gateway of the swarm of this name to run always."""
        wanted = self.settings.gateway
        return wanted.start_with_daemon and (name == wanted.swarm if wanted.swarm else self.serves(name))

    def find(self, name: str, *, has_members: bool = False) -> Membership:
        """Return the membership in the swarm of this name; without a name, in the served one.

        Args:
            has_members: refuse an open swarm.

        Raises:
            UsageError: there is no such swarm.
        """
        membership = self.swarms.find(name or (self.swarm.name if self.swarm is not None else None))
        if has_members and membership.swarm.is_open:
            raise UsageError(sentence("{name} is open to everybody, so it has no members", name=membership.swarm.name))
        return membership

    @property
    def launch(self) -> LaunchSpec | None:
        """The launch of an engine. The node of a computer that is not listed yet gets a pass, valid for a day."""
        launch, membership = self._launch, self.membership
        if launch is not None:
            launch = replace(launch, memory_percent=self._memory_percent)
        if launch is None or membership is None or not self.standing.is_unlisted:
            return launch
        key, person = membership.swarm.founder_key, membership.person_key
        assert key is not None
        assert person is not None
        ticket = write_pass(key, self.swarms.machine().public_key, person, time.time())
        return replace(launch, membership=replace(launch.membership, ticket=ticket))

    @property
    def _memory_percent(self) -> int:
        less = self._memory.state.less_memory
        is_past = less is None or less.settings != repr(self.settings.serve) or time.time() >= less.at + _LESS_MEMORY_S
        return 100 if less is None or is_past else less.percent

    def halve_memory(self) -> None:
        """Give engines half as much memory until `serve` is set otherwise or a day has passed."""
        less = LessMemory(max(self._memory_percent // 2, 1), time.time(), repr(self.settings.serve))
        self._memory.update(less_memory=less)

    @property
    def notices(self) -> tuple[Sentence, ...]:
        """Mistakes in the files, which of them were damaged lately, and what changed without the user."""
        less = NOTHING if self._memory_percent == 100 else _LESS_MEMORY
        paused = _WAS_OFF if self._was_off and self._memory.state.pause is not None else NOTHING
        return tuple(filter(None, (*self._mistakes, *self._damaged, less, paused)))

    @property
    def engine_python(self) -> str:
        """The interpreter of the processes that compute."""
        return engine_python(self.places, self.settings.serve.python)

    @property
    def engine_place(self) -> tuple[str, dict[str, str]]:
        """The interpreter of the processes that compute, and their environment variables."""
        python = self.engine_python
        return python, self.environment_of(python)

    def environment_of(self, python: str) -> dict[str, str]:
        """Return the environment variables of a child that runs the interpreter `python`."""
        return child_environment(self.environment, python) | {"HF_HUB_CACHE": str(self.models_folder)}

    @property
    def models_folder(self) -> Path:
        """The folder of downloaded checkpoints."""
        return models_folder(self.settings, self.environment)

    def model_place(self, swarm: Swarm) -> str:
        """Return the folder of a swarm's model, or its name on the hub if it is not here."""
        folder = chosen_checkpoint(self.settings.serve.checkpoint, swarm) if self.serves(swarm.name) else ""
        if not folder and (found := downloaded(swarm, self.models_folder)) is not None:
            folder = str(found)
        return folder or str(bundled_checkpoint(swarm.model) or swarm.model)

    def remember_met(self, swarm: Swarm, addresses: Iterable[str]) -> None:
        """Remember where members of a swarm were found. The next node and the next invite start from there."""
        self.swarms.remember_met(swarm.name, addresses)
        if self.serves(swarm.name):
            self._choose_swarm()

    @property
    def is_for_here(self) -> bool:
        """True if the served swarm is meant for this machine alone, by the settings or its bootstrap peers."""
        chosen = (*self.settings.serve.listen, *(self.swarm.bootstrap_peers if self.swarm is not None else ()))
        return bool(chosen) and all(map(is_loopback, chosen))

    def invited_swarm(self, addresses: tuple[str, ...], *, for_others: bool = False) -> Swarm:
        """Return the served swarm with bootstrap peers for newcomers: this machine, and members that it met lately.

        Args:
            for_others: whether newcomers on other machines have to find it.

        Raises:
            UsageError: no swarm is joined, or there is nobody to ask.
        """
        if self.swarm is None or self.membership is None:
            raise UsageError(sentence("no swarm is joined"), hint=sentence("join one with: potluck join"))
        peers = peers_for_invite(addresses, self.membership.met, self.swarm.bootstrap_peers)
        if not peers:
            raise UsageError(
                sentence("the swarm cannot be found by others yet"), hint=sentence("try again once this machine serves")
            )
        if for_others and not self.is_for_here and all(map(is_loopback, peers)):
            raise no_network()
        return replace(self.swarm, bootstrap_peers=peers)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
