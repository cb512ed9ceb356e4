"""A founder who is away: `presence_memory` and `founder_away`. Real daemons on loopback.

The founder's daemon is paused, so a standby node without torch keeps his place in the swarm.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from potluck_control.api import schema
from potluck_control.resources import DEMO_MODEL, resource
from potluck_control.states import State
from potluck_daemon.swarms.new_model import num_blocks_of

from benchmarks.figures import Measured
from benchmarks.machine import pss_bytes
from potluck.membership.joined import JoinedSwarms
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess

_WAIT_S = 120.0
_SETTLE_S = 10.0  # for what the node allocates in its first calls
_STANDING = "the standby node is in the swarm"
_SETTINGS = '[serve]\nlisten = ["/ip4/127.0.0.1/tcp/{port}"]\nthreads = 1\n'
_THIRD = """
import sys
from pathlib import Path
from potluck import AutoDistributedModelForCausalLM
from potluck.membership.joined import JoinedSwarms
from potluck_control.resources import bundled_checkpoint
import torch
place = Path(sys.argv[1])
print("ready", flush=True)
invite = sys.stdin.readline()
membership = JoinedSwarms(place / "swarms.json", place / "identity.key").join(invite, name="Third")
folder = str(bundled_checkpoint(membership.swarm.model))
with AutoDistributedModelForCausalLM.from_pretrained(folder, swarm=membership) as model:
    tokens = model.generate(torch.arange(3, 9)[None], max_new_tokens=4, do_sample=False, eos_token_id=None)
print("generated", tokens.shape[1] - 6, flush=True)
"""


def presence_memory(soak: bool) -> Measured:
    with DaemonProcess(LOOPBACK) as founder, DaemonProcess(LOOPBACK) as friend:
        _swarm(founder, friend)
        node = _paused(founder)
        time.sleep(_SETTLE_S)
        (p2pd,) = (child for child in node.children() if child.name() == "p2pd")
        detail = {"p2pd_mb": round(pss_bytes(p2pd.pid) / 1e6, 1), "pages": "shared ones count by their share"}
        return Measured(pss_bytes(node.pid) / 1e6, detail)


def founder_away(soak: bool) -> Measured:
    """The invite was made before the founder paused, while the friend served every block."""
    with (
        DaemonProcess(_SETTINGS.format(port=_free_port())) as founder,
        DaemonProcess(LOOPBACK) as friend,
        DaemonProcess() as third,  # its places only
    ):
        invite = _swarm(founder, friend)
        with _client(third) as client:
            assert client.stdin is not None
            assert client.stdout is not None
            assert client.stdout.readline() == "ready\n"
            node = _paused(founder)
            with _thief(founder, node):
                began = time.monotonic()
                client.stdin.write(invite + "\n")
                client.stdin.flush()
                said = client.stdout.readline()
                seconds = time.monotonic() - began
                away = founder.status().state is State.PAUSED
    return Measured(seconds, {"said": said.strip()}, holds=said == "generated 4\n" and away)


def _swarm(founder: DaemonProcess, friend: DaemonProcess) -> str:
    """Have the friend serve every block of the founder's swarm, and return an invite that was made then."""
    founder.client.call(schema.CREATE)
    founder.wait_state(State.SERVING)
    first = founder.client.call(schema.INVITE, schema.InviteParams()).invite
    friend.client.call(schema.JOIN, schema.JoinParams(first))
    whole = (0, num_blocks_of(resource(DEMO_MODEL)))
    friend.wait_for(lambda status: status.swarm is not None and status.swarm.span == whole)
    _wait(lambda: _has_met(founder), "the founder meets his friend")
    return founder.client.call(schema.INVITE, schema.InviteParams()).invite


def _has_met(founder: DaemonProcess) -> bool:
    joined = JoinedSwarms(founder.settings_file.with_name("swarms.json"), founder.state_folder / "identity.key")
    return any(membership.met for membership in joined.load().values())


def _paused(founder: DaemonProcess) -> psutil.Process:
    """Pause the founder's daemon and return its standby node once that is in the swarm."""
    before = founder.log().count(_STANDING)
    founder.client.call(schema.PAUSE, schema.PauseParams(None))
    founder.wait_for(lambda status: status.state is State.PAUSED and status.engine.pid is None)
    _wait(lambda: founder.log().count(_STANDING) > before, "the standby node")
    return next(process for process in founder.processes() if "--standby" in process.cmdline())


def _thief(founder: DaemonProcess, node: psutil.Process) -> socket.socket:
    """Take the founder's port: his node is killed, and before it is back another program listens there."""
    (p2pd,) = (child for child in node.children() if child.name() == "p2pd")
    (port,) = {each.laddr.port for each in p2pd.net_connections("tcp") if each.status == psutil.CONN_LISTEN}
    node.kill()
    thief = socket.socket()
    thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _wait(lambda: _takes(thief, port), "the port")
    thief.listen()
    return thief


def _takes(thief: socket.socket, port: int) -> bool:
    try:
        thief.bind(("127.0.0.1", port))
    except OSError:  # not free yet
        return False
    return True


def _client(third: DaemonProcess) -> subprocess.Popen[str]:
    place = Path(third.folder) / "third"
    place.mkdir()
    return subprocess.Popen(
        [sys.executable, "-c", _THIRD, str(place)],
        env=third.environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _wait(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + _WAIT_S
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {_WAIT_S:g} s")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
