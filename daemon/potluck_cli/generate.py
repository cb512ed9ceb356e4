"""`potluck generate`: lets a swarm complete a prompt."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from potluck_control.daemon_credit import DaemonPurse

from potluck.protocol.records import QUANTIZATIONS
from potluck_cli.connect import find_nearby, hello_or_none, with_own_daemon
from potluck_cli.durations import parse_duration
from potluck_cli.interrupts import ending_at_once
from potluck_cli.invites import add_swarm, swarm_of
from potluck_cli.options import add_max_wait, model_of, positive, print_json, show_wait
from potluck_cli.overview import short_id

DESCRIPTION = """\
Let a swarm complete a prompt. The model's embeddings and head run here, its blocks in the swarm. The servers you use
can read what you write, so never send secrets through people you do not trust."""
EXAMPLES = """\
  potluck generate --swarm friends "Once upon a time"
  potluck generate --swarm friends --model ./llama-70b --temperature 0.8 --max-new-tokens 200 "Dear diary,"
  potluck generate --json "1, 2, 3," | jq -r .completion
  potluck generate -- "-1 is less than"                     (a prompt that starts with a dash)
  potluck generate - < prompt.txt"""


@dataclass(frozen=True, slots=True)
class GeneratedHop:
    """A server that took part, with its blocks as START:END."""

    peer_id: str
    name: str
    blocks: str


@dataclass(frozen=True, slots=True)
class Generated:
    """A completed prompt; `tokens`: of the completion."""

    prompt: str
    completion: str
    tokens: tuple[int, ...]
    tokens_per_s: float
    route: tuple[GeneratedHop, ...]


RESULT = Generated


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", metavar="PROMPT", help="the text to continue; - reads standard input")
    add_swarm(parser)
    parser.add_argument("--model", help="folder or hub name of the swarm's model (default: as the swarm names it)")
    parser.add_argument("--max-new-tokens", type=positive, default=64, metavar="N", help="default: %(default)s")
    parser.add_argument("--temperature", type=_temperature, default=0.0, metavar="T", help="0: greedy (default)")
    parser.add_argument("--seed", type=int, help="seed of the sampling, to get the same text again")
    parser.add_argument("--adapter", metavar="NAME|HASH", help="use this LoRA adapter of the servers")
    parser.add_argument(
        "--quantization", choices=QUANTIZATIONS, help="use only servers with such weights (default: what most have)"
    )
    add_max_wait(parser)
    parser.add_argument(
        "--stream",
        action=argparse.BooleanOptionalAction,
        default=sys.stdout.isatty(),
        help="show words as they come (default: on a terminal)",
    )


def run(args: argparse.Namespace) -> int:
    max_wait_s = parse_duration(args.max_wait)
    membership = swarm_of(args)
    name = model_of(args.model, membership.swarm)
    membership = with_own_daemon(membership)
    prompt = sys.stdin.read() if args.prompt == "-" else args.prompt

    with ending_at_once():
        from potluck_gateway.completion import Completion, Options, Text, check_length, complete, quiet

        from potluck.checkpoint import open_checkpoint
        from potluck.client import AutoDistributedModelForCausalLM, ClientConfig
        from potluck.client.outages import wait_text

        quiet()
        checkpoint = open_checkpoint(name, revision=membership.swarm.revision, progress=True)
        text = Text(checkpoint.folder)
        tokens = text.encode(prompt)
        check_length(tokens, checkpoint.config)  # before anything starts that would have to be waited for
        demands = {"adapter": args.adapter, "quantization": args.quantization}
        purse = DaemonPurse() if hello_or_none() is not None else None
        config = ClientConfig(max_wait_s=max_wait_s, on_waiting=_show_joining, finds_nearby=find_nearby(), purse=purse)
        model = AutoDistributedModelForCausalLM.from_pretrained(name, swarm=membership, config=config, **demands)
    with model:
        model.tell_waits(lambda missing: show_wait(wait_text(missing)) if missing else None)
        shown = ""

        def show(completion: Completion) -> None:
            nonlocal shown
            part = text.new_part(completion.tokens, shown)
            shown += part
            print(part, end="", flush=True)

        options = Options(args.max_new_tokens, temperature=args.temperature, seed=args.seed)
        streams = args.stream and not args.json
        completion = complete(model, tokens, options, show if streams else lambda _: None)
        route = model.last_route()
    full = text.decode(completion.tokens)
    if not args.json:
        print(full[len(shown) :])
        return 0
    hops = tuple(
        GeneratedHop(hop.peer_id, hop.public_name or short_id(hop.peer_id), str(hop.span))
        for report in route
        for hop in report.hops
    )
    print_json(Generated(prompt, full, tuple(completion.tokens), round(completion.tokens_per_s, 2), hops))
    return 0


def _show_joining(reason: str) -> None:
    from potluck.client.config import joining_text

    if reason:
        show_wait(joining_text(reason))


def _temperature(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 100, not {text!r}")
    return value
