"""The server on a real Unix socket in this process; hostile callers write raw bytes."""

import asyncio
import json
import os
import random
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from potluck_app.windows.piped_line import PipedLine
from potluck_control.api import messages, schema
from potluck_control.api.all_methods import METHODS
from potluck_control.api.client import ControlClient, ControlError, DaemonAwayError
from potluck_control.states import Reason, State
from potluck_daemon.control import server
from potluck_daemon.control.connection import AccessRule, ConnectionLimits, Peer
from potluck_daemon.control.events import Broadcast
from potluck_daemon.control.server import ControlServer

from potluck.errors import PotluckError, UsageError
from potluck.sentences import NOTHING, verbatim

SERVING = schema.Status(State.SERVING, Reason.NONE, verbatim("serving"), 1.0, "test")
PAUSED = schema.Status(State.PAUSED, Reason.USER, verbatim("paused"), 2.0, "test")


class Daemon:
    def __init__(self) -> None:
        self.calls: list[tuple[str, object]] = []
        self.broadcast = Broadcast()

    def handlers(self) -> dict[str, server.Handler]:
        return {name: self._handler(name) for name in METHODS}

    def _handler(self, name: str) -> server.Handler:
        async def handle(params: object) -> object:
            self.calls.append((name, params))
            if name == "join":
                raise UsageError("that is no invite", hint="ask for another")
            if name == "reload":
                raise RuntimeError("a fault of ours")
            if name == "hello":
                return schema.DaemonHello(schema.API_VERSION, "test", os.getpid(), 0.0)
            return SERVING if name in ("status", "pause", "resume") else schema.Empty()

        return handle


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


@asynccontextmanager
async def serving(
    daemon: Daemon, path: Path, limits: ConnectionLimits | None = None, uid: int = os.getuid()
) -> AsyncIterator[Path]:
    control = ControlServer(path, AccessRule(uid), daemon.handlers(), daemon.broadcast, limits)
    await control.start()
    yield path
    await control.close()


@pytest_asyncio.fixture()
async def path(tmp_path: Path, daemon: Daemon) -> AsyncIterator[Path]:
    async with serving(daemon, tmp_path / "run" / "potluckd.sock") as socket_path:
        yield socket_path


def request(method: str = "status", **more: object) -> bytes:
    return json.dumps({"id": 1, "method": method} | more).encode() + b"\n"


