"""Learns how far honest results of one model differ, so that a client knows how much of a difference is a lie.

A prefill rounds otherwise than the steps that it repeats. By how much depends on number format, family, weights and
device: two windows in bfloat16 differ ten times as much in one model as in another. So a client lets some auditors
compute their window both ways. The audited server has no part in that, and each auditor counts once.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Hashable
from typing import Final, NamedTuple

from potluck.audit.choices import WINDOW_TOKENS
from potluck.protocol.blocks import PersonId
from potluck.protocol.records import CACHE_QUANTIZATIONS, NumberFormat


class Honest(NamedTuple):
    """How far two honest computations of one window are apart, or may be.

    Attributes:
        difference: see `differences`.
        gap: how far below a router's own choices another one's may score, see `potluck.blocks.routing.Given`.
    """

    difference: float
    gap: float = 0.0


_WIDEST: Final = {"float32": Honest(2e-3, 1e-3), "float16": Honest(2e-2, 0.02), "bfloat16": Honest(8e-2, 0.1)}
"""Before anything was learned, by dtype of the computation: above what nearly all of 29 tiny families differ by."""

_WIDEST_QUANTIZED: Final = Honest(0.16, 0.2)
"""Of quantised weights below float32, where few tokens and many go through different kernels, and of keys and values in
int8, which a stateless call computes anew: 13 of 14 families differ by up to 0.06 in six blocks, gpt-oss by 0.15."""

_PACKED: Final = 0.03
"""What packing may add, which rounds outputs (`potluck.wire.packing`). It changes ordinary ones by 0.009. In the worst
case one value of each 32 dwarfs the others, and half a step for each of these makes 0.026."""

_NARROWEST: Final = {"float32": Honest(2e-3, 1e-3), "float16": Honest(2e-3, 5e-3), "bfloat16": Honest(8e-3, 0.02)}
"""Whatever was learned, by dtype of the computation: auditors whose prefill equals their steps bit by bit say nothing
about devices that round otherwise. Two roundings of each number to bfloat16 make 4e-3."""

_MARGIN: Final = 2.0  # windows of one model are rarely further apart than this times their median
_WINDOWS: Final = 3  # of each person
_FEWEST_PEOPLE: Final = 3  # so that one of them alone cannot choose the limit
_MOST_PEOPLE: Final = 5


class HonestDifferences:
    """What auditors differed by from themselves, by kind of window. A kind is a span in a number format."""

    def __init__(self) -> None:
        self._found: defaultdict[Hashable, dict[PersonId, list[Honest]]] = defaultdict(dict)

    def wants(self, kind: Hashable, person: PersonId) -> bool:
        """Return whether this person's server should compute a window of this kind both ways."""
        people = self._found[kind]
        return len(people.get(person, ())) < _WINDOWS and (person in people or len(people) < _MOST_PEOPLE)

    def note(self, kind: Hashable, person: PersonId, found: Honest) -> None:
        """Take notice of a whole window that a person's server computed both ways."""
        each = (value if math.isfinite(value) else math.inf for value in found)
        self._found[kind].setdefault(person, []).append(Honest(*each))

    def forget(self, person: PersonId) -> None:
        """Drop what came from a person who computed wrongly."""
        for people in self._found.values():
            people.pop(person, None)

    def limit(
        self, kind: Hashable, form: NumberFormat, *, packs: bool = False, tokens: int = WINDOW_TOKENS
    ) -> Honest | None:
        """Return the largest difference of honest servers in this number format; None: it is not known.

        Args:
            packs: outputs are rounded so that they can travel packed.
            tokens: of the window.
        """
        widest, narrowest = _WIDEST.get(form.dtype), _NARROWEST.get(form.dtype)
        if widest is None or narrowest is None or form.cache not in CACHE_QUANTIZATIONS:
            return None
        if (form.quantization != "none" and form.dtype != "float32") or form.cache == "int8":
            widest = _WIDEST_QUANTIZED
        if packs:
            widest = widest._replace(difference=math.hypot(widest.difference, _PACKED))
            narrowest = narrowest._replace(difference=_PACKED)
        people = self._found[kind]
        if len(people) < _FEWEST_PEOPLE:
            return widest
        usual = (
            statistics.median(statistics.median(each[part] for each in found) for found in people.values())
            for part in range(2)
        )
        return Honest(
            *(
                min(most, max(_MARGIN * middle, least))
                for most, middle, least in zip(widest, usual, narrowest, strict=True)
            )
        )
