"""`potluck convert`: a checkpoint of pickled .bin files becomes one of safetensors."""

from __future__ import annotations

import argparse
from pathlib import Path

DESCRIPTION = """\
Turn a checkpoint of .bin files into safetensors. Servers and clients never open .bin files, because such a file can run
code; this command reads them in a process of its own that accepts nothing but tensors."""
EXAMPLES = """\
  potluck convert ./old-model ./new-model
  potluck convert owner/model ./new-model"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a folder, or a name on the hub")
    parser.add_argument("out", metavar="OUT", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--revision", help="branch, tag or commit on the hub")


def run(args: argparse.Namespace) -> int:
    from potluck.checkpoint import convert_checkpoint

    print(convert_checkpoint(args.source, args.out, revision=args.revision, progress=True))
    return 0
