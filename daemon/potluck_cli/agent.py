"""`potluck agent`: sets another program up to use the swarm's model, with a key of its own.

Print the few lines with which a program uses the swarm's model, or write them into its configuration. The program gets
a key of its own, named after it; an earlier key of that name ends. Without NAME, list the programs. A file that is
changed keeps everything else, and its copy lies beside it.

  potluck agent
  potluck agent claude
  potluck agent codex --write
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from potluck_control import schema
from potluck_control.client import ControlClient
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, KeyName
from potluck_control.reach import gateway_url
from potluck_control.recipes import RECIPES, Recipe

from potluck.errors import UsageError
from potluck.files import write_atomically
from potluck_cli.connect import daemon, own_settings
from potluck_cli.foreign_files import merged
from potluck_cli.options import answer
from potluck_cli.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Agent:
    """A program, and what it needs. Without NAME, nothing but `name`, `program` and `file` is told."""

    name: str
    program: str
    file: str  # its configuration; empty: it keeps that itself
    content: str = ""  # for `file`, or to be entered in the program
    then: str = ""  # lines for a terminal
    is_running: bool = False  # the gateway
    replaces_key: bool = False  # an earlier key of this name no longer works
    is_written: bool = False
    backup: str = ""  # the file as it was


@dataclass(frozen=True, slots=True)
class Agents:
    agents: tuple[Agent, ...]


RESULT = Agents


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = [recipe.name for recipe in RECIPES]
    parser.add_argument("name", nargs="?", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--write", action="store_true", help="write the lines into the program's configuration")


def run(args: argparse.Namespace) -> int:
    listed = tuple(Agent(each.name, each.program, f"~/{each.file}" if each.file else "") for each in RECIPES)
    if args.name is None:
        rows = [(each.name, each.program, each.file) for each in listed]
        return answer(args, Agents(listed), Terminal().table(("NAME", "PROGRAM", "FILE"), rows))
    place = [each.name for each in listed].index(args.name)
    agent = _set_up(daemon(), RECIPES[place], listed[place], writes=args.write)
    return answer(args, Agents((agent,)), _lines(agent, RECIPES[place]))


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
        write_atomically(path, merged(recipe.file, old or recipe.head, content).encode())
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
        merged(recipe.file, old or recipe.head, content)
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
