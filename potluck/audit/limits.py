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


class Limit(NamedTuple):
    """The largest differences of honest servers.

    Attributes:
        difference, gap: see `Honest`.
        times: how much more than a third server's steps and prefill of the window a difference must be to be a lie.
    """

    difference: float
    gap: float
    times: float


class Honest(NamedTuple):
    """Differences between two honest computations of one window, or a bound on them.

    Attributes:
        difference: see `differences`.
        gap: how far below a router's own choices another one's may score, see
            `potluck.blocks.span.expert_choices.GivenChoices`.
    """

    difference: float
    gap: float = 0.0


_WIDEST: Final = {"float32": Honest(2e-3, 0.01), "float16": Honest(2e-2, 0.1), "bfloat16": Honest(8e-2, 0.3)}
"""Before anything was learned, by dtype of the computation: above what nearly all of 29 tiny families differ by. The
largest gaps in 12 windows of four families with experts were 0, 0.02 and 0.08."""

_WIDEST_QUANTIZED: Final = Honest(0.16, 0.6)
"""Of quantised weights below float32, where few tokens and many go through different kernels, and of keys and values in
int8, which a stateless call computes anew: 13 of 14 families differ by up to 0.06 in six blocks, gpt-oss by 0.15. The
largest gap was 0.3."""

_PACKED: Final = 0.03
"""What packing may add, which rounds outputs (`potluck.wire.packing`). It changes ordinary ones by 0.009. In the worst
case one value of each 32 dwarfs the others, and half a step for each of these makes 0.026."""

_NARROWEST: Final = {"float32": Honest(2e-3, 1e-3), "float16": Honest(2e-3, 0.02), "bfloat16": Honest(8e-3, 0.1)}
"""Whatever was learned, by dtype of the computation: auditors whose prefill equals their steps bit by bit say nothing
about devices that round otherwise. Two roundings of each number to bfloat16 make 4e-3."""

_TIMES: Final = 1.4
"""Windows of one model are rarely further apart than this times their median, or than another server's own steps and
prefill of the same window: at most 1.38 and 1.05 times in 72 windows of each of five families in 16 bits. With
weights in int8 it is no more."""

_TIMES_COARSE: Final = 2.5
"""The same in int4, where a few rows and many go through different kernels, and with keys and values in int8: up to 1.8
times, in phi3."""

_GAP_TIMES: Final = 6.0  # times the median gap: those of a window's worst token vary more, in mixtral up to nine times
_SHORT: Final = 3.0
"""Single tokens differ up to 5.5 times as much as whole windows do in the median, two 4.1, four 2.4 and eight 1.65
times, in nine families and five formats. A limit that is one and this over the number of tokens times as wide leaves as
much room as that of whole windows."""

_WINDOWS: Final = 3  # windows that count of each person
_FEWEST_PEOPLE: Final = 3  # one person alone must not choose the limit
_MOST_PEOPLE: Final = 5


class HonestDifferences:
    """The differences of auditors from themselves, by kind of window. A kind is a span in a number format."""

    def __init__(self) -> None:
        self._found: defaultdict[Hashable, dict[PersonId, list[Honest]]] = defaultdict(dict)

    def wants(self, kind: Hashable, person: PersonId) -> bool:
        """Return whether this person's server should compute a window of this kind both ways."""
        people = self._found[kind]
        return len(people.get(person, ())) < _WINDOWS and (person in people or len(people) < _MOST_PEOPLE)

    def record(self, kind: Hashable, person: PersonId, found: Honest) -> None:
        """Record a whole window that a person's server computed both ways."""
        each = (value if math.isfinite(value) else math.inf for value in found)
        self._found[kind].setdefault(person, []).append(Honest(*each))

    def forget(self, person: PersonId) -> None:
        """Drop what came from a person who computed wrongly."""
        for people in self._found.values():
            people.pop(person, None)

    def limit(
        self, kind: Hashable, form: NumberFormat, *, packs: bool = False, tokens: int = WINDOW_TOKENS
    ) -> Limit | None:
        """Return the largest difference of honest servers in this number format; None: it is not known.

        Args:
            packs: outputs are rounded so that they can travel packed.
            tokens: of the window.
        """
        widest, narrowest, times = _WIDEST.get(form.dtype), _NARROWEST.get(form.dtype), _TIMES
        if widest is None or narrowest is None or form.cache not in CACHE_QUANTIZATIONS:
            return None
        if (form.quantization != "none" and form.dtype != "float32") or form.cache == "int8":
            widest = _WIDEST_QUANTIZED
            times = _TIMES if (form.quantization, form.cache) == ("int8", "none") else _TIMES_COARSE
        if packs:
            widest = widest._replace(difference=math.hypot(widest.difference, _PACKED))
            narrowest = narrowest._replace(difference=_PACKED)
        people = self._found[kind]
        if len(people) < _FEWEST_PEOPLE:
            found = widest
        else:
            usual = (
                statistics.median(statistics.median(each[part] for each in of_person) for of_person in people.values())
                for part in range(len(Honest._fields))
            )
            parts = zip(widest, narrowest, (times, _GAP_TIMES), usual, strict=True)
            found = Honest(*(min(most, max(factor * middle, least)) for most, least, factor, middle in parts))
        wider = 1.0 + _SHORT / tokens if tokens < WINDOW_TOKENS else 1.0
        return Limit(found.difference * wider, found.gap, times)
