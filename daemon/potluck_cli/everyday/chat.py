"""Lets people talk to a swarm's model in the terminal: `potluck chat`."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from potluck_control.api.client import ControlClient
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, GatewayStatus, StartParams
from potluck_gateway.client import ask as ask_gateway
from potluck_gateway.exchange import ChatMessage

from potluck.errors import NetworkError, PotluckError, UsageError
from potluck_cli.daemon_access import daemon, poll_until_done, wait_until_found
from potluck_cli.options import add_max_wait, parse_duration, positive, print_json, show_wait
from potluck_cli.parser import Subcommand, argument
from potluck_cli.terminal import Terminal, WaitNotice, say


@dataclass(frozen=True, slots=True)
class ChatExchange:
    """A message and the model's answer."""

    message: str
    answer: str


Ask = Callable[[tuple[ChatMessage, ...]], Iterator[str]]
"""Yields the parts of the answer to a conversation as they arrive."""


def chat(args: argparse.Namespace) -> int:
    """Talk to a swarm's model in the terminal.

    Talk to a swarm's model. Starts the gateway if needed. The servers you use can read what you write, so never
    send secrets through people you do not trust. Without MESSAGE, the conversation lasts until you press Ctrl-D,
    Ctrl-C stops an answer, and /new starts another conversation.

      potluck chat
      potluck chat "Write a haiku about autumn."
      echo "Once upon a time" | potluck chat -
    """
    if args.json and args.message is None:
        raise UsageError("--json needs a MESSAGE", hint='potluck chat --json "Hello"')
    max_wait_s = parse_duration(args.max_wait)
    ready = wait_until_ready(daemon(), args.swarm, max_wait_s=max_wait_s)
    ask = partial(ask_gateway, ready, max_tokens=args.max_tokens, max_wait_s=max_wait_s, on_wait=show_wait)
    start = (ChatMessage("system", args.system),) if args.system else ()
    if args.message is None:
        _talk(f"{ready.model} in {ready.swarm}", ask, start)
        return 0
    text = sys.stdin.read() if args.message == "-" else args.message
    parts: list[str] = []
    _answer(ask, (*start, ChatMessage("user", text)), parts, shows=not args.json)
    if args.json:
        print_json(ChatExchange(text, "".join(parts)))
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
    status = poll_until_done(client, gateway.STATUS, status, step, about_s=15)
    if status.is_waiting:
        raise NetworkError(status.problem)
    if status.state is not GatewayState.READY:
        raise PotluckError(status.problem or "the gateway was stopped", hint="potluck logs")
    return status


def _talk(whom: str, ask: Ask, start: tuple[ChatMessage, ...]) -> None:
    terminal = Terminal()
    keys = "/new starts another conversation, Ctrl-C stops an answer, Ctrl-D ends."
    terminal.line(terminal.faint(f"{whom}. {keys}"))
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
            messages = _continued(ask, (*messages, ChatMessage("user", text)))


def _continued(ask: Ask, messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    """Show the answer and return the conversation with it, or with as much of it as came before Ctrl-C."""
    parts: list[str] = []
    try:
        _answer(ask, messages, parts, shows=True)
    except KeyboardInterrupt:  # it closed the connection, so the gateway stops, too
        say()
        if not parts:
            return messages[:-1]
    return (*messages, ChatMessage("assistant", "".join(parts)))


def _answer(ask: Ask, messages: tuple[ChatMessage, ...], parts: list[str], *, shows: bool) -> None:
    """Add the parts of the answer to `parts` as they come. Raises PotluckError."""
    with WaitNotice("Waiting for the answer") as wait:
        for part in ask(messages):
            parts.append(part)
            if shows:
                wait.close()
                is_start = not "".join(parts[:-1]).strip()  # many models begin with a space
                say(part.lstrip() if is_start else part, end="", flush=True)
    if shows:
        say()


COMMANDS = {
    "chat": Subcommand(
        chat,
        ChatExchange,
        argument("message", metavar="MESSAGE", nargs="?", help="ask this and exit; - reads standard input"),
        argument("--swarm", default="", metavar="SWARM", help="a swarm you joined (default: gateway.swarm)"),
        argument("--system", metavar="TEXT", help="tell the model how to behave"),
        argument("--max-tokens", type=positive, metavar="N", help="longest answer (default: chat.max_tokens)"),
        add_max_wait,
    ),
}
