"""The structure of the product's code in numbers: size, packages, import circles, names and docstrings.

The product is every Python file below `potluck/`, `daemon/` and `app/`. Nothing is imported or run.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks import ROOT
from benchmarks.figures import Measured, figure

_BASES = (ROOT, ROOT / "daemon", ROOT / "app")
_NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# A function's docstring that begins with one of these words, or a class's that begins with one of the first group, is a
# fragment or a clause without a main verb: "Of the process that has ended, if there is one." Questions of taste ("the
# median" or "return the median") are left to readers.
_NO_SENTENCE = re.compile(
    "of|for|from|in|at|by|with|without|as|to|into|onto|until|till|after|before|between|besides?|while|within|when|where|who"
    "|whose|whom|how|which|why|also|only|once|so|or|and|but|than|since|because|both|not"
)
_NO_VERB = re.compile(f"{_NO_SENTENCE.pattern}|what|those|these|none|nothing|whether|called|all|one|its|everything")


# A comment that begins with one of these words hangs on a noun that the reader has to guess: "of the links".
_DANGLING = re.compile(
    "about|above|after|and|as|at|before|behind|below|beside|between|beyond|both|but|by|for|from|in|into|of|on|once|or|since"
    "|so|that|than|through|to|under|until|which|while|whose|with|within|without"
)
_DOCS_GENERATED = {"commands.md", "families.md", "tested.md"}
_DOCS_BEFORE = 3402  # lines on 30 November 2026, counted in the same way


@figure("product_lines", unit="lines", reach=51_500, shown=True)
def product_lines(_: bool) -> Measured:
    """Lines of `potluck/`, `daemon/` and `app/` that are neither blank, comment nor docstring."""
    lines = {module: code_lines(path) for module, path in _modules().items()}
    return Measured(sum(lines.values()), {"packages": dict(_by_package(lines).most_common())})


@figure("largest_package", unit="share", reach=0.32)
def largest_package(_: bool) -> Measured:
    """The largest package's share of the product's lines."""
    packages = _by_package({module: code_lines(path) for module, path in _modules().items()})
    (name, lines), *_rest = packages.most_common()
    return Measured(lines / packages.total(), {"package": name, "lines": lines})


@figure("import_circles", unit="circles", reach=0)
def import_circles(_: bool) -> Measured:
    """Groups of modules that import each other, imports inside functions and for type checkers included."""
    circles = [sorted(group) for group in _circles(_imports()) if len(group) > 1]
    return Measured(len(circles), {"circles": circles})


@figure("ambiguous_names", unit="names", reach=0)
def ambiguous_names(_: bool) -> Measured:
    """Public class names that more than one module of the product defines."""
    homes = defaultdict(list)
    for module, path in _modules().items():
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(module)
    found = {name: modules for name, modules in sorted(homes.items()) if len(modules) > 1}
    return Measured(len(found), {"names": found})


@figure("fragment_docstrings", unit="docstrings", reach=0)
def fragment_docstrings(_: bool) -> Measured:
    """Docstrings of classes and functions that begin as a fragment or a bare clause."""
    found = [
        f"{path.relative_to(ROOT)}:{line} {text}" for path in _modules().values() for line, text in _fragments(path)
    ]
    return Measured(len(found), {"fragments": found})


@figure("dangling_comments", unit="comments", reach=30)
def dangling_comments(_: bool) -> Measured:
    """Comments of the product that open with a preposition or a conjunction."""
    found = [
        f"{path.relative_to(ROOT)}:{line} {text}"
        for path in _modules().values()
        for line, text in _comments(path)
        if _DANGLING.fullmatch(re.match(r"[\w'-]*", text)[0].lower())  # type: ignore[index]
    ]
    return Measured(len(found), {"comments": found})


@figure("product_files", unit="files", reach=520)
def product_files(_: bool) -> Measured:
    """Python files of the product."""
    return Measured(len(_modules()))


@figure("fullest_room", unit="files", reach=22)
def fullest_room(_: bool) -> Measured:
    """Python files directly in the fullest folder of the product."""
    rooms = Counter(str(path.parent.relative_to(ROOT)) for path in _modules().values())
    (_name, files), *_rest = rooms.most_common()
    return Measured(files, {"rooms": dict(rooms.most_common(10))})


@figure("benchmark_lines", unit="lines", reach=8000)
def benchmark_lines(_: bool) -> Measured:
    """Lines of `benchmarks/` that are neither blank, comment nor docstring."""
    return Measured(sum(code_lines(path) for path in (ROOT / "benchmarks").rglob("*.py")))


@figure("docs_lines", unit="share", reach=0.6)
def docs_lines(_: bool) -> Measured:
    """Lines of Markdown in `docs/`, without pages that a command writes, over those of 30 November 2026."""
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if path.name not in _DOCS_GENERATED
    }
    return Measured(sum(lines.values()) / _DOCS_BEFORE, {"lines": sum(lines.values()), "pages": lines})


def _comments(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of each comment; lines of comment that follow one another are one."""
    last = -1
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type != tokenize.COMMENT:
                continue
            is_alone = not token.line[: token.start[1]].strip()
            line = token.start[0]
            if not (is_alone and last == line - 1):
                yield line, token.string.lstrip("#: ")
            last = line if is_alone else -1


def _fragments(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(_tree(path)):
        if not isinstance(node, _NAMED) or (text := ast.get_docstring(node)) is None:
            continue
        first = re.match(r"[\w'-]*", text)
        word = first[0].lower() if first is not None else ""
        if (_NO_SENTENCE if isinstance(node, ast.ClassDef) else _NO_VERB).fullmatch(word):
            yield node.lineno, text.splitlines()[0]


@cache
def _modules() -> dict[str, Path]:
    """Map the product's modules by their dotted names to their files."""
    found = {}
    for base in _BASES:
        for package in sorted(base.glob("potluck*")):
            for path in sorted(package.rglob("*.py")):
                parts = path.relative_to(base).with_suffix("").parts
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def product_trees() -> dict[str, ast.Module]:
    """Return the parsed modules of the product by their dotted names."""
    return {module: _tree(path) for module, path in _modules().items()}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def code_lines(path: Path) -> int:
    """Count a file's lines that are neither blank, comment nor docstring."""
    documented: set[int] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, (*_NAMED, ast.Module)) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            documented.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    lines = enumerate(path.read_text().splitlines(), 1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") and i not in documented for i, line in lines)


def _by_package(lines: dict[str, int]) -> Counter[str]:
    packages: Counter[str] = Counter()
    for module, number in lines.items():
        packages[module.partition(".")[0]] += number
    return packages


def _imports() -> dict[str, set[str]]:
    modules = _modules()
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        names: set[str] = set()
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                names |= {name if name in modules else node.module for name in inner}
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
        found[module] = names & modules.keys()
    return found


def _circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components of a graph: Tarjan's algorithm."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(module: str) -> None:
        index[module] = lowest[module] = len(index)
        stack.append(module)
        for other in imports[module]:
            if other not in index:
                visit(other)
            if other in stack:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == index[module]:
            start = stack.index(module)
            found.append(set(stack[start:]))
            del stack[start:]

    for module in imports:
        if module not in index:
            visit(module)
    return found
