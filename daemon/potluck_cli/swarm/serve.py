"""`potluck serve`: runs an engine in the foreground.

Serve layers of a model to a swarm until Ctrl-C. The weights come from a local checkpoint or from the hub, and only the
files of these layers are fetched. Without --layers, Potluck serves the layers that the swarm lacks most, and moves
when others are needed more. Settings of `potluck config` that have no option here hold, too.

  potluck serve ./llama-70b --swarm friends
  potluck serve ./llama-70b --invite-file ./invite --layers 1-4
  potluck serve owner/model --num-layers 8 --port 31338 --name attic
"""

from __future__ import annotations

import argparse
import signal
from functools import partial
from pathlib import Path

from potluck_control.processes import engine_messages as messages
from potluck_control.processes.launch_spec import LaunchSpec, ServingLimits
from potluck_control.settings import for_engine

from potluck.errors import UsageError
from potluck.formatting import rounded
from potluck.p2p.runtime_dir import default_parent
from potluck.protocol.blocks import Span
from potluck.protocol.codec import builtins
from potluck_cli.daemon_access import own_settings
from potluck_cli.options import (
    add_node,
    add_setting_options,
    listen_addresses,
    log_to_stderr,
    model_of,
    positive,
    print_json,
    settings_with_options,
)
from potluck_cli.swarm_choice import add_swarm, swarm_of
from potluck_cli.terminal import EXIT_INTERRUPTED, Style, Terminal, WaitNotice, ending_at_once

RESULT = tuple(messages.EngineEvent.__subclasses__())  # one per line, with `event`: the class in lower case


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a folder or hub name (default: the swarm's model)")
    add_swarm(parser)
    add_setting_options(parser)["blocks"].add_argument(
        "--layers",
        dest="serve.blocks",
        type=_blocks_of_layers,
        metavar="FIRST-LAST",
        help="the layers to serve, counted from 1 (default: those that the swarm lacks most)",
    )
    add_node(parser, port=0)
    parser.add_argument(
        "--identity",
        type=Path,
        metavar="FILE",
        help="key file (default: a new identity each time, which earns nothing in a public swarm)",
    )
    parser.add_argument("--cache-tokens", type=positive, help="room for sessions (default: what is free)")


def run(args: argparse.Namespace) -> int:
    log_to_stderr(args.verbose)
    spec = launch_spec(args)
    with WaitNotice(f"Joining {spec.swarm.name}", 15) as wait:
        show = _print_json if args.json else partial(_show, Terminal())

        def hear(event: messages.EngineEvent) -> None:
            show(event)
            if isinstance(event, messages.Online):
                wait.close()

        with ending_at_once():
            from potluck_engine.engine_process import run_in_terminal

        ended_by = run_in_terminal(spec, hear)
    return EXIT_INTERRUPTED if ended_by == signal.SIGINT else 0


def _blocks_of_layers(text: str) -> str:
    """Return the blocks of `1-12`, `1:12` or `5`, which count from 1, as the setting has them."""
    first, dash, last = text.replace(":", "-").partition("-")
    try:
        return str(Span(int(first) - 1, int(last if dash else first)))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected layers such as 1-8, counted from 1, not {text!r}") from None


def launch_spec(args: argparse.Namespace) -> LaunchSpec:
    """Describe the engine that the options ask for. Raises UsageError for an unknown swarm or a missing block."""
    membership = swarm_of(args)
    swarm = membership.swarm
    spec = LaunchSpec(
        membership=membership.for_client(),
        checkpoint=model_of(args.model, swarm),
        runtime_dir=default_parent(),
        settings=for_engine(settings_with_options(args, own_settings())),
        listen=listen_addresses(args),
        announce=tuple(args.announce),
        identity_path=args.identity,
        limits=ServingLimits(cache_tokens=args.cache_tokens) if args.cache_tokens else ServingLimits(),
        grows_cache=args.cache_tokens is None,
    )
    if spec.span is not None and spec.span.end > swarm.num_blocks:
        raise UsageError(
            f"layers {spec.span.layers} do not exist: {swarm.model} has layers 1-{swarm.num_blocks}",
            hint="leave --layers out to serve what the swarm lacks most",
        )
    return spec


def _print_json(event: messages.EngineEvent) -> None:
    """Print `{"event": "online", ...}` with the fields of the event."""
    print_json({"event": type(event).__name__.lower(), **builtins(event)})


def _show(terminal: Terminal, event: messages.EngineEvent) -> None:
    match event:
        case messages.Starting(model):
            terminal.line(f"Starting to serve {model}")
        case messages.Waiting(why) if why:
            terminal.line(f"Can't join the swarm yet: {why}. Trying again. Ctrl-C ends it.")
        case messages.Joining(peer_id, span):
            terminal.line(f"Joined the swarm as {peer_id}; loading layers {span.layers}")
        case messages.Placed(streamed_blocks=streamed, summary=summary, ram_bytes=in_ram) if streamed or in_ram:
            terminal.line(str(summary)[0].upper() + str(summary)[1:])
        case messages.Measured(inference_tps, forward_tps, packing_error):
            terminal.line(f"Each layer: {rounded(inference_tps)} steps/s, {rounded(forward_tps)} tokens/s forward")
            if packing_error is not None:
                terminal.line(f"Packed for slow links, its outputs differ by {100 * packing_error:.1f} %")
        case messages.Online(_, _, span, seconds):
            online = terminal.styled("Online", Style.BOLD, Style.GREEN)
            terminal.line(f"{online} after {seconds:.1f} s, serving layers {span.layers}. Ctrl-C leaves the swarm.")
        case messages.Moving(_, target, why):
            terminal.line(f"Moving to layers {target.layers}: {why}")
        case messages.Settled(span):
            terminal.line(f"Serving layers {span.layers}.")
        case messages.FilesChanged(file, is_served) if file:
            told = "Serving goes on from memory." if is_served else "Waiting for the right file."
            terminal.line(f"{file} changed on disk. {told}")
        case messages.Offline():
            terminal.line("Left the swarm.")
