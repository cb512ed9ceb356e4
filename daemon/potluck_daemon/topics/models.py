"""`models.*` of the control API."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from potluck_control.method import Empty
from potluck_control.methods import models
from potluck_control.methods.models import ModelsFolder, StoredModel

from potluck.errors import PotluckError, UsageError
from potluck_daemon.control.server import Handler
from potluck_daemon.metering.meters import free_bytes, taken_bytes
from potluck_daemon.policy.budget import download_folder
from potluck_daemon.reporting.display import needs
from potluck_daemon.swarms.joined import JoinedSwarms
from potluck_daemon.swarms.stored_models import Moving, check_target, delete_folder, delete_model, stored_models
from potluck_daemon.topics.settings import change_settings
from potluck_daemon.topics.topic import Topic

if TYPE_CHECKING:
    from potluck_daemon.daemon import Daemon

log = logging.getLogger(__name__)

_PREPARED = "blocks"  # folder of converted blocks in the cache


class ModelsTopic(Topic):
    def __init__(self, daemon: Daemon) -> None:
        super().__init__(daemon)
        self._moving: Moving | None = None
        self._task: asyncio.Task[None] | None = None

    def handlers(self) -> dict[str, Handler]:
        return {models.LIST.name: self._list, models.DELETE.name: self._delete, models.MOVE.name: self._move}

    async def _list(self, _: Empty) -> models.Models:
        daemon = self._daemon
        status, move = daemon.status(), self._move_state()  # before the look: what is done is seen
        folder, stored = await asyncio.to_thread(self._look)
        return models.Models(
            served=daemon.served(),
            needs=needs(status.swarm.coverage if status.swarm is not None else ()),
            download=status.loading,
            folder=folder,
            stored=stored,
            move=move,
        )

    def _move_state(self) -> models.Move | None:
        """Done when the new folder is obeyed as well."""
        if self._moving is None or self._task is None:
            return None
        state = self._moving.state
        return replace(state, is_done=state.is_done and self._task.done())

    def _look(self) -> tuple[ModelsFolder, tuple[StoredModel, ...]]:
        daemon, path = self._daemon, self._daemon.models_folder
        swarms = {}
        with contextlib.suppress(PotluckError):
            known = JoinedSwarms(daemon.places.swarms_file).load()
            swarms = {swarm.name: swarm.model for swarm in known.values()}
        served = daemon.served()
        stored = stored_models(path, swarms, served.model if served is not None and daemon.is_serving else "")
        settings = daemon.loaded.settings
        folder = ModelsFolder(
            path=str(path),
            is_default=not settings.serve.models_folder,
            models_bytes=sum(model.bytes for model in stored),
            prepared_bytes=taken_bytes(self._prepared),
            free_bytes=free_bytes(path) or 0,
            limit_bytes=settings.limits.disk_mb << 20,
        )
        return folder, stored

    @property
    def _prepared(self) -> Path:
        return self._daemon.places.cache / _PREPARED

    async def _delete(self, params: models.DeleteParams) -> models.Deleted:
        if not params.name:
            if self._daemon.is_serving:
                raise UsageError("the engine may be using them", hint="pause first")
            return models.Deleted("", await asyncio.to_thread(delete_folder, self._prepared))
        _, stored = await asyncio.to_thread(self._look)
        model = next((model for model in stored if model.name == params.name), None)
        if model is not None and model.swarms and not params.force:
            hint = "leave the swarm first, or delete it by force: it is downloaded again when it is needed"
            raise UsageError(f"the swarm {model.swarms[0]} runs {params.name}", hint=hint)
        freed = await asyncio.to_thread(delete_model, self._daemon.models_folder, params.name)
        log.info("deleted a downloaded model, %d MiB", freed >> 20)
        return models.Deleted(params.name, freed)

    async def _move(self, params: models.MoveParams) -> models.Models:
        """Into the background; without files to move it is the setting alone."""
        if self._task is not None and not self._task.done():
            raise UsageError("models are being moved already", hint="wait until that is done")
        source = self._daemon.models_folder
        target = Path(params.folder) if params.folder else download_folder(self._daemon.environment)
        total = sum(model.bytes for model in (await asyncio.to_thread(self._look))[1]) if params.moves_files else 0
        await asyncio.to_thread(check_target, source, target, total)
        if params.moves_files:
            self._moving = Moving(source, target, total)
            self._task = asyncio.create_task(self._move_all(self._moving, params.folder))
        else:
            await change_settings(self._daemon, {"serve.models_folder": params.folder or None})
        return await self._list(Empty())

    async def _move_all(self, moving: Moving, folder: str) -> None:
        """The engine is told of the new folder once everything is there: it would fetch again what is on its way."""
        try:
            await asyncio.to_thread(moving.run)
        except asyncio.CancelledError:
            moving.stop()
            raise
        if not moving.state.problem:
            await change_settings(self._daemon, {"serve.models_folder": folder or None})

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
