"""The README keeps what it says: the tree, the commands, the links."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

from potluck_cli.main import COMMANDS

from benchmarks.figures import FIGURES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
LISTED = {"", "app", "daemon", "docs", "potluck", "resources", "tests"}
EMPTY_MEANS_ABSENT = ("__pycache__", ".")


def has_files(folder: Path) -> bool:
    return any(path.is_file() and "__pycache__" not in path.parts for path in folder.rglob("*"))


def folders() -> set[str]:
    """Every folder that a newcomer sees at the top and in the packages."""
    found = set()
    for parent in LISTED:
        for folder in (ROOT / parent).iterdir():
            if folder.is_dir() and not folder.name.startswith(EMPTY_MEANS_ABSENT) and has_files(folder):
                found.add(folder.relative_to(ROOT).as_posix())
    return found - {"daemon", "app", "build", "dist"}  # they hold one package each; build outputs


def test_the_tree_names_every_folder_and_no_other() -> None:
    rows = re.findall(r"^\| `([a-z0-9_/.-]+)/` \| (.+) \|$", README, re.M)
    assert all(text.strip() for _, text in rows)
    assert {name for name, _ in rows} == folders()


def test_commands_in_the_readme_exist() -> None:
    named = re.findall(r"(?:^ {4}\.venv/bin/|`)potluck ([a-z]+)", README, re.M)
    assert named
    assert set(named) <= set(COMMANDS)


def test_the_goals_in_the_readme_are_those_of_the_figures() -> None:
    table = README.partition("| Figure | Reach |")[2].partition("\n\n")[0]
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
    bases = ("", "potluck/client/", "daemon/", "daemon/potluck_daemon/")
    for name in re.findall(r"`([a-z_/0-9]+\.py)`", text):
        assert any((ROOT / base / name).exists() for base in bases), name


def test_the_project_names_no_package_index_and_no_machine() -> None:
    forbidden = re.compile(r"--(extra-)?index-url|https?://\S*/simple|/opt/")
    for path in (ROOT / ".ci").iterdir():
        assert not forbidden.search(path.read_text()), path
    for name in ("Makefile", "README.md", "CONTRIBUTING.md", "pyproject.toml"):
        assert not forbidden.search((ROOT / name).read_text()), name
