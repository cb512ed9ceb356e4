"""An emulated internet: network namespaces joined by links with a delay, jitter, a rate, losses and a short queue.

Each namespace has one TUN device. One router process reads all of them and passes each packet on when its link would
have. Linux's netem does the same, but not every kernel has it. Links are seeded: the same packets are lost each time.
"""

import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count, permutations
from pathlib import Path

from potluck.errors import PotluckError

_DEVICE = "wan"
_NETWORK = "45.45.8"  # public, because p2pd treats private ranges otherwise; it exists in the namespaces only
_MTU = 1500
_TUNSETIFF, _IFF_TUN_NO_PI, _CLONE_NEWNET = 0x400454CA, 0x1001, 0x40000000
_PACKETS_AT_ONCE = 1000  # read from one device before the others get their turn; it queues 500
_DESTINATION = slice(16, 20)  # of an IPv4 header


@dataclass(frozen=True, slots=True)
class Link:
    """One direction between two namespaces; `loss` 1 cuts it.

    A packet waits for those before it, takes its bytes over the rate to leave, and arrives `delay_s` and up to
    `jitter_s` later, never before an earlier packet. One that would wait longer than `queue_s` is dropped.
    """

    delay_s: float
    jitter_s: float = 0.0
    rate_mbit: float = 1000.0
    loss: float = 0.0
    queue_s: float = 0.2


SAME_CONTINENT = Link(0.015, 0.002, 50.0, 0.0005)
ACROSS_AN_OCEAN = Link(0.05, 0.004, 50.0, 0.001)
MOBILE = Link(0.03, 0.015, 10.0, 0.005, queue_s=0.5)
CUT = Link(0.0, loss=1.0)


@dataclass(slots=True)
class Line:
    """What a link does to packets. `rng` decides on losses and jitter; `now` is in seconds."""

    link: Link
    rng: random.Random
    _free_at: float = 0.0  # when the last packet has left
    _last_at: float = 0.0  # when it arrives

    def arrival(self, num_bytes: int, now: float) -> float | None:
        """Return when a packet that is sent now arrives; None if it is lost."""
        link = self.link
        if self.rng.random() < link.loss or self._free_at - now > link.queue_s:
            return None
        self._free_at = max(self._free_at, now) + num_bytes * 8e-6 / link.rate_mbit
        self._last_at = max(self._last_at, self._free_at + link.delay_s + self.rng.random() * link.jitter_s)
        return self._last_at


@dataclass(frozen=True, slots=True)
class Internet:
    """Namespaces by the names of their places; `internet` makes one."""

    places: tuple[str, ...]
    _router: subprocess.Popen[str]
    _prefix: str

    def namespace(self, place: str) -> str:
        return f"{self._prefix}{self.places.index(place)}"

    def address(self, place: str) -> str:
        """The IPv4 address of a place."""
        return f"{_NETWORK}.{self.places.index(place) + 1}"

    def command(self, place: str, *command: str) -> list[str]:
        """Return the command that runs `command` there."""
        return ["ip", "netns", "exec", self.namespace(place), *command]

    @contextlib.contextmanager
    def inside(self, place: str) -> Iterator[None]:
        """Have the calling thread, and the threads and processes that it starts meanwhile, be at a place."""
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            _enter(self.namespace(place))
            yield
        finally:
            _set_namespace(before)
            os.close(before)

    def change(self, one: str, other: str, link: Link) -> None:
        """Replace the link between two places, in both directions. Packets that are on their way still arrive."""
        assert self._router.stdin is not None
        assert self._router.stdout is not None
        ends = self.places.index(one), self.places.index(other)
        self._router.stdin.write(json.dumps([*ends, asdict(link)]) + "\n")
        self._router.stdin.flush()
        self._router.stdout.readline()

    def udp_socket(self, place: str) -> socket.socket:
        """Return a socket of this process that is bound to a free port there."""
        made: list[socket.socket] = []

        def make() -> None:  # in a thread, which alone enters the namespace
            _enter(self.namespace(place))
            made.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            made[0].bind((self.address(place), 0))

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        return made[0]


