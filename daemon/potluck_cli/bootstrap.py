"""`potluck bootstrap`: runs a DHT node that serves nothing, in the foreground."""

from __future__ import annotations

import argparse
import asyncio
import signal
from dataclasses import dataclass
from pathlib import Path

from potluck_cli.options import add_node, answer, listen_address, log_to_stderr

DESCRIPTION = """\
Run a meeting point, through which members of a swarm find each other. It holds the directory of who serves what, never
a model, prompt or key. Its address is printed once it can be reached, and stays the same across restarts."""
EXAMPLES = """\
  potluck bootstrap
  potluck bootstrap --port 31337 --announce /ip4/203.0.113.7/tcp/31337
  potluck swarm create friends ./model --bootstrap ADDRESS    (with an address that it printed)"""

DEFAULT_PORT = 31337


@dataclass(frozen=True, slots=True)
class Meeting:
    """The meeting point can be reached; `event` is `online`."""

    event: str
    addresses: tuple[str, ...]


RESULT = Meeting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_node(parser, port=DEFAULT_PORT)
    parser.add_argument("--identity", type=Path, metavar="FILE", help="key file (default: one in your state folder)")


def run(args: argparse.Namespace) -> int:
    log_to_stderr(args.verbose)
    return asyncio.run(_serve(args))


async def _serve(args: argparse.Namespace) -> int:
    from potluck_control.places import user_places
    from potluck_engine.reachability import start_reachable

    from potluck.p2p.config import HostConfig

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    config = HostConfig(
        identity_path=args.identity or user_places().state / "bootstrap.key",
        listen_addrs=(listen_address(args.host, args.port),),
        announce_addrs=tuple(args.announce),
    )
    host, _ = await start_reachable(config)
    try:
        addresses = await host.addresses()
        lines = ["Members find a swarm at:", *(f"  {address}" for address in addresses)]
        lines.append("Use it with: potluck swarm create NAME MODEL --bootstrap ADDRESS   (Ctrl-C stops)")
        answer(args, Meeting("online", tuple(addresses)), lines)
        await stop.wait()
    finally:
        await host.close()
    return 0
