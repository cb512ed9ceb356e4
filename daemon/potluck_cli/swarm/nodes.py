"""Runs a node in the foreground: an engine (`potluck serve`), or a meeting point (`potluck bootstrap`)."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from potluck_control.processes import engine_messages
from potluck_control.processes.launch_spec import LaunchSpec, ServingLimits
from potluck_control.settings import for_engine

from potluck.checked_files import CheckedFile
from potluck.errors import UsageError
from potluck.formatting import rounded
from potluck.membership.invite import read_link
from potluck.membership.membership import Membership, decode_membership, encode_membership
from potluck.membership.records import read_all
from potluck.p2p.runtime_dir import default_parent
from potluck.protocol.blocks import Span
from potluck.protocol.codec import builtins
from potluck.protocol.swarm import Swarm
from potluck_cli.daemon_access import own_settings
from potluck_cli.options import (
    add_node,
    add_setting_options,
    listen_addresses,
    log_to_stderr,
    model_of,
    positive,
    print_json,
    print_result,
    settings_with_options,
)
from potluck_cli.parser import Subcommand, argument
from potluck_cli.swarm_choice import add_swarm, swarm_of
from potluck_cli.terminal import EXIT_INTERRUPTED, Style, Terminal, WaitNotice, ending_at_once

log = logging.getLogger(__name__)

_MEETING_PORT = 31337


def _add_serve_arguments(parser: argparse.ArgumentParser) -> None:
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


def serve(args: argparse.Namespace) -> int:
    """Run an engine in the foreground.

    Serve layers of a model to a swarm until Ctrl-C. The weights come from a local checkpoint or from the hub, and
    only the files of these layers are fetched. Without --layers, Potluck serves the layers that the swarm lacks
    most, and moves when others are needed more. Settings of `potluck config` that have no option here hold, too.

      potluck serve ./llama-70b --swarm friends
      potluck serve ./llama-70b --invite-file ./invite --layers 1-4
      potluck serve owner/model --num-layers 8 --port 31338 --name attic
    """
    log_to_stderr(args.verbose)
    spec = launch_spec(args)
    with WaitNotice(f"Joining {spec.swarm.name}", 15) as wait:
        show = _print_event if args.json else partial(_show_event, Terminal())

        def hear(event: engine_messages.EngineEvent) -> None:
            show(event)
            if isinstance(event, engine_messages.Online):
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


def _print_event(event: engine_messages.EngineEvent) -> None:
    """Print `{"event": "online", ...}` with the fields of the event."""
    print_json({"event": type(event).__name__.lower(), **builtins(event)})


def _show_event(terminal: Terminal, event: engine_messages.EngineEvent) -> None:
    match event:
        case engine_messages.Starting(model):
            terminal.line(f"Starting to serve {model}")
        case engine_messages.Waiting(why) if why:
            terminal.line(f"Can't join the swarm yet: {why}. Trying again. Ctrl-C ends it.")
        case engine_messages.Joining(peer_id, span):
            terminal.line(f"Joined the swarm as {peer_id}; loading layers {span.layers}")
        case engine_messages.Placed(streamed_blocks=streamed, summary=summary, ram_bytes=in_ram) if streamed or in_ram:
            terminal.line(str(summary)[0].upper() + str(summary)[1:])
        case engine_messages.Measured(inference_tps, forward_tps, packing_error):
            terminal.line(f"Each layer: {rounded(inference_tps)} steps/s, {rounded(forward_tps)} tokens/s forward")
            if packing_error is not None:
                terminal.line(f"Packed for slow links, its outputs differ by {100 * packing_error:.1f} %")
        case engine_messages.Online(_, _, span, seconds):
            online = terminal.styled("Online", Style.BOLD, Style.GREEN)
            terminal.line(f"{online} after {seconds:.1f} s, serving layers {span.layers}. Ctrl-C leaves the swarm.")
        case engine_messages.Moving(_, target, why):
            terminal.line(f"Moving to layers {target.layers}: {why}")
        case engine_messages.Settled(span):
            terminal.line(f"Serving layers {span.layers}.")
        case engine_messages.FilesChanged(file, is_served) if file:
            state = "Serving goes on from memory." if is_served else "Waiting for the right file."
            terminal.line(f"{file} changed on disk. {state}")
        case engine_messages.Offline():
            terminal.line("Left the swarm.")


@dataclass(frozen=True, slots=True)
class Meeting:
    """The meeting point can be reached at `addresses`; `event` is `online`."""

    event: str
    addresses: tuple[str, ...]


class MeetingPointMembers:
    """The members of a swarm as this meeting point knows them, in a file that survives restarts."""

    def __init__(self, link: str, folder: Path) -> None:
        name, key = read_link(link)
        self._file = CheckedFile(folder / f"bootstrap-{key.hex()[:16]}.members", decode_membership, encode_membership)
        self._lock = threading.Lock()
        # A meeting point knows nothing of a swarm's model and blocks.
        self.membership = Membership(Swarm(name, model="unknown", num_blocks=1, prefix=f"_{name}", founder_key=key))

    def load(self) -> Membership:
        """Return the membership that an earlier run saved, or one that knows only the swarm; members send the rest."""
        self.membership = self._file.read() or self.membership
        return self.membership

    def learn(self, news: Iterable[bytes]) -> None:
        """Add members' records and save them. Any thread may call it."""
        with self._lock:
            self.membership = self.membership.with_records(read_all([*news]), time.time())
            try:
                self._file.write(self.membership)
            except OSError as error:
                log.warning("cannot keep the list of members: %s", error)