@contextlib.contextmanager
def internet(
    places: Sequence[str], link: Link, links: Mapping[tuple[str, str], Link] | None = None, *, seed: int = 0
) -> Iterator[Internet]:
    """Join namespaces with a link between any two of them.

    Args:
        link: between two places that `links` does not name, in both directions.

    Raises:
        PotluckError: namespaces or TUN devices cannot be made here.
    """
    prefix = f"pli{os.getpid() % 100_000}n"
    config = {"prefix": prefix, "places": len(places), "link": asdict(link), "seed": seed}
    with contextlib.ExitStack() as made:
        try:
            for number in range(len(places)):
                name = f"{prefix}{number}"
                _run("ip", "netns", "add", name)
                made.callback(subprocess.run, ["ip", "netns", "delete", name], capture_output=True)
                _run("ip", "-n", name, "link", "set", "lo", "up")
            command = [sys.executable, "-m", "tests.helpers.internet", json.dumps(config)]
            root = Path(__file__).parents[2]
            router = made.enter_context(
                subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            made.callback(router.terminate)
            assert router.stdout is not None
            if not router.stdout.readline():
                raise OSError("the router ended")
            for number in range(len(places)):
                name = f"{prefix}{number}"
                _run("ip", "-n", name, "address", "add", f"{_NETWORK}.{number + 1}/24", "dev", _DEVICE)
                _run("ip", "-n", name, "link", "set", _DEVICE, "up", "mtu", str(_MTU))
        except (OSError, subprocess.CalledProcessError) as error:
            hint = "run as root, with iproute2 and /dev/net/tun"
            raise PotluckError("no emulated internet here", hint=hint) from error
        world = Internet(tuple(places), router, prefix)
        for (one, other), between in (links or {}).items():
            world.change(one, other, between)
        yield world


class _Router:
    """Passes packets on between devices; ends with its standard input."""

    def __init__(self, devices: list[int], link: Link, seed: int) -> None:
        self._devices = devices
        pairs = permutations(range(len(devices)), 2)
        self._lines = {pair: Line(link, random.Random(f"{seed}:{pair}")) for pair in pairs}
        self._numbers = count()  # packets that arrive at one time keep their order
        self._under_way: list[tuple[float, int, int, bytes]] = []
        self._by_address = {socket.inet_aton(f"{_NETWORK}.{number + 1}"): number for number in range(len(devices))}

    def run(self) -> None:
        """Serve until nobody writes to the standard input any more."""
        while True:
            wait_s = max(self._under_way[0][0] - time.monotonic(), 0.0) if self._under_way else None
            ready, _, _ = select.select([sys.stdin, *self._devices], [], [], wait_s)  # poll would round to milliseconds
            for source in range(len(self._devices)):  # also before a change, which is for later packets only
                self._take(source)
            if sys.stdin in ready and not self._obey(sys.stdin.readline()):
                return
            self._deliver()

    def _obey(self, line: str) -> bool:
        if line:
            one, other, link = json.loads(line)
            self._lines[one, other].link = self._lines[other, one].link = Link(**link)
            print("changed", flush=True)
        return bool(line)

    def _take(self, source: int) -> None:
        for _ in range(_PACKETS_AT_ONCE):
            try:
                packet = os.read(self._devices[source], 65_536)
            except BlockingIOError:
                return
            target = self._by_address.get(packet[_DESTINATION])
            if target is None or target == source or packet[0] >> 4 != 4:
                continue  # multicast, IPv6
            at = self._lines[source, target].arrival(len(packet), time.monotonic())
            if at is not None:
                heapq.heappush(self._under_way, (at, next(self._numbers), target, packet))

    def _deliver(self) -> None:
        while self._under_way and self._under_way[0][0] <= time.monotonic():
            _, _, target, packet = heapq.heappop(self._under_way)
            with contextlib.suppress(OSError):  # the device's own queue is full
                os.write(self._devices[target], packet)


def _open_device(namespace: str) -> int:
    _enter(namespace)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", _DEVICE.encode(), _IFF_TUN_NO_PI))
    return device


def _enter(namespace: str) -> None:
    """Move the calling thread there. Raises OSError."""
    with open(f"/var/run/netns/{namespace}") as file:
        _set_namespace(file.fileno())


def _set_namespace(descriptor: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "cannot enter the namespace")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def _main(config: str) -> None:
    told = json.loads(config)
    devices = [_open_device(f"{told['prefix']}{number}") for number in range(told["places"])]
    print("up", flush=True)
    _Router(devices, Link(**told["link"]), told["seed"]).run()


if __name__ == "__main__":
    _main(sys.argv[1])
