"""Reads and checks the devices of a span. Pure: whether they exist shows when they are used."""

from __future__ import annotations

import re
from collections.abc import Sequence

from potluck.errors import UsageError

MAX_DEVICES = 16


def check_devices(devices: Sequence[str]) -> tuple[str, ...]:
    """Return the devices of one span, the engine's own first.

    Raises:
        UsageError: they cannot work together.
    """
    kinds = {device.partition(":")[0] for device in devices}
    if len(devices) > 1 and kinds not in ({"cpu"}, {"cuda"}):
        raise UsageError(
            f"layers cannot be spread over {' and '.join(devices)}",
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


def parse_max_memory(text: str) -> dict[str, int]:
    """Read `cuda:0=10GiB,cpu=20GiB,disk=100GiB` as bytes of each device, as Accelerate's `max_memory` has them.

    Raises:
        UsageError: it cannot be read.
    """
    limits: dict[str, int] = {}
    for item in text.split(","):
        if not item.strip():
            continue
        device, _, amount = (part.strip() for part in item.partition("="))
        match = _AMOUNT.fullmatch(amount)
        if not _PLACE.fullmatch(device) or match is None:
            raise UsageError(f"{item.strip()!r} is not a device and its memory", hint="such as cuda:0=10GiB,cpu=20GiB")
        limits[numbered(device)] = int(float(match["number"]) * _UNITS[match["unit"].lower()])
    return limits


def numbered(device: str) -> str:
    """Return the device with its number: `cuda` is `cuda:0`."""
    return "cuda:0" if device == "cuda" else device


_PLACE = re.compile(r"cpu|disk|mps|xpu(:\d+)?|cuda(:\d+)?")
_AMOUNT = re.compile(r"(?P<number>\d{1,9}(\.\d{1,3})?) ?(?P<unit>[KMGT]i?B|B)", re.IGNORECASE)
_UNITS = {"b": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("kmgt", start=1)
    for suffix, base in (("b", 1000), ("ib", 1024))
}
