"""Sets other programs up to use the swarm's model: `potluck agent`.

A program's configuration file keeps everything else that is in it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import tomlkit
from potluck_control.api import schema
from potluck_control.api.client import ControlClient
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, KeyName
from potluck_control.processes.gateway_messages import gateway_url
from potluck_control.recipes import RECIPES, Recipe

from potluck.errors import UsageError
from potluck.files import write_atomically
from potluck_cli.daemon_access import daemon, own_settings
from potluck_cli.options import print_result
from potluck_cli.parser import Subcommand, argument
from potluck_cli.terminal import Terminal

_YAML_LINE = re.compile(r"[ \t#-].*|[\w.-]+:( .*)?|")
_YAML_ENTRY = re.compile(r"^([\w-]+):.*\n((?:  .*\n)*)", re.MULTILINE)
_SPLIT_ITEM = re.compile(r"^( *)- name: Potluck\n(?:\1 +.*\n)*(?: *#.*\n|\n)+\1 +[^\s#-]", re.MULTILINE)
_OWN_ITEM = re.compile(r"^( *)- name: Potluck\n(?:\1 +.*\n)*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Agent:
    """A program, and what it needs. Without NAME, only `name`, `program` and `file` are given."""

    name: str
    program: str
    file: str  # its configuration file; empty: it has none that can be written
    content: str = ""  # the lines for `file`, or to enter in the program
    then: str = ""  # lines for a terminal
    is_running: bool = False  # the gateway runs
    replaces_key: bool = False  # an earlier key of this name no longer works
    is_written: bool = False
    backup: str = ""  # the file as it was


@dataclass(frozen=True, slots=True)
class Agents:
    """All programs, or the one that was set up."""

    agents: tuple[Agent, ...]


def set_up_agent(args: argparse.Namespace) -> int:
    """Set another program up to use the swarm, with a key of its own.

    Print the few lines with which a program uses the swarm's model, or write them into its configuration. The
    program gets a key of its own, named after it; an earlier key of that name ends. Without NAME, list the
    programs. A file that is changed keeps everything else, and its copy lies beside it.

      potluck agent
      potluck agent claude
      potluck agent codex --write
    """
    listed = tuple(Agent(each.name, each.program, f"~/{each.file}" if each.file else "") for each in RECIPES)
    if args.name is None:
        rows = [(each.name, each.program, each.file) for each in listed]
        return print_result(args, Agents(listed), Terminal().table(("NAME", "PROGRAM", "FILE"), rows))
    place = [each.name for each in listed].index(args.name)
    agent = _set_up(daemon(), RECIPES[place], listed[place], writes=args.write)
    return print_result(args, Agents((agent,)), _lines(agent, RECIPES[place]))


def _set_up(client: ControlClient, recipe: Recipe, agent: Agent, *, writes: bool) -> Agent:
    """Make the key, after everything that may refuse, and write the file. Raises UsageError."""
    status = client.call(gateway.STATUS)
    url, model = _url(status.url), status.model or _model(client)
    path = (Path.home() / recipe.file).resolve()  # where a link leads
    old = _read(recipe, path, recipe.filled(url, "", model)[0]) if writes else ""
    has_key = any(key.name == recipe.name for key in client.call(gateway.KEYS).keys)
    if has_key:
        client.call(gateway.REVOKE_KEY, KeyName(recipe.name))
    content, then = recipe.filled(url, client.call(gateway.MAKE_KEY, KeyName(recipe.name)).key, model)
    is_running = status.state is GatewayState.READY
    agent = replace(agent, content=content, then=then, is_running=is_running, replaces_key=has_key, is_written=writes)
    if writes and path.exists():
        backup = path.with_name(f"{path.name}.{time.strftime('%Y%m%d-%H%M%S')}.bak")
        shutil.copy2(path, backup)
        agent = replace(agent, backup=str(backup))
    if writes:
        write_atomically(path, merged_text(recipe.file, old or recipe.head, content).encode())
    return agent


def _url(url: str) -> str:
    """Return the gateway's address, or the one that it will have."""
    settings = own_settings().gateway
    if not url and not settings.port:
        raise UsageError("the gateway gets its address when it starts", hint="potluck gateway start --stay")
    return url or gateway_url(settings.address, settings.port)


def _model(client: ControlClient) -> str:
    swarm = client.call(schema.STATUS).swarm
    if swarm is None:
        raise UsageError("no swarm is joined", hint="join one with: potluck join")
    return swarm.model


