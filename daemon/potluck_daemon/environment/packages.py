"""Finds the packages of an environment: the files that fit this machine, with their addresses and hashes.

Versions and hashes come from lists that are part of this version of Potluck. A build of torch without a list is looked
up once on its own index; the result is kept with its hashes, and nothing else is installed afterwards.
"""

from __future__ import annotations

import re
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from potluck.errors import PotluckError
from potluck.files import write_atomically
from potluck.sentences import sentence
from potluck_daemon.environment.plan import EnvironmentPlan
from potluck_daemon.environment.uv import run_uv, source_options
from potluck_daemon.environment.variants import TORCH

_ENTRY = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)([^\\\n]*)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_LOCK = "pylock.toml"


@dataclass(frozen=True, slots=True)
class Package:
    """A wheel, or the source (not `is_built`) of one of the few small packages without wheels."""

    name: str
    version: str
    url: str
    sha256: str
    num_bytes: int | None  # None: the index does not say

    @property
    def file(self) -> str:
        return unquote(urlsplit(self.url).path).rpartition("/")[2]

    @property
    def is_built(self) -> bool:
        return self.file.endswith(".whl")


def find_packages(plan: EnvironmentPlan) -> tuple[Package, ...]:
    """Return the files to install, and write them to the plan's lock, which an earlier attempt may have left.

    Raises:
        PackagesMissingError: no index has them, or none answers.
        PotluckError: an index offers other files than the lists.
    """
    base, lock, variant = plan.requirements.read_text(), plan.lock, plan.choice.variant
    fixed = hashes_of(base)
    if not plan.is_listed:
        fixed.pop("torch", None)
        fixed = {package.name: frozenset({package.sha256}) for package in _kept(lock)} | fixed
    with tempfile.TemporaryDirectory() as folder:
        needs, out = Path(folder) / "needs.txt", Path(folder) / _LOCK
        needs.write_text(base if plan.is_listed else needs_of(base))
        if lock.exists():
            out.write_bytes(lock.read_bytes())  # uv keeps its versions
        options = ["--quiet", "--format", _LOCK, "--generate-hashes", *(["--no-deps"] if plan.is_listed else [])]
        options += source_options("" if variant.is_usual else variant.name, plan.wheels)
        run_uv(["pip", "compile", *options, "--python", sys.executable, "-o", out, needs], cache=plan.store.cache)
        found = _kept(out)
        foreign = next((one for one in found if one.sha256 not in fixed.get(one.name, (one.sha256,))), None)
        if foreign is not None:
            raise PotluckError(
                sentence("{file} is not the file that this version was made with", file=foreign.file),
                hint=sentence("try another mirror"),
            )
        write_atomically(lock, out.read_bytes(), mode=0o644)
    return found


def needs_of(base: str) -> str:
    """Return the requirements to look up: the versions of `base`, and torch without the build that `base` names."""
    pins = [f"{match[1]}=={match[2]}{match[3].rstrip()}" for match in _ENTRY.finditer(base) if match[1] != "torch"]
    return "\n".join((*pins, f"torch=={TORCH}", ""))


def hashes_of(base: str) -> dict[str, frozenset[str]]:
    """Return the hashes of each package's files. Some packages have several entries."""
    found: dict[str, frozenset[str]] = {}
    for entry in re.split(r"\n(?=[A-Za-z0-9])", base):
        match = _ENTRY.match(entry)
        if match is not None:
            found[match[1]] = found.get(match[1], frozenset()) | frozenset(_HASH.findall(entry))
    return found


def _kept(lock: Path) -> tuple[Package, ...]:
    listed = tomllib.loads(lock.read_text()).get("packages", ()) if lock.exists() else ()
    return tuple(map(_package, listed))


def _package(listed: Mapping[str, Any]) -> Package:
    file = next(iter(listed.get("wheels", ())), None) or listed["sdist"]
    url = file.get("url") or Path(file["path"]).resolve().as_uri()
    return Package(listed["name"], listed["version"], url, file["hashes"]["sha256"], file.get("size"))
