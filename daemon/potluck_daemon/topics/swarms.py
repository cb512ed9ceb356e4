"""`join`, `create`, `invite` and `swarms.*` of the control API."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import structs
from potluck_control.api import schema
from potluck_control.api.method import Empty
from potluck_control.methods import swarms

from potluck.errors import CheckpointError, PotluckError, UsageError
from potluck.files import disk_usage_bytes
from potluck.membership.invite import Invite
from potluck.membership.joined import free_name
from potluck.membership.leadership import (
    DEFAULT_DAYS,
    DEFAULT_PEOPLE,
    ChosenModel,
    choose_draft,
    choose_model,
    invite_made_before,
    may_lead,
    offering,
    public_seats,
    require_leader,
    require_other_leader,
    seats,
    with_seed,
)
from potluck.membership.membership import Membership
from potluck.membership.own_names import guessed_names
from potluck.membership.records import Content
from potluck.model_files import Manifests
from potluck.protocol.swarm import LOCAL_REVISION, Swarm, new_swarm
from potluck.sentences import sentence
from potluck_daemon.parts import Parts
from potluck_daemon.swarms.invites import describe_invite, invite_for_all, reach
from potluck_daemon.swarms.new_model import NewModel, find_draft, find_model
from potluck_daemon.topics.topic import Topic, answers

log = logging.getLogger(__name__)

_PINNED_AT_ONCE_BYTES = 4 << 30  # read in a few seconds; a larger model is pinned by `potluck swarm model`


class SwarmsTopic(Topic):
    """The joined swarms, their invites, and the models that leaders choose for them."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._change = swarms.ModelChange()
        self._inviting = asyncio.Lock()  # simultaneous requests get the same invite

    @answers(schema.JOIN)
    async def _join(self, params: schema.JoinParams) -> schema.Joined:
        joining = self._configuration.swarms
        membership = joining.join(params.invite, name=params.person, computer=params.computer)
        return await self._joined(membership, moves=params.moves)

    @answers(swarms.OWN_NAMES)
    async def _own_names(self, _: Empty) -> swarms.UserNames:
        chosen, guess = self._configuration.swarms.names(), guessed_names()
        names = chosen.or_else(guess)
        return swarms.UserNames(names.person, names.computer, bool(chosen.person and chosen.computer))

    @answers(schema.CREATE)
    async def _create(self, params: schema.CreateParams) -> schema.Joined:
        configuration = self._configuration
        taken = configuration.swarms.load()
        if params.name in taken:
            raise UsageError(
                sentence("there is a swarm named {name} already", name=params.name),
                hint=sentence("choose another name"),
            )
        model = await find_model(params.model, *configuration.engine_place)
        swarm = new_swarm(params.name or free_name("home", taken), model.name, model.num_blocks, model.revision)
        is_to_be_served = params.moves or configuration.swarm is None
        if is_to_be_served and model.folder != configuration.settings.serve.checkpoint:
            await configuration.change({"serve.checkpoint": model.folder or None})
        membership = configuration.swarms.create(swarm, name=params.person, computer=params.computer)
        if disk_usage_bytes(Path(model.files)) <= _PINNED_AT_ONCE_BYTES:
            with contextlib.suppress(CheckpointError):  # some files are elsewhere, so members need copies of their own
                membership = await self._pin(swarm.name, model)
        if params.is_public:
            membership = await self._sign(swarm.name, lambda own: public_seats(own, time.time()))
        adding = self._add_draft(swarm.name, model)
        if model.revision == LOCAL_REVISION:
            await adding
            membership = configuration.find(swarm.name)
        else:
            self.tasks.start(adding)
        return await self._joined(membership, moves=params.moves)

    @answers(swarms.CHOOSE_MODEL)
    async def _choose_model(self, params: swarms.ChooseModelParams) -> swarms.ModelChange:
        """Change the model of a swarm. Reading its files may take minutes, so that goes on in the background."""
        if not self._change.is_done:
            raise UsageError(
                sentence("the swarm's model is being changed already"), hint=sentence("wait until that is done")
            )
        configuration = self._configuration
        membership = configuration.find(params.swarm)
        await asyncio.to_thread(require_leader, membership)
        if params.model is None:
            found = self._model_of(membership.swarm)
        else:
            found = await find_model(params.model, *configuration.engine_place)
        self._change = swarms.ModelChange(membership.swarm.name, found.name, is_done=False)
        self.tasks.start(self._change_model(membership, found, params))
        return self._change

    def _model_of(self, swarm: Swarm) -> NewModel:
        """Return the present model of a swarm, in its folder if it has one here."""
        place = self._configuration.model_place(swarm)
        revision = swarm.revision if place == swarm.model else LOCAL_REVISION
        return NewModel(swarm.model, swarm.num_blocks, revision, files=place)

    @answers(swarms.MODEL_CHANGE)
    async def _model_change(self, _: Empty) -> swarms.ModelChange:
        return self._change

    async def _change_model(self, membership: Membership, model: NewModel, params: swarms.ChooseModelParams) -> None:
        configuration, change = self._configuration, self._change
        try:
            draft = await self._find_draft(model, params.draft)
            if params.model is not None:
                membership = await self._pin(change.swarm, model)
                if configuration.serves(change.swarm):
                    await configuration.change({"serve.checkpoint": model.folder or None})
                log.info("the swarm %s changes to another model", change.swarm)
            if params.model is None or draft is not None:
                membership = await self._draft(change.swarm, draft)
            is_pinned, name = bool(membership.swarm.weights), draft.name if draft is not None else ""
            self._change = structs.replace(change, is_done=True, is_pinned=is_pinned, draft=name)
        except PotluckError as error:
            self._change = structs.replace(change, is_done=True, problem=error.sentence)
        except BaseException:
            self._change = structs.replace(change, is_done=True, problem=sentence("it did not finish"))
            raise

    async def _pin(self, name: str, model: NewModel) -> Membership:
        """Sign which model a swarm has, with its files if all of them are here. Raises PotluckError."""
        found = await self._pinned(model)
        return await self._sign(name, lambda own: choose_model(own, found))

    async def _draft(self, name: str, draft: NewModel | None) -> Membership:
        """Sign which model drafts in a swarm. Raises PotluckError."""
        found = None if draft is None else await self._pinned(draft)
        return await self._sign(name, lambda own: choose_draft(own, found))

    async def _pinned(self, model: NewModel) -> ChosenModel:
        return await asyncio.to_thread(model.pinned, Manifests(self._configuration.places.state / "manifests"))

    async def _sign(self, name: str, content: Callable[[Membership], Content]) -> Membership:
        membership, _, _ = await self._parts.members.lead(name, lambda own: [content(own)])
        return membership

    async def _find_draft(self, model: NewModel, wanted: str) -> NewModel | None:
        """Return the model that drafts for another one, as `find_draft` does. Only a `wanted` one has to be found."""
        try:
            return await find_draft(model, wanted, *self._configuration.engine_place)
        except PotluckError as error:
            if wanted:
                raise
            log.warning("nothing drafts for %s: %s", model.name, error)
            return None

    async def _add_draft(self, name: str, model: NewModel) -> None:
        """Give a new swarm the drafting model that is known to fit; the hub may take long to describe it."""
        draft = await self._find_draft(model, "")
        if draft is not None:
            with contextlib.suppress(PotluckError):  # the swarm was left
                await self._draft(name, draft)

    async def _joined(self, membership: Membership, *, moves: bool) -> schema.Joined:
        """Read the file of swarms again. A computer that serves another swarm continues with it unless it `moves`."""
        configuration, swarm = self._configuration, membership.swarm
        log.info("joined the swarm %s", swarm.name)
        configuration.reload()
        if moves and not configuration.serves(swarm.name):
            await configuration.change({"serve.swarm": swarm.name})
        return schema.Joined(swarm.name, swarm.model)

    @answers(schema.INVITE)
    async def _invite(self, params: schema.InviteParams) -> schema.SwarmInvite:
        configuration, now_s = self._configuration, time.time()
        addresses = self._supervisor.facts_of(configuration.swarm).addresses
        swarm = configuration.invited_swarm(addresses, for_others=True)
        async with self._inviting:
            joined = configuration.swarms.find(swarm.name)
            if params.is_public:
                joined = await self._sign(swarm.name, lambda own: public_seats(own, now_s))
            made = invite_for_all(joined)
            if made is None and not params.is_new:
                made = invite_made_before(joined, now_s, people=params.people, days=params.days)
            if made is None:
                made = await self._new_invite(swarm.name, params, now_s)
        return describe_invite(made, configuration.swarms.find(swarm.name), swarm)

    async def _new_invite(self, name: str, params: schema.InviteParams, now_s: float) -> Invite:
        offer, seed = seats(now_s, people=params.people or DEFAULT_PEOPLE, days=params.days or DEFAULT_DAYS)
        _, new, _ = await self._parts.members.lead(name, lambda own: offering(own, offer, now_s))
        joined = self._configuration.swarms.change(name, lambda own: with_seed(own, seed))
        return Invite(joined.swarm, seed, new[-1].data)

    @answers(swarms.CONTACT)
    async def _contact(self, _: Empty) -> swarms.Contact:
        facts = self._supervisor.facts_of(self._configuration.swarm)
        own, dialled = facts.addresses, facts.report.network.reach
        swarm = self._configuration.invited_swarm(own)
        found = reach(own, swarm.bootstrap_peers, dialled, is_for_here=self._configuration.is_for_here)
        return swarms.Contact(swarm.name, swarm.prefix, swarm.bootstrap_peers, found)

    @answers(swarms.LIST)
    async def _list(self, _: Empty) -> swarms.Swarms:
        served = self._configuration.swarm
        name = served.name if served is not None else None
        joined = self._configuration.swarms.load().values()
        return swarms.Swarms(await asyncio.to_thread(lambda: tuple(_listed(item, name) for item in joined)))

    @answers(swarms.LEAVE)
    async def _leave(self, params: swarms.LeaveParams) -> swarms.Left:
        """Leave a swarm. The computer then serves the swarm that was joined last."""
        configuration = self._configuration
        membership = configuration.swarms.load().get(params.name)
        if membership is not None and not params.is_sure:
            key = membership.swarm.founder_key
            if key is None or key.hex() not in self._parts.memory.state.codes_shown:
                require_other_leader(membership)
        configuration.swarms.remove(params.name)
        log.info("left the swarm %s", params.name)
        if configuration.settings.serve.swarm == params.name:
            await configuration.change({"serve.swarm": None})
        configuration.reload()
        return swarms.Left(params.name)


def _listed(membership: Membership, served: str | None) -> swarms.JoinedSwarm:
    swarm = membership.swarm
    return swarms.JoinedSwarm(
        swarm.name,
        swarm.model,
        swarm.num_blocks,
        swarm.is_open,
        swarm.name == served,
        may_lead=not swarm.is_open and may_lead(membership),
        draft=swarm.draft_name,
    )
