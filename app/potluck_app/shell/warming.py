"""Starting the gateway before somebody asks the model, because its process takes many seconds to answer first."""

from __future__ import annotations

from potluck_control.api.schema import Status
from potluck_control.methods import gateway
from potluck_control.states import Reason, State

from potluck_app.pages.calls import DaemonCaller


class GatewayWarming:
    """Starts the gateway once for each `expect`, unless one runs, even for another swarm. Failures are not shown."""

    def __init__(self, link: DaemonCaller) -> None:
        self._link = link
        self._is_expected = self._is_likely = False

    def expect(self, *, is_likely: bool) -> None:
        """Expect a question. If it is unlikely, start the gateway only on a computer that serves anyway."""
        self._is_expected, self._is_likely = True, self._is_likely or is_likely

    def show_status(self, status: Status) -> None:
        is_hopeless = status.swarm is None or status.state is State.YIELDED or status.reason is Reason.NO_ENGINE
        may_start = not is_hopeless and (status.state is State.SERVING or self._is_likely)
        if self._is_expected and may_start:
            was_likely, self._is_expected, self._is_likely = self._is_likely, False, False
            is_coming = status.state in (State.STARTING, State.JOINING)
            self._link.call(
                gateway.STATUS, None, done=lambda now: self._start_if_stopped(now, was_likely and is_coming)
            )

    def _start_if_stopped(self, now: gateway.GatewayStatus, again: bool) -> None:
        """Start the gateway unless one runs. `again`: retry at the next status, because nobody finds the swarm yet."""
        if now.state is gateway.GatewayState.STOPPED:
            failed = (lambda _: self.expect(is_likely=True)) if again else None
            self._link.call(gateway.START, gateway.StartParams(), failed=failed)
