"""A TCP proxy before one server, whose connections can be cut, refused, slowed, or silent in one or both directions."""

import asyncio
import contextlib
import random

from potluck.client.loop import LoopThread
from potluck.tasks import BackgroundTasks

_CHUNK_BYTES = 1 << 16
_LOSS, _AGAIN_S = 0.15, 0.2  # the least time after which TCP sends a lost packet again on Linux


class Proxy:
    """Listens on `port` of 127.0.0.1 and passes everything on to `server_port`; runs in a thread of its own."""

    def __init__(self, server_port: int) -> None:
        self.port = 0
        self._server_port = server_port
        self._thread = LoopThread("proxy")
        self._connections = BackgroundTasks()
        self._writers: set[asyncio.StreamWriter] = set()
        self._accepts, self._is_lossy = True, False
        self._rng = random.Random(server_port)

    def start(self) -> None:
        self._thread.start()
        self._thread.run(self._listen())

    def close(self) -> None:
        self._thread.run(self._close())
        self._thread.stop()

    def stall(self, *, to_server: bool = True, to_client: bool = True) -> None:
        """Pass nothing more on in these directions, of new connections neither. What comes meanwhile is kept."""
        self._thread.run(self._set(to_server=not to_server, to_client=not to_client))

    def heal(self) -> None:
        """Accept everything, and pass it on at once, first what was kept."""
        self._accepts, self._is_lossy = True, False
        self._thread.run(self._set(to_server=True, to_client=True))

    def lose(self) -> None:
        """Delay some of what comes as if packets had to be sent again."""
        self._is_lossy = True

    def cut(self) -> None:
        """Break all present connections; new ones are accepted."""
        self._thread.run(self._cut())

    def refuse(self) -> None:
        """Break all present connections, and new ones as well."""
        self._accepts = False
        self.cut()

    async def _listen(self) -> None:
        self._to_server, self._to_client = asyncio.Event(), asyncio.Event()
        await self._set(to_server=True, to_client=True)
        self._listener = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._listener.close()
        await self._connections.cancel()

    async def _set(self, *, to_server: bool, to_client: bool) -> None:
        for event, is_open in ((self._to_server, to_server), (self._to_client, to_client)):
            if is_open:
                event.set()
            else:
                event.clear()

    async def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._accepts:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, far_writer}
        self._writers |= both
        self._connections.start(self._pass_on(reader, far_writer, self._to_server, both))
        self._connections.start(self._pass_on(far_reader, writer, self._to_client, both))

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        is_open: asyncio.Event,
        both: set[asyncio.StreamWriter],
    ) -> None:
        try:
            with contextlib.suppress(OSError):
                while data := await reader.read(_CHUNK_BYTES):
                    await is_open.wait()
                    if self._is_lossy and self._rng.random() < _LOSS:
                        await asyncio.sleep(_AGAIN_S)
                    if writer.is_closing():
                        break
                    writer.write(data)
                    await writer.drain()
                await is_open.wait()  # who cannot hear does not hear the end either
        finally:
            for each in both:
                each.transport.abort()
            self._writers -= both
