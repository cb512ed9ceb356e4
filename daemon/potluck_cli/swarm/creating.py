"""Creates a swarm, and changes its model: `potluck swarm create` and `potluck swarm model`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from potluck_control.api import schema
from potluck_control.methods import swarms
from potluck_control.methods.swarms import ModelChange
from potluck_control.places import find_places
from potluck_control.processes.python_command import child_environment
from potluck_control.resources import bundled_checkpoint
from potluck_daemon.swarms.invites import describe_invite, invite_for_all
from potluck_daemon.swarms.new_model import NewModel, find_draft

from potluck.errors import CheckpointError, PotluckError, UsageError
from potluck.membership.invite import Invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import (
    DEFAULT_DAYS,
    DEFAULT_PEOPLE,
    ChosenModel,
    choose_draft,
    choose_model,
    invite_made_before,
    offering,
    public_seats,
    seats,
    with_seed,
)
from potluck.membership.membership import Membership
from potluck.membership.own_names import OwnNames
from potluck.membership.records import Content
from potluck.model_files import Manifests
from potluck.petals.names import default_prefix
from potluck.protocol.swarm import Swarm, check_revision, check_swarm, new_swarm
from potluck.sentences import sentence
from potluck_cli.daemon_access import daemon, hello_or_none, poll_until_done
from potluck_cli.options import folder_or_name, print_result
from potluck_cli.parser import Subcommand, argument
from potluck_cli.swarm_choice import add_move, add_names, known_swarms, move_or_stay, own_names
from potluck_cli.terminal import WaitNotice, say

if TYPE_CHECKING:
    from potluck.checkpoint.source import Checkpoint


_MODEL_HELP = "a folder in the Hugging Face layout, or a name on the hub"


@dataclass(frozen=True, slots=True)
class CreatedSwarm:
    """A new swarm; the holders of `invite` may join it."""

    name: str
    prefix: str
    num_blocks: int
    invite: str


def _add_kind(parser: argparse.ArgumentParser) -> None:
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--public",
        action="store_true",
        help="let anybody become a member without being invited, on probation at first",
    )
    kind.add_argument(
        "--open", action="store_true", help="open to Petals peers, with none of the protections of members"
    )


def _add_draft(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--draft",
        metavar="NAME",
        default="",
        help="a small model on the hub with the same tokenizer, with which members guess tokens ahead; `none`: no such "
        "model (default: one that is known to fit)",
    )


def _create(args: argparse.Namespace) -> int:
    """Create a swarm, join it, and print its invite."""
    joined = known_swarms()
    _check_creation(args, joined)
    args.model = folder_or_name(args.model)
    names = OwnNames() if args.open else own_names(args)
    checkpoint = _open_checkpoint(args.model, args.revision)
    chosen = _described(checkpoint)
    draft = None if args.open else _find_draft(chosen, args.draft)
    prefix = args.prefix or default_prefix(chosen.name, checkpoint.config.model_type) if args.open else None
    swarm = new_swarm(args.name, chosen.name, checkpoint.num_blocks, checkpoint.revision, prefix=prefix)
    swarm = check_swarm(replace(swarm, bootstrap_peers=tuple(args.bootstrap)))
    membership = joined.create(swarm, is_open=args.open, name=names.person, computer=names.computer)
    if not args.open:
        with contextlib.suppress(CheckpointError):  # some files are elsewhere, so members need copies of their own
            pinned = _pinned(chosen)
            membership = _lead(joined, membership, lambda leader: choose_model(leader, pinned))
    if draft is not None:
        pinned_draft = _pinned(draft)
        membership = _lead(joined, membership, lambda leader: choose_draft(leader, pinned_draft))
    if args.public:
        membership = make_public(joined, membership)
    swarm = membership.swarm
    invite = found_or_new_invite(joined, membership, swarm, schema.InviteParams()).invite
    if not args.json:
        _describe_creation(args, swarm, draft)
    is_own_copy = checkpoint.files is None and bundled_checkpoint(swarm.model) is None
    for line in move_or_stay(args, swarm.name, str(checkpoint.folder.absolute()) if is_own_copy else ""):
        say(line, file=sys.stderr)
    return print_result(args, CreatedSwarm(swarm.name, swarm.prefix, swarm.num_blocks, invite), [invite])


def _check_creation(args: argparse.Namespace, joined: JoinedSwarms) -> None:
    """Raise UsageError if the options contradict each other, or the name is taken."""
    if args.draft and args.open:
        raise UsageError("an open swarm has no drafting model", hint="leave out --draft, or --open")
    if args.prefix and not args.open:
        raise UsageError("only an open swarm has a prefix of its own", hint="add --open, or leave --prefix out")
    if not args.bootstrap:
        raise UsageError(
            "members need an address to find the swarm",
            hint="run `potluck bootstrap`, then add --bootstrap ADDRESS",
        )
    if args.name in joined.load():
        raise UsageError(
            sentence("you already have a swarm named {name}", name=args.name), hint=f"potluck leave {args.name}"
        )
    check_revision(args.revision)


def _describe_creation(args: argparse.Namespace, swarm: Swarm, draft: NewModel | None) -> None:
    """Print on standard error who may join, what drafts, and what to do next."""
    who = f"{DEFAULT_PEOPLE} people may join with this invite"
    if swarm.is_open:
        who = "open to Petals peers, with none of the protections of members"
    elif args.public:
        who = "public: anybody may join with this invite, which is no secret"
    say(f"Swarm {swarm.name}: {swarm.model}, {swarm.num_blocks} layers; {who}.", file=sys.stderr)
    if draft is not None:
        say(f"{draft.name} speeds it up: it guesses tokens ahead.", file=sys.stderr)
    if hello_or_none() is None:
        say(f"Next: potluck serve {shlex.quote(args.model)} --swarm {swarm.name}", file=sys.stderr)


def _model(args: argparse.Namespace) -> int:
    """Show the swarm's model, or change it; members and invites follow."""
    if args.model is None and not args.draft:
        swarm = known_swarms().find(args.swarm).swarm
        shown = ModelChange(swarm.name, swarm.model, is_pinned=bool(swarm.weights), draft=swarm.draft_name)
        return print_result(args, shown, [f"{swarm.name} serves {swarm.model}. {_drafting(shown.draft)}"])
    client = daemon()
    model = None if args.model is None else folder_or_name(args.model)
    params = swarms.ChooseModelParams(model, args.swarm or "", args.draft)
    change = poll_until_done(client, swarms.MODEL_CHANGE, client.call(swarms.CHOOSE_MODEL, params), _reading)
    if change.problem:
        raise PotluckError(change.problem, hint="the swarm keeps its model")
    lines = [f"{change.swarm} serves {change.model} now. Members that are online follow within seconds."]
    if not change.is_pinned:
        lines.append("Its files are not all on this computer, so members get them from the hub alone.")
    lines.append(_drafting(change.draft))
    return print_result(args, change, lines)


