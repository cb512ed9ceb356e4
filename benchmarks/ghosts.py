"""What invented servers cost a newcomer: `ghosts`.

Two swarms of two engines in processes of their own. In one of them a member announces 20,000 servers that do not exist,
padded, with the weights of the real ones and much faster, at everybody and as often as it can (`haunting`). Newcomers
join both swarms in turn; the time from joining to the first token counts.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from potluck_control.engine_messages import EngineEvent, Online
from potluck_control.launch_spec import LaunchSpec, ServingLimits
from potluck_engine.fitting import resolved
from potluck_engine.server import Engine
from potluck_gateway.completion import quiet

from benchmarks.figures import Measured
from benchmarks.haunting import read_names, write_names
from benchmarks.loops import generate
from benchmarks.models import checkpoint
from potluck.checkpoint import open_checkpoint
from potluck.client.config import ClientConfig
from potluck.client.model import attach
from potluck.client.swarm_client import SwarmClient
from potluck.p2p.config import LOOPBACK
from potluck.processes import exit_with_parent
from potluck.protocol.invite import decode_invite, encode_invite, new_swarm
from potluck.protocol.swarm import Swarm

_NUM_BLOCKS = 4
_NUM_ENGINES = 2  # of each swarm, all with all blocks
_HAUNTED_S = 20.0  # before the first newcomer


def slowdown(soak: bool) -> Measured:
    """Return the median time to a newcomer's first token beside 20,000 ghosts over that without them."""
    quiet()
    torch.set_num_threads(1)
    folder = checkpoint(512, _NUM_BLOCKS)
    times: list[list[float]] = [[], []]
    seen: list[int] = []
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pl-")))  # sockets need a short path
        names = place / "ghosts.json"
        write_names(names)
        swarms = _start_swarms(stack, folder, place, names)
        haunter = stack.enter_context(_process("haunting", "haunt", encode_invite(swarms[1]), str(place)))
        haunter.wait_for("announced")
        time.sleep(_HAUNTED_S)
        for _ in range(15 if soak else 5):
            for swarm, found in zip(swarms, times, strict=True):
                first_token_s, num_servers = _join(swarm, folder, names)
                found.append(first_token_s)
            seen.append(num_servers)
        told = haunter.end()
    detail = {
        "without_s": [round(value, 2) for value in times[0]],
        "with_s": [round(value, 2) for value in times[1]],
        "servers_seen": seen,
        **told,
    }
    ratio = statistics.median(times[1]) / statistics.median(times[0])
    return Measured(ratio, detail, holds=max(seen) > _NUM_ENGINES)


def _join(swarm: Swarm, folder: Path, names: Path) -> tuple[float, int]:
    """Join, generate a token and leave; return the seconds to the token and the servers that were seen."""
    client = SwarmClient(swarm, ClientConfig(), person_of=read_names(names))
    began = time.monotonic()
    client.start()
    try:
        model: Any = attach(open_checkpoint(str(folder)), client)
        generate(model, 1)
        return time.monotonic() - began, len(client.servers._roster.servers)
    finally:
        client.close()


@dataclass(frozen=True, slots=True)
class _Process:
    process: subprocess.Popen[str]

    def wait_for(self, word: str) -> str:
        """Return the line of output that begins with `word`."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise RuntimeError(f"a process ended before it said {word!r}")

    def end(self) -> dict[str, int]:
        """End the process and return what it says at its end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        found: dict[str, int] = json.loads(self.wait_for("ended"))
        return found


@contextmanager
def _process(module: str, *arguments: str) -> Iterator[_Process]:
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield _Process(process)
    finally:
        process.kill()
        process.wait()


def _start_swarms(stack: ExitStack, folder: Path, place: Path, names: Path) -> list[Swarm]:
    swarms = []
    for number in range(2):
        swarm = new_swarm(f"figures{number}", str(folder), _NUM_BLOCKS, "local")
        first = stack.enter_context(_process("haunting", "meet", encode_invite(swarm), str(place), str(names)))
        swarms.append(replace(swarm, bootstrap_peers=(first.wait_for("listens"),)))
    for swarm in swarms * _NUM_ENGINES:
        arguments = (encode_invite(swarm), str(place), str(names), str(folder))
        stack.enter_context(_process("ghosts", *arguments)).wait_for("online")
    return swarms


async def _serve(invite: str, place: str, names: str, folder: str) -> None:
    def report(event: EngineEvent) -> None:
        if isinstance(event, Online):
            print("online", flush=True)

    spec = LaunchSpec(
        swarm=decode_invite(invite),
        checkpoint=folder,
        runtime_dir=Path(place),
        blocks=f"0:{_NUM_BLOCKS}",
        listen=LOOPBACK,
        limits=ServingLimits(cache_tokens=4000),
    )
    engine = Engine(resolved(spec), report, person_of=read_names(Path(names)))
    await engine.start()
    await engine.wait_lost()


if __name__ == "__main__":
    exit_with_parent(os.getppid())
    torch.set_num_threads(1)
    asyncio.run(_serve(*sys.argv[1:]))
