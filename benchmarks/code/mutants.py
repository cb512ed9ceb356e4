"""Seeded mutants of the decision modules: how many do the unit tests kill? `mutants`.

Each mutant changes one expression or drops one statement of a module, in a copy of the tree, and the module's own unit
tests run until the first failure, or five times as long as without a change. A mutant that survives names a rule that
no test guards. `equivalent-mutants.json` lists those that change nothing that anybody could observe; they don't count.
"""

from __future__ import annotations

import ast
import contextlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.figures import Measured, figure

SEED = 20
MUTANTS_OF_A_MODULE = 17
_FEW = 1  # mutants of a module, without --soak
_TIMEOUT_S = 120.0  # limit of tests without a mutant
_MIN_TIMEOUT_S, _SLOWER = 30.0, 5.0  # limit of tests with one: this, or this times as long as without
_EQUIVALENT = Path(__file__).with_name("equivalent-mutants.json")
_PRELOADED = ["torch", "transformers", "hivemind", "pytest", "PySide6.QtWidgets"]
_UNIT = "tests/unit"
MODULES = {
    "potluck/blocks/cache/pages.py": ("blocks/test_blocks_kv.py", "engine/memory/test_engine_paging.py"),
    "potluck/blocks/streaming/placement.py": ("blocks/test_blocks_residency.py",),
    "potluck/client/recovery.py": ("client/test_client_verdicts.py",),
    "potluck/directory/suspicion.py": ("directory",),
    "potluck/directory/table.py": ("directory",),
    "potluck/p2p/frames.py": ("p2p",),
    "potluck/routing/candidates.py": ("routing",),
    "potluck/routing/experience.py": ("routing", "client/test_client_routing.py"),
    "potluck/routing/search.py": ("routing",),
    "app/potluck_app/pages/home/chart.py": ("app/widgets/test_app_parts.py", "app/pages/test_app_earnings.py"),
    "app/potluck_app/pages/rules/week_grid.py": ("app/widgets/test_app_parts.py", "app/pages/test_app_settings.py"),
    "daemon/potluck_daemon/environment/variants.py": ("daemon/environment",),
    "daemon/potluck_daemon/accounting/ledger.py": ("daemon/ledger",),
    "daemon/potluck_daemon/policy/decide.py": ("daemon/policy",),
    "daemon/potluck_daemon/presence/tracking.py": ("daemon/presence",),
    "daemon/potluck_daemon/settings/store.py": ("daemon/settings",),
    "daemon/potluck_daemon/updates/manifest.py": ("daemon/updates",),
    "daemon/potluck_engine/serving/admission.py": ("engine/serving/test_engine_admission.py",),
    "daemon/potluck_engine/compute/step_scheduler.py": ("engine/compute/test_engine_step_scheduler.py",),
    "daemon/potluck_engine/memory/page_admission.py": ("engine/memory/test_engine_page_admission.py",),
    "daemon/potluck_engine/memory/paging.py": (
        "engine/memory/test_engine_paging.py",
        "engine/life/test_engine_offload.py",
        "engine/serving/test_engine_sessions.py",
    ),
    "daemon/potluck_engine/placement/choose.py": ("engine/placement",),
    "daemon/potluck_engine/placement/price.py": ("engine/placement",),
}
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one module; `before` and `after` show the place."""

    path: str
    line: int
    before: str
    after: str
    source: str  # whole module

    @property
    def key(self) -> list[str]:
        return [self.path, self.before, self.after]


@figure("mutants", unit="share", reach=0.94, better="higher", shown=True)
def mutants(soak: bool) -> Measured:
    """Share of seeded mutants of 24 decision modules that unit tests kill (one a module; 17 in soak).

    Equivalent mutants are excluded.
    """
    number = MUTANTS_OF_A_MODULE if soak else _FEW
    equivalent = [each["mutant"] for each in json.loads(_EQUIVALENT.read_text())]
    chosen = [mutant for path in MODULES for mutant in _choose(path, number) if mutant.key not in equivalent]
    survivors = []
    with _copy_of_the_tree() as folder:
        limits_s = {path: _time_limit_s(path, folder) for path in MODULES}
        for mutant in chosen:
            if not _is_killed(mutant, folder, limits_s[mutant.path]):
                survivors.append([f"{mutant.path}:{mutant.line}", mutant.before, mutant.after])
                print(f"survived {mutant.path}:{mutant.line}\n  - {mutant.before}\n  + {mutant.after}", flush=True)
    killed = len(chosen) - len(survivors)
    return Measured(killed / len(chosen), {"killed": killed, "mutants": len(chosen), "survivors": survivors})


def _time_limit_s(path: str, folder: Path) -> float:
    """Return how long the tests of a module may take with a mutant: a loop without an end is killed by then."""
    began = time.monotonic()
    if _is_killed(Mutant(path, 0, "", "", (ROOT / path).read_text()), folder, _TIMEOUT_S):
        raise RuntimeError(f"the tests of {path} fail without a mutant")
    return max(_MIN_TIMEOUT_S, _SLOWER * (time.monotonic() - began))


def _choose(path: str, number: int) -> list[Mutant]:
    tree = ast.parse((ROOT / path).read_text())
    ignored = {id(node) for node in _declarations(tree)}
    places = [
        (place, change)
        for place, node in enumerate(ast.walk(tree))
        if id(node) not in ignored
        for change in range(len(_changes(node)))
    ]
    chosen = random.Random(f"{SEED} {path}").sample(places, min(number, len(places)))
    return [_mutant(path, deepcopy(tree), place, change) for place, change in chosen]


def _declarations(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what only declares: decorators such as `dataclass(frozen=True)`, and `strict=` of `zip`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in node.decorator_list:
                yield from ast.walk(decorator)
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            yield node.value


def _mutant(path: str, tree: ast.Module, place: int, change: int) -> Mutant:
    """Make the change to `tree`. `place`: number of the node in the order of `ast.walk`."""
    node = next(node for i, node in enumerate(ast.walk(tree)) if i == place)
    statement = _statement_of(tree, node)
    before = _at(statement, node)
    _changes(node)[change]()
    return Mutant(path, getattr(statement, "lineno", 0), before, _at(statement, node), ast.unparse(tree))


def _at(statement: ast.AST, place: ast.AST) -> str:
    """Return the statement's first line and, if that is not the whole of the place, the place itself."""
    whole, part = ast.unparse(statement).splitlines()[0], ast.unparse(place).splitlines()[0]
    return whole if part in whole and part != whole and len(part) > 3 else f"{whole}  [{part}]"


