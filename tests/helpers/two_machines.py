"""Two machines that see each other through one cable and nothing else: network namespaces with folders of their own."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.helpers.machine import Machine


@contextlib.contextmanager
def two_machines() -> Iterator[tuple[Machine, Machine]]:
    """Mine at 10.213.7.1 and a friend's at 10.213.7.2."""
    with contextlib.ExitStack() as made:
        pair = made.enter_context(_machine("mine")), made.enter_context(_machine("friend"))
        ends = [f"pot{os.getpid()}-{number}" for number in (1, 2)]
        _ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])  # goes with its namespaces
        for number, (one, end) in enumerate(zip(pair, ends, strict=True), start=1):
            _ip("link", "set", end, "netns", one.name)
            _ip("-n", one.name, "address", "add", f"10.213.7.{number}/24", "dev", end)
            _ip("-n", one.name, "link", "set", end, "up")
        yield pair


@contextlib.contextmanager
def _machine(name: str) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:  # sockets need a short path
        made = Machine(f"potluck-{name}-{os.getpid()}", Path(folder))
        _ip("netns", "add", made.name)
        try:
            _ip("-n", made.name, "link", "set", "lo", "up")
            yield made
        finally:
            made.end()
            _ip("netns", "delete", made.name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
