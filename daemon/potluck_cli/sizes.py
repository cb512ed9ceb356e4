"""Numbers of bytes as people read them."""

from __future__ import annotations


def size(num_bytes: float) -> str:
    """`512 B`, `3.4 MiB`, `12 GiB`."""
    value, unit = float(num_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