def bootstrap(args: argparse.Namespace) -> int:
    """Run a DHT node that serves nothing, in the foreground.

    Run a meeting point, through which members of a swarm find each other. It holds the directory of who serves
    what, never a model, prompt or key. Its address is printed once it can be reached, and stays the same across
    restarts. With the link of a swarm it refuses everybody who is not a member, and passes on who joined and who
    was removed. It cannot check what members write into the directory; they check that themselves when they read
    it.

      potluck bootstrap
      potluck bootstrap --port 31337 --announce /ip4/203.0.113.7/tcp/31337
      potluck swarm create friends ./model --bootstrap ADDRESS    (with an address that it printed)
      potluck bootstrap --swarm LINK    (once the swarm is there; `potluck swarm show` prints the link)
    """
    log_to_stderr(args.verbose)
    return asyncio.run(_serve_meeting_point(args))


async def _serve_meeting_point(args: argparse.Namespace) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with WaitNotice("Starting the meeting point", 10):
        from potluck_control.places import user_places
        from potluck_engine.network.reachability import start_reachable

        from potluck.p2p.network import HostConfig, ignore
        from potluck.tasks import in_thread

        kept = MeetingPointMembers(args.swarm, user_places().state) if args.swarm else None
        config = HostConfig(
            membership=kept.load() if kept else None,
            on_news=in_thread(kept.learn) if kept else ignore,
            identity_path=args.identity or user_places().state / "bootstrap.key",
            listen_addrs=listen_addresses(args),
            announce_addrs=tuple(args.announce),
        )
        host, _ = await start_reachable(config)
    try:
        addresses = await host.addresses()
        lines = ["Members find a swarm at:", *(f"  {address}" for address in addresses)]
        lines.append("Use it with: potluck swarm create NAME MODEL --bootstrap ADDRESS   (Ctrl-C stops)")
        print_result(args, Meeting("online", tuple(addresses)), lines)
        await stop.wait()
    finally:
        await host.close()
    return 0


COMMANDS = {
    "serve": Subcommand(serve, tuple(engine_messages.EngineEvent.__subclasses__()), _add_serve_arguments),
    "bootstrap": Subcommand(
        bootstrap,
        Meeting,
        partial(add_node, port=_MEETING_PORT),
        argument("--swarm", metavar="LINK", help="only for members of this swarm (default: for everybody)"),
        argument("--identity", type=Path, metavar="FILE", help="key file (default: one in your state folder)"),
    ),
}
