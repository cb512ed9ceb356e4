"""Options that several commands share, and how every command prints its result."""

from __future__ import annotations

import argparse
import ipaddress
import logging
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO, TypeVar

from potluck_control.redaction import RedactingFormatter
from potluck_control.resources import bundled_checkpoint

from potluck.errors import UsageError
from potluck.model_folder import downloaded, hub_cache
from potluck.p2p.ports import check_announced_address, everywhere
from potluck.protocol.codec import printed
from potluck.protocol.swarm import LOCAL_REVISION, Swarm
from potluck.sentences import sentence
from potluck_cli.connect import own_settings
from potluck_cli.terminal import Terminal, say

T = TypeVar("T")


def print_json(value: object, file: TextIO | None = None) -> None:
    """Print a value as one line of JSON."""
    say(printed(value), file=file, flush=True)


def add_max_wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-wait",
        metavar="TIME",
        default="2m",
        help="for layers that nobody serves, and a member that answers (default: %(default)s)",
    )


def show_wait(sentence: str) -> None:
    """Tell the user on standard error why no words come, in the middle of a line of the answer or not."""
    say(f"\n{sentence}", file=sys.stderr, flush=True)


def answer(args: argparse.Namespace, result: T, lines: Iterable[str] | Callable[[T], Iterable[str]]) -> int:
    """Print `result` as JSON with --json, else the lines for people, which a function may make; returns exit code 0."""
    if args.json:
        print_json(result)
    else:
        terminal = Terminal()
        for line in lines(result) if callable(lines) else lines:
            terminal.line(line)
    return 0


def add_node(parser: argparse.ArgumentParser, *, port: int) -> None:
    """Add the options of a process that others connect to."""
    parser.add_argument(
        "--port", type=port_number, default=port, help="TCP port to listen on; 0: any free one (default: %(default)s)"
    )
    parser.add_argument(
        "--host",
        type=ip_address,
        metavar="IP",
        help="to listen on; 127.0.0.1: this machine only (default: all IPs of this machine)",
    )
    parser.add_argument(
        "--announce",
        action="append",
        type=_announced_address,
        default=[],
        metavar="MULTIADDR",
        help="address to tell others, instead of all addresses of this machine; repeatable",
    )
    parser.add_argument("--verbose", action="store_true", help="log to standard error")


def folder_or_name(given: str) -> str:
    """Return the absolute path of a folder, or a hub name as it is. Raises UsageError for a folder that is missing."""
    folder = Path(given).expanduser()
    if folder.is_dir():
        return str(folder.absolute())
    if given.startswith(("/", ".", "~")):
        raise UsageError(
            sentence("there is no folder {path}", path=given), hint="name the folder of your copy, or one on the hub"
        )
    return given


def model_of(given: str | None, swarm: Swarm) -> str:
    """Return the folder or hub name of the swarm's model. Raises UsageError if it is not there."""
    if given is not None:
        return folder_or_name(given)
    own = Path(own_settings().serve.checkpoint)
    if own.name == swarm.model.rpartition("/")[2] and own.is_dir():  # the settings may be for another swarm
        return str(own)
    if (fetched := downloaded(swarm, hub_cache())) is not None:
        return str(fetched)
    if (bundled := bundled_checkpoint(swarm.model)) is not None:
        return str(bundled)
    if swarm.revision == LOCAL_REVISION and not swarm.weights:
        raise UsageError(f"{swarm.name} serves {swarm.model}, which is on no hub", hint="give the folder of your copy")
    return swarm.model


def ip_address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected an IP address such as 127.0.0.1, not {text!r}") from None


def _announced_address(text: str) -> str:
    try:
        return check_announced_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def between(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a reader of whole numbers from `least` to `most` for argparse; None: of any size."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least or (most is not None and int(text) > most):
            which = f"of {least} or more" if most is None else f"from {least} to {most}"
            raise argparse.ArgumentTypeError(f"expected a whole number {which}, not {text!r}")
        return int(text)

    return read


positive = between(1)
port_number = between(0, 65_535)


def listen_addresses(args: argparse.Namespace) -> tuple[str, ...]:
    """Return where a process with the options of `add_node` listens."""
    if args.host is None:
        return everywhere(args.port)
    return (f"/{'ip6' if ':' in args.host else 'ip4'}/{args.host}/tcp/{args.port}",)


def log_to_stderr(verbose: bool) -> None:
    """Log warnings, and with `verbose` everything, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])
