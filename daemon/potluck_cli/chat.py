"""`potluck chat`: lets you talk to a swarm's model in the terminal."""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass

from potluck_control.client import ControlClient
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, GatewayStatus, StartParams
from potluck_gateway.client import ask
from potluck_gateway.requests import ChatMessage

from potluck.errors import NetworkError, PotluckError, UsageError
from potluck_cli.connect import daemon, follow, wait_until_found
from potluck_cli.durations import parse_duration
from potluck_cli.options import add_max_wait, positive, print_json, show_wait
from potluck_cli.terminal import Terminal, Wait, say

DESCRIPTION = """\
Talk to a swarm's model. Starts the gateway if needed. The servers you use can read what you write, so never send
secrets through people you do not trust. Without MESSAGE, the conversation lasts until you press Ctrl-D, Ctrl-C stops an
answer, and /new starts another conversation."""
EXAMPLES = """\
  potluck chat
  potluck chat "Write a haiku about autumn."
  echo "Once upon a time" | potluck chat -"""


@dataclass(frozen=True, slots=True)
class Answered:
    """A message and the model's answer."""

    message: str
    answer: str


RESULT = Answered


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """The limits of one answer.

    Attributes:
        max_tokens: None takes the gateway's.
        max_wait_s: for a member that answers, and for layers that nobody serves.
    """

    max_tokens: int | None
    max_wait_s: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("message", metavar="MESSAGE", nargs="?", help="ask this and exit; - reads standard input")
    parser.add_argument("--swarm", default="", metavar="SWARM", help="a swarm you joined (default: gateway.swarm)")
    parser.add_argument("--system", metavar="TEXT", help="tell the model how to behave")
    parser.add_argument("--max-tokens", type=positive, metavar="N", help="longest answer (default: chat.max_tokens)")
    add_max_wait(parser)


def run(args: argparse.Namespace) -> int:
    if args.json and args.message is None:
        raise UsageError("--json needs a MESSAGE", hint='potluck chat --json "Hello"')
    limits = AnswerLimits(args.max_tokens, parse_duration(args.max_wait))
    ready = wait_until_ready(daemon(), args.swarm, max_wait_s=limits.max_wait_s)
    start = (ChatMessage("system", args.system),) if args.system else ()
    if args.message is not None:
        text = sys.stdin.read() if args.message == "-" else args.message
        parts: list[str] = []
        _answer(ready, (*start, ChatMessage("user", text)), limits, parts, shows=not args.json)
        if args.json:
            print_json(Answered(text, "".join(parts)))
        return 0
    _talk(ready, start, limits)
    return 0


def wait_until_ready(
    client: ControlClient, swarm: str, *, stays: bool = False, max_wait_s: float = math.inf
) -> GatewayStatus:
    """Start the gateway, wait until it is ready, and show its steps.

    Args:
        max_wait_s: for a member of the swarm that answers.

    Raises:
        NetworkError: no member answers.
        PotluckError: it fails for another reason.
    """
    wait_until_found(client)
    deadline: float | None = None

    def step(now: GatewayStatus) -> str | None:
        nonlocal deadline
        if now.state is GatewayState.STARTING and now.is_waiting:
            deadline = time.monotonic() + max_wait_s if deadline is None else deadline
            if time.monotonic() >= deadline:
                raise NetworkError(now.step, hint="wait longer with --max-wait")
        return str(now.step) if now.state is GatewayState.STARTING else None

    status = client.call(gateway.START, StartParams(swarm, stays))
    status = follow(client, gateway.STATUS, status, step, about_s=15)
    if status.is_waiting:
        raise NetworkError(status.problem)
    if status.state is not GatewayState.READY:
        raise PotluckError(status.problem or "the gateway was stopped", hint="potluck logs")
    return status


def _talk(ready: GatewayStatus, start: tuple[ChatMessage, ...], limits: AnswerLimits) -> None:
    terminal = Terminal()
    keys = "/new starts another conversation, Ctrl-C stops an answer, Ctrl-D ends."
    terminal.line(terminal.faint(f"{ready.model} in {ready.swarm}. {keys}"))
    messages = start
    while True:
        try:
            text = input("> ").strip()
        except EOFError:
            say()
            return
        if text == "/new":
            messages = start
        elif text:
            messages = _continued(ready, (*messages, ChatMessage("user", text)), limits)


def _continued(
    ready: GatewayStatus, messages: tuple[ChatMessage, ...], limits: AnswerLimits
) -> tuple[ChatMessage, ...]:
    """Show the answer and return the conversation with it, or with as much of it as came before Ctrl-C."""
    parts: list[str] = []
    try:
        _answer(ready, messages, limits, parts, shows=True)
    except KeyboardInterrupt:  # it closed the connection, so the gateway stops, too
        say()
        if not parts:
            return messages[:-1]
    return (*messages, ChatMessage("assistant", "".join(parts)))


def _answer(
    ready: GatewayStatus, messages: tuple[ChatMessage, ...], limits: AnswerLimits, parts: list[str], *, shows: bool
) -> None:
    """Add the parts of the answer to `parts` as they come. Raises PotluckError."""
    with Wait("Waiting for the answer") as wait:
        for part in ask(ready, messages, max_tokens=limits.max_tokens, max_wait_s=limits.max_wait_s, on_wait=show_wait):
            parts.append(part)
            if shows:
                wait.close()
                say(part, end="", flush=True)
    if shows:
        say()
