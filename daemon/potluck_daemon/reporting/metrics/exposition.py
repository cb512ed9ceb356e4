"""Writes Prometheus' text format, version 0.0.4. Pure; it knows none of our metrics.

Source: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of a metric; a histogram adds `suffix` to its name."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """All lines of one metric; a counter's name ends in `_total`."""

    name: str
    kind: MetricKind
    help: str
    samples: tuple[Sample, ...]


def counter(name: str, help: str, *samples: Sample) -> Family:
    return Family(name, MetricKind.COUNTER, help, samples)


def gauge(name: str, help: str, *samples: Sample) -> Family:
    return Family(name, MetricKind.GAUGE, help, samples)


def histogram(name: str, help: str, bounds: Sequence[float], counts: Sequence[int], total: float) -> Family:
    """Make a histogram from a count for each upper bound, one for all beyond, and the `total` of the values."""
    sums = list(accumulate(counts))
    buckets = [
        Sample(count, {"le": _number(bound)}, "_bucket") for bound, count in zip((*bounds, math.inf), sums, strict=True)
    ]
    return Family(
        name, MetricKind.HISTOGRAM, help, (*buckets, Sample(total, suffix="_sum"), Sample(sums[-1], suffix="_count"))
    )


def render(families: Iterable[Family]) -> bytes:
    """Write the page, without families that have no samples."""
    lines: list[str] = []
    for family in families:
        if family.samples:
            lines.append(f"# HELP {family.name} {_escaped(family.help)}")
            lines.append(f"# TYPE {family.name} {family.kind}")
            lines += [
                f"{family.name}{sample.suffix}{_labels(sample)} {_number(sample.value)}" for sample in family.samples
            ]
    return "".join(f"{line}\n" for line in lines).encode()


def _labels(sample: Sample) -> str:
    if not sample.labels:
        return ""
    pairs = (f'{name}="{_quoted(value)}"' for name, value in sample.labels.items())
    return "{" + ",".join(pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', r"\"")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if float(value).is_integer() else repr(float(value))
