"""`potluck models`: what is served, what the swarm lacks, what lies on the disk."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from potluck_control.client import ControlClient
from potluck_control.formatting import part_size, size
from potluck_control.methods import models
from potluck_control.methods.models import Deleted, DeleteParams, Models, MoveParams, Progress

from potluck.errors import PotluckError
from potluck_cli.connect import daemon
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Style, Terminal, table

DESCRIPTION = """\
The model that this machine serves and where its weights are, blocks that the swarm lacks, and downloaded models: delete
what nobody needs, or keep them on another disk. A model that is deleted is downloaded again when it is needed."""
EXAMPLES = """\
  potluck models list
  potluck models delete owner/model
  potluck models delete --prepared
  potluck models move /mnt/big/models
  potluck models move --usual"""
RESULT = {"list": Models, "delete": Deleted, "move": Models}

_POLL_S = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add_json(actions.add_parser("list", help="what is served, needed, and on the disk"), "all of it")
    delete = actions.add_parser("delete", help="delete a downloaded model")
    what = delete.add_mutually_exclusive_group(required=True)
    what.add_argument("name", metavar="NAME", nargs="?", help="as `list` shows it")
    what.add_argument("--prepared", action="store_true", help="blocks converted for this machine instead")
    delete.add_argument("--force", action="store_true", help="also a model that a joined swarm runs")
    add_json(delete, "what was freed")
    move = actions.add_parser("move", help="keep models in another folder")
    where = move.add_mutually_exclusive_group(required=True)
    where.add_argument("folder", metavar="DIR", nargs="?", help="on a disk with room")
    where.add_argument("--usual", action="store_true", help="the hub's usual folder again")
    move.add_argument("--leave-files", action="store_true", help="do not take along what is downloaded already")
    add_json(move, "what is where")


def run(args: argparse.Namespace) -> int:
    client, terminal = daemon(), Terminal(sys.stdout)
    found: Models | Deleted
    if args.action == "delete":
        found = client.call(models.DELETE, DeleteParams(args.name or "", args.force))
        lines = [f"Freed {size(found.freed_bytes)}."]
    elif args.action == "move":
        folder = "" if args.usual else os.path.abspath(Path(args.folder).expanduser())
        found = client.call(models.MOVE, MoveParams(folder, moves_files=not args.leave_files))
        found = _follow(client, found, None if args.json else terminal)
        lines = [f"Models are in {found.folder.path}."]
    else:
        found = client.call(models.LIST)
        lines = page(found, terminal)
    if args.json:
        print_json(found)
        return 0
    for line in lines:
        terminal.line(line)
    return 0


def page(found: Models, terminal: Terminal) -> list[str]:
    lines = [*_served(found), ""]
    rows = [
        (item.name, size(item.bytes), "served" if item.is_served else ", ".join(item.swarms) or "no swarm needs it")
        for item in found.stored
    ]
    if rows:
        heading, *rest = table(("MODEL", "DISK", "USE"), rows)
        lines += [terminal.styled(heading, Style.BOLD), *rest]
    limit = f" of {size(found.folder.limit_bytes)}" if found.folder.limit_bytes else ""
    lines.append(
        f"{size(found.folder.models_bytes)}{limit} in {found.folder.path}, {size(found.folder.free_bytes)} free"
    )
    if found.folder.prepared_bytes:
        lines.append(f"{size(found.folder.prepared_bytes)} of blocks converted for this machine")
    return lines


def _served(found: Models) -> list[str]:
    served = found.served
    if served is None:
        return ["No swarm is joined."]
    span = f"blocks {served.span[0]}:{served.span[1]} of " if served.span else ""
    lines = [f"{served.swarm}: {span}{served.num_blocks} blocks of {served.model}"]
    if served.device:
        held = f", held in {served.quantization}" if served.quantization != "none" else ""
        streamed = f", {served.streamed_blocks} streamed" if served.streamed_blocks else ""
        where = f"{served.resident_blocks} on {served.device}{streamed}"
        lines.append(f"{where}; {served.dtype}{held}; {size(served.device_bytes)} of weights")
    if found.download is not None:
        lines.append(f"Downloading: {_progress(found.download)}")
    for need in found.needs:
        who = (
            "nobody serves" if need.replicas == 0 else f"only {need.replicas} serve{'s' if need.replicas == 1 else ''}"
        )
        lines.append(f"Needed: blocks {need.start}:{need.end}, {who} them")
    return lines


def _progress(progress: Progress) -> str:
    done, total = progress.done_bytes, progress.total_bytes
    speed = f", {size(progress.bytes_per_s)}/s" if progress.bytes_per_s else ""
    return f"{part_size(done, total) if total else size(done)}{speed}"


def _follow(client: ControlClient, found: Models, terminal: Terminal | None) -> Models:
    """Until everything is moved. Raises PotluckError."""
    shown = ""
    while found.move is not None and not found.move.is_done:
        now = _progress(found.move.progress)
        if terminal is not None and terminal.is_interactive and now != shown:
            shown = now
            terminal.line(terminal.styled(f"Moving: {now}", Style.FAINT))
        time.sleep(_POLL_S)
        found = client.call(models.LIST)
    if found.move is not None and found.move.problem:
        raise PotluckError(found.move.problem, hint="what was not moved is where it was")
    return found
