"""Writes the two pages that show figures: the tables of benchmarks/README.md, and docs/tested.md."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks import ROOT
from benchmarks.figures import Figure, figures
from benchmarks.measuring import RESULTS, Result, latest_results

README = ROOT / "benchmarks" / "README.md"
TESTED = ROOT / "docs" / "tested.md"
_BY_HAND = RESULTS / "by-hand.md"
THEMES = (
    *("network", "speed", "gpu", "kernels", "games", "faults", "equality", "security", "earnings", "swarms"),
    *("programs", "people", "installing", "code"),
)
_BARE = ("ratio", "share", "times")  # units that a reach is shown without
_HEADER = ("Figure", "What it says", "Reach", "Latest result")
_BEGIN, _END = "<!-- written by `python -m benchmarks --pages` -->\n", "<!-- end -->\n"
_TESTED = """\
# What is tested, and what is not

<!-- Written by `python -m benchmarks --pages` from benchmarks/results/, whose by-hand.md holds the first table. -->

{by_hand}
## What is promised, and measured

Every promise is a figure that a script measures: `make bench FIGURE=hop_first` measures one with reduced counts,
`make soak` all with full ones. These are the latest [results](../benchmarks/results); **bold** ones miss their reach.
Times differ by half from hour to hour on the shared cores that most of them come from; ratios within a run differ less.

{results}Without a stored result: {unmeasured}.

## The machines

{machines}"""


def readme_page() -> str:
    """Return benchmarks/README.md with its tables as they must be now."""
    before, _, rest = README.read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    results = latest_results()
    themes = []
    for theme in THEMES:
        shown = [figure for figure in _of(theme) if figure.shown]
        if shown:
            rows = [_row(figure, results.get(figure.name)) for figure in shown]
            themes.append(f"{_heading(theme)}{_table(_HEADER, rows)}\n")
    return f"{before}{_BEGIN}\n{''.join(themes)}{_END}{after}"


def tested_page() -> str:
    """Return docs/tested.md: what was tried by hand, and the latest result of each figure."""
    results = {name: result for name, result in latest_results().items() if name in figures()}
    themes = []
    for theme in THEMES:
        rows = [_row(figure, results[figure.name]) for figure in _of(theme) if figure.name in results]
        themes.append(f"### {_words(theme)[0]}\n\n{_table(_HEADER, rows)}\n")
    return _TESTED.format(
        by_hand=_BY_HAND.read_text(),
        results="".join(themes),
        unmeasured=", ".join(f"`{name}`" for name in sorted(figures().keys() - results.keys())) or "none",
        machines=_table(("Machine", "Figures"), list(_machines(results.values()))),
    )


def _of(theme: str) -> list[Figure]:
    return [figure for figure in figures().values() if figure.theme == theme]


def _heading(theme: str) -> str:
    """Return the heading of a theme, its folder, and what its package says of all its figures."""
    title, more = _words(theme)
    return f"## {title}\n\n{' '.join((f'[`{theme}/`]({theme}).', more)).strip()}\n\n"


def _words(theme: str) -> tuple[str, str]:
    """Return the title of a theme, and what else the docstring of its package says."""
    text = ast.get_docstring(ast.parse((ROOT / "benchmarks" / theme / "__init__.py").read_text())) or theme
    title, _, more = text.partition("\n\n")
    return title.rstrip("."), more


def _row(figure: Figure, result: Result | None) -> tuple[str, ...]:
    bound = "at most" if figure.better == "lower" else "at least"
    unit = "" if figure.unit in _BARE else f" {figure.unit}"
    return f"`{figure.name}`", figure.description, f"{bound} {figure.reach:g}{unit}", _latest(figure, result)


def _latest(figure: Figure, result: Result | None) -> str:
    if result is None:
        return "none yet"
    is_better = result.value <= figure.reach if figure.better == "lower" else result.value >= figure.reach
    value = f"{result.value:.6g}" if result.value >= 1000 else f"{result.value:.3g}"
    return f"{value if is_better and result.was_reached else f'**{value}**'} ({result.day})"


def _machines(results: Iterable[Result]) -> Iterator[tuple[str, ...]]:
    """Yield each machine in words, with how many of these results come from it."""
    counts: dict[str, int] = {}
    for result in results:
        if (machine := result.detail.get("machine")) is None:
            continue
        cores = f"{machine['cpu']}, {machine['cores']} cores"
        device = result.detail.get("device", "")
        words = f"{device} in {cores}" if device.startswith("NVIDIA") else cores
        counts[words] = counts.get(words, 0) + 1
    for words, count in sorted(counts.items(), key=lambda item: -item[1]):
        yield words, str(count)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def write_pages() -> list[Path]:
    """Write both pages and return those that changed."""
    changed = []
    for path, text in ((README, readme_page()), (TESTED, tested_page())):
        if path.read_text() != text:
            path.write_text(text)
            changed.append(path)
    return changed
