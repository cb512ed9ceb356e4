"""`potluck gateway`: runs an OpenAI-compatible server for other programs on this computer."""

from __future__ import annotations

import argparse
import time

from potluck_control.methods import gateway, machine
from potluck_control.methods.gateway import GatewayState, GatewayStatus, KeyList, KeyName, MadeKey

from potluck_cli.chat import wait_until_ready
from potluck_cli.connect import daemon
from potluck_cli.options import answer
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Let other programs on this computer use the swarm through OpenAI's, Anthropic's and Ollama's APIs. The gateway listens
on loopback only, at gateway.port, unless gateway.address says otherwise. Each program needs a key, and whoever has one
asks in your name. The gateway ends after chat.end_after_s seconds without a request. With --stay it runs until
`potluck gateway stop`, and returns at its address and with its token after a crash, an update or a restart of this
computer: it sets gateway.start_with_daemon, gateway.swarm and gateway.port."""
EXAMPLES = """\
  potluck gateway key webui
  potluck gateway start --stay
  potluck gateway keys
  potluck gateway revoke webui
  potluck gateway stop"""
_AFTER_RESTART = "Potluck doesn't start by itself after a restart of this computer: potluck autostart --daemon on"
RESULT = {
    "start": GatewayStatus,
    "status": GatewayStatus,
    "stop": GatewayStatus,
    "key": MadeKey,
    "keys": KeyList,
    "revoke": KeyList,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    start = actions.add_parser("start", help="start it, wait until it is ready, and print its address")
    start.add_argument("--swarm", default="", metavar="SWARM", help="a swarm you joined (default: gateway.swarm)")
    start.add_argument("--stay", action="store_true", help="keep it running, from now on always")
    actions.add_parser("status", help="whether it runs, at which address and with which token")
    actions.add_parser("stop", help="end it and its token; it no longer stays")
    key = actions.add_parser("key", help="make a key for a program, and show it this once")
    key.add_argument("name", metavar="NAME", help="what you call it, such as the name of the program")
    actions.add_parser("keys", help="list the names of the keys")
    revoke = actions.add_parser("revoke", help="refuse a key from now on")
    revoke.add_argument("name", metavar="NAME", help="which one")


def run(args: argparse.Namespace) -> int:
    client = daemon()
    match args.action:
        case "start":
            status = wait_until_ready(client, args.swarm, stays=args.stay)
            if args.stay and not ((login := client.call(machine.LOGIN)).daemon or login.app):
                return answer(args, status, [*_lines(status), _AFTER_RESTART])
        case "stop":
            status = client.call(gateway.STOP)
        case "key":
            made = client.call(gateway.MAKE_KEY, KeyName(args.name))
            return answer(args, made, [made.key])
        case "keys":
            keys = client.call(gateway.KEYS)
            return answer(args, keys, _key_lines(keys))
        case "revoke":
            keys = client.call(gateway.REVOKE_KEY, KeyName(args.name))
            return answer(args, keys, [f"{args.name} is revoked."])
        case _:
            status = client.call(gateway.STATUS)
    return answer(args, status, _lines(status))


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
