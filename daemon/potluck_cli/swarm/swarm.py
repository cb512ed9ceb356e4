"""`potluck swarm`: creates, joins, lists and shows swarms, prints invites, and makes web pages.

A swarm is one model and the people who share it. Only its members can serve and use it; the founder and admins invite.
With --public, anybody can join, and is on probation at first.
To start one: run `potluck bootstrap` on a machine that the others can reach, create the swarm with the address it
prints, serve some layers, and send an invite to friends over a channel you trust. Some people can join with it until it
expires. `potluck members` shows and removes people.

  potluck swarm create friends ./llama-70b --bootstrap /ip4/203.0.113.7/tcp/31337/p2p/12D3...
  potluck swarm join
  potluck swarm list
  potluck swarm show friends
  potluck swarm invite friends
  potluck swarm page friends
  potluck swarm model ./llama-405b --swarm friends
  potluck swarm model --draft unsloth/Llama-3.2-1B-Instruct
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shlex
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from potluck_control.api import schema
from potluck_control.methods import swarms
from potluck_control.methods.swarms import InviteReach, JoinedSwarm, ModelChange, Swarms
from potluck_control.places import find_places
from potluck_control.processes.python_command import child_environment
from potluck_control.resources import bundled_checkpoint
from potluck_daemon.swarms.invites import describe_invite, invite_for_all, no_network
from potluck_daemon.swarms.new_model import NewModel, find_draft

from potluck.errors import CheckpointError, PotluckError, UsageError
from potluck.membership.invite import Invite, decode_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import (
    DAY_S,
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
from potluck.membership.records import MAX_PEOPLE_OF_INVITE
from potluck.model_files import Manifests
from potluck.petals.names import default_prefix
from potluck.protocol.swarm import Swarm, check_revision, check_swarm, new_swarm
from potluck.sentences import sentence
from potluck_cli.daemon_access import daemon, hello_or_none, poll_until_done, with_own_daemon
from potluck_cli.options import folder_or_name, parse_duration, print_result, whole_number
from potluck_cli.parser import Subcommand, argument
from potluck_cli.swarm import page as web_page
from potluck_cli.swarm.overview import SwarmOverview, page, read_swarm
from potluck_cli.swarm_choice import (
    add_invite,
    add_invite_file,
    add_move,
    add_names,
    brings_invite,
    is_service_user,
    known_swarms,
    move_or_stay,
    own_names,
    read_invite,
    swarm_of,
)
from potluck_cli.terminal import Terminal, WaitNotice, say

if TYPE_CHECKING:
    from potluck.checkpoint.source import Checkpoint


_NOT_REACHED = {
    InviteReach.NEARBY: "only computers in your own network can join with this invite "
    "(`potluck doctor` names the port to forward)",
    InviteReach.HERE: "nobody on another computer can join with this invite: the swarm is for this one alone",
}


@dataclass(frozen=True, slots=True)
class CreatedSwarm:
    """A new swarm; the holders of `invite` may join it."""

    name: str
    prefix: str
    num_blocks: int
    invite: str


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("swarm", metavar="SWARM", nargs="?", help="a swarm you joined (default: the only one)")
    add_invite_file(parser)


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
    if args.draft and args.open:
        raise UsageError("an open swarm has no drafting model", hint="leave out --draft, or --open")
    if args.prefix and not args.open:
        raise UsageError("only an open swarm has a prefix of its own", hint="add --open, or leave --prefix out")
    if not args.bootstrap:
        raise UsageError(
            "members need an address to find the swarm",
            hint="run `potluck bootstrap`, then add --bootstrap ADDRESS",
        )
    joined = known_swarms()
    if args.name in joined.load():
        raise UsageError(
            sentence("you already have a swarm named {name}", name=args.name), hint=f"potluck leave {args.name}"
        )
    check_revision(args.revision)
    args.model = folder_or_name(args.model)
    names = OwnNames() if args.open else own_names(args)
    checkpoint = _open_checkpoint(args.model, args.revision)
    chosen = _described(checkpoint)
    model, draft = chosen.name, None if args.open else _find_draft(chosen, args.draft)
    prefix = None
    if args.open:
        prefix = args.prefix or default_prefix(model, checkpoint.config.model_type)
    swarm = new_swarm(args.name, model, checkpoint.num_blocks, checkpoint.revision, prefix=prefix)
    swarm = check_swarm(replace(swarm, bootstrap_peers=tuple(args.bootstrap)))
    membership = joined.create(swarm, is_open=args.open, name=names.person, computer=names.computer)
    if not args.open:
        with contextlib.suppress(CheckpointError):  # some files are elsewhere, so members need copies of their own
            membership = _choose(joined, membership, chosen)
        membership = _draft(joined, membership, draft)
    if args.public:
        membership = _make_public(joined, membership)
    swarm = membership.swarm
    invite = _found_or_new(joined, membership, swarm, schema.InviteParams()).invite
    if not args.json:
        who = f"{DEFAULT_PEOPLE} people may join with this invite"
        if swarm.is_open:
            who = "open to Petals peers, with none of the protections of members"
        elif args.public:
            who = "public: anybody may join with this invite, which is no secret"
        say(f"Swarm {swarm.name}: {model}, {swarm.num_blocks} layers; {who}.", file=sys.stderr)
        if draft is not None:
            say(f"{draft.name} speeds it up: it guesses tokens ahead.", file=sys.stderr)
        if hello_or_none() is None:
            say(f"Next: potluck serve {shlex.quote(args.model)} --swarm {swarm.name}", file=sys.stderr)
    is_own_copy = checkpoint.files is None and bundled_checkpoint(model) is None
    for line in move_or_stay(args, swarm.name, str(checkpoint.folder.absolute()) if is_own_copy else ""):
        say(line, file=sys.stderr)
    return print_result(args, CreatedSwarm(swarm.name, swarm.prefix, swarm.num_blocks, invite), [invite])


def _join(args: argparse.Namespace) -> int:
    """Remember a swarm by its invite, for which it asks."""
    if is_service_user():
        raise UsageError("the machine's service would not notice", hint="potluck join")
    invite, joined = read_invite(args), JoinedSwarms()
    names = own_names(args, asks_person=decode_invite(invite).ticket is None)
    swarm = joined.join(invite, name=names.person, computer=names.computer).swarm
    line = f"You can use {swarm.name} now: {swarm.model}. A member lets you in when you first use it."
    return print_result(args, schema.Joined(swarm.name, swarm.model), [line, *move_or_stay(args, swarm.name)])


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
    """Open what the user named, or the folder of a model that comes with Potluck."""
    with WaitNotice(f"Reading the model {model}", 5):
        from potluck.checkpoint.source import open_checkpoint

        return open_checkpoint(str(bundled_checkpoint(model) or model), revision=revision, progress=True)


def _described(checkpoint: Checkpoint) -> NewModel:
    name = checkpoint.folder.resolve().name if checkpoint.files is None else checkpoint.name
    return NewModel(name, checkpoint.num_blocks, checkpoint.revision, files=str(checkpoint.folder))


def _find_draft(model: NewModel, wanted: str) -> NewModel | None:
    """Return what drafts for a model. Raises PotluckError if that is `wanted` and does not fit or cannot be had."""
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


def _choose(joined: JoinedSwarms, membership: Membership, model: NewModel) -> Membership:
    """Give the swarm this model, with its files if all of them are here. Raises CheckpointError."""
    pinned = _pinned(model)
    return joined.lead(membership.swarm.name, lambda leader: [choose_model(leader, pinned)], may_lag=True)[0]


def _draft(joined: JoinedSwarms, membership: Membership, draft: NewModel | None) -> Membership:
    if draft is None:
        return membership
    pinned = _pinned(draft)
    return joined.lead(membership.swarm.name, lambda leader: [choose_draft(leader, pinned)], may_lag=True)[0]


def _pinned(model: NewModel) -> ChosenModel:
    with WaitNotice(f"Reading the files of {model.name}"):
        return model.pinned(Manifests(find_places().state / "manifests"))


def _make_public(joined: JoinedSwarms, membership: Membership) -> Membership:
    return joined.lead(membership.swarm.name, lambda leader: [public_seats(leader, time.time())], may_lag=True)[0]


def _reading(change: ModelChange) -> str | None:
    return None if change.is_done else f"Reading the files of {change.model}"


def _invite(args: argparse.Namespace) -> int:
    """Print the invite to a swarm you joined."""
    is_usual = args.swarm is None and not args.bootstrap and not brings_invite(args)
    if is_usual and find_places().is_system and hello_or_none() is not None:
        return _invite_to_service(args)
    joined = known_swarms()
    membership = with_own_daemon(swarm_of(args))
    swarm = membership.swarm
    peers = tuple(dict.fromkeys((*swarm.bootstrap_peers, *args.bootstrap)))
    if not peers:
        raise UsageError(
            "nobody could find the swarm with this invite", hint="let the daemon serve it, or add --bootstrap"
        )
    if not args.bootstrap:
        _check_reach(swarm.prefix)
    if args.public:
        membership = _make_public(joined, membership)
    swarm = check_swarm(replace(swarm, bootstrap_peers=peers))
    return _print_invite(args, _found_or_new(joined, membership, swarm, _wanted(args)))


def _wanted(args: argparse.Namespace) -> schema.InviteParams:
    days = None if args.expires is None else parse_duration(args.expires) / DAY_S
    return schema.InviteParams(args.people, days, args.public, args.new)


def _invite_to_service(args: argparse.Namespace) -> int:
    """Have the machine's service invite to the swarm that it serves; its group may ask for that."""
    made = daemon().call(schema.INVITE, _wanted(args))
    _check_reach()
    return _print_invite(args, made)


