"""Numbers with their units, as the user's language writes them."""

from __future__ import annotations

from potluck_control import formatting
from potluck_control.methods.earnings import MICROCREDITS
from PySide6.QtCore import QLocale

from potluck_app.words.language import tr

duration = formatting.duration


def number(value: float, decimals: int = 0) -> str:
    return QLocale().toString(float(value), "f", decimals)


def rate(tokens_per_s: float) -> str:
    return tr("{number} tokens/s").format(number=number(tokens_per_s, 1 if tokens_per_s < 100 else 0))


def credits(microcredits: int) -> str:
    """Return credits with the digits that matter, without a unit."""
    value = microcredits / MICROCREDITS
    steps = ((1000, 0), (100, 1), (1, 2), (0.001, 4))
    decimals = next((digits for least, digits in steps if abs(value) >= least), 6) if microcredits else 0
    return number(value, decimals)


def energy(watt_hours: float) -> str:
    return f"{number(watt_hours / 1000, 1)} kWh" if watt_hours >= 1000 else f"{number(watt_hours)} Wh"


def cost(amount: float) -> str:
    """Return an amount in the currency in which the user gave the price."""
    return number(amount, 2)


def size(num_bytes: float) -> str:
    return formatting.size(num_bytes, number)
