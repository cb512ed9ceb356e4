"""`history`, `logs` and `metrics` of the control API."""

from __future__ import annotations

import time

from potluck_control import schema
from potluck_control.log_tail import tail

from potluck_daemon.topics.topic import Topic, answers


class RecordsTopic(Topic):
    @answers(schema.HISTORY)
    async def _find(self, params: schema.HistoryParams) -> schema.HistoryPage:
        return schema.HistoryPage(self._parts.history.find(params))

    @answers(schema.LOGS)
    async def _tail(self, params: schema.LogsParams) -> schema.Logs:
        log_file = self._configuration.places.log_file
        return schema.Logs(str(log_file), tail(log_file, params.lines))

    @answers(schema.METRICS)
    async def _metrics(self, _: schema.Empty) -> schema.Metrics:
        facts = self._supervisor.facts
        age_s = round(time.monotonic() - facts.reported_at, 1) if facts.reported_at else None
        return schema.Metrics(facts.report.metrics, age_s, self._parts.page.url or "", self._parts.page.problem)
