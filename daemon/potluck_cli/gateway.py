"""`potluck gateway`: runs an OpenAI-compatible server for other programs on this computer."""

from __future__ import annotations

import argparse

from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, GatewayStatus

from potluck_cli.chat import wait_until_ready
from potluck_cli.connect import daemon
from potluck_cli.options import answer

DESCRIPTION = """\
Let other programs on this computer use the swarm through OpenAI's chat API. The gateway listens on loopback only. Each
start makes a new token, and whoever has it spends your credit. The gateway ends after chat.end_after_s seconds without
a request."""
EXAMPLES = """\
  potluck gateway start
  potluck gateway status --json | jq -r .token
  potluck gateway stop"""
RESULT = GatewayStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    start = actions.add_parser("start", help="start it, wait until it is ready, and print its address")
    start.add_argument("--swarm", default="", metavar="NAME", help="a swarm you joined (default: the one you serve)")
    actions.add_parser("status", help="whether it runs, at which address and with which token")
    actions.add_parser("stop", help="end it")


def run(args: argparse.Namespace) -> int:
    client = daemon()
    if args.action == "start":
        status = wait_until_ready(client, args.swarm, shows=not args.json)
    else:
        status = client.call(gateway.STOP if args.action == "stop" else gateway.STATUS)
    return answer(args, status, _lines(status))


def _lines(status: GatewayStatus) -> list[str]:
    match status.state:
        case GatewayState.READY:
            return [f"{status.model} at {status.url}", f"Authorization: Bearer {status.token}"]
        case GatewayState.STARTING:
            return [f"Starting: {status.step}"]
        case GatewayState.FAILED:
            return [f"The gateway failed: {status.problem}"]
        case _:
            return ["The gateway is not running."]
