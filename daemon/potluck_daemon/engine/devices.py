"""Which devices may hold a span together. Pure: whether they are there is found out when they are used."""

from __future__ import annotations

from collections.abc import Sequence

from potluck.errors import UsageError

MAX_DEVICES = 16


def check_devices(devices: Sequence[str]) -> tuple[str, ...]:
    """The devices of one span, the engine's own first.

    Raises:
        UsageError: they cannot work together.
    """
    kinds = {device.partition(":")[0] for device in devices}
    if len(devices) > 1 and kinds not in ({"cpu"}, {"cuda"}):
        raise UsageError(
            f"blocks cannot be spread over {' and '.join(devices)}",
            hint="name several CUDA devices, such as cuda:0,cuda:1",
        )
    for device in devices:
        if kinds == {"cuda"} and len(devices) > 1 and not device.removeprefix("cuda:").isdecimal():
            raise UsageError(f"which CUDA device is {device!r}?", hint="number them: cuda:0,cuda:1")
        if device.startswith("cuda:") and devices.count(device) > 1:
            raise UsageError(f"{device} is named more than once", hint="each device once")
    if len(devices) > MAX_DEVICES:
        raise UsageError(f"{len(devices)} devices are too many", hint=f"at most {MAX_DEVICES}")
    return tuple(devices)


def threads_each(threads: int, devices: Sequence[str]) -> int:
    """CPU threads of one rank, of those that the engine may use; ranks on a CPU share them."""
    shares = sum(device == "cpu" for device in devices) or 1
    return max(threads // shares, 1)


def num_memories(devices: Sequence[str]) -> int:
    """How many devices have memory of their own; ranks on a CPU share it."""
    return max(len(set(devices)), 1)
