"""Counts the places that name one setting of the engine: its declaration, the engine, and every copy on the way.

A place is a module, and the engine's package counts as one. A copy is a field of `LaunchSpec`, an option or a keyword
where a module makes one, and a value that is handed on as it is to a class of ours; the module of that class is another
place. A module that acts by a setting, such as a policy or a call of the library, has no copy. Settings count that act
in the engine; what the daemon works out before a launch (swarm, checkpoint, addresses, interpreter) is no copy.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

from potluck_control.settings import Acts, SettingEntry, Settings, entries

from benchmarks.code.house import product_trees
from benchmarks.figures import Measured, figure

_ENGINE = "potluck_engine"
_LAUNCH = "LaunchSpec"


@figure("setting_copies", unit="places", reach=2)
def setting_copies(_: bool) -> Measured:
    """Modules that declare, copy or offer one setting of the engine by its name, the engine as one: the worst
    setting.
    """
    found = places(product_trees())
    worst = max(found, key=lambda key: len(found[key]))
    return Measured(len(found[worst]), {"worst": worst, "places": found[worst]})


def places(trees: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Return the places of each setting by its key, in modules by their dotted names. Pure."""
    ours = {module: tree for module, tree in trees.items() if module.split(".")[0] != "potluck"}
    found: dict[str, set[str]] = defaultdict(set)
    homes = {node.name: module for module, tree in ours.items() for node in tree.body if isinstance(node, ast.ClassDef)}
    for module, tree in ours.items():
        nodes = list(ast.walk(tree))
        for entry in entries():
            if entry.acts is Acts.IN_ENGINE:
                found[entry.key] |= set(_places_in(module, nodes, entry, homes))
    return {key: sorted(names) for key, names in found.items()}


def _places_in(module: str, nodes: list[ast.AST], entry: SettingEntry, homes: Mapping[str, str]) -> Iterator[str]:
    if module.startswith(f"{_ENGINE}."):
        yield from {_ENGINE for node in nodes if isinstance(node, ast.Attribute) and node.attr == entry.name}
        return
    declaring = (type(getattr(Settings(), entry.attribute)).__name__, _LAUNCH)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
    if any(_name(call) == _LAUNCH for call in calls) and _option(entry) in texts:
        yield module
    if any(_has_field(node, entry.name) for node in nodes if getattr(node, "name", "") in declaring):
        yield module
    for call in calls:
        if (home := homes.get(_name(call))) is None:
            continue
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        is_named = _name(call) == _LAUNCH and entry.name in [keyword.arg for keyword in call.keywords]
        if is_named or any(_reads(value, entry) for value in values):
            yield from (module, home)


def _option(entry: SettingEntry) -> str:
    name = entry.option.name if entry.option is not None else ""
    return f"--{(name or entry.name).replace('_', '-')}"


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _has_field(node: ast.AST, name: str) -> bool:
    body = node.body if isinstance(node, ast.ClassDef) else []
    return any(isinstance(item, ast.AnnAssign) and getattr(item.target, "id", "") == name for item in body)


def _reads(value: ast.expr, entry: SettingEntry) -> bool:
    """Return whether an expression is `settings.serve.dtype` or `serve.dtype`, and nothing more."""
    if not isinstance(value, ast.Attribute) or value.attr != entry.name:
        return False
    return entry.attribute in (getattr(value.value, "attr", ""), getattr(value.value, "id", ""))
