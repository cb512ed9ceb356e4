"""How soon a leader who was away sees that a server returns wrong results: `report_reaches`.

Twenty people serve, and one server computes wrongly. Three clients find it and leave before a leader's computer comes
back. Somebody else's client must be able to use all servers as before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from potluck_control.methods import members
from potluck_control.methods.members import WrongResultsReport
from potluck_gateway.answers.completion import Options, complete

from benchmarks.figures import Measured, figure
from benchmarks.setup.generation import prompt
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.models import checkpoint
from potluck import AutoDistributedModelForCausalLM, ClientConfig
from potluck.membership.membership import Membership
from potluck.protocol.blocks import PeerId, Span
from potluck.routing.route import Needs
from tests.helpers import lying_engine
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess

_HIDDEN, _NUM_BLOCKS = 64, 4
_SERVERS, _OF_THE_LIARS_BLOCKS = 20, 4  # all people, and those who serve what the liar serves
_CLIENTS = 3
_AT_ONCE = 3  # servers that start together
_PATIENCE_S = 120.0
_WINDOW = prompt(0, tokens=32)


@figure("report_reaches", unit="s", reach=30)
def report_reaches(soak: bool) -> Measured:
    """Seconds from a leader's return until their list shows a lying server of 20 that three clients found and
    reported.
    """
    folder = checkpoint(_HIDDEN, _NUM_BLOCKS)
    first, last = Span(0, _NUM_BLOCKS // 2), Span(_NUM_BLOCKS // 2, _NUM_BLOCKS)
    people = [f"Person {number}" for number in range(_SERVERS)]
    with ExitStack() as stack:
        swarm = stack.enter_context(LocalSwarm(folder, ()))
        joined = [swarm.join(person)[0] for person in people]
        liar, *others = people
        swarm.add_engine_of(liar, last, before=(sys.executable, lying_engine.__file__)).wait_online()
        for number, person in enumerate(others, 1):
            engine = swarm.add_engine_of(person, last if number < _OF_THE_LIARS_BLOCKS else first)
            if number % _AT_ONCE == 0 or person == others[-1]:
                engine.wait_online()
        watcher = stack.enter_context(_client(folder, joined[-1], "off"))
        before = _usable(watcher)
        finders = list(joined[-1 - _CLIENTS : -1])
        with patch("potluck.client.audits.auditing.audit_chance", lambda *_: 1.0):
            for membership in finders:
                with _client(folder, membership, "on") as model:
                    _find(model)
        left_at = time.monotonic()
        leader = stack.enter_context(DaemonProcess(f'{LOOPBACK}checkpoint = "{folder}"\nblocks = "{last}"\n'))
        began = time.monotonic()
        leader.become_founder(swarm)
        found = _wait(lambda: [each for each in _shown(leader) if len(each.found_by) == _CLIENTS])
        seconds = time.monotonic() - began
        after = _usable(watcher)
        lied = {engine.peer_id for engine in swarm.engines if engine.name == liar}
    changed = len((before ^ after) & {engine.peer_id for engine in swarm.engines})
    detail = {"others_routes_changed": changed, "away_s": round(began - left_at, 1), "found_by": len(found[0].found_by)}
    named = {PeerId(each.peer_id) for each in found}
    return Measured(seconds, detail, holds=not changed and named == lied and len(before) == _SERVERS)


def _client(folder: Path, membership: Membership, audits: str) -> Any:
    torch.set_num_threads(1)
    config = ClientConfig(audits=audits)
    return AutoDistributedModelForCausalLM.from_pretrained(str(folder), swarm=membership, config=config)


def _find(model: Any) -> None:
    """Ask until audits have found a server that computes wrongly."""

    def ask() -> object:
        complete(model, _WINDOW, Options(1, min_new_tokens=1), lambda _: None)
        model._client.run(model._client.audits._background.wait())
        return model.audits().wrong

    _wait(ask)


def _usable(model: Any) -> set[PeerId]:
    """Return the servers that a client may use."""
    model._client.run(model._client.servers.refresh())
    servers = model._client.servers
    return {hop.peer_id for span in (Span(0, 2), Span(2, 4)) for hop in servers.replicas(span, Needs())}


def _shown(leader: DaemonProcess) -> list[WrongResultsReport]:
    return [each for each in leader.client.call(members.LIST).wrong_results if not each.is_here]


def _wait(wanted: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + _PATIENCE_S
    while not (found := wanted()):
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.1)
    return found
