"""Looks up the packages of a build of torch for which this version of Potluck has no list, and keeps them with hashes.

Everything but torch and what torch needs of a GPU's libraries comes from the processor's list, with its versions and
its hashes. The rest is what the build's own index offers to this Python today. From then on the list is as fixed as one
that came with Potluck.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from potluck.errors import PotluckError
from potluck.files import write_atomically
from potluck.sentences import sentence
from potluck_daemon.environment.uv import WheelSources, run_uv
from potluck_daemon.environment.variants import TORCH
from potluck_daemon.environment.wheels import locked_hashes

_ENTRY = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)([^\\\n]*)", re.MULTILINE)
_HEAD = "# The engine's packages, variant {variant}: looked up on this computer, and kept with their hashes.\n"


def freeze(uv: Path, base: Path, target: Path, python: Path, sources: WheelSources, *, cache: Path) -> tuple[str, ...]:
    """Write the list of a build's packages to `target`, and return those that `base` lacks, as `torch==2.13.0+cu126`.

    Raises:
        PotluckError: no index has them, or one offers other files of the packages that `base` fixes.
    """
    with tempfile.TemporaryDirectory() as folder:
        needs, out = Path(folder) / "needs.txt", Path(folder) / "out.txt"
        needs.write_text(needs_of(base.read_text()))
        options = ["--quiet", "--generate-hashes", "--no-header", "--no-annotate"]
        run_uv(uv, ["pip", "compile", *options, *sources.arguments, "--python", python, "-o", out, needs], cache=cache)
        text = out.read_text()
        locked_hashes(out)  # each has one
    foreign = foreign_hashes(base.read_text(), text)
    if foreign:
        raise PotluckError(
            sentence("{file} is not the file that this version was made with", file=foreign[0]),
            hint=sentence("try another mirror"),
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, (_HEAD.format(variant=sources.build or "torch") + text).encode(), mode=0o644)
    known = {match[1] for match in _ENTRY.finditer(needs_of(base.read_text())) if match[1] != "torch"}
    return tuple(f"{match[1]}=={match[2]}" for match in _ENTRY.finditer(text) if match[1] not in known)


def needs_of(base: str) -> str:
    """Return what to look up: the versions of `base`, and torch without the build that `base` names."""
    pins = [f"{match[1]}=={match[2]}{match[3].rstrip()}" for match in _ENTRY.finditer(base) if match[1] != "torch"]
    return "\n".join((*pins, f"torch=={TORCH}", ""))


def foreign_hashes(base: str, found: str) -> list[str]:
    """Return the packages for which `found` has a file that `base`, which has the package too, does not know."""
    allowed, offered = _hashes(base), _hashes(found)
    return [name for name, hashes in offered.items() if name != "torch" and name in allowed and hashes - allowed[name]]


def _hashes(text: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for entry in re.split(r"\n(?=[A-Za-z0-9])", text):
        match = _ENTRY.match(entry)
        if match is not None:
            found[match[1]] = found.get(match[1], frozenset()) | frozenset(re.findall(r"sha256:([0-9a-f]{64})", entry))
    return found
