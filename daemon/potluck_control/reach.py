"""Says how the gateway is reached: its address, and by whom beside this machine's own programs. Pure."""

from __future__ import annotations

from potluck.p2p.ports import ANY, is_loopback
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_control.settings import GatewaySettings


def gateway_url(address: str, port: int) -> str:
    """Return the address for programs of this machine, of a gateway that listens at `address`."""
    host = "127.0.0.1" if address in ANY else address
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"


def opened(settings: GatewaySettings) -> Sentence:
    """Return what the settings open beyond the names of loopback; nothing if they don't."""
    remote = () if is_loopback(settings.address) else (settings.address,)
    ways = (*remote, *settings.hosts, *settings.origins)
    if not ways:
        return NOTHING
    return sentence("whoever has a key also reaches the gateway by {ways}", ways=", ".join(ways))
