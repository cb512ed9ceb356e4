"""`history`, `logs` and `metrics` of the control API."""

from __future__ import annotations

import time

from potluck_control import schema
from potluck_control.log_tail import tail
from potluck_control.places import Places

from potluck_daemon.reporting.history import HistoryFile
from potluck_daemon.reporting.metrics.page import MetricsPage
from potluck_daemon.supervisor.supervisor import Supervisor
from potluck_daemon.topics.topic import Topic, answers


class RecordsTopic(Topic):
    def __init__(self, places: Places, history: HistoryFile, supervisor: Supervisor, page: MetricsPage) -> None:
        self._log_file = places.log_file
        self._history = history
        self._supervisor = supervisor
        self._page = page

    @answers(schema.HISTORY)
    async def _find(self, params: schema.HistoryParams) -> schema.HistoryPage:
        return schema.HistoryPage(self._history.find(params))

    @answers(schema.LOGS)
    async def _tail(self, params: schema.LogsParams) -> schema.Logs:
        return schema.Logs(str(self._log_file), tail(self._log_file, params.lines))

    @answers(schema.METRICS)
    async def _metrics(self, _: schema.Empty) -> schema.Metrics:
        facts = self._supervisor.facts
        age_s = round(time.monotonic() - facts.reported_at, 1) if facts.reported_at else None
        return schema.Metrics(facts.report.metrics, age_s, self._page.url or "", self._page.problem)