def _statement_of(tree: ast.Module, place: ast.AST) -> ast.AST:
    """Return the innermost statement around `place`."""
    inside = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and place in ast.walk(node)]
    return inside[-1] if inside else place


def _changes(node: ast.AST) -> list[Callable[[], None]]:
    """Return the changes that fit a node; each alters the node in place."""
    match node:
        case ast.Compare(ops=[operator], comparators=[other]) if type(operator) in _COMPARISONS:
            changes = [lambda: setattr(node, "ops", [_COMPARISONS[type(operator)]()])]
            match other:
                case ast.Constant(value=int() as bound):
                    changes.append(lambda: setattr(other, "value", bound + 1))
            return changes
        case ast.BinOp(op=operator) if type(operator) in _ARITHMETIC:
            return [lambda: setattr(node, "op", _ARITHMETIC[type(operator)]())]
        case ast.BoolOp(op=operator):
            return [lambda: setattr(node, "op", ast.And() if isinstance(operator, ast.Or) else ast.Or())]
        case ast.UnaryOp(op=ast.Not()):
            return [lambda: setattr(node, "op", ast.UAdd())]
        case ast.If(test=test) | ast.While(test=test):
            return [lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), test))]
        case ast.Call(func=ast.Name(id="min" | "max")):
            return []  # the same in any order
        case ast.Call(args=[first, second, *rest]) if ast.dump(first) != ast.dump(second):
            return [lambda: setattr(node, "args", [second, first, *rest])]
        case ast.Expr(value=ast.Call()):
            return [lambda: setattr(node, "value", ast.Constant(None))]
        case ast.Constant(value=bool() as truth):
            return [lambda: setattr(node, "value", not truth)]
        case ast.Subscript(slice=ast.Constant(value=int() as number) as index):
            return [lambda: setattr(index, "value", number + 1)]
    return []


@contextlib.contextmanager
def _copy_of_the_tree() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for file in filter(None, listing.split("\0")):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, folder / file, follow_symlinks=False)
        yield folder


def _is_killed(mutant: Mutant, folder: Path, limit_s: float) -> bool:
    """Run the module's tests on the mutant in a forked process that has the heavy libraries loaded."""
    file = folder / mutant.path
    original = file.read_text()
    file.write_text(mutant.source)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    try:
        child = context.Process(
            target=_run_tests, args=(str(folder), [f"{_UNIT}/{name}" for name in MODULES[mutant.path]])
        )
        child.start()
        child.join(limit_s)
        if child.is_alive() and child.pid is not None:
            os.killpg(child.pid, signal.SIGKILL)
            child.join()
        return child.exitcode != 0
    finally:
        file.write_text(original)


def _run_tests(folder: str, tests: list[str]) -> None:
    os.setsid()
    os.chdir(folder)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    os.environ["PYTHONPATH"] = os.pathsep.join(f"{folder}/{part}" for part in ("", "daemon", "app"))
    sys.dont_write_bytecode = True
    sys.path[:0] = [folder, f"{folder}/daemon", f"{folder}/app"]
    for name in [name for name in sys.modules if name.partition(".")[0].startswith(("potluck", "benchmarks", "tests"))]:
        del sys.modules[name]
    _silence()
    import pytest

    code: Any = pytest.main(["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", *tests])
    os._exit(int(code))


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
