"""`potluck serve`: runs an engine in the foreground."""

from __future__ import annotations

import argparse
import signal
from functools import partial
from pathlib import Path

from potluck_control.engine_messages import (
    EngineEvent,
    FilesChanged,
    Joining,
    Measured,
    Moving,
    Offline,
    Online,
    Placed,
    Settled,
    Starting,
    Waiting,
)
from potluck_control.launch_spec import LaunchSpec, ServingLimits
from potluck_control.settings import for_engine

from potluck.errors import UsageError
from potluck.formatting import rounded
from potluck.p2p.runtime_dir import default_parent
from potluck.protocol.codec import builtins
from potluck_cli.connect import own_settings
from potluck_cli.interrupts import EXIT_INTERRUPTED, ending_at_once
from potluck_cli.invites import add_swarm, swarm_of
from potluck_cli.options import add_node, listen_addresses, log_to_stderr, model_of, positive, print_json
from potluck_cli.setting_options import add_setting_options, settings_of
from potluck_cli.terminal import Style, Terminal, Wait

DESCRIPTION = """\
Serve blocks of a model to a swarm until Ctrl-C. The weights come from a local checkpoint or from the hub, and only the
files of these blocks are fetched. Without --blocks, Potluck serves the blocks that the swarm lacks most, and moves
when others are needed more. Settings of `potluck config` that have no option here hold, too."""
EXAMPLES = """\
  potluck serve ./llama-70b --swarm friends
  potluck serve ./llama-70b --invite-file ./invite --blocks 0:4
  potluck serve owner/model --num-blocks 8 --port 31338 --name attic"""


RESULT = tuple(EngineEvent.__subclasses__())  # one per line, with `event`: the class in lower case


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a folder or hub name (default: the swarm's model)")
    add_swarm(parser)
    add_setting_options(parser)
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
    with Wait(f"Joining {spec.swarm.name}", 15) as wait:
        show = _print_json if args.json else partial(_show, Terminal())

        def hear(event: EngineEvent) -> None:
            show(event)
            if isinstance(event, Online):
                wait.close()

        with ending_at_once():
            from potluck_engine.main import run_engine

        ended_by = run_engine(spec, hear)
    return EXIT_INTERRUPTED if ended_by == signal.SIGINT else 0


def launch_spec(args: argparse.Namespace) -> LaunchSpec:
    """Describe the engine that the options ask for. Raises UsageError for an unknown swarm or a missing block."""
    membership = swarm_of(args)
    swarm = membership.swarm
    spec = LaunchSpec(
        membership=membership.for_client(),
        checkpoint=model_of(args.model, swarm),
        runtime_dir=default_parent(),
        settings=for_engine(settings_of(args, own_settings())),
        listen=listen_addresses(args),
        announce=tuple(args.announce),
        identity_path=args.identity,
        limits=ServingLimits(cache_tokens=args.cache_tokens) if args.cache_tokens else ServingLimits(),
        grows_cache=args.cache_tokens is None,
    )
    if spec.span is not None and spec.span.end > swarm.num_blocks:
        raise UsageError(
            f"blocks {spec.span} do not exist: {swarm.model} has blocks 0:{swarm.num_blocks}",
            hint="leave --blocks out to serve what the swarm lacks most",
        )
    return spec


def _print_json(event: EngineEvent) -> None:
    """Print `{"event": "online", ...}` with the fields of the event."""
    print_json({"event": type(event).__name__.lower(), **builtins(event)})


def _show(terminal: Terminal, event: EngineEvent) -> None:
    match event:
        case Starting(model):
            terminal.line(f"Starting to serve {model}")
        case Waiting(why) if why:
            terminal.line(f"Can't join the swarm yet: {why}. Trying again. Ctrl-C ends it.")
        case Joining(peer_id, span):
            terminal.line(f"Joined the swarm as {peer_id}; loading blocks {span}")
        case Placed(streamed_blocks=streamed, summary=summary, ram_bytes=in_ram) if streamed or in_ram:
            terminal.line(str(summary)[0].upper() + str(summary)[1:])
        case Measured(inference_tps, forward_tps, packing_error):
            terminal.line(f"Each block: {rounded(inference_tps)} steps/s, {rounded(forward_tps)} tokens/s forward")
            if packing_error is not None:
                terminal.line(f"Packed for slow links, its outputs differ by {100 * packing_error:.1f} %")
        case Online(_, _, span, seconds):
            online = terminal.styled("Online", Style.BOLD, Style.GREEN)
            terminal.line(f"{online} after {seconds:.1f} s, serving blocks {span}. Ctrl-C leaves the swarm.")
        case Moving(_, target, why):
            terminal.line(f"Moving to blocks {target}: {why}")
        case Settled(span):
            terminal.line(f"Serving blocks {span}.")
        case FilesChanged(file, is_served) if file:
            told = "Serving goes on from memory." if is_served else "Waiting for the right file."
            terminal.line(f"{file} changed on disk. {told}")
        case Offline():
            terminal.line("Left the swarm.")
