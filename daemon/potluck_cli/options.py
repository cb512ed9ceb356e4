"""Options that several commands share, so that they are called and explained the same everywhere."""

from __future__ import annotations

import argparse
import json
import logging
import sys

from potluck_control.codec import to_json
from potluck_control.redaction import RedactingFormatter
from potluck_control.resources import bundled_checkpoint

from potluck.errors import UsageError
from potluck.protocol.blocks import Span
from potluck.protocol.swarm import LOCAL_REVISION, Swarm


def add_swarm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--swarm",
        metavar="INVITE|NAME",
        help="an invite, or the name of a swarm you joined (left out: the only one you joined)",
    )


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON, for scripts")


def print_json(value: object) -> None:
    """One line for scripts: a dataclass of the module that prints it, which the manual describes."""
    print(json.dumps(to_json(value)), flush=True)


def add_node(parser: argparse.ArgumentParser, *, port: int) -> None:
    """Options of a process that others connect to."""
    parser.add_argument(
        "--port", type=port_number, default=port, help="TCP port to listen on; 0: any free one (default: %(default)s)"
    )
    parser.add_argument(
        "--host", default="0.0.0.0", metavar="IP", help="address to listen on; 127.0.0.1: this machine only"
    )
    parser.add_argument(
        "--announce",
        action="append",
        default=[],
        metavar="MULTIADDR",
        help="address to tell others instead of all that this machine has; repeatable",
    )
    parser.add_argument(
        "--parent-pid",
        type=positive,
        metavar="PID",
        help="end with this process, which started it (Linux)",
    )
    parser.add_argument("--verbose", action="store_true", help="log what happens to standard error")


def model_of(given: str | None, swarm: Swarm) -> str:
    """The folder or hub name of the swarm's model; a checkpoint that is on no hub must be given.

    Raises:
        UsageError: it was not given.
    """
    if given is None and (bundled := bundled_checkpoint(swarm.model)) is not None:
        return str(bundled)
    if given is None and swarm.revision == LOCAL_REVISION:
        raise UsageError(f"{swarm.name} serves {swarm.model}, which is on no hub", hint="give the folder of your copy")
    return given or swarm.model


def span(text: str) -> Span:
    """For argparse: `0:4`."""
    try:
        return Span.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def port_number(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, not {text!r}")
    return int(text)


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, not {text!r}")
    return int(text)


def listen_address(host: str, port: int) -> str:
    """The multiaddr of a TCP port."""
    family = "ip6" if ":" in host else "ip4"
    return f"/{family}/{host}/tcp/{port}"


def log_to_stderr(verbose: bool) -> None:
    """Warnings always, what happens only if asked."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])
