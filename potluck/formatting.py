"""Sizes, durations, layers and rounded numbers as every part of Potluck shows them to people.

Sizes are decimal (1 kB is 1000 B), as disks and networks are sold. The app passes its own `number` to write digits as
the user's language does. Settings keep the units that their names state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

Number = Callable[[float, int], str]
"""Writes a value with so many digits after the decimal point."""

_UNITS = ("B", "kB", "MB", "GB", "TB")
_MAX_RANGES = 8


def plain_number(value: float, digits: int) -> str:
    """Return `value` with a point and without separators."""
    return f"{value:.{digits}f}"


def size(num_bytes: float, number: Number = plain_number) -> str:
    """Return bytes as text: `512 B`, `3.4 MB`, `78 MB`, `16.7 GB`."""
    unit = _unit(num_bytes)
    return f"{_in_unit(num_bytes, unit, number)} {_UNITS[unit]}"


def part_size(part_bytes: float, all_bytes: float) -> str:
    """Return a part of a whole in the unit of the whole: `1.2 of 5.0 GB`."""
    unit = _unit(all_bytes)
    part = _in_unit(part_bytes, unit, plain_number)
    return f"{part} of {_in_unit(all_bytes, unit, plain_number)} {_UNITS[unit]}"


def duration(seconds: float) -> str:
    """Return a duration in the one or two units that matter: `45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def count(number: int, noun: str) -> str:
    """Return "1 member" or "2,000 members"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def layers(start: int, end: int, dash: str = "-") -> str:
    """Return blocks [start, end), as code counts them, as layers, which people count from 1: `1-12`, or `5` for one."""
    return f"{start + 1}{dash}{end}" if end - start > 1 else str(end)


def layer_ranges(blocks: Iterable[int], dash: str = "-") -> str:
    """Return ascending blocks as layers: `layer 5`, `layers 1-4, 9`."""
    spans: list[tuple[int, int]] = []
    for block in blocks:
        start = spans.pop()[0] if spans and spans[-1][1] == block else block
        spans.append((start, block + 1))
    said = ", ".join(layers(*span, dash) for span in spans[:_MAX_RANGES])
    more = f" and {len(spans) - _MAX_RANGES} more" if len(spans) > _MAX_RANGES else ""
    return f"{'layer' if said.isdecimal() else 'layers'} {said}{more}"


def rounded(value: float) -> str:
    """Return an estimate with two significant digits: `0.25`, `8.4`, `14,000`."""
    return f"{float(f'{value:.2g}'):,.6g}" if abs(value) < 1e6 else f"{float(f'{value:.2g}'):,.0f}"


def _unit(num_bytes: float) -> int:
    """Return the largest unit in which the rounded number is at least 1."""
    return next((unit for unit in range(len(_UNITS) - 1) if num_bytes < 999.5 * 1000**unit), len(_UNITS) - 1)


def _in_unit(num_bytes: float, unit: int, number: Number) -> str:
    value = num_bytes / 1000**unit
    has_digit = unit > 0 and value < (99.95 if unit > 2 else 9.95)
    return number(value, 1 if has_digit else 0)
