"""Puts lines into configuration files of other programs, and keeps everything else that is in them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import MutableMapping
from pathlib import PurePath
from typing import Any

import tomlkit


def merged(name: str, old: str, new: str) -> str:
    """Return the text `old` of the file `name` with the entries of `new`. Raises ValueError if it can't be read."""
    match PurePath(name).suffix:
        case ".json":
            return json.dumps(_joined(json.loads(old or "{}"), json.loads(new)), indent=2, ensure_ascii=False) + "\n"
        case ".toml":
            return tomlkit.dumps(_joined(tomlkit.parse(old), tomlkit.parse(new)))
        case _:
            return _merged_yaml(old, new)


def _joined(old: Any, new: Any) -> Any:
    """Return `old` with what is in `new`, whose entry for Potluck replaces an earlier one.

    Raises ValueError unless both are mappings.
    """
    if not isinstance(old, MutableMapping):
        raise ValueError("expected a mapping")
    for key, value in new.items():
        is_shared = isinstance(value, MutableMapping) and key in old and key.lower() != "potluck"
        old[key] = _joined(old[key], value) if is_shared else value
    return old


_LINE = re.compile(r"[ \t#-].*|[\w.-]+:( .*)?|")
_ENTRY = re.compile(r"^([\w-]+):.*\n((?:  .*\n)*)", re.MULTILINE)
_SPLIT = re.compile(r"^( *)- name: Potluck\n(?:\1 +.*\n)*(?: *#.*\n|\n)+\1 +[^\s#-]", re.MULTILINE)
_OURS = re.compile(r"^( *)- name: Potluck\n(?:\1 +.*\n)*", re.MULTILINE)


def _check_plain(key: str, old: str, *, is_list: bool) -> None:
    """Raise ValueError where the lines of an entry are of a kind that is not replaced line by line."""
    found = re.findall(rf"^{key}:.*\n(?=(.*))", old, re.MULTILINE)
    following = r" *- .*| +#.*|[\w.-]+:.*|" if is_list else r"\S.*|"
    if len(found) > 1 or any(not re.fullmatch(following, line) for line in found):
        raise ValueError(repr(key))
    if is_list and (_SPLIT.search(old) or "name: Potluck\n" in _OURS.sub("", old)):
        raise ValueError("'- name: Potluck'")


def _merged_yaml(old: str, new: str) -> str:
    """Return `old` with the top-level entries of `new`: values in a line, or the items of a list.

    It keeps comments, which a YAML library would lose.
    """
    old = "".join(f"{line}\n" for line in old.splitlines())
    if wrong := [line for line in old.splitlines() if not _LINE.fullmatch(line)]:
        raise ValueError(repr(wrong[0]))
    for entry in _ENTRY.finditer(new):
        key, items = entry.groups()
        before, content = rf"^{key}:.*\n", entry[0]
        _check_plain(key, old, is_list=bool(items))
        if items:
            old, before = _OURS.sub("", old), rf"^{key}:(?: \[\])?\n"
            indent = re.search(rf"^{key}:\n( *)- ", old, re.MULTILINE)
            content = f"{key}:\n" + re.sub("^  ", indent[1] if indent else "  ", items, flags=re.MULTILINE)
        changed, count = re.subn(before, content.replace("\\", r"\\"), old, count=1, flags=re.MULTILINE)
        if not count and re.search(rf"^{key}:", old, re.MULTILINE):
            raise ValueError(repr(key))
        old = changed if count else old + content
    return old
