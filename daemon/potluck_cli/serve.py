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
from potluck_engine.ranks.devices import check_devices, parse_max_memory

from potluck.errors import UsageError
from potluck.formatting import rounded
from potluck.p2p.runtime_dir import default_parent
from potluck.protocol.codec import builtins, encode
from potluck.protocol.records import CACHE_QUANTIZATIONS, QUANTIZATIONS
from potluck_cli.connect import own_settings
from potluck_cli.interrupts import EXIT_INTERRUPTED, ending_at_once
from potluck_cli.invites import add_swarm, swarm_of
from potluck_cli.options import (
    add_node,
    folder_or_name,
    listen_addresses,
    log_to_stderr,
    model_of,
    positive,
    span,
)
from potluck_cli.terminal import Style, Terminal, Wait, say

DESCRIPTION = """\
Serve blocks of a model to a swarm until Ctrl-C. The weights come from a local checkpoint or from the hub, and only the
files of these blocks are fetched. Without --blocks, Potluck serves the blocks that the swarm lacks most, and moves
when others are needed more."""
EXAMPLES = """\
  potluck serve ./llama-70b --swarm friends
  potluck serve ./llama-70b --invite-file ./invite --blocks 0:4
  potluck serve owner/model --num-blocks 8 --port 31338 --name attic"""


RESULT = EngineEvent  # one per line, with `event`: the class in lower case


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a folder or hub name (default: the swarm's model)")
    add_swarm(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--blocks", type=span, metavar="START:END", help="serve these blocks, counted from 0")
    which.add_argument("--num-blocks", type=positive, metavar="N", help="how many blocks (default: as many as fit)")
    add_node(parser, port=0)
    parser.add_argument("--name", help="name that the swarm sees")
    parser.add_argument(
        "--identity",
        type=Path,
        metavar="FILE",
        help="key file (default: a new identity each time, which earns nothing in a public swarm)",
    )
    parser.add_argument(
        "--max-memory",
        type=max_memory,
        default="",
        metavar="DEVICE=SIZE,...",
        help="such as cuda:0=10GiB,cpu=20GiB; blocks beyond it are streamed from RAM or disk (default: what fits)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1, mps, ... (default: %(default)s)")
    where.add_argument(
        "--devices",
        type=device_list,
        default=(),
        metavar="DEVICE,...",
        help="use several together: cuda:0,cuda:1",
    )
    parser.add_argument(
        "--dtype",
        choices=("float32", "bfloat16", "float16"),
        help="number format of the computation (default: float32, or bfloat16 for quantised weights)",
    )
    parser.add_argument(
        "--quantization",
        default="none",
        choices=QUANTIZATIONS,
        help="store the weights in fewer bits; int4 keeps those of GPTQ and AWQ as they are (default: none)",
    )
    parser.add_argument(
        "--cache-quantization",
        default="none",
        choices=CACHE_QUANTIZATIONS,
        help="store the keys and values of sessions in fewer bits (default: none)",
    )
    parser.add_argument(
        "--adapter",
        action="append",
        default=[],
        metavar="FOLDER|NAME",
        help="a LoRA adapter in peft's format that callers may use; repeatable",
    )
    parser.add_argument(
        "--private-adapters-mb",
        type=int,
        default=256,
        metavar="MIB",
        help="memory for LoRA adapters that callers bring and train; 0: take none (default: 256)",
    )
    parser.add_argument("--threads", type=positive, default=0, help="CPU threads (default: half of the cores)")
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
    if args.blocks is not None and args.blocks.end > swarm.num_blocks:
        raise UsageError(
            f"blocks {args.blocks} do not exist: {swarm.model} has blocks 0:{swarm.num_blocks}",
            hint="leave --blocks out to serve what the swarm lacks most",
        )
    for adapter in args.adapter:
        folder_or_name(adapter)
    return LaunchSpec(
        membership=membership.for_client(),
        checkpoint=model_of(args.model, swarm),
        runtime_dir=default_parent(),
        blocks=str(args.blocks or ""),
        num_blocks=args.num_blocks or 0,
        dtype=args.dtype or ("float32" if args.quantization == "none" else "bfloat16"),
        quantization=args.quantization,
        cache_quantization=args.cache_quantization,
        adapters=tuple(args.adapter),
        private_adapters_mb=args.private_adapters_mb,
        device=args.device,
        devices=args.devices,
        max_memory=args.max_memory,
        threads=args.threads,
        listen=listen_addresses(args),
        announce=tuple(args.announce),
        find_nearby=own_settings().serve.find_nearby,
        identity_path=args.identity,
        public_name=args.name or "",
        limits=ServingLimits(cache_tokens=args.cache_tokens) if args.cache_tokens else ServingLimits(),
        grows_cache=args.cache_tokens is None,
    )


def device_list(text: str) -> tuple[str, ...]:
    """Return the value of --devices. Raises UsageError."""
    return check_devices([item.strip() for item in text.split(",") if item.strip()])


def max_memory(text: str) -> str:
    """Return the value of --max-memory as it is. Raises UsageError if the engine could not read it."""
    parse_max_memory(text)
    return text


def _print_json(event: EngineEvent) -> None:
    """Print `{"event": "online", ...}` with the fields of the event."""
    say(encode({"event": type(event).__name__.lower(), **builtins(event)}).decode(), flush=True)


def _show(terminal: Terminal, event: EngineEvent) -> None:
    match event:
        case Starting(model):
            terminal.line(f"Starting to serve {model}")
        case Waiting(why) if why:
            terminal.line(f"Can't join the swarm yet: {why}. Trying again. Ctrl-C ends it.")
        case Joining(peer_id, span):
            terminal.line(f"Joined the swarm as {peer_id}; loading blocks {span}")
        case Placed(streamed_blocks=streamed, summary=summary) if streamed:
            terminal.line(summary[0].upper() + summary[1:])
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
