"""`potluck gateway`: runs an OpenAI-compatible server for other programs on this computer.

Let other programs on this computer use the swarm through OpenAI's, Anthropic's and Ollama's APIs. The gateway listens
on loopback only, at gateway.port, unless gateway.address says otherwise. Each program needs a key, and whoever has one
asks in your name. The gateway ends after chat.end_after_s seconds without a request. With --stay it runs until
`potluck gateway stop`, and returns at its address and with its token after a crash, an update or a restart of this
computer: it sets gateway.start_with_daemon, gateway.swarm and gateway.port.

  potluck gateway key webui
  potluck gateway start --stay
  potluck gateway keys
  potluck gateway revoke webui
  potluck gateway stop
"""

from __future__ import annotations

import argparse
import time

from potluck_control.methods import gateway, machine
from potluck_control.methods.gateway import GatewayState, GatewayStatus, KeyList, KeyName, MadeKey

from potluck_cli.daemon_access import daemon
from potluck_cli.everyday.chat import wait_until_ready
from potluck_cli.options import print_result
from potluck_cli.parser import CommandGroup, Subcommand, argument
from potluck_cli.terminal import Terminal

_AFTER_RESTART = "Potluck doesn't start by itself after a restart of this computer: potluck autostart --daemon on"


def _start(args: argparse.Namespace) -> int:
    """Start it, wait until it is ready, and print its address."""
    status = wait_until_ready(client := daemon(), args.swarm, stays=args.stay)
    returns = not args.stay or (login := client.call(machine.LOGIN)).daemon or login.app
    return print_result(args, status, _lines(status) if returns else [*_lines(status), _AFTER_RESTART])


def _status(args: argparse.Namespace) -> int:
    """Show whether it runs, its address and its token."""
    return print_result(args, daemon().call(gateway.STATUS), _lines)


def _stop(args: argparse.Namespace) -> int:
    """End it and its token; it no longer stays."""
    return print_result(args, daemon().call(gateway.STOP), _lines)


def _key(args: argparse.Namespace) -> int:
    """Make a key for a program, and show it this once."""
    made = daemon().call(gateway.MAKE_KEY, KeyName(args.name))
    return print_result(args, made, [made.key])


def _keys(args: argparse.Namespace) -> int:
    """List the names of the keys."""
    return print_result(args, daemon().call(gateway.KEYS), _key_lines)


def _revoke(args: argparse.Namespace) -> int:
    """Refuse a key from now on."""
    keys = daemon().call(gateway.REVOKE_KEY, KeyName(args.name))
    return print_result(args, keys, [f"{args.name} is revoked."])


def _key_lines(found: KeyList) -> list[str]:
    if not found.keys:
        return ["There are no keys."]
    rows = [(key.name, _day(key.made_at), f"{key.answers:,}", f"{key.tokens:,}") for key in found.keys]
    return Terminal().table(("KEY", "MADE", "ANSWERS", "TOKENS"), rows)


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))


def _lines(status: GatewayStatus) -> list[str]:
    match status.state:
        case GatewayState.READY:
            notice = [f"Note: {status.notice}."] if status.notice else []
            return [f"{status.model} at {status.url}", f"Authorization: Bearer {status.token}", *notice]
        case GatewayState.STARTING:
            return [f"Starting: {status.step}"]
        case GatewayState.FAILED:
            return [f"The gateway failed: {status.problem}"]
        case _:
            return ["The gateway is not running."]


_ACTIONS = {
    "start": Subcommand(
        _start,
        GatewayStatus,
        argument("--swarm", default="", metavar="SWARM", help="a swarm you joined (default: gateway.swarm)"),
        argument("--stay", action="store_true", help="keep it running, from now on always"),
    ),
    "status": Subcommand(_status, GatewayStatus),
    "stop": Subcommand(_stop, GatewayStatus),
    "key": Subcommand(
        _key, MadeKey, argument("name", metavar="NAME", help="what you call it, such as the name of the program")
    ),
    "keys": Subcommand(_keys, KeyList),
    "revoke": Subcommand(_revoke, KeyList, argument("name", metavar="NAME", help="which one")),
}
COMMANDS = {"gateway": CommandGroup(__doc__, _ACTIONS)}
