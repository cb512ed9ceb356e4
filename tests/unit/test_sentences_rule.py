"""Sentences are data: their templates can be collected from the source, and nothing decides by English words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = sorted(path for room in ("potluck", "daemon", "app/potluck_app") for path in (ROOT / room).rglob("*.py"))
ERRORS = re.compile(r"(\w*_)?(error|failure|refused|refusal|problem|told)")
SAID = ("message", "hint", "sentence", "advice", "whole")  # of errors
FOREIGN = {"potluck/p2p/control.py", "app/potluck_app/windows/distribution.py"}  # words of p2pd and of WSL
SEARCHES = ("startswith", "endswith", "removeprefix", "removesuffix", "partition", "find", "fullmatch")


def nodes(words: str) -> Iterator[tuple[Path, ast.AST]]:
    """Yield the nodes of each module in which these words appear."""
    for path in PRODUCT:
        text = path.read_text()
        if re.search(words, text):
            for node in ast.walk(ast.parse(text)):
                yield path.relative_to(ROOT), node


def place_of(path: Path, node: ast.AST) -> str:
    return f"{path}:{getattr(node, 'lineno', 0)}"


def is_said(node: ast.AST) -> bool:
    """Return whether this is what an error says, or the text of a sentence."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
        node = node.args[0]
    if not isinstance(node, ast.Attribute):
        return False
    of = node.value
    is_error = isinstance(of, ast.Name) and ERRORS.fullmatch(of.id) is not None
    is_text = isinstance(of, ast.Attribute) and of.attr in SAID and node.attr in ("text", "id")
    return is_text or (is_error and node.attr in SAID)


def is_words(node: ast.AST) -> bool:
    inner = node.elts if isinstance(node, ast.Tuple | ast.Set | ast.List) else [node]
    return any(isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value for each in inner)


def test_each_sentence_has_a_literal_template_whose_places_are_its_arguments() -> None:
    wrong, found = [], 0
    for path, node in nodes(r"from potluck\.sentences import .*\bsentence\b"):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sentence"):
            continue
        found += 1
        template = node.args[0] if len(node.args) == 1 else None
        is_literal = isinstance(template, ast.Constant) and isinstance(template.value, str)
        places = set(re.findall(r"\{(\w+)\}", template.value)) if is_literal else None  # type: ignore[union-attr, arg-type]
        if places != {keyword.arg for keyword in node.keywords}:
            wrong.append(place_of(path, node))
    assert found > 100
    assert not wrong


def test_nothing_decides_by_the_english_words_of_an_error_or_a_sentence() -> None:
    wrong = []
    for path, node in nodes("|".join(rf"\.{name}\b" for name in SAID)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            decides = any(map(is_said, sides)) and any(map(is_words, sides))
            decides |= isinstance(node.ops[0], ast.In | ast.NotIn) and is_said(node.comparators[0])
        else:
            is_search = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            decides = is_search and node.func.attr in SEARCHES and is_said(node.func.value)
        if decides and str(path) not in FOREIGN:
            wrong.append(place_of(path, node))
    assert not wrong