async def exchange(path: Path, data: bytes) -> bytes:
    """Everything the server says until it closes."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(data)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


def codes(said: bytes) -> list[str]:
    """Of the errors in what the server said; empty for a result."""
    return [json.loads(line).get("error", {}).get("code", "") for line in said.splitlines()]


async def test_parameters_arrive_and_the_result_returns_typed(path: Path, daemon: Daemon) -> None:
    assert await asyncio.to_thread(ControlClient(path).call, schema.PAUSE, schema.PauseParams(seconds=60)) == SERVING
    assert daemon.calls == [("pause", schema.PauseParams(seconds=60.0))]


async def test_a_refusal_reaches_the_caller_with_its_hint(path: Path) -> None:
    with pytest.raises(ControlError, match="no invite") as caught:
        await asyncio.to_thread(ControlClient(path).call, schema.JOIN, schema.JoinParams("x"))
    assert caught.value.hint == "ask for another"


async def test_a_fault_inside_is_named_without_its_details(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ControlError, match="reload failed inside the daemon"):
        await asyncio.to_thread(ControlClient(path).call, schema.RELOAD)
    assert "a fault of ours" in caplog.text


async def test_no_daemon_is_said_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(DaemonAwayError) as caught:
        ControlClient(tmp_path / "nothing.sock").call(schema.STATUS)
    assert "potluck start" in caught.value.hint


async def test_malformed_requests_get_an_error_and_no_handler_runs(path: Path, daemon: Daemon) -> None:
    for said, code in (
        (request("__class__"), messages.UNKNOWN_METHOD),
        (request("pause", params={"seconds": "long"}), messages.BAD_PARAMS),
        (request("pause", params={"seconds": -1}), messages.BAD_PARAMS),
        (request("pause", params=[]), messages.BAD_PARAMS),
        (request("pause", params=None), messages.BAD_PARAMS),
        (request("subscribe", params={"topics": "status"}), messages.BAD_PARAMS),
        (b'{"method":"pause","params":' + b"[" * 60_000 + b"\n", messages.BAD_REQUEST),
        (b'{"method":"pause","params":{"seconds":NaN}}\n', messages.BAD_REQUEST),
    ):
        assert codes(await exchange(path, said)) == [code], said[:80]
        assert daemon.calls == []


async def test_the_first_line_that_is_no_request_ends_the_connection(path: Path, daemon: Daemon) -> None:
    """So that a web page that reaches the socket, whose browser begins with lines of HTTP, gets no further."""
    for said in (
        *(b"hello\n", b"[]\n", b"1\n", b"{\n", b"{}\n", b'{"method":1}\n', b'{"id":{},"method":"status"}\n'),
        *(b"POST / HTTP/1.1\r\n", b"GET /events/x HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\n", b"\xff\xfe\n"),
        b"x" * (messages.MAX_REQUEST_BYTES + 2),
        request("pause", params={"x": "y" * messages.MAX_REQUEST_BYTES}),
    ):
        answer = await exchange(path, said + request("pause"))
        assert codes(answer) == [messages.BAD_REQUEST], said[:80]
        assert b'"id":1' not in answer
        assert daemon.calls == []


async def test_requests_of_one_connection_are_answered_in_their_order(path: Path) -> None:
    said = (
        request("pause", id=1) + b" \r\n\n" + request("dream", id="a") + request("join", id=-3, params={"invite": "x"})
    )
    answers = [json.loads(line) for line in (await exchange(path, said)).splitlines()]
    assert [answer["id"] for answer in answers] == [1, "a", -3]
    assert answers[2]["error"]["hint"]["text"] == "ask for another"
    assert [json.loads(await exchange(path, b'{"method":"status"}\n'))["id"]] == [0], "an id may be left out"


async def test_another_user_is_refused(tmp_path: Path, daemon: Daemon) -> None:
    async with serving(daemon, tmp_path / "s.sock", uid=os.getuid() + 1) as path:
        assert codes(await exchange(path, request())) == [messages.NOT_YOURS]
        assert daemon.calls == []


def test_the_system_service_lets_in_root_and_its_group_only() -> None:
    rule = AccessRule(uid=900, group="daemon")
    assert rule.allows(Peer(900, 900))
    assert rule.allows(Peer(0, 0))
    assert rule.allows(Peer(1, 1))  # user daemon, group daemon
    assert not rule.allows(Peer(65534, 65534))
    assert not AccessRule(uid=900).allows(Peer(0, 0))


async def test_the_socket_is_for_its_owner_alone(path: Path) -> None:
    assert [os.stat(each).st_mode & 0o777 for each in (path, path.parent)] == [0o600, 0o700]


async def test_a_slow_caller_and_an_idle_connection_are_dropped(tmp_path: Path, daemon: Daemon) -> None:
    async with serving(daemon, tmp_path / "s.sock", ConnectionLimits(request_timeout_s=0.05)) as path:
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(request()[:-5])
        assert codes(await reader.read()) == [messages.BAD_REQUEST]
        writer.close()
    async with serving(daemon, tmp_path / "s.sock", ConnectionLimits(idle_timeout_s=0.05)) as path:
        for begun in (b"", b" ", request()):
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(begun)
            assert len((await reader.read()).splitlines()) == bool(begun.strip())
            writer.close()


async def test_a_caller_that_does_not_read_is_dropped(tmp_path: Path, daemon: Daemon) -> None:
    async with serving(daemon, tmp_path / "s.sock", ConnectionLimits(write_timeout_s=0.05)) as path:
        for said in (request() * 1000, request("subscribe")):
            with socket.socket(socket.AF_UNIX) as caller:
                caller.setblocking(False)
                caller.connect(str(path))
                loop = asyncio.get_running_loop()
                with suppress(ConnectionError):
                    async with asyncio.timeout(60):
                        await loop.sock_sendall(caller, said)
                        while True:
                            daemon.broadcast.publish("setup", "x" * 1_000_000)
                            await loop.sock_sendall(caller, request())
                            await asyncio.sleep(0.005)
        assert await asyncio.to_thread(ControlClient(path).call, schema.STATUS) == SERVING


async def test_connections_above_the_limit_are_refused_and_places_come_back(tmp_path: Path, daemon: Daemon) -> None:
    async with serving(daemon, tmp_path / "s.sock", ConnectionLimits(max_connections=2)) as path:
        held = [await asyncio.open_unix_connection(path) for _ in range(2)]
        for reader, writer in held:  # accepted for sure once they are answered
            writer.write(request())
            await reader.readline()
        assert codes(await exchange(path, request())) == [messages.BUSY]
        for _, writer in held:
            writer.close()
            await writer.wait_closed()
        async with asyncio.timeout(60):
            while codes(await exchange(path, request())) != [""]:
                pass


async def test_callers_without_a_request_make_room_for_one_with(tmp_path: Path, daemon: Daemon) -> None:
    async with serving(daemon, tmp_path / "s.sock", ConnectionLimits(max_connections=3, idle_timeout_s=1.0)) as path:
        silent = [await asyncio.open_unix_connection(path) for _ in range(9)]
        assert codes(await exchange(path, request())) == [""]
        assert await silent[0][0].read() == b""
        for _, writer in silent:
            writer.close()


async def test_a_caller_that_leaves_in_the_middle_harms_nobody(path: Path) -> None:
    for cut in (1, 20, len(request()) - 1):
        _, writer = await asyncio.open_unix_connection(path)
        writer.write(request()[:cut])
        writer.close()
    assert await asyncio.to_thread(ControlClient(path).call, schema.STATUS) == SERVING


async def test_events_begin_with_the_present_status_and_a_reader_that_leaves_frees_its_stream(
    path: Path, daemon: Daemon
) -> None:
    daemon.broadcast.publish(schema.STATUS_EVENT, SERVING)
    transition = schema.Transition(3.0, State.SERVING, State.PAUSED, Reason.USER, verbatim("paused by you"))
    events = ControlClient(path).events()
    assert await asyncio.to_thread(next, events) == SERVING
    daemon.broadcast.publish(schema.TRANSITION_EVENT, transition)
    daemon.broadcast.publish(schema.STATUS_EVENT, PAUSED)
    assert await asyncio.to_thread(next, events) == transition
    assert await asyncio.to_thread(next, events) == PAUSED
    assert daemon.broadcast.num_readers == 1
    events.close()
    async with asyncio.timeout(60):
        while daemon.broadcast.num_readers:  # noqa: ASYNC110 (it says nothing when one leaves)
            await asyncio.sleep(0.005)


async def test_a_subscriber_gets_the_topics_that_it_named_beside_its_answers(path: Path, daemon: Daemon) -> None:
    reader, writer = await asyncio.open_unix_connection(path)

    async def heard() -> dict[str, object]:
        return json.loads(await reader.readline())

    writer.write(request("subscribe", id=7, params={"topics": ["transition", "of a newer version"]}))
    assert await heard() == {"id": 7, "result": {}}
    daemon.broadcast.publish(schema.STATUS_EVENT, PAUSED)
    daemon.broadcast.publish(
        schema.TRANSITION_EVENT, schema.Transition(3.0, State.SERVING, State.PAUSED, Reason.USER, verbatim("paused"))
    )
    assert (await heard())["topic"] == "transition"
    writer.write(request("status", id=8))
    assert (await heard())["id"] == 8
    writer.write(request("subscribe", id=9))
    assert await heard() == {"id": 9, "result": {}}
    assert (await heard())["topic"] == "status"
    assert daemon.broadcast.num_readers == 1, "the later subscription replaces the first"
    writer.close()


async def test_subscribers_above_the_limit_are_refused(path: Path, daemon: Daemon) -> None:
    subscriptions = [daemon.broadcast.subscribe() for _ in range(server.MAX_READERS)]
    assert codes(await exchange(path, request("subscribe"))) == [messages.BUSY]
    daemon.broadcast.end(subscriptions[0])
    events = ControlClient(path).events()
    assert await asyncio.to_thread(next, events) == SERVING
    events.close()


async def test_a_slow_reader_gets_the_newest_status_and_every_transition() -> None:
    broadcast = Broadcast()
    subscription = broadcast.subscribe()
    for tokens in range(100):
        broadcast.publish(
            schema.STATUS_EVENT, schema.Status(State.SERVING, Reason.NONE, NOTHING, 1.0, "t", tokens_today=tokens)
        )
    broadcast.publish(schema.TRANSITION_EVENT, schema.Transition(1.0, State.IDLE, State.SERVING, Reason.NONE, NOTHING))
    first = json.loads(await subscription.next())
    assert (first["topic"], first["data"]["tokens_today"]) == ("status", 99)
    assert json.loads(await subscription.next())["topic"] == "transition"


async def test_a_socket_file_of_a_dead_daemon_is_replaced(tmp_path: Path, daemon: Daemon) -> None:
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(tmp_path / "s.sock"))
    stale.close()
    async with serving(daemon, tmp_path / "s.sock") as path:
        assert await asyncio.to_thread(ControlClient(path).call, schema.STATUS) == SERVING
    assert not path.exists()


async def test_a_socket_that_somebody_removed_or_replaced_is_made_again_and_connections_stay(
    tmp_path: Path, daemon: Daemon
) -> None:
    path, other = tmp_path / "run" / "s.sock", tmp_path / "state" / "s.sock"
    control = ControlServer(path, AccessRule(os.getuid()), daemon.handlers(), daemon.broadcast)
    await control.start()
    events = ControlClient(path).events()
    assert await asyncio.to_thread(next, events) == SERVING
    assert not await control.rebind_if_gone(path)
    for remove in (lambda: shutil.rmtree(path.parent), lambda: path.unlink() or path.touch(), lambda: None):
        remove()
        place = other if path.is_socket() else path
        assert await control.rebind_if_gone(place)
        assert await asyncio.to_thread(ControlClient(place).call, schema.STATUS) == SERVING
        assert place.stat().st_mode & 0o777 == 0o600
    assert not path.exists()
    daemon.broadcast.publish(schema.STATUS_EVENT, PAUSED)
    assert await asyncio.to_thread(next, events) == PAUSED
    events.close()
    other.unlink()
    other.touch()
    await control.close()
    assert other.exists(), "it is not ours"


async def test_hello_of_another_api_version_says_what_to_do(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = ControlClient(path)
    assert (await asyncio.to_thread(client.hello, "test")).pid == os.getpid()
    monkeypatch.setattr(client, "call", lambda *_: schema.DaemonHello(schema.API_VERSION + 1, "newer", 1, 0.0))
    with pytest.raises(ControlError, match="The daemon runs version newer, this program is") as refused:
        client.hello("test")
    assert refused.value.hint == "start this program again"


async def test_a_method_that_an_older_daemon_lacks_is_explained(path: Path) -> None:
    newer = schema.Method("settings.dream", schema.Empty, schema.Empty)
    with pytest.raises(ControlError, match=r"does not know this yet \(no method 'settings.dream'\)") as refused:
        await asyncio.to_thread(ControlClient(path).call, newer)
    assert "older version" in (refused.value.hint or "")


async def test_a_path_that_no_socket_can_have_is_refused_with_a_way_out(tmp_path: Path, daemon: Daemon) -> None:
    long = tmp_path / ("Application Support " * 5) / "potluckd.sock"
    control = ControlServer(long, AccessRule(os.getuid()), daemon.handlers(), daemon.broadcast)
    with pytest.raises(UsageError, match="too long a path") as refused:
        await control.start()
    assert "XDG_RUNTIME_DIR" in str(refused.value.hint)
    assert not long.parent.exists()
    with pytest.raises(UsageError, match="too long a path"):
        ControlClient(long).call(schema.STATUS)


# -- through the real potluck control ----------------------------------------------------------------------------------

COMMAND = (sys.executable, "-m", "potluck_cli.main", "control", "--wait=0")


async def answer(_: object) -> object:
    return SERVING


async def be_silent(_: object) -> object:
    return await asyncio.Event().wait()


@pytest_asyncio.fixture()
async def broadcast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Broadcast]:
    """Of a server at the place where the command looks."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = Broadcast()
    handlers = dict.fromkeys(METHODS, answer) | {schema.RESUME.name: be_silent}
    control = ControlServer(tmp_path / "potluck/potluckd.sock", AccessRule(os.getuid()), handlers, made)
    await control.start()
    yield made
    await control.close()