def _read(recipe: Recipe, path: Path, content: str) -> str:
    """Return what is in the program's file; empty: there is none. Raises UsageError if that can't be kept."""
    by_hand = f"potluck agent {recipe.name} prints what to enter by hand"
    if not recipe.file:
        raise UsageError(f"{recipe.program} has no file for this", hint=by_hand)
    try:
        old = path.read_text() if path.exists() else ""
        merged_text(recipe.file, old or recipe.head, content)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read, so it stays as it is: {error}", hint=by_hand) from error
    folder = next(folder for folder in path.parents if folder.exists())
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{folder} cannot be written to", hint=by_hand)
    return old


def _lines(agent: Agent, recipe: Recipe) -> Iterator[str]:
    if agent.is_written:
        yield f"{agent.program} is set up in {agent.file}."
    else:
        yield from (str(recipe.place), "", *agent.content.splitlines(), "")
    if agent.backup:
        yield f"The file as it was: {agent.backup}"
    if agent.then:
        yield from ("Then, in a terminal:", "", *agent.then.splitlines(), "")
    if agent.replaces_key:
        yield f"The earlier key {agent.name} no longer works."
    if not agent.is_running:
        yield "The gateway does not run. Start it: potluck gateway start --stay"


def merged_text(name: str, old: str, new: str) -> str:
    """Return the text `old` of the file `name` with the entries of `new`. Raises ValueError if it can't be read."""
    match PurePath(name).suffix:
        case ".json":
            return json.dumps(_joined(json.loads(old or "{}"), json.loads(new)), indent=2, ensure_ascii=False) + "\n"
        case ".toml":
            return tomlkit.dumps(_joined(tomlkit.parse(old), tomlkit.parse(new)))
        case _:
            return _merged_yaml(old, new)


def _joined(old: Any, new: Any) -> Any:
    """Return `old` with the entries of `new`. An entry for Potluck replaces an earlier one.

    Raises ValueError unless both are mappings.
    """
    if not isinstance(old, MutableMapping):
        raise ValueError("expected a mapping")
    for key, value in new.items():
        is_shared = isinstance(value, MutableMapping) and key in old and key.lower() != "potluck"
        old[key] = _joined(old[key], value) if is_shared else value
    return old


def _check_plain(key: str, old: str, *, is_list: bool) -> None:
    """Raise ValueError if an entry cannot be replaced line by line."""
    found = re.findall(rf"^{key}:.*\n(?=(.*))", old, re.MULTILINE)
    following = r" *- .*| +#.*|[\w.-]+:.*|" if is_list else r"\S.*|"
    if len(found) > 1 or any(not re.fullmatch(following, line) for line in found):
        raise ValueError(repr(key))
    if is_list and (_SPLIT_ITEM.search(old) or "name: Potluck\n" in _OWN_ITEM.sub("", old)):
        raise ValueError("'- name: Potluck'")


def _merged_yaml(old: str, new: str) -> str:
    """Return `old` with the top-level entries of `new`: values in a line, or the items of a list.

    Comments stay, which a YAML library would drop.
    """
    old = "".join(f"{line}\n" for line in old.splitlines())
    if wrong := [line for line in old.splitlines() if not _YAML_LINE.fullmatch(line)]:
        raise ValueError(repr(wrong[0]))
    for entry in _YAML_ENTRY.finditer(new):
        key, items = entry.groups()
        before, content = rf"^{key}:.*\n", entry[0]
        _check_plain(key, old, is_list=bool(items))
        if items:
            old, before = _OWN_ITEM.sub("", old), rf"^{key}:(?: \[\])?\n"
            indent = re.search(rf"^{key}:\n( *)- ", old, re.MULTILINE)
            content = f"{key}:\n" + re.sub("^  ", indent[1] if indent else "  ", items, flags=re.MULTILINE)
        changed, count = re.subn(before, content.replace("\\", r"\\"), old, count=1, flags=re.MULTILINE)
        if not count and re.search(rf"^{key}:", old, re.MULTILINE):
            raise ValueError(repr(key))
        old = changed if count else old + content
    return old


_NAMES = [recipe.name for recipe in RECIPES]
COMMANDS = {
    "agent": Subcommand(
        set_up_agent,
        Agents,
        argument("name", nargs="?", choices=_NAMES, metavar="NAME", help=f"one of {', '.join(_NAMES)}"),
        argument("--write", action="store_true", help="write the lines into the program's configuration"),
    ),
}
