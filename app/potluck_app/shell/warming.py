"""Has the daemon start the gateway before somebody asks, because its process takes many seconds to answer first."""

from __future__ import annotations

from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, GatewayStatus, StartParams
from potluck_control.schema import Status
from potluck_control.states import State

from potluck_app.pages.page import DaemonCaller


class GatewayWarming:
    """Starts the gateway once for each `expect`, unless one runs, even for another swarm. Failures are not shown."""

    def __init__(self, link: DaemonCaller) -> None:
        self._link = link
        self._is_expected = self._is_likely = False

    def expect(self, *, is_likely: bool) -> None:
        """Expect a question. If it is not likely, the gateway is only started on a computer that serves anyway."""
        self._is_expected, self._is_likely = True, self._is_likely or is_likely

    def show_status(self, status: Status) -> None:
        may_start = status.state is State.SERVING or (self._is_likely and status.state is not State.YIELDED)
        if self._is_expected and may_start and status.swarm is not None:
            self._is_expected = self._is_likely = False
            self._link.call(gateway.STATUS, None, done=self._start_if_stopped)

    def _start_if_stopped(self, now: GatewayStatus) -> None:
        if now.state is GatewayState.STOPPED:
            self._link.call(gateway.START, StartParams())
