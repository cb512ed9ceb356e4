"""A node in a process of its own, for tests that kill it: prints its process ids and peer id, then serves an echo."""

import asyncio
import json
import os
import sys
from pathlib import Path

from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig, Stream
from potluck.protocol.blocks import PeerId

PROTOCOL = "test.echo"


async def _echo(stream: Stream, caller: PeerId) -> None:
    while (frame := await stream.receive()) is not None:
        await stream.send(frame)


async def _main(runtime_dir: str, *bootstrap_peers: str) -> None:
    config = HostConfig(bootstrap_peers=bootstrap_peers, runtime_dir=Path(runtime_dir), patience_s=30.0)
    host = await Libp2pHost.start(config)
    await host.serve_stream(PROTOCOL, _echo, max_frame_bytes=1 << 20)
    pids = {"pid": os.getpid(), "p2pd": host._running().process.pid}
    print(json.dumps({**pids, "peer_id": host.peer_id, "addrs": await host.addresses()}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
