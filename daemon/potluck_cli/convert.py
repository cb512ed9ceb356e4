"""`potluck convert`: converts a checkpoint of pickled .bin files to safetensors."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from potluck_cli.options import answer

DESCRIPTION = """\
Convert a checkpoint of .bin files to safetensors. Servers and clients never open .bin files, because such a file can
run code. This command reads them in a separate process that accepts nothing but tensors."""
EXAMPLES = """\
  potluck convert ./old-model ./new-model
  potluck convert owner/model ./new-model"""


@dataclass(frozen=True, slots=True)
class Converted:
    """The folder of the new checkpoint."""

    folder: str


RESULT = Converted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a folder, or a name on the hub")
    parser.add_argument("out", metavar="OUT", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--revision", help="branch, tag or commit on the hub")


def run(args: argparse.Namespace) -> int:
    from potluck.checkpoint import convert_checkpoint

    folder = str(convert_checkpoint(args.source, args.out, revision=args.revision, progress=not args.json))
    return answer(args, Converted(folder), [folder])
