"""Reads and checks settings that have a form of their own, such as the weekly schedule and devices. Pure.

Hours such as `mon-fri 22:00-07:00` that end at or before their beginning last until the next day. A schedule without
lines is always open. Devices are checked when they are used, not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from potluck.errors import UsageError
from potluck.p2p.listening import check_listen_address
from potluck.protocol.blocks import Span

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_MIN = 24 * 60
WEEK_MIN = 7 * DAY_MIN
MAX_DEVICES = 16
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9_.:\[\]-]+")  # the form that browsers send: no path, no star
_HOURS_LINE = re.compile(r"(?:([a-z+\-]+)\s+)?(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")
_PLACE = re.compile(r"cpu|disk|mps|xpu(:\d+)?|cuda(:\d+)?")
_AMOUNT = re.compile(r"(?P<number>\d{1,9}(\.\d{1,3})?) ?(?P<unit>[KMGT]i?B|B)", re.IGNORECASE)
_UNITS = {"b": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("kmgt", start=1)
    for suffix, base in (("b", 1000), ("ib", 1024))
}


def check_blocks(blocks: str) -> None:
    """Raise ValueError unless a text is a span of blocks, or empty."""
    if blocks:
        Span.parse(blocks)


def check_absolute(folder: str) -> None:
    """Raise ValueError for a relative folder, which would mean another one to each program."""
    if folder and not folder.startswith("/"):
        raise ValueError(f"expected a folder that begins with /, not {folder!r}")


def check_hosts(hosts: tuple[str, ...]) -> None:
    """Raise ValueError unless all are names of hosts without a port."""
    for host in hosts:
        if _HOST.fullmatch(host) is None:
            raise ValueError(f"expected the name of a host without a port, not {host!r}")


def check_origins(origins: tuple[str, ...]) -> None:
    """Raise ValueError unless all are origins of web pages."""
    for origin in origins:
        if _ORIGIN.fullmatch(origin) is None:
            raise ValueError(
                f"expected the scheme and host of a web page, such as https://chat.example, not {origin!r}"
            )


def check_listen(addresses: tuple[str, ...]) -> None:
    """Raise ValueError unless all are multiaddrs to listen on."""
    for address in addresses:
        check_listen_address(address)


def parse_hours(lines: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Return open times as [start, end) in minutes of the week. `end` exceeds the week if Sunday's hours go on.

    Raises:
        ValueError: with one line that says what is expected.
    """
    return tuple(interval for line in lines for interval in _parse_line(line))


def _parse_line(line: str) -> list[tuple[int, int]]:
    match = _HOURS_LINE.fullmatch(line.strip().lower())
    if match is None:
        raise ValueError(f"expected hours such as 'mon-fri 22:00-07:00', not {line!r}")
    start, end = _minute(match[2], match[3], line), _minute(match[4], match[5], line)
    if end <= start:
        end += DAY_MIN
    return [(day * DAY_MIN + start, day * DAY_MIN + end) for day in _days(match[1], line)]


def _minute(hours: str, minutes: str, line: str) -> int:
    minute = int(hours) * 60 + int(minutes)
    if minute > DAY_MIN or int(minutes) >= 60:
        raise ValueError(f"expected a time between 00:00 and 24:00 in {line!r}")
    return minute


def _days(text: str | None, line: str) -> list[int]:
    if text is None:
        return list(range(7))
    days: list[int] = []
    for part in text.split("+"):
        first, _, last = part.partition("-")
        if first not in DAYS or (last or first) not in DAYS:
            raise ValueError(f"expected days such as mon, sat+sun or mon-fri in {line!r}")
        start, end = DAYS.index(first), DAYS.index(last or first)
        days += [day % 7 for day in range(start, end + 1 if end >= start else end + 8)]
    return days


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
