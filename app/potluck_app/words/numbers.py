"""Numbers with their units, as the user's language writes them."""

from __future__ import annotations

from potluck_control.methods.earnings import MICROCREDITS
from PySide6.QtCore import QLocale

from potluck_app.words.language import tr


def rate(tokens_per_s: float) -> str:
    figure = number(tokens_per_s, 1 if tokens_per_s < 100 else 0)
    return tr("{number} tokens/s").format(number=figure)


def number(value: float, decimals: int = 0) -> str:
    """As the user's language writes numbers."""
    return QLocale().toString(float(value), "f", decimals)


def credits(microcredits: int) -> str:
    """A number of credits with as many digits as say something; the unit is written beside it."""
    value = microcredits / MICROCREDITS
    size_of = abs(value)
    steps = ((1000, 0), (100, 1), (1, 2), (0.001, 4))
    decimals = next((digits for least, digits in steps if size_of >= least), 6) if microcredits else 0
    return number(value, decimals)


def energy(watt_hours: float) -> str:
    return f"{number(watt_hours / 1000, 1)} kWh" if watt_hours >= 1000 else f"{number(watt_hours)} Wh"


def cost(amount: float) -> str:
    """In whatever currency the user gave the price in."""
    return number(amount, 2)


def duration(seconds: float) -> str:
    """In the one or two units that matter: "3 d 4 h", "2 h 5 min", "40 s"."""
    minutes, hours, days = int(seconds // 60), int(seconds // 3600), int(seconds // 86400)
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{int(seconds)} s"


def size(num_bytes: int) -> str:
    """Bytes in binary units, as memory is sold."""
    value = float(num_bytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            return f"{number(value, 0 if unit in ('B', 'KiB', 'MiB') else 1)} {unit}"
        value /= 1024
    raise AssertionError("unreachable")