@pytest_asyncio.fixture()
async def line() -> AsyncIterator[PipedLine]:
    made = PipedLine(COMMAND, lambda said: PotluckError(said.decode().strip(), hint="explained"))
    yield made
    await asyncio.to_thread(made.close)


def running() -> list[psutil.Process]:
    return [item for item in psutil.Process().children() if "control" in item.cmdline()]


async def test_calls_share_one_command_one_after_the_other(broadcast: Broadcast, line: PipedLine) -> None:
    client = ControlClient(line)
    assert await asyncio.to_thread(client.call, schema.STATUS) == SERVING
    (process,) = running()
    assert await asyncio.to_thread(client.call, schema.STATUS) == SERVING
    assert running() == [process]
    process.kill()
    psutil.wait_procs([process])
    assert await asyncio.to_thread(client.call, schema.STATUS) == SERVING, "one that died is replaced"
    await asyncio.to_thread(line.close)
    assert not running()


async def test_events_come_through_and_end_with_their_reader(broadcast: Broadcast, line: PipedLine) -> None:
    transition = schema.Transition(3.0, State.SERVING, State.PAUSED, Reason.USER, verbatim("paused by you"))
    events = ControlClient(line).events()
    assert await asyncio.to_thread(next, events) == SERVING
    broadcast.publish(schema.TRANSITION_EVENT, transition)
    assert await asyncio.to_thread(next, events) == transition
    assert await asyncio.to_thread(ControlClient(line).call, schema.STATUS) == SERVING  # beside it
    await asyncio.to_thread(events.close)
    await asyncio.to_thread(line.close)
    assert not running()