def _print_invite(args: argparse.Namespace, made: schema.SwarmInvite) -> int:
    if made.people and not args.json:
        left, day = made.people - made.used, time.strftime("%d %B", time.localtime(made.expires_at))
        say(f"{left} of {made.people} people can still join with this invite, until {day}.", file=sys.stderr)
    return print_result(args, made, [made.invite])


def _check_reach(prefix: str = "") -> None:
    """Say where nobody from elsewhere could join. `prefix`: of the swarm, if the daemon may serve another one.

    Raises:
        UsageError: nobody could join at all.
    """
    try:
        contact = daemon().call(swarms.CONTACT)
    except PotluckError:  # no daemon, or it serves nothing
        return
    if prefix not in ("", contact.prefix):
        return
    if contact.reach is InviteReach.NOWHERE:
        raise no_network()
    if contact.reach in _NOT_REACHED:
        say(f"potluck: {_NOT_REACHED[contact.reach]}", file=sys.stderr)


def _found_or_new(
    joined: JoinedSwarms, membership: Membership, swarm: Swarm, wanted: schema.InviteParams
) -> schema.SwarmInvite:
    """Return an open invite, or a new one; the next node of this computer spreads what makes that valid.

    Args:
        swarm: with the addresses that newcomers ask.
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


def _list(args: argparse.Namespace) -> int:
    """List the swarms you joined.

    Ask the daemon, or read the file while none runs; then nothing is served.
    """
    if hello_or_none() is not None:
        found = daemon().call(swarms.LIST)
    else:
        known = [joined.swarm for joined in known_swarms().load().values()]
        found = Swarms(
            tuple(JoinedSwarm(item.name, item.model, item.num_blocks, item.is_open, False) for item in known)
        )
    if not found.swarms:
        return print_result(args, found, ["You joined no swarm yet: potluck join, or potluck start --demo"])
    rows = [
        (
            item.name,
            item.model,
            str(item.num_blocks),
            "open" if item.is_open else "",
            "chosen" if item.is_served else "",
        )
        for item in found.swarms
    ]
    return print_result(args, found, Terminal().table(("SWARM", "MODEL", "LAYERS", "", ""), rows))


def _show(args: argparse.Namespace) -> int:
    """Show who serves what, how fast, and what is missing."""
    seen = read_swarm(swarm_of(args))
    return print_result(args, seen, page(seen, Terminal()))


_MODEL_HELP = "a folder in the Hugging Face layout, or a name on the hub"
ACTIONS = {
    "create": Subcommand(
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
    ),
    "join": Subcommand(_join, schema.Joined, add_invite, add_move),
    "invite": Subcommand(
        _invite,
        schema.SwarmInvite,
        _add_name,
        argument("--bootstrap", action="append", default=[], metavar="ADDRESS", help="add this address"),
        argument(
            "--people",
            type=whole_number(1, MAX_PEOPLE_OF_INVITE),
            help=f"how many may join with a new one (default: {DEFAULT_PEOPLE})",
        ),
        argument("--expires", metavar="TIME", help=f"for how long (default: {DEFAULT_DAYS}d)"),
        argument("--new", action="store_true", help="make another one in any case"),
        argument(
            "--public",
            action="store_true",
            help="make the swarm public, or let another 10,000 people into a public one",
        ),
    ),
    "list": Subcommand(_list, Swarms),
    "show": Subcommand(_show, SwarmOverview, _add_name),
    "page": Subcommand(
        web_page.run,
        web_page.PublishedPage,
        _add_name,
        web_page.add_arguments,
        help="make a web page of the swarm, in a file or over HTTP",
    ),
    "model": Subcommand(
        _model,
        ModelChange,
        argument("model", metavar="MODEL", nargs="?", help=_MODEL_HELP),
        argument("--swarm", metavar="NAME", help="a swarm you founded or lead (default: the only one)"),
        _add_draft,
    ),
}
