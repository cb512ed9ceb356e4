"""`potluck swarm page`: writes the web page of a swarm to a file, or serves it and keeps it up to date.

For members by default: the file is readable by its user only, and the address cannot be guessed. On a public page of a
private swarm servers have no names, because they gave them for the members to see.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from potluck_control.places import find_places, user_places
from potluck_daemon.reporting.web_page import WebPageServer

from potluck.errors import PotluckError, UsageError
from potluck.files import write_atomically
from potluck.membership.membership import Membership
from potluck.p2p.listening import ANY
from potluck.sentences import sentence
from potluck.tasks import cancel_and_wait
from potluck_cli.daemon_access import with_own_daemon
from potluck_cli.options import ip_address, port_number, print_result
from potluck_cli.swarm.overview import SwarmOverview, directory_of, overview, own_speed, read_swarm
from potluck_cli.swarm.page_content import (
    MARK,
    REFRESH_S,
    PageHistory,
    Readers,
    SwarmReading,
    draw,
    draw_waiting,
    kept_page,
)
from potluck_cli.swarm_choice import is_service_user, swarm_of

DEFAULT_PORT = 8738
_CONTENT_TYPE = "text/html; charset=utf-8"
_READING_TIMEOUT_S = 120.0
_RETRY_S = 20.0


@dataclass(frozen=True, slots=True)
class PublishedPage:
    """The web page of a swarm: the file that was written, or the address at which the page is served."""

    swarm: str
    file: str | None = None
    address: str | None = None


def add_page_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `potluck swarm page`."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--output", type=Path, metavar="FILE", help="write the page here (default: NAME.html)")
    place.add_argument("--serve", action="store_true", help="serve it over HTTP until Ctrl-C, and read the swarm anew")
    parser.add_argument(
        "--host",
        type=ip_address,
        default="127.0.0.1",
        metavar="IP",
        help="with --serve: to listen on (default: this machine only); 0.0.0.0: everybody who has the address",
    )
    parser.add_argument(
        "--port", type=port_number, default=DEFAULT_PORT, help="with --serve: TCP port; 0: any (default: %(default)s)"
    )
    parser.add_argument(
        "--public",
        action="store_true",
        help="for everybody: without the secret in the address; a private swarm's servers lose their names",
    )


def make_page(args: argparse.Namespace) -> int:
    """Make a web page of the swarm, in a file or over HTTP."""
    membership = swarm_of(args)
    if args.serve:
        page = _Page(with_own_daemon(membership), is_public=args.public, refreshes=True)
        return asyncio.run(_serve(args, page))
    name = membership.swarm.name
    path: Path = args.output or Path(f"{name}.html")
    _refuse_other_files(path)
    page = _Page(membership, is_public=args.public, refreshes=False)
    page.read(read_swarm(membership), time.time())
    write_atomically(path, page.html, mode=0o644 if args.public else 0o600)
    return print_result(args, PublishedPage(name, file=str(path.absolute())), [f"Wrote {path}. Open it in a browser."])


class _Page:
    """The page of one swarm, drawn as `html`. Each reading is added to the week of readings in a file."""

    def __init__(self, membership: Membership, *, is_public: bool, refreshes: bool) -> None:
        swarm = membership.swarm
        is_everybodys = swarm.is_open or membership.members().public_invite is not None
        self.membership = membership
        self._readers = Readers(is_public, names=is_everybodys or not is_public)
        self._refreshes = refreshes
        self._file = kept_page((find_places() if is_service_user() else user_places()).state, swarm.prefix)
        self._reading: SwarmReading | None = None
        self.path = "/" if is_public else f"/{self._kept().secret}/"
        self.html = draw_waiting(swarm.name, "")

    def read(self, seen: SwarmOverview, now: float) -> None:
        """Add a reading of the swarm to the week, and draw the page anew."""
        kept = self._kept().with_reading(
            now,
            servers=sum(server.state == "online" for server in seen.servers),
            is_complete=not seen.gaps,
            answer_tps=0.0 if seen.speed_for_you is None else seen.speed_for_you.tokens_per_s,
        )
        self._file.write(kept)
        self._draw(SwarmReading(seen, now, kept.hours))

    def fail(self, problem: str) -> None:
        """Draw the page with the reason why there is no newer reading."""
        if self._reading is None:
            self.html = draw_waiting(self.membership.swarm.name, problem)
        else:
            self._draw(replace(self._reading, problem=problem))

    def _draw(self, reading: SwarmReading) -> None:
        self._reading = reading
        self.html = draw(reading, self._readers, refreshes=self._refreshes)

    def _kept(self) -> PageHistory:
        kept = self._file.read()
        if kept is None:
            kept = PageHistory(secrets.token_hex(16))
            self._file.write(kept)
        return kept


async def _serve(args: argparse.Namespace, page: _Page) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    async def read() -> None:
        async with asyncio.timeout(_READING_TIMEOUT_S) as limit, directory_of(page.membership) as directory:
            while True:
                seen = overview(page.membership.swarm, await directory.fetch())
                speed = await asyncio.to_thread(own_speed, page.membership.swarm)
                page.read(replace(seen, speed_for_you=speed), time.time())
                limit.reschedule(asyncio.get_running_loop().time() + REFRESH_S + _READING_TIMEOUT_S)
                await asyncio.sleep(REFRESH_S)

    server = WebPageServer(page.path, _CONTENT_TYPE, lambda: page.html)
    address = await _listen(server, args.host, args.port)
    who = "Everybody" if args.public else "Whoever has this address"
    lines = [f"{page.membership.swarm.name} is at {address}", f"{who} may read it. Ctrl-C stops."]
    print_result(args, PublishedPage(page.membership.swarm.name, address=address), lines)
    reading = asyncio.create_task(repeat(read, page.fail, pause_s=_RETRY_S))
    stopping = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait((reading, stopping), return_when=asyncio.FIRST_COMPLETED)
        if reading in done:
            reading.result()  # raises an error that no retry would cure
    finally:
        await cancel_and_wait(reading, stopping)
        server.close()
    return 0


async def _listen(server: WebPageServer, host: str, port: int) -> str:
    """Serve the page and return its address. Raises UsageError if it cannot listen there."""
    try:
        await server.start(host, port)
    except OSError as error:
        text = sentence(
            "cannot listen on {host}, port {port}: {why}", host=host, port=port, why=os.strerror(error.errno or 0)
        )
        raise UsageError(text, hint=sentence("choose another with --port")) from error
    return server.url(socket.gethostname() if host in ANY else "")


async def repeat(read: Callable[[], Awaitable[None]], fail: Callable[[str], None], *, pause_s: float) -> None:
    """Await `read`, which ends only by an error, again and again, and call `fail` with each error."""
    while True:
        try:
            await read()
        except TimeoutError:
            fail("the swarm did not answer in time")
        except PotluckError as error:
            fail(str(error))
        await asyncio.sleep(pause_s)


def _refuse_other_files(path: Path) -> None:
    """Raise UsageError if writing the page would replace something else."""
    try:
        with path.open("rb") as file:
            is_page = file.read(len(MARK)) == MARK
    except FileNotFoundError:
        return
    if not is_page:
        raise UsageError(f"{path} is there and no page of a swarm", hint="name another file with --output")
