"""A p2pd of its own, nameless and for a moment: what a stranger sees of a peer.

It listens nowhere and uses no relay, so a peer that it reaches can be reached by everybody who is where we are.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from potluck.p2p.control import P2pdClient
from potluck.p2p.reception import Terms


@contextlib.asynccontextmanager
async def nameless_node(folder: Path, name: str, *, announce: str = "") -> AsyncIterator[P2pdClient]:
    """A node that ends with the context. Raises NetworkError if it does not start.

    Args:
        folder: where its sockets live, told apart by `name`.
        announce: the address it comes from, as others see it. With one it also answers p2pd's own question whether a
            dial arrives (AutoNAT), which p2pd only asks peers with public addresses.
    """
    arguments = ["-noListenAddrs=1", "-relay=0", "-idleTimeout=30s"]
    if announce:
        arguments += ["-autonat=1", f"-announceAddrs={announce}"]
    control = await P2pdClient.start(folder, arguments, Terms(), name=name)
    try:
        yield control
    finally:
        await control.close()
