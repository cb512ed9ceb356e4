"""`potluck chat`: talk to a swarm's model in the terminal."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

from potluck_control.client import ControlClient
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, GatewayStatus, StartParams
from potluck_gateway.client import ask
from potluck_gateway.requests import Message

from potluck.errors import PotluckError, UsageError
from potluck_cli.connect import daemon, wait_until_found
from potluck_cli.options import add_json, positive, print_json
from potluck_cli.terminal import Style, Terminal

DESCRIPTION = """\
Talk to a swarm's model. Starts the daemon's gateway if it does not run; requests spend your credit. The servers that
you use can read what you write: never send secrets through people you do not trust. Without a MESSAGE it goes on until
you press Ctrl-D; /new begins a new conversation."""
EXAMPLES = """\
  potluck chat
  potluck chat "Write a haiku about autumn."
  echo "Once upon a time" | potluck chat -"""

_POLL_S = 0.3


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer."""

    message: str
    answer: str


RESULT = Answered


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("message", metavar="MESSAGE", nargs="?", help="ask this and end; - reads standard input")
    parser.add_argument("--swarm", default="", metavar="NAME", help="a swarm you joined (default: the one you serve)")
    parser.add_argument("--system", metavar="TEXT", help="tell the model how to behave")
    parser.add_argument("--max-tokens", type=positive, metavar="N", help="of an answer (default: chat.max_tokens)")
    add_json(parser, "message and answer")


def run(args: argparse.Namespace) -> int:
    if args.json and args.message is None:
        raise UsageError("--json needs a MESSAGE", hint='potluck chat --json "Hello"')
    terminal = Terminal(sys.stdout)
    ready = wait_until_ready(daemon(), args.swarm, None if args.json else terminal)
    start = (Message("system", args.system),) if args.system else ()
    if args.message is not None:
        text = sys.stdin.read() if args.message == "-" else args.message
        answer = _answer(ready, (*start, Message("user", text)), args.max_tokens, shows=not args.json)
        if args.json:
            print_json(Answered(text, answer))
        return 0
    _talk(ready, start, args.max_tokens, terminal)
    return 0


def wait_until_ready(client: ControlClient, swarm: str, terminal: Terminal | None) -> GatewayStatus:
    """Start the gateway and wait, showing what it does. Raises PotluckError."""
    wait_until_found(client)
    status, shown = client.call(gateway.START, StartParams(swarm)), ""
    while status.state is GatewayState.STARTING:
        if terminal is not None and terminal.is_interactive and status.step != shown:
            shown = status.step
            terminal.line(terminal.styled(f"{shown} ...", Style.FAINT))
        time.sleep(_POLL_S)
        status = client.call(gateway.STATUS)
    if status.state is not GatewayState.READY:
        raise PotluckError(status.problem or "the gateway was stopped", hint="potluck logs")
    return status


def _talk(ready: GatewayStatus, start: tuple[Message, ...], max_tokens: int | None, terminal: Terminal) -> None:
    terminal.line(terminal.styled(f"{ready.model} in {ready.swarm}. Ctrl-D ends, /new begins anew.", Style.FAINT))
    told = start
    while True:
        try:
            text = input("> ").strip()
        except EOFError:
            print()
            return
        if text == "/new":
            told = start
        elif text:
            told = (*told, Message("user", text))
            told = (*told, Message("assistant", _answer(ready, told, max_tokens, shows=True)))


def _answer(ready: GatewayStatus, told: tuple[Message, ...], max_tokens: int | None, *, shows: bool) -> str:
    parts = []
    for part in ask(ready, told, max_tokens=max_tokens):
        parts.append(part)
        if shows:
            print(part, end="", flush=True)
    if shows:
        print()
    return "".join(parts)
