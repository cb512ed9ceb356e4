"""`potluck models`: lists what is served and what is on the disk.

List the model that this machine serves, and downloaded models. Delete models that nobody needs: a deleted one is
downloaded again when it is needed. To use another disk, set serve.models_folder to a folder there, and move what is
downloaded yourself. Find models that a swarm could have: `potluck swarm create` and `potluck swarm model` take their
names. `potluck swarm show` names layers that nobody serves.

  potluck models list
  potluck models find
  potluck models find llama
  potluck models delete owner/model
  potluck models delete --prepared
  potluck config set serve.models_folder /mnt/big/models
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from potluck_control.methods import models

from potluck.errors import UsageError
from potluck.formatting import count, layers, part_size, size
from potluck_cli.daemon_access import daemon
from potluck_cli.options import print_result
from potluck_cli.parser import CommandGroup, Subcommand, argument
from potluck_cli.terminal import Terminal


def _list(args: argparse.Namespace) -> int:
    """List what is served and what is on the disk."""
    return print_result(args, daemon().call(models.LIST), _page)


def _find(args: argparse.Namespace) -> int:
    """Find models that a swarm could have, on this computer or on the hub."""
    if args.words and args.folder:
        raise UsageError("WORDS are for the hub, and --folder is for this computer", hint="leave one of them out")
    if args.words:
        return print_result(args, daemon().call(models.SEARCH, models.SearchParams(args.words)), _choices)
    return print_result(args, daemon().call(models.ON_DISK, models.FolderParams(_absolute(args.folder))), _choices)


def _delete(args: argparse.Namespace) -> int:
    """Delete a downloaded model."""
    deleted = daemon().call(models.DELETE, models.DeleteParams(args.name or "", args.force))
    return print_result(args, deleted, [f"Freed {size(deleted.freed_bytes)}."])


def _absolute(folder: str | None) -> str:
    return os.path.abspath(Path(folder).expanduser()) if folder else ""


def _choices(choices: models.ModelChoices) -> list[str]:
    if not choices.models:
        return ["No model on the hub has such a name."]
    rows = [(item.model or item.name, size(item.bytes), item.licence, *_needs(item)) for item in choices.models]
    note = f"COMPUTERS: about how many like this one hold all layers; it lends {size(choices.lent_bytes)} now."
    return [*Terminal().table(("MODEL", "SIZE", "LICENCE", "COMPUTERS", ""), rows), note]


def _needs(item: models.ModelChoice) -> tuple[str, str]:
    is_gated, is_half = item.is_gated, not item.is_here and bool(item.bytes)
    where = "its owner grants access" if is_gated else "here" if item.is_here else "to be downloaded" if is_half else ""
    return str(item.num_computers) if item.num_computers else "?", where


def _page(found: models.Models) -> list[str]:
    lines = [*_served(found), ""]
    rows = [
        (
            item.name,
            size(item.bytes),
            "served" if item.is_served else ", ".join(item.swarms) or "no swarm needs it",
        )
        for item in found.stored
    ]
    if rows:
        lines += Terminal().table(("MODEL", "DISK", "USE"), rows)
    folder = found.folder
    used = part_size(folder.models_bytes, folder.limit_bytes) if folder.limit_bytes else size(folder.models_bytes)
    lines.append(f"{used} in {folder.path}, {size(folder.free_bytes)} free")
    if folder.prepared_bytes:
        lines.append(f"{size(folder.prepared_bytes)} of layers converted for this machine")
    return lines


def _served(found: models.Models) -> list[str]:
    served = found.served
    if served is None:
        return ["You joined no swarm yet: potluck join, or potluck start --demo"]
    here = f", {layers(*served.span)} of them here" if served.span else ""
    lines = [f"{served.swarm}: {served.model}, {count(served.num_blocks, 'layer')}{here}"]
    if served.device:
        held = f", held in {served.quantization}" if served.quantization != "none" else ""
        streamed = f", {served.streamed_blocks} streamed" if served.streamed_blocks else ""
        where = f"{served.resident_blocks} on {served.device}{streamed}"
        in_ram = f", {size(served.ram_bytes)} of experts in RAM" if served.ram_bytes else ""
        lines.append(f"{where}; {served.dtype}{held}; {size(served.device_bytes)} of weights{in_ram}")
    if served.loading is not None:
        lines.append(f"Downloading: {_progress(served.loading)}")
    return lines


def _progress(progress: models.Progress) -> str:
    done, total = progress.done_bytes, progress.total_bytes
    speed = f", {size(progress.bytes_per_s)}/s" if progress.bytes_per_s else ""
    return f"{part_size(done, total) if total else size(done)}{speed}"


def _add_deleted(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("name", metavar="NAME", nargs="?", help="as `list` shows it")
    what.add_argument("--prepared", action="store_true", help="delete layers converted for this machine instead")
    parser.add_argument("--force", action="store_true", help="even if a swarm you joined runs the model")


_ACTIONS = {
    "list": Subcommand(_list, models.Models),
    "find": Subcommand(
        _find,
        models.ModelChoices,
        argument("words", metavar="WORDS", nargs="?", help="a part of a name on the hub (default: this computer)"),
        argument("--folder", metavar="DIR", help="look in this folder instead"),
    ),
    "delete": Subcommand(_delete, models.Deleted, _add_deleted),
}
COMMANDS = {"models": CommandGroup(__doc__, _ACTIONS)}
