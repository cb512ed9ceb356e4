"""The real network on loopback: the contract, starting, failing to start, and leaving nothing behind."""

import asyncio
import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from helpers import p2p_node
from helpers.host_contract import PATIENCE_S, WAIT_S, HostContract, echo, opened, outcome, soon
from helpers.members import founded
from helpers.own_address import PORT, own_address
from hivemind.proto import dht_pb2

from potluck.errors import NetworkError
from potluck.membership.identity import Identity
from potluck.p2p import control, libp2p, reception
from potluck.p2p.control import nameless_node
from potluck.p2p.encoding import split_peer
from potluck.p2p.finding import WHERE
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig, RecordCheck
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from tests.helpers.fork_server import start_python

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOBODY = "/ip4/127.0.0.1/tcp/9/p2p/" + Identity.generate().peer_id


class Starter:
    """Nodes of one network: each new one joins through the first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runtime_dir = folder / "run"
        self.bootstrap: tuple[str, ...] = ()

    async def start(
        self,
        identity: Identity | None = None,
        *,
        record_checks: Mapping[str, RecordCheck] | None = None,
        dht_client: bool = False,
    ) -> Libp2pHost:
        path = None
        if identity is not None:
            path = self.folder / identity.peer_id
            path.write_bytes(identity.to_bytes())
        config = HostConfig(
            identity_path=path,
            bootstrap_peers=self.bootstrap,
            dht_client=dht_client,
            record_checks=record_checks or {},
            runtime_dir=self.runtime_dir,
            patience_s=PATIENCE_S,
        )
        return await Libp2pHost.start(config)

    async def kill(self, host: Libp2pHost) -> None:
        os.kill(host._running().process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pl-") as name:  # sockets need a short path
        yield Path(name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def network(folder: Path) -> AsyncIterator[Starter]:
    starter = Starter(folder)
    first = await starter.start()
    starter.bootstrap = await first.addresses()
    yield starter
    await first.close()
    assert not list(starter.runtime_dir.iterdir()), "a node left its folder behind"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def near(network: Starter) -> AsyncIterator[Libp2pHost]:
    host = await network.start(dht_client=True)
    yield host
    await host.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def far(network: Starter) -> AsyncIterator[Libp2pHost]:
    host = await network.start()
    yield host
    await host.close()


class TestLibp2pHost(HostContract):
    pass


# -- starting ----------------------------------------------------------------------------------------------------------


async def refusal(config: HostConfig) -> NetworkError:
    with pytest.raises(NetworkError) as caught:
        await soon(Libp2pHost.start(config))
    assert caught.value.hint
    return caught.value


async def test_a_bootstrap_address_without_that_peer_is_an_error(network: Starter, folder: Path) -> None:
    another = network.bootstrap[0].rpartition("/")[0] + "/" + Identity.generate().peer_id
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts
        mute = NOBODY.replace("tcp/9/", f"tcp/{silent.getsockname()[1]}/")
        configs = [HostConfig(bootstrap_peers=(addr,), runtime_dir=folder / "run") for addr in (NOBODY, another, mute)]
        for error in await asyncio.gather(*(refusal(config) for config in configs)):
            assert "bootstrap" in f"{error.message} {error.hint}"


async def test_a_client_does_not_wait_for_a_bootstrap_peer_that_is_silent(
    network: Starter, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libp2p, "_OTHERS_S", 3600.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        peers = NOBODY.replace("tcp/9/", f"tcp/{silent.getsockname()[1]}/"), *network.bootstrap
        client = await Libp2pHost.start(HostConfig(bootstrap_peers=peers, dht_client=True, runtime_dir=folder / "run"))
        dialled, _ = silent.accept()
        with dialled:
            dialled.setblocking(False)
            with pytest.raises(BlockingIOError):  # it is dialled still
                b"".join(iter(lambda: dialled.recv(1024), b""))
        await client.close()


@pytest.mark.parametrize(
    "addr", ["", "localhost:31330", "/ip4/127.0.0.1/tcp/1", "/ip4/1.2.3.4/tcp/5/p2p/xyz", "/p2p/" * 9]
)
async def test_a_malformed_bootstrap_address_is_named(folder: Path, addr: str) -> None:
    error = await refusal(HostConfig(bootstrap_peers=(addr,), runtime_dir=folder / "run"))
    assert repr(addr) in error.message


async def test_a_port_of_another_node_is_in_use(network: Starter, folder: Path) -> None:
    addr = network.bootstrap[0].partition("/p2p/")[0]  # p2pd would share it
    error = await refusal(HostConfig(listen_addrs=(addr,), runtime_dir=folder / "run"))
    assert "port" in error.message


async def test_one_of_two_nodes_that_start_at_once_gets_the_port(network: Starter, folder: Path) -> None:
    address = f"/ip4/{own_address()}/tcp/{PORT}"
    config = HostConfig(bootstrap_peers=network.bootstrap, runtime_dir=folder / "run", listen_addrs=(address,))
    starts = (Libp2pHost.start(replace(config, patience_s=PATIENCE_S)) for _ in range(2))
    ends = await asyncio.gather(*map(soon, starts), return_exceptions=True)
    hosts = [end for end in ends if isinstance(end, Libp2pHost)]
    for host in hosts:
        await host.close()
    assert len(hosts) == 1
    assert any("in use" in str(end) for end in ends if isinstance(end, NetworkError))


async def test_the_same_identity_on_another_machine_is_refused(network: Starter, folder: Path) -> None:
    identity = Identity.generate()
    first = await network.start(identity)
    copy = folder / "copy-of-the-identity"
    copy.write_bytes(identity.to_bytes())  # another file: no lock in common
    config = HostConfig(identity_path=copy, bootstrap_peers=network.bootstrap, runtime_dir=folder / "run")
    error = await refusal(config)
    assert "identity" in error.message
    await network.kill(first)
    await first.close()
    host = await Libp2pHost.start(replace(config, patience_s=PATIENCE_S))  # as after a crash
    await host.close()


async def test_a_node_that_comes_back_to_its_port_does_not_take_itself_for_another(
    network: Starter, folder: Path
) -> None:
    address = f"/ip4/{own_address()}/tcp/{PORT}"
    reasons: list[str] = []
    config = HostConfig(
        identity_path=folder / "of-a-fixed-port",
        bootstrap_peers=network.bootstrap,
        runtime_dir=folder / "run",
        listen_addrs=(address,),
        patience_s=PATIENCE_S,
        on_waiting=reasons.append,
    )
    for _ in range(3):
        host = await soon(Libp2pHost.start(config))
        await network.kill(host)  # the network remembers where it was
        await host.close()
    assert not [reason for reason in reasons if "identity" in reason]


async def test_a_store_is_taken_though_another_node_was_restarted_many_times(network: Starter) -> None:
    identity = Identity.generate()
    for _ in range(3):
        restarted = await network.start(identity)
        await network.kill(restarted)
        await restarted.close()
    restarted, other = await network.start(identity), await network.start()
    for _ in range(3):
        assert await other.store("restarts", other.peer_id, b"value", expiration=time.time() + 60)
    await other.close()
    await restarted.close()


# -- streams and calls with peers that break the rules -----------------------------------------------------------------


@pytest.mark.parametrize("method", ["ping", "store", "find"])
async def test_garbage_to_the_directory_is_refused_before_hivemind_looks_at_it(
    near: Libp2pHost, far: Libp2pHost, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    gc.collect()  # tasks that earlier tests left
    caplog.clear()
    bodies = [b"\xff" * 100, b"\x0a\xff\xff\xff\xff\x0f", os.urandom(500)]
    for length in (1, 19, 21, 40):
        node, key = dht_pb2.NodeInfo(node_id=b"x" * length), [bytes(20)]
        request = {
            "ping": dht_pb2.PingRequest(peer=node),
            "store": dht_pb2.StoreRequest(keys=key, subkeys=[b"s"], values=[b"v"], expiration_time=[0.0], peer=node),
            "find": dht_pb2.FindRequest(keys=key, peer=node),
        }[method]
        bodies.append(request.SerializeToString())
    for body in bodies:
        call = near.call(far.peer_id, f"DHTProtocol.rpc_{method}", body, timeout_s=WAIT_S)
        assert await outcome(call) is Code.BAD_REQUEST
    gc.collect()
    assert not caplog.records
    assert await near.ping(far.peer_id, timeout_s=WAIT_S) > 0


async def test_a_stranger_that_says_nothing_is_disconnected_and_a_members_client_is_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reception, "INTERVAL_S", 0.2)
    founder = founded(Identity.generate(), now_s=time.time())
    private = await Libp2pHost.start(HostConfig(membership=founder, runtime_dir=folder / "private"))
    (address,) = await private.addresses()
    config = HostConfig(
        membership=founder.for_client(),
        bootstrap_peers=(address,),
        dht_client=True,
        runtime_dir=folder / "private",
        patience_s=PATIENCE_S,
    )
    client = await Libp2pHost.start(config)
    stream = await opened(client, private, echo)
    async with nameless_node(folder, "silent") as stranger:
        peer, where = split_peer(address)
        await stranger.connect(peer, [where], timeout_s=WAIT_S)

        async with asyncio.timeout(WAIT_S):
            while await stranger.list_peers():  # noqa: ASYNC110 (p2pd tells nobody)
                await asyncio.sleep(0.1)
    await stream.send(b"still here")
    assert await stream.receive(timeout_s=WAIT_S) == b"still here"
    await client.close()
    await private.close()


async def test_members_find_each_other_and_strangers_get_no_kademlia(folder: Path) -> None:
    founder = founded(Identity.generate(), now_s=time.time())
    config = HostConfig(membership=founder, runtime_dir=folder / "private", patience_s=PATIENCE_S)
    middle = await Libp2pHost.start(config)
    (address,) = await middle.addresses()
    one, other = [await Libp2pHost.start(replace(config, bootstrap_peers=(address,))) for _ in range(2)]
    await other.serve_unary("test.size", size_of)
    assert await one.call(other.peer_id, "test.size", b"12345", timeout_s=WAIT_S) == b"5"

    async with nameless_node(folder, "kademlia") as stranger:
        peer, where = split_peer(address)
        await stranger.connect(peer, [where], timeout_s=WAIT_S)
        with pytest.raises(RemoteError, match="protocols not supported"):
            await stranger.open_stream(peer, "/ipfs/kad/1.0.0", timeout_s=WAIT_S, max_frame_bytes=1)
        with pytest.raises(RemoteError, match="present yourself"):
            await stranger.call(peer, WHERE, other.peer_id.encode(), timeout_s=WAIT_S)
    for node in (one, other, middle):
        await node.close()


async def test_a_stranger_that_calls_on_and_on_is_thrown_out_and_a_member_is_not(
    network: Starter, folder: Path
) -> None:
    founder = founded(Identity.generate(), now_s=time.time())
    config = HostConfig(
        membership=founder,
        bootstrap_peers=network.bootstrap,
        runtime_dir=folder / "private",
        patience_s=PATIENCE_S,
    )
    private, caller = await Libp2pHost.start(config), await network.start(dht_client=True)
    await private.serve_unary("test.size", size_of)

    async def call(num_bytes: int) -> object:
        return await outcome(caller.call(private.peer_id, "test.size", bytes(num_bytes), timeout_s=WAIT_S))

    assert await call(1 << 20) is Code.BUSY
    answers = [await call(1000)]
    while answers[-1] is not Code.UNREACHABLE and len(answers) < 1000:
        answers.append(await call(1000))
    assert answers[-1] is Code.UNREACHABLE
    assert answers[0] is Code.NOT_A_MEMBER
    assert Code.BUSY in answers
    await caller.close()
    member = replace(config, dht_client=True, bootstrap_peers=await private.addresses())
    caller = await Libp2pHost.start(member)
    assert await call(1 << 20) == b"1048576"
    assert [await call(1000) for _ in range(100)] == [b"1000"] * 100
    await caller.close()
    await private.close()


async def size_of(body: bytes, caller: PeerId) -> bytes:
    return str(len(body)).encode()


async def test_a_dead_p2pd_is_reported_and_every_call_in_flight_ends(network: Starter) -> None:
    host, other = await network.start(), await network.start()

    async def never(body: bytes, caller: str) -> bytes:
        await asyncio.Event().wait()
        return b""

    await other.serve_unary("test.never", never)
    calls = [asyncio.create_task(host.call(other.peer_id, "test.never", b"", timeout_s=60)) for _ in range(3)]
    stream = await opened(host, other, echo)
    lost = asyncio.create_task(host.wait_lost())
    await network.kill(host)
    assert [await soon(outcome(call)) for call in calls] == [Code.UNREACHABLE] * 3
    await soon(lost)
    assert await soon(outcome(stream.receive())) in (None, Code.UNREACHABLE)
    assert await soon(outcome(host.call(other.peer_id, "test.never", b"", timeout_s=60))) is Code.UNREACHABLE
    assert (
        await soon(outcome(host.open_stream(other.peer_id, "x", timeout_s=60, max_frame_bytes=1))) is Code.UNREACHABLE
    )
    await host.close()
    await other.close()


async def test_a_node_whose_folder_was_removed_is_lost_until_a_restart_makes_another_folder(
    network: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.p2p.libp2p._GUARD_S", 0.1)
    host, other = await network.start(), await network.start()
    await host.serve_unary("test.size", size_of)
    assert host._directory is not None
    before = host._directory.path
    shutil.rmtree(before)
    await soon(host.wait_lost())
    await host.restart()
    async with asyncio.timeout(WAIT_S):
        while await outcome(other.call(host.peer_id, "test.size", b"four", timeout_s=5)) != b"4":
            pass
    assert host._directory.path != before
    await host.close()
    await other.close()


# -- leaving nothing behind --------------------------------------------------------------------------------------------


@asynccontextmanager
async def node_process(runtime_dir: Path, *bootstrap: str) -> AsyncIterator[tuple[subprocess.Popen[bytes], PeerId]]:
    command = [p2p_node.__file__, str(runtime_dir), *bootstrap]
    with start_python(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            line = await asyncio.to_thread(process.stdout.readline)
            yield process, PeerId(json.loads(line)["peer_id"])
        finally:
            process.kill()


async def wait_gone(pid: int) -> None:
    async with asyncio.timeout(WAIT_S):
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("guard", ["setpriv", "shell"])
async def test_a_killed_process_takes_its_p2pd_along_and_its_streams_end(
    network: Starter, near: Libp2pHost, folder: Path, guard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if guard == "shell":
        monkeypatch.setenv("PATH", str(folder / "no-setpriv"))
    runtime_dir = folder / f"killed-{guard}"
    async with node_process(runtime_dir, *network.bootstrap) as (process, peer):
        children = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
        assert any("p2pd" in psutil.Process(pid).name() for pid in children)
        assert len(children) == (1 if guard == "setpriv" else 2)
        stream = await near.open_stream(peer, p2p_node.PROTOCOL, timeout_s=WAIT_S, max_frame_bytes=1 << 20)
        await stream.send(b"x")
        assert await stream.receive(timeout_s=WAIT_S) == b"x"
    assert await outcome(stream.receive(timeout_s=WAIT_S)) in (None, Code.UNREACHABLE)
    for pid in children:
        await wait_gone(pid)
    monkeypatch.undo()
    host = await Libp2pHost.start(HostConfig(runtime_dir=runtime_dir))  # removes what the dead left
    pid = host._running().process.pid
    await host.close()
    assert not psutil.pid_exists(pid)
    assert not list(runtime_dir.iterdir())


async def test_streams_that_come_while_a_node_is_busy_are_served_when_it_is_not(
    network: Starter, near: Libp2pHost, folder: Path
) -> None:
    async with node_process(folder / "busy", *network.bootstrap) as (process, peer):
        process.send_signal(signal.SIGSTOP)  # its p2pd goes on
        streams = [
            await near.open_stream(peer, p2p_node.PROTOCOL, timeout_s=WAIT_S, max_frame_bytes=1 << 20)
            for _ in range(300)
        ]
        for stream in streams:
            await stream.send(b"x")
        process.send_signal(signal.SIGCONT)
        answers = await asyncio.gather(*(outcome(stream.receive(timeout_s=WAIT_S)) for stream in streams))
    assert set(answers) == {b"x"}


async def test_of_too_many_streams_some_are_refused_and_the_rest_closed(
    network: Starter, far: Libp2pHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(far.budgets, "max_streams", 2)
    monkeypatch.setattr(control, "MAX_REFUSED", 3)
    monkeypatch.setattr(control, "_LAST_WORDS_S", WAIT_S)
    many = await network.start(dht_client=True)
    streams = [await opened(many, far, echo) for _ in range(9)]
    for stream in streams:
        await outcome(stream.send(b"x"))  # some are closed already
    answers = Counter([await outcome(stream.receive(timeout_s=WAIT_S)) for stream in streams])
    await many.close()
    assert answers[b"x"] == 2
    assert answers[Code.BUSY] + answers[None] == 7
    assert answers[Code.BUSY] >= 3  # one more when an earlier refusal has been read meanwhile
    assert answers[None] >= 1


async def test_a_cancelled_start_leaves_no_process(folder: Path) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    starting = asyncio.create_task(Libp2pHost.start(HostConfig(runtime_dir=folder / "cancelled")))
    while {child.pid for child in psutil.Process().children(recursive=True)} == before:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    assert not list((folder / "cancelled").iterdir())
