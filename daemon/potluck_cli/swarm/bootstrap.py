"""`potluck bootstrap`: runs a DHT node that serves nothing, in the foreground.

Run a meeting point, through which members of a swarm find each other. It holds the directory of who serves what, never
a model, prompt or key. Its address is printed once it can be reached, and stays the same across restarts. With the link
of a swarm it refuses everybody who is not a member, and passes on who joined and who was removed. It cannot check what
members write into the directory; they check that themselves when they read it.

  potluck bootstrap
  potluck bootstrap --port 31337 --announce /ip4/203.0.113.7/tcp/31337
  potluck swarm create friends ./model --bootstrap ADDRESS    (with an address that it printed)
  potluck bootstrap --swarm LINK    (once the swarm is there; `potluck swarm show` prints the link)
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from potluck.checked_files import CheckedFile
from potluck.membership.invite import read_link
from potluck.membership.membership import Membership, decode_membership, encode_membership
from potluck.membership.records import read_all
from potluck.protocol.swarm import Swarm
from potluck_cli.options import add_node, listen_addresses, log_to_stderr, print_result
from potluck_cli.terminal import WaitNotice

log = logging.getLogger(__name__)


DEFAULT_PORT = 31337


@dataclass(frozen=True, slots=True)
class Meeting:
    """The meeting point can be reached; `event` is `online`."""

    event: str
    addresses: tuple[str, ...]


RESULT = Meeting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_node(parser, port=DEFAULT_PORT)
    parser.add_argument("--swarm", metavar="LINK", help="only for members of this swarm (default: for everybody)")
    parser.add_argument("--identity", type=Path, metavar="FILE", help="key file (default: one in your state folder)")


class KeptMembers:
    """The members of a swarm as this meeting point knows them, in a file that survives restarts."""

    def __init__(self, link: str, folder: Path) -> None:
        name, key = read_link(link)
        self._file = CheckedFile(folder / f"bootstrap-{key.hex()[:16]}.members", decode_membership, encode_membership)
        self._learning = threading.Lock()
        # Of a swarm's model and blocks a meeting point knows nothing.
        self.membership = Membership(Swarm(name, model="unknown", num_blocks=1, prefix=f"_{name}", founder_key=key))

    def load(self) -> Membership:
        """Return what an earlier run learned, or nothing but the swarm; members tell a meeting point the rest anew."""
        self.membership = self._file.read() or self.membership
        return self.membership

    def learn(self, news: Iterable[bytes]) -> None:
        """Keep records of members. Any thread may call it."""
        with self._learning:
            self.membership = self.membership.with_records(read_all([*news]), time.time())
            try:
                self._file.write(self.membership)
            except OSError as error:
                log.warning("cannot keep the list of members: %s", error)


def run(args: argparse.Namespace) -> int:
    log_to_stderr(args.verbose)
    return asyncio.run(_serve(args))


async def _serve(args: argparse.Namespace) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with WaitNotice("Starting the meeting point", 10):
        from potluck_control.places import user_places
        from potluck_engine.network.reachability import start_reachable

        from potluck.p2p.network import HostConfig, ignore
        from potluck.tasks import in_thread

        kept = KeptMembers(args.swarm, user_places().state) if args.swarm else None
        config = HostConfig(
            membership=kept.load() if kept else None,
            on_news=in_thread(kept.learn) if kept else ignore,
            identity_path=args.identity or user_places().state / "bootstrap.key",
            listen_addrs=listen_addresses(args),
            announce_addrs=tuple(args.announce),
        )
        host, _ = await start_reachable(config)
    try:
        addresses = await host.addresses()
        lines = ["Members find a swarm at:", *(f"  {address}" for address in addresses)]
        lines.append("Use it with: potluck swarm create NAME MODEL --bootstrap ADDRESS   (Ctrl-C stops)")
        print_result(args, Meeting("online", tuple(addresses)), lines)
        await stop.wait()
    finally:
        await host.close()
    return 0
