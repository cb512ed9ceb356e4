"""The README tells the truth: the tree, the commands, the goals and the links."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

from potluck_cli.main import COMMANDS

from benchmarks.figures import FIGURES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
LISTED = {"app", "daemon", "potluck"}
EMPTY_MEANS_ABSENT = ("__pycache__", ".")


def has_files(folder: Path) -> bool:
    return any(path.is_file() and "__pycache__" not in path.parts for path in folder.rglob("*"))


def packages() -> set[str]:
    """Return the library with its packages and every package of the processes and the app."""
    found = {"potluck"}
    for parent in LISTED:
        for folder in (ROOT / parent).iterdir():
            if folder.is_dir() and not folder.name.startswith(EMPTY_MEANS_ABSENT) and has_files(folder):
                found.add(folder.relative_to(ROOT).as_posix())
    return found


def test_tree_names_every_package_and_no_folder_that_is_gone() -> None:
    named = set(re.findall(r"`([a-z0-9_/.-]+)/`", README.partition("## The source")[2]))
    assert packages() <= named
    assert all((ROOT / name).is_dir() for name in named)


def test_commands_in_the_readme_exist() -> None:
    named = re.findall(r"(?:^ {4}\.venv/bin/|`)potluck ([a-z]+)", README, re.M)
    assert named
    assert set(named) <= set(COMMANDS)


def test_goals_in_the_documents_are_those_of_the_figures() -> None:
    table = (ROOT / "docs" / "tested.md").read_text().partition("| Figure | Reach |")[2].partition("\n\n")[0]
    checked = 0
    for claim, goals in re.findall(r"^\| (.+) \| (.+) \| .+ \|$", table, re.M):
        for name in re.findall(r"`([a-z0-9_*]+)`", " ".join(re.findall(r"\(([^)]*)\)", claim))):
            figures = [FIGURES[known] for known in fnmatch.filter(FIGURES, name)]
            assert figures, f"there is no figure {name}"
            said = [float(number) for number in re.findall(r"\d*\.?\d+", goals)]
            assert {figure.reach for figure in figures} <= set(said), f"{name}: {goals}"
            checked += 1
    assert checked > 30


def test_make_targets_in_the_documents_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    text = README + (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"(?:`| {4})make ([a-z-]+)", text))
    assert named
    assert named <= targets


def test_files_that_the_documents_point_to_exist() -> None:
    for document in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / document).read_text()):
            assert (ROOT / target).exists(), f"{document}: {target}"


def test_files_named_in_the_life_of_a_step_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    bases = ("", "potluck/client/", "daemon/")
    for name in re.findall(r"`([a-z_/0-9]+\.py)`", text):
        assert any((ROOT / base / name).exists() for base in bases), name


def test_the_project_names_no_package_index_and_no_machine() -> None:
    forbidden = re.compile(r"--(extra-)?index-url|https?://\S*/simple|/opt/")
    for path in (ROOT / ".ci").iterdir():
        assert not forbidden.search(path.read_text()), path
    for name in ("Makefile", "README.md", "CONTRIBUTING.md", "pyproject.toml"):
        assert not forbidden.search((ROOT / name).read_text()), name
