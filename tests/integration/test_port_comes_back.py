"""A standby node whose port another program has takes another one, and returns once its own is free: a real p2pd."""

import asyncio
import socket
import tempfile
from pathlib import Path

import pytest
from helpers.lone_engine import SWARM
from helpers.own_address import PORT, own_address
from potluck_control.processes import engine_messages
from potluck_control.processes.launch_spec import LaunchSpec
from potluck_engine import standby
from potluck_engine.daemon_pipe import DaemonPipe

from potluck.membership.membership import Membership
from potluck.p2p.listening import tcp_ports


class Pipe:
    """The daemon's end: what it says is put into `orders`, and `told` gets where the node is found."""

    def __init__(self) -> None:
        self.orders: asyncio.Queue[engine_messages.Said | None] = asyncio.Queue()
        self.told: asyncio.Queue[engine_messages.StandbyOnline] = asyncio.Queue()

    async def read(self) -> engine_messages.Said | None:
        return await self.orders.get()

    launch = DaemonPipe.launch

    def send(self, message: engine_messages.Said) -> None:
        if isinstance(message, engine_messages.StandbyOnline):
            self.told.put_nowait(message)

    callbacks = DaemonPipe.callbacks


async def test_a_standby_node_returns_to_its_port_when_that_is_free_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standby, "import_bare_hivemind", lambda: None)  # the whole of it is imported already
    monkeypatch.setattr(standby, "_PORT_CHECK_S", 0.1)
    with (
        tempfile.TemporaryDirectory(prefix="pl-") as folder,  # sockets need a short path
        socket.create_server((own_address(), PORT)) as other,
    ):
        address = f"/ip4/{own_address()}/tcp/{PORT}"
        spec = LaunchSpec(Membership(SWARM), "", Path(folder), listen=(address,), may_move_port=True)
        pipe = Pipe()
        await pipe.orders.put(engine_messages.Launch(spec))
        node = asyncio.create_task(standby.stand_by(pipe))  # type: ignore[arg-type]
        async with asyncio.timeout(150):
            assert PORT not in tcp_ports((await pipe.told.get()).addresses)
        other.close()
        async with asyncio.timeout(150):
            assert tcp_ports((await pipe.told.get()).addresses) == (PORT,)
            await pipe.orders.put(engine_messages.Stop())
            await node