def _open_checkpoint(model: str, revision: str | None = None) -> Checkpoint:
    """Open the model that the user named, or the folder of one that comes with Potluck."""
    with WaitNotice(f"Reading the model {model}", 5):
        from potluck.checkpoint.source import open_checkpoint

        return open_checkpoint(str(bundled_checkpoint(model) or model), revision=revision, progress=True)


def _described(checkpoint: Checkpoint) -> NewModel:
    name = checkpoint.folder.resolve().name if checkpoint.files is None else checkpoint.name
    return NewModel(name, checkpoint.num_blocks, checkpoint.revision, files=str(checkpoint.folder))


def _find_draft(model: NewModel, wanted: str) -> NewModel | None:
    """Return a draft model for a model. Raises PotluckError if `wanted` names one that does not fit or isn't there."""
    try:
        with WaitNotice(f"Looking for a small model that speeds {model.name} up", 10):
            return asyncio.run(find_draft(model, wanted, sys.executable, child_environment()))
    except PotluckError as error:
        if wanted:
            raise
        say(f"No small model speeds {model.name} up: {error}", file=sys.stderr)
        return None


def _drafting(draft: str) -> str:
    return f"{draft} speeds it up." if draft else "No small model speeds it up."


def _pinned(model: NewModel) -> ChosenModel:
    with WaitNotice(f"Reading the files of {model.name}"):
        return model.pinned(Manifests(find_places().state / "manifests"))


def make_public(joined: JoinedSwarms, membership: Membership) -> Membership:
    """Make a swarm public, or let further people into a public one."""
    return _lead(joined, membership, lambda leader: public_seats(leader, time.time()))


def _lead(joined: JoinedSwarms, membership: Membership, decide: Callable[[Membership], Content]) -> Membership:
    """Return the membership with one more decision of its leader."""
    return joined.lead(membership.swarm.name, lambda leader: [decide(leader)], may_lag=True)[0]


def found_or_new_invite(
    joined: JoinedSwarms, membership: Membership, swarm: Swarm, wanted: schema.InviteParams
) -> schema.SwarmInvite:
    """Return an open invite, or a new one, which this computer's next node tells the members.

    Args:
        swarm: the swarm with the addresses that newcomers ask.
    """
    now_s, name = time.time(), swarm.name
    made = invite_for_all(membership)
    if made is None and not wanted.is_new:
        made = invite_made_before(membership, now_s, people=wanted.people, days=wanted.days)
    if made is None:
        offer, seed = seats(now_s, people=wanted.people or DEFAULT_PEOPLE, days=wanted.days or DEFAULT_DAYS)
        _, entries = joined.lead(name, lambda own: offering(own, offer, now_s), may_lag=True)
        membership = joined.change(name, lambda own: with_seed(own, seed))
        made = Invite(swarm, seed, entries[-1].data)
    return describe_invite(made, membership, swarm)


def _reading(change: ModelChange) -> str | None:
    return None if change.is_done else f"Reading the files of {change.model}"


CREATE = Subcommand(
    _create,
    CreatedSwarm,
    argument("name", metavar="NAME", help="letters, digits, dashes and underscores"),
    argument("model", metavar="MODEL", help=_MODEL_HELP),
    argument("--revision", help="commit, branch or tag on the hub, with no slash (default: main)"),
    argument(
        "--bootstrap",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="where members find the swarm: an address printed by `potluck bootstrap`; repeatable",
    ),
    _add_kind,
    argument(
        "--prefix",
        help="with --open: name of the layers in Petals (default: the one that Petals derives from the model)",
    ),
    _add_draft,
    add_names,
    add_move,
)
MODEL = Subcommand(
    _model,
    ModelChange,
    argument("model", metavar="MODEL", nargs="?", help=_MODEL_HELP),
    argument("--swarm", metavar="NAME", help="a swarm you founded or lead (default: the only one)"),
    _add_draft,
)