async def test_a_daemon_that_is_silent_is_away_and_its_command_ended(broadcast: Broadcast, line: PipedLine) -> None:
    client = ControlClient(line, timeout_s=2.0)
    with pytest.raises(DaemonAwayError, match="no answer in time"):
        await asyncio.to_thread(client.call, schema.RESUME)
    assert not running()


async def test_what_a_command_says_in_failing_is_explained_and_one_that_is_missing_is_named(
    line: PipedLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(DaemonAwayError, match="the daemon is not running") as away:
        await asyncio.to_thread(ControlClient(line).call, schema.STATUS)
    assert away.value.hint == "explained"
    with pytest.raises(DaemonAwayError, match="nothing-like-this"):
        ControlClient(PipedLine(("/nothing-like-this",), lambda _: PotluckError(""))).call(schema.STATUS)


def test_whatever_a_command_says_instead_of_a_daemon_is_an_error_for_people(tmp_path: Path) -> None:
    """Seeded: noise, answers that are cut, too long, or of other types, and an end with any code."""
    rng = random.Random(14)
    good = b'{"id":1,"result":{"a":1}}\n'
    for number in range(6):
        said = bytearray(good)
        for _ in range(rng.randrange(4)):
            said[rng.randrange(len(said))] = rng.randrange(256)
        said = said[: rng.randrange(len(said))] if number % 2 else said + rng.randbytes(rng.randrange(100_000))
        (tmp_path / "said").write_bytes(rng.randbytes(50) if number == 0 else said)
        line = PipedLine(("sh", "-c", f"cat {tmp_path}/said; exit {number % 3}"), lambda _: PotluckError("explained"))
        with pytest.raises(PotluckError):
            ControlClient(line, timeout_s=60).call(schema.STATUS)
        line.close()


async def test_whatever_goes_into_the_command_the_daemon_answers_the_next_caller(
    broadcast: Broadcast, line: PipedLine
) -> None:
    """Seeded: several requests at once, noise, and an input that ends anywhere."""
    rng = random.Random(14)
    good = request()
    inputs = (good * 50, rng.randbytes(300_000), good[: rng.randrange(len(good))])
    for data in inputs:
        command = await asyncio.create_subprocess_exec(
            *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await command.communicate(data)
        assert not said or said.startswith(b"{")
        assert command.returncode == 0
    assert await asyncio.to_thread(ControlClient(line).call, schema.STATUS) == SERVING
