"""`models.*` of the control API."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from potluck_control.api.method import Empty
from potluck_control.methods import models
from potluck_control.methods.models import ModelsFolder, StoredModel

from potluck.errors import PotluckError, UsageError
from potluck.files import disk_usage_bytes, free_bytes
from potluck.protocol.swarm import Swarm
from potluck.sentences import sentence
from potluck_daemon.parts import Parts
from potluck_daemon.swarms.models import Lending, delete_folder, downloads, lending, on_disk, search, stored_models
from potluck_daemon.topics.machine import find_devices
from potluck_daemon.topics.topic import Topic, answers

log = logging.getLogger(__name__)

_PREPARED = "blocks"  # the folder of converted blocks in the cache


class ModelsTopic(Topic):
    """The models on this computer's disk, and those that a swarm could have."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._prepared = parts.configuration.places.cache / _PREPARED

    @answers(models.LIST)
    async def _list(self, _: Empty) -> models.Models:
        folder, stored = await asyncio.to_thread(self._read_disk)
        return models.Models(self._parts.served(), folder, stored)

    def _read_disk(self) -> tuple[ModelsFolder, tuple[StoredModel, ...]]:
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
            prepared_bytes=disk_usage_bytes(self._prepared),
            free_bytes=free_bytes(path),
            limit_bytes=settings.limits.disk_mb << 20,
        )
        return folder, stored

    @answers(models.ON_DISK)
    async def _on_disk(self, params: models.FolderParams) -> models.ModelChoices:
        configuration, lent = self._configuration, await self._lending()
        folder, checkpoint = configuration.models_folder, configuration.settings.serve.checkpoint
        found = await asyncio.to_thread(on_disk, folder, params.folder, checkpoint, lent)
        return models.ModelChoices(found, lent.memory_bytes)

    @answers(models.SEARCH)
    async def _search(self, params: models.SearchParams) -> models.ModelChoices:
        configuration, lent = self._configuration, await self._lending()
        return models.ModelChoices(await search(params.words, *configuration.engine_place, lent), lent.memory_bytes)

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
        _, stored = await asyncio.to_thread(self._read_disk)
        model = next((model for model in stored if model.name == params.name), None)
        if model is None:
            raise UsageError(
                sentence("{name} is not among the downloaded models", name=params.name),
                hint="potluck models list names them",
            )
        if model.is_served:
            raise UsageError(
                sentence("the engine serves {name}", name=params.name), hint=sentence("pause first: potluck pause")
            )
        if model.swarms and not params.force:
            hint = sentence("leave the swarm first, or delete it by force: it is downloaded again when it is needed")
            raise UsageError(
                sentence("the swarm {name} runs {model}", name=model.swarms[0], model=params.name), hint=hint
            )
        path = dict(downloads(self._configuration.models_folder)).get(model.name)
        freed = await asyncio.to_thread(delete_folder, path) if path is not None else 0
        log.info("deleted a downloaded model, %d MiB", freed >> 20)
        return models.Deleted(params.name, freed)
