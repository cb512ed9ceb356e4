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

from potluck.audit.differences import Apart
from potluck.protocol.blocks import PersonId
from potluck.protocol.records import CACHE_QUANTIZATIONS, NumberFormat

_WIDEST: Final = {"float32": 2e-3, "float16": 2e-2, "bfloat16": 8e-2}
"""Before anything was learned, by dtype of the computation: above what nearly all of 29 tiny families differ by."""

_WIDEST_QUANTIZED: Final = 0.16
"""Of quantised weights below float32, where few tokens and many go through different kernels, and of keys and values in
int8, which a stateless call computes anew: 13 of 14 families differ by up to 0.06 in six blocks, gpt-oss by 0.15."""

_ROUTED: Final = 0.5
"""Of most tokens of a model with experts, below float32: rounding sends a token to another expert now and then, and all
tokens after it attend to that one. Honest windows of tiny models differed by up to 0.25 in int4 and 0.13 in float16,
where others differ by 0.002, so nothing narrower can be learned. The tokens that differ least tell."""

_PACKED: Final = 0.03
"""What packing may add, which rounds outputs (`potluck.wire.packing`). It changes ordinary ones by 0.009. In the worst
case one value of each 32 dwarfs the others, and half a step for each of these makes 0.026."""

_NARROWEST: Final = {"float32": 2e-3, "float16": 2e-3, "bfloat16": 8e-3}
"""Whatever was learned, by dtype of the computation: auditors whose prefill equals their steps bit by bit say nothing
about devices that round otherwise. Two roundings of each number to bfloat16 make 4e-3."""

_MARGIN: Final = 2.0  # windows of one model are rarely further apart than this times their median
_ROUTED_MARGIN: Final = 2.0
"""Of the tokens that differ least, in models with experts in 16 bits, times the median of whole windows. Honest windows
after which nobody could tell who is right reach 1.6 (mixtral in bfloat16), noise of three medians makes 2.5."""

_ROUTED_QUANTIZED_MARGIN: Final = 2.75
"""The same for quantised models with experts: honest windows reach 2.6 (mixtral in int4), noise makes 2.9."""

_WINDOWS: Final = 3  # of each person
_FEWEST_PEOPLE: Final = 3  # so that one of them alone cannot choose the limit
_MOST_PEOPLE: Final = 5


class HonestDifferences:
    """What auditors differed by from themselves, by kind of window. A kind is a span in a number format."""

    def __init__(self, *, has_experts: bool = False) -> None:
        """`has_experts`: whether the model sends tokens to some of its experts."""
        self._has_experts = has_experts
        self._found: defaultdict[Hashable, dict[PersonId, list[float]]] = defaultdict(dict)

    def wants(self, kind: Hashable, person: PersonId) -> bool:
        """Return whether this person's server should compute a window of this kind both ways."""
        people = self._found[kind]
        return len(people.get(person, ())) < _WINDOWS and (person in people or len(people) < _MOST_PEOPLE)

    def note(self, kind: Hashable, person: PersonId, difference: Apart) -> None:
        """Take notice of a window that a person's server computed both ways."""
        self._found[kind].setdefault(person, []).append(difference.most if math.isfinite(difference.most) else math.inf)

    def forget(self, person: PersonId) -> None:
        """Drop what came from a person who computed wrongly."""
        for people in self._found.values():
            people.pop(person, None)

    def limit(self, kind: Hashable, form: NumberFormat, *, packs: bool = False) -> Apart | None:
        """Return the largest difference of honest servers in this number format; None: it is not known.

        Args:
            packs: outputs are rounded so that they can travel packed.
        """
        allowed = _allowed(form, has_experts=self._has_experts, packs=packs)
        if allowed is None:
            return None
        people = self._found[kind]
        if len(people) < _FEWEST_PEOPLE:
            return allowed.widest
        usual = statistics.median(statistics.median(differences) for differences in people.values())
        found = max(allowed.margin * usual, _PACKED if packs else _NARROWEST[form.dtype])
        most, least = allowed.widest
        return Apart(min(most, found), least) if math.isinf(least) else Apart(most, min(least, found))


class _Allowed(NamedTuple):
    """The largest limits of a format, and how many times the median of honest windows the narrower one is.

    That of the tokens that differ least is infinite where the other one is narrow: without experts, and in float32.
    """

    widest: Apart
    margin: float


def _allowed(form: NumberFormat, *, has_experts: bool, packs: bool) -> _Allowed | None:
    widest = _WIDEST.get(form.dtype)
    if widest is None or form.cache not in CACHE_QUANTIZATIONS:
        return None
    is_float32 = form.dtype == "float32"
    is_quantized = (form.quantization != "none" and not is_float32) or form.cache == "int8"
    if is_quantized:
        widest = _WIDEST_QUANTIZED
    if packs:
        widest = math.hypot(widest, _PACKED)
    if has_experts and (is_quantized or not is_float32):
        return _Allowed(Apart(_ROUTED, widest), _ROUTED_QUANTIZED_MARGIN if is_quantized else _ROUTED_MARGIN)
    return _Allowed(Apart(widest, math.inf), _MARGIN)
