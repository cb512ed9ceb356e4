"""`models.*` of the control API."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path

from msgspec import structs
from potluck_control.method import Empty
from potluck_control.methods import models
from potluck_control.methods.models import ModelsFolder, StoredModel

from potluck.errors import PotluckError, UsageError
from potluck.files import free_bytes
from potluck.model_folder import hub_cache
from potluck.protocol.swarm import Swarm
from potluck.sentences import sentence
from potluck_daemon.metering.meters import taken_bytes
from potluck_daemon.parts import Parts
from potluck_daemon.reporting.display import needs
from potluck_daemon.swarms.model_choices import Lending, lending, on_disk, search
from potluck_daemon.swarms.stored_models import ModelMover, check_target, delete_folder, delete_model, stored_models
from potluck_daemon.topics.machine import find_devices
from potluck_daemon.topics.topic import Topic, answers

log = logging.getLogger(__name__)

_PREPARED = "blocks"  # folder of converted blocks in the cache


class ModelsTopic(Topic):
    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._prepared = parts.configuration.places.cache / _PREPARED
        self._moving: ModelMover | None = None
        self._task: asyncio.Task[None] | None = None

    @answers(models.LIST)
    async def _list(self, _: Empty) -> models.Models:
        status, move = self._parts.status(), self._move_state()  # before the look, which then sees what was moved
        folder, stored = await asyncio.to_thread(self._look)
        return models.Models(
            served=self._parts.served(),
            needs=needs(status.swarm.coverage if status.swarm is not None else ()),
            download=status.loading,
            folder=folder,
            stored=stored,
            move=move,
        )

    def _move_state(self) -> models.Move | None:
        """Return how far the move is. It is done when the new folder is in force as well."""
        if self._moving is None or self._task is None:
            return None
        state = self._moving.state
        return structs.replace(state, is_done=state.is_done and self._task.done())

    def _look(self) -> tuple[ModelsFolder, tuple[StoredModel, ...]]:
        path, settings = self._configuration.models_folder, self._configuration.settings
        swarms: list[Swarm] = []
        with contextlib.suppress(PotluckError):
            swarms = [joined.swarm for joined in self._configuration.swarms.load().values()]
        served = self._parts.served()
        model = served.model if served is not None and self._parts.loop.is_serving else ""
        stored = stored_models(path, swarms, model)
        folder = ModelsFolder(
            path=str(path),
            is_default=not settings.serve.models_folder,
            models_bytes=sum(model.bytes for model in stored),
            prepared_bytes=taken_bytes(self._prepared),
            free_bytes=free_bytes(path),
            limit_bytes=settings.limits.disk_mb << 20,
        )
        return folder, stored

    @answers(models.ON_DISK)
    async def _on_disk(self, params: models.FolderParams) -> models.Choices:
        configuration, lent = self._configuration, await self._lending()
        folder, checkpoint = configuration.models_folder, configuration.settings.serve.checkpoint
        found = await asyncio.to_thread(on_disk, folder, params.folder, checkpoint, lent)
        return models.Choices(found, lent.memory_bytes)

    @answers(models.SEARCH)
    async def _search(self, params: models.SearchParams) -> models.Choices:
        configuration, lent = self._configuration, await self._lending()
        python = configuration.engine_python
        found = await search(params.words, python, configuration.environment_of(python), lent)
        return models.Choices(found, lent.memory_bytes)

    async def _lending(self) -> Lending:
        devices = await asyncio.to_thread(lambda: tuple(find_devices()))
        limit = self._parts.status().load.memory_limit_bytes
        return lending(self._configuration.settings.serve, limit, devices)

    @answers(models.DELETE)
    async def _delete(self, params: models.DeleteParams) -> models.Deleted:
        if not params.name:
            if self._parts.loop.is_serving:
                raise UsageError(sentence("the engine may be using them"), hint=sentence("pause first"))
            return models.Deleted("", await asyncio.to_thread(delete_folder, self._prepared))
        _, stored = await asyncio.to_thread(self._look)
        model = next((model for model in stored if model.name == params.name), None)
        if model is not None and model.is_served:
            raise UsageError(
                sentence("the engine serves {name}", name=params.name), hint=sentence("pause first: potluck pause")
            )
        if model is not None and model.swarms and not params.force:
            hint = sentence("leave the swarm first, or delete it by force: it is downloaded again when it is needed")
            raise UsageError(
                sentence("the swarm {name} runs {model}", name=model.swarms[0], model=params.name), hint=hint
            )
        freed = await asyncio.to_thread(delete_model, self._configuration.models_folder, params.name)
        log.info("deleted a downloaded model, %d MiB", freed >> 20)
        return models.Deleted(params.name, freed)

    @answers(models.MOVE)
    async def _move(self, params: models.FolderParams) -> models.Models:
        """Move the files in the background."""
        if self._task is not None and not self._task.done():
            raise UsageError(sentence("models are being moved already"), hint=sentence("wait until that is done"))
        source = self._configuration.models_folder
        target = Path(params.folder) if params.folder else hub_cache(self._configuration.environment)
        total = sum(model.bytes for model in (await asyncio.to_thread(self._look))[1])
        await asyncio.to_thread(check_target, source, target, total)
        self._moving = ModelMover(source, target, total)
        self._task = self.tasks.start(self._move_all(self._moving, params.folder))
        return await self._list(Empty())

    async def _move_all(self, moving: ModelMover, folder: str) -> None:
        """Change the setting after the move: an engine that learned of it before would download everything again."""
        try:
            await asyncio.to_thread(moving.run)
        except asyncio.CancelledError:
            moving.stop()
            raise
        if not moving.state.problem:
            await self._configuration.change({"serve.models_folder": folder or None})
