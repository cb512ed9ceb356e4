"""`potluck gateway`: an OpenAI-compatible server for other programs on this computer."""

from __future__ import annotations

import argparse
import sys

from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, GatewayStatus

from potluck_cli.chat import wait_until_ready
from potluck_cli.connect import daemon
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Let other programs on this computer use the swarm by the API of OpenAI's chat completions. The daemon runs it as a
process of its own on a port of loopback, with a token that is made anew at each start, and ends it when nobody has
asked for chat.end_after_s. Whoever has the token spends your credit."""
EXAMPLES = """\
  potluck gateway start
  potluck gateway status --json | jq -r .token
  potluck gateway stop"""
RESULT = GatewayStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    start = actions.add_parser("start", help="start it, wait until it is ready, print where it is")
    start.add_argument("--swarm", default="", metavar="NAME", help="a swarm you joined (default: the one you serve)")
    add_json(start, "the status")
    for name, summary in (("status", "whether it runs, where, and with which token"), ("stop", "end it")):
        add_json(actions.add_parser(name, help=summary), "the status")


def run(args: argparse.Namespace) -> int:
    client, terminal = daemon(), Terminal(sys.stdout)
    if args.action == "start":
        status = wait_until_ready(client, args.swarm, None if args.json else terminal)
    else:
        status = client.call(gateway.STOP if args.action == "stop" else gateway.STATUS)
    if args.json:
        print_json(status)
        return 0
    for line in lines(status):
        terminal.line(line)
    return 0


def lines(status: GatewayStatus) -> list[str]:
    match status.state:
        case GatewayState.READY:
            return [f"{status.model} at {status.url}", f"Authorization: Bearer {status.token}"]
        case GatewayState.STARTING:
            return [f"Starting: {status.step}"]
        case GatewayState.FAILED:
            return [f"It failed: {status.problem}"]
        case _:
            return ["The gateway is not running."]
