"""Lets a swarm complete a prompt: `potluck generate`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from potluck_control.api.client import ControlClient
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState
from potluck_control.places import find_places
from potluck_control.record_work import record_work
from potluck_gateway.client import complete as complete_by_gateway

from potluck.errors import UsageError
from potluck.membership.membership import Membership
from potluck.p2p.joining import TryAgainError
from potluck.protocol.records import QUANTIZATIONS
from potluck_cli.daemon_access import daemon, hello_or_none, own_settings, with_own_daemon
from potluck_cli.everyday.chat import wait_until_ready
from potluck_cli.options import add_max_wait, model_of, parse_duration, positive, print_json, show_wait
from potluck_cli.parser import Subcommand, argument
from potluck_cli.swarm.overview import short_id
from potluck_cli.swarm_choice import add_swarm, brings_invite, is_service_user, swarm_of
from potluck_cli.terminal import WaitNotice, ending_at_once, say

if TYPE_CHECKING:
    from potluck.client import ClientConfig


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


def generate(args: argparse.Namespace) -> int:
    """Let a swarm complete a prompt.

    Let a swarm complete a prompt. The model's embeddings and head run here, its layers in the swarm. A running
    daemon keeps them ready for chat.end_after_s seconds, so that the next prompt is answered at once. The servers
    you use can read what you write, so never send secrets through people you do not trust.

      potluck generate --swarm friends "Once upon a time"
      potluck generate --swarm friends --model ./llama-70b --temperature 0.8 --max-new-tokens 200 "Dear diary,"
      potluck generate --json "1, 2, 3," | jq -r .completion
      potluck generate -- "-1 is less than"                     (a prompt that starts with a dash)
      potluck generate - < prompt.txt
    """
    args.max_wait_s = parse_duration(args.max_wait)
    membership = swarm_of(args)
    args.prompt = sys.stdin.read() if args.prompt == "-" else args.prompt
    if not args.prompt:
        raise UsageError("the prompt is empty")
    shown = _Shown(is_live=args.stream and not args.json)
    client = _daemon_for(args, membership)
    if client is None:
        generated = _by_own_client(args, membership, shown)
    else:
        generated = _by_gateway(client, args, membership, shown)
    if args.json:
        print_json(generated)
    else:
        say(generated.completion[len(shown.text) if shown.is_live else 0 :])
    return 0


class _Shown:
    """The text so far, printed as it comes if `is_live`."""

    def __init__(self, *, is_live: bool) -> None:
        self.is_live = is_live
        self.text = ""
        self.wait = WaitNotice("Waiting for the answer")

    def __call__(self, part: str) -> None:
        self.text += part
        if self.is_live:
            self.wait.close()
            say(part, end="", flush=True)


def _daemon_for(args: argparse.Namespace, membership: Membership) -> ControlClient | None:
    """Return the running daemon if its gateway, which keeps a client warm, can do this without leaving another swarm.

    Other options and swarms need a client in this process, which takes many seconds to start.
    """
    if args.model or args.adapter or args.quantization or brings_invite(args):
        return None
    if find_places().is_system and not is_service_user():  # the service has swarms of its own
        return None
    if hello_or_none() is None:
        return None
    client = daemon()
    now = client.call(gateway.STATUS)
    is_elsewhere = now.swarm != membership.swarm.name and now.state in (GatewayState.STARTING, GatewayState.READY)
    return None if is_elsewhere else client


def _by_gateway(client: ControlClient, args: argparse.Namespace, membership: Membership, shown: _Shown) -> Generated:
    ready = wait_until_ready(client, membership.swarm.name, max_wait_s=args.max_wait_s)
    with shown.wait:
        details = complete_by_gateway(
            ready,
            args.prompt,
            max_tokens=args.max_new_tokens,
            temperature=args.temperature,
            seed=args.seed,
            max_wait_s=args.max_wait_s,
            on_text=shown,
            on_wait=show_wait,
        )
    hops = [GeneratedHop(**{**hop, "name": hop["name"] or short_id(hop["peer_id"])}) for hop in details["route"]]
    return Generated(args.prompt, shown.text, tuple(details["tokens"]), details["tokens_per_s"], tuple(hops))


def _by_own_client(args: argparse.Namespace, membership: Membership, shown: _Shown) -> Generated:
    name = model_of(args.model, membership.swarm)
    membership = with_own_daemon(membership)
    with ending_at_once(), WaitNotice(f"Joining {membership.swarm.name}", 10):
        from potluck_gateway.answers.completion import (
            Completion,
            Options,
            TextTokenizer,
            TokenDecoder,
            check_length,
            complete,
            silence_transformers,
        )
        from potluck_gateway.exchange import Sampling

        from potluck.blocks.accelerators import limit_threads
        from potluck.checkpoint.source import open_checkpoint
        from potluck.client import AutoDistributedModelForCausalLM
        from potluck.client.session.reports import wait_text

        silence_transformers()
        limit_threads()
        checkpoint = open_checkpoint(name, revision=membership.swarm.revision, progress=True)
        text = TextTokenizer(checkpoint.folder)
        tokens = text.encode(args.prompt)
        check_length(tokens, checkpoint.config)  # refuse before anything slow starts
        demands = {"adapter": args.adapter, "quantization": args.quantization}
        config = _client_config(args.max_wait_s)
        model = AutoDistributedModelForCausalLM.from_pretrained(name, swarm=membership, config=config, **demands)
    with shown.wait, model:
        decoder = TokenDecoder(text, tokens[0].tolist())
        model.tell_waits(lambda missing: show_wait(str(wait_text(missing))) if missing else None)

        def show(completion: Completion) -> None:
            shown(decoder.add(completion.tokens[-1]))

        sampling = Sampling(args.temperature, seed=args.seed)
        options = Options(args.max_new_tokens, sampling=sampling, drafts=True)
        completion = complete(model, tokens, options, show)
        route = model.last_route()
    hops = tuple(
        GeneratedHop(hop.peer_id, hop.public_name or short_id(hop.peer_id), str(hop.span))
        for report in route
        for hop in report.hops
    )
    shown(decoder.flush())
    return Generated(args.prompt, shown.text, tuple(completion.tokens), round(completion.tokens_per_s, 2), hops)


def _client_config(max_wait_s: float) -> ClientConfig:
    from potluck.client import ClientConfig

    settings = own_settings()
    return ClientConfig(
        max_wait_s=max_wait_s,
        on_waiting=_show_joining,
        finds_nearby=settings.serve.find_nearby,
        audits=settings.gateway.audits,
        on_wrong=show_wait,
        record=record_work if hello_or_none() is not None else None,
    )


def _show_joining(reason: TryAgainError | None) -> None:
    from potluck.client.config import joining_text

    if reason is not None:
        show_wait(str(joining_text(reason)))


def _temperature(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 100, not {text!r}")
    return value


COMMANDS = {
    "generate": Subcommand(
        generate,
        Generated,
        argument("prompt", metavar="PROMPT", help="the text to continue; - reads standard input"),
        add_swarm,
        argument("--model", help="folder or hub name of the swarm's model (default: as the swarm names it)"),
        argument("--max-new-tokens", type=positive, default=64, metavar="N", help="default: %(default)s"),
        argument("--temperature", type=_temperature, default=0.0, metavar="T", help="0: greedy (default)"),
        argument("--seed", type=int, help="seed of the sampling, to get the same text again"),
        argument("--adapter", metavar="NAME|HASH", help="use this LoRA adapter of the servers"),
        argument(
            "--quantization", choices=QUANTIZATIONS, help="use only servers with such weights (default: what most have)"
        ),
        add_max_wait,
        argument(
            "--stream",
            action=argparse.BooleanOptionalAction,
            default=sys.stdout.isatty(),
            help="show words as they come (default: on a terminal)",
        ),
    ),
}
