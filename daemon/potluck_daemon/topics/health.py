"""`doctor.*` and `diag.export` of the control API. The checks are imported on demand, to keep the daemon small."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from msgspec import structs
from potluck_control.method import Empty
from potluck_control.methods import health

from potluck_daemon.parts import Parts
from potluck_daemon.topics.topic import Topic, answers


class HealthTopic(Topic):
    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._examination = health.Examination()

    @answers(health.EXAMINE)
    async def _examine(self, _: Empty) -> health.Examination:
        """Begin an examination, unless one runs already."""
        if not self._examination.is_running:
            from potluck_daemon.doctor.checks import CHECKS

            self._examination = health.Examination(num_checks=len(CHECKS), is_running=True, at=time.time())
            self.tasks.start(self._examine_each())
        return self._examination

    @answers(health.FINDINGS)
    async def _findings(self, _: Empty) -> health.Examination:
        return self._examination

    async def _examine_each(self) -> None:
        from potluck_daemon.doctor.checks import examine, read_scene

        try:
            findings = examine(await asyncio.to_thread(read_scene, self._configuration.places, self._parts.status()))
            while (finding := await asyncio.to_thread(next, findings, None)) is not None:
                now = self._examination
                self._examination = structs.replace(now, findings=(*now.findings, finding))
        finally:
            self._examination = structs.replace(self._examination, is_running=False)

    @answers(health.EXPORT)
    async def _export(self, params: health.BundleParams) -> health.Bundle:
        from potluck_daemon.doctor.checks import read_scene
        from potluck_daemon.reporting.bundle import create_bundle, fill_bundle, words_of_person

        def write() -> health.Bundle:
            handle = create_bundle(path, replaces=False)
            return fill_bundle(handle, path, read_scene(self._configuration.places, status), words_of_person())

        status, path = self._parts.status(), Path(params.path)
        return await asyncio.to_thread(write)
