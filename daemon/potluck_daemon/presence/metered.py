"""Whether the network is metered, as NetworkManager knows or guesses. A phone's hotspot is an example."""

from __future__ import annotations

from jeepney import DBusAddress
from potluck_control.states import Reason

from potluck.sentences import sentence
from potluck_daemon.presence.bus import bus, properties_rule
from potluck_daemon.presence.probe import Report, Sighting, Situation, Surroundings

_NAME = "org.freedesktop.NetworkManager"
_MANAGER = DBusAddress("/org/freedesktop/NetworkManager", _NAME, _NAME)
_METERED = (1, 3)  # NM_METERED_YES, NM_METERED_GUESS_YES


class MeteredProbe:
    """Certain evidence while the network that carries the default route is metered."""

    name = sentence("Metered network")

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    async def watch(self, report: Report, situation: Situation) -> None:
        async with bus(self._surroundings.system_bus, "system") as system:
            async for _ in system.changes(properties_rule(_MANAGER)):
                await system.require(_NAME, "NetworkManager")
                is_metered = await system.get(_MANAGER, "Metered") in _METERED
                report((Sighting(Reason.METERED, sentence("this network")),) if is_metered else ())
