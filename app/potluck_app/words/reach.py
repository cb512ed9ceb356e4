"""Whether newcomers can reach the swarm, in words."""

from __future__ import annotations

from potluck_control.methods.swarms import Reach

from potluck_app.words.language import tr


def reach(found: Reach, ports: tuple[int, ...]) -> str:
    """Return a sentence or two. `ports`: TCP, at which this computer listens."""
    port = tr("TCP port {number}").format(number=ports[0]) if ports else tr("its TCP port")
    said = {
        Reach.DIRECT: tr("Others reach this computer: members have tried."),
        Reach.UNTRIED: tr("This computer has a public address, but no member has tried yet to reach it."),
        Reach.RELAYED: tr("Others reach this computer through a relay. It is faster if your router forwards {port}."),
        Reach.OTHERS: tr("Newcomers reach the swarm through other computers that the invite names."),
        Reach.NEARBY: tr(
            "Only computers in your own network can reach this one. "
            "For friends elsewhere, let your router forward {port}."
        ),
        Reach.HERE: tr("This swarm is for this computer alone."),
        Reach.NOWHERE: tr("Other computers cannot reach this one. Connect it to a network before you send an invite."),
    }
    return said[found].format(port=port)
