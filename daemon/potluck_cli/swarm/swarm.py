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
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from potluck_control.api import schema
from potluck_control.methods import swarms
from potluck_control.methods.swarms import InviteReach, JoinedSwarm, Swarms
from potluck_control.places import find_places
from potluck_daemon.swarms.invites import no_network

from potluck.errors import PotluckError, UsageError
from potluck.membership.invite import decode_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import (
    DAY_S,
    DEFAULT_DAYS,
    DEFAULT_PEOPLE,
)
from potluck.membership.records import MAX_PEOPLE_OF_INVITE
from potluck.protocol.swarm import check_swarm
from potluck_cli.daemon_access import daemon, hello_or_none, with_own_daemon
from potluck_cli.options import parse_duration, print_result, whole_number
from potluck_cli.parser import CommandGroup, Subcommand, argument
from potluck_cli.swarm.creating import CREATE, MODEL, found_or_new_invite, make_public
from potluck_cli.swarm.overview import SwarmOverview, overview_lines, read_swarm
from potluck_cli.swarm.page import PublishedPage, add_page_arguments, make_page
from potluck_cli.swarm_choice import (
    add_invite,
    add_invite_file,
    add_move,
    brings_invite,
    is_service_user,
    known_swarms,
    move_or_stay,
    own_names,
    read_invite,
    swarm_of,
)
from potluck_cli.terminal import Terminal, say

if TYPE_CHECKING:
    pass


_NOT_REACHED = {
    InviteReach.NEARBY: "only computers in your own network can join with this invite "
    "(`potluck doctor` names the port to forward)",
    InviteReach.HERE: "nobody on another computer can join with this invite: the swarm is for this one alone",
}


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("swarm", metavar="SWARM", nargs="?", help="a swarm you joined (default: the only one)")
    add_invite_file(parser)


def _join(args: argparse.Namespace) -> int:
    """Remember a swarm by its invite, for which it asks."""
    if is_service_user():
        raise UsageError("the machine's service would not notice", hint="potluck join")
    invite, joined = read_invite(args), JoinedSwarms()
    names = own_names(args, asks_person=decode_invite(invite).ticket is None)
    swarm = joined.join(invite, name=names.person, computer=names.computer).swarm
    line = f"You can use {swarm.name} now: {swarm.model}. A member lets you in when you first use it."
    return print_result(args, schema.Joined(swarm.name, swarm.model), [line, *move_or_stay(args, swarm.name)])


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
        membership = make_public(joined, membership)
    swarm = check_swarm(replace(swarm, bootstrap_peers=peers))
    return _print_invite(args, found_or_new_invite(joined, membership, swarm, _wanted(args)))


def _wanted(args: argparse.Namespace) -> schema.InviteParams:
    days = None if args.expires is None else parse_duration(args.expires) / DAY_S
    return schema.InviteParams(args.people, days, args.public, args.new)


def _invite_to_service(args: argparse.Namespace) -> int:
    """Print an invite of the machine's service to the swarm that it serves; the service's group may ask for one."""
    made = daemon().call(schema.INVITE, _wanted(args))
    _check_reach()
    return _print_invite(args, made)


def _print_invite(args: argparse.Namespace, made: schema.SwarmInvite) -> int:
    if made.people and not args.json:
        left, day = made.people - made.used, time.strftime("%d %B", time.localtime(made.expires_at))
        say(f"{left} of {made.people} people can still join with this invite, until {day}.", file=sys.stderr)
    return print_result(args, made, [made.invite])


def _check_reach(prefix: str = "") -> None:
    """Warn if computers elsewhere cannot join. `prefix`: the swarm's, if the daemon may serve another one.

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
    return print_result(args, seen, overview_lines(seen, Terminal()))


_ACTIONS = {
    "create": CREATE,
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
    "page": Subcommand(make_page, PublishedPage, _add_name, add_page_arguments),
    "model": MODEL,
}
COMMANDS = {"swarm": CommandGroup(__doc__, _ACTIONS)}
