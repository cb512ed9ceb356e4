"""The models of the swarms that this person has joined. A model is loaded when somebody first asks for it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from potluck_control.processes.gateway_messages import GatewaySwarm

from potluck.errors import PotluckError, SwarmError
from potluck.protocol.swarm import Swarm
from potluck_gateway.answers.answer_queue import ChatModel
from potluck_gateway.exchange import BadRequestError, ModelFacts


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model, and what ends its use of the swarm."""

    chat: ChatModel
    close: Callable[[], None]


class OfferedModels:
    """The models by name: that of the swarm's model, or MODEL@SWARM where an earlier swarm has the same one."""

    def __init__(self, swarms: Sequence[GatewaySwarm], load: Callable[[GatewaySwarm], LoadedModel]) -> None:
        """Offer the models of swarms, the first one to requests that name none. `load` may raise PotluckError."""
        self._load = load
        self._lock = threading.Lock()
        self._loaded: dict[Swarm, Future[LoadedModel]] = {}
        self.offer(swarms)

    def offer(self, swarms: Sequence[GatewaySwarm]) -> None:
        """Offer these swarms, and close the models of those that are gone or have another model."""
        named: dict[str, GatewaySwarm] = {}
        for each in swarms:
            swarm = each.membership.swarm
            named[f"{swarm.model}@{swarm.name}" if swarm.model in named else swarm.model] = each
        with self._lock:
            self._swarms = named
            gone = self._loaded.keys() - {each.identity for each in swarms}
            ended = [self._loaded.pop(identity) for identity in gone]
        for future in ended:
            future.add_done_callback(_close)

    def names(self) -> list[str]:
        """Return the names of all models, the default first."""
        return list(self._swarms)

    def find(self, wanted: str | None) -> str:
        """Return the name of the model that a request means. Raises BadRequestError."""
        names, wanted = self.names(), (wanted or "").removesuffix(":latest")  # programs of Ollama add `:latest`
        if wanted and wanted not in names:
            raise BadRequestError(f"the model here is {' or '.join(names)}, not {wanted}", 404, "model_not_found")
        return wanted or names[0]

    def prefix_of(self, name: str) -> str:
        """Return the prefix of the swarm that has a model; empty if it was left."""
        offered = self._swarms.get(name)
        return "" if offered is None else offered.membership.swarm.prefix

    def facts(self, name: str) -> ModelFacts | None:
        """Return what is known of a model; None while it is not loaded."""
        swarm = self._swarms.get(name)
        future = swarm and self._loaded.get(swarm.identity)
        return future.result().chat.facts if future and future.done() and not future.exception() else None

    def load(self, wanted: str | None) -> Future[LoadedModel]:
        """Return a model that is loaded, in a thread of its own, from when it is first asked for.

        The future ends with SwarmError if it cannot be loaded now. The next request tries again.

        Raises:
            BadRequestError: there is no such model.
        """
        with self._lock:
            swarm = self._swarms[self.find(wanted)]
            future = self._loaded.get(swarm.identity)
            if future is None:
                future = self._loaded[swarm.identity] = Future()
                future.set_running_or_notify_cancel()  # callers that leave don't cancel it for the others
                threading.Thread(target=self._fill, args=(future, swarm), daemon=True).start()
        return future

    def _fill(self, future: Future[LoadedModel], swarm: GatewaySwarm) -> None:
        try:
            loaded = self._load(swarm)
            gc.collect()
            gc.freeze()  # torch and transformers leave a million objects, which each full collection would walk
            future.set_result(loaded)
        except Exception as error:
            with self._lock:
                if self._loaded.get(swarm.identity) is future:  # else it was left and joined again
                    del self._loaded[swarm.identity]
            future.set_exception(SwarmError(error.whole) if isinstance(error, PotluckError) else error)


def _close(future: Future[LoadedModel]) -> None:
    if future.exception() is None:
        future.result().close()
