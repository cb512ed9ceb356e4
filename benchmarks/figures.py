"""What a figure is, and which ones there are.

A figure is a number with a reach, which one function measures. The decorator `figure` above that function states the
name, the unit and the reach; the function's docstring describes the figure, its first paragraph in one sentence; the
package around it is the figure's theme. Nothing is written down a second time: `figures()` reads the decorators from
the source, so that listing figures imports none of what measuring them needs.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

Better = Literal["lower", "higher"]
_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Measured:
    """What a measuring function returns; `holds` False: a condition beside the number is broken, see `detail`."""

    value: float
    detail: dict[str, Any] = field(default_factory=dict)
    holds: bool = True


Measure = Callable[[bool], Measured]
"""Measures a figure; True: with full counts, as `make soak` does."""


def figure(
    name: str, *, unit: str, reach: float, better: Better = "lower", shown: bool = False
) -> Callable[[Measure], Measure]:
    """Declare that the decorated function measures a figure. The arguments must be literals, because they are parsed.

    Args:
        reach: the value that the figure has to reach.
        shown: benchmarks/README.md shows this figure; `--list` names all of them.
    """
    return lambda measure: measure


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, as its decorator declares it."""

    name: str
    unit: str
    reach: float
    module: str
    function: str
    description: str  # one sentence
    better: Better = "lower"
    shown: bool = False

    @property
    def theme(self) -> str:
        """The package that the figure belongs to, without `benchmarks.`."""
        return self.module.split(".")[1]

    @property
    def needs_gpu(self) -> bool:
        return self.theme == "gpu"

    def measure(self, *, soak: bool) -> Measured:
        measured = getattr(import_module(self.module), self.function)(soak)
        assert isinstance(measured, Measured)
        return measured

    def is_reached(self, measured: Measured) -> bool:
        is_better = measured.value <= self.reach if self.better == "lower" else measured.value >= self.reach
        return is_better and measured.holds

    def to_json(self, measured: Measured) -> str:
        """Return the last line that a figure prints."""
        return json.dumps(
            {
                "figure": self.name,
                "value": round(measured.value, 4),
                "unit": self.unit,
                "better": self.better,
                "reach": self.reach,
                "ok": self.is_reached(measured),
                "detail": measured.detail,
            }
        )


@cache
def figures() -> dict[str, Figure]:
    """Return all figures by their names, those that need a GPU included."""
    found = {}
    for path in sorted(_FOLDER.rglob("*.py")):
        source = path.read_text()
        if "@figure(" not in source:
            continue
        module = ".".join(("benchmarks", *path.relative_to(_FOLDER).with_suffix("").parts))
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef) and (each := _declared(node, module)) is not None:
                assert each.name not in found, f"two figures are named {each.name}"
                found[each.name] = each
    return found


def _declared(node: ast.FunctionDef, module: str) -> Figure | None:
    for call in node.decorator_list:
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == figure.__name__:
            options = {item.arg: ast.literal_eval(item.value) for item in call.keywords if item.arg is not None}
            first_paragraph = (ast.get_docstring(node) or "").partition("\n\n")[0]
            description = " ".join(first_paragraph.split())
            return Figure(
                name=ast.literal_eval(call.args[0]),
                module=module,
                function=node.name,
                description=description,
                **options,
            )
    return None
