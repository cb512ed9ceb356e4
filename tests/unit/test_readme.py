"""The README's tree names what is there, and the project names no machine of anybody's."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def packages() -> set[str]:
    """Return the library, and every package of the processes and the app."""
    modules = [path for parent in ("app", "daemon", "potluck") for path in (ROOT / parent).glob("*/*.py")]
    return {"potluck", *(path.parent.relative_to(ROOT).as_posix() for path in modules)}


def test_tree_names_every_package_and_no_folder_that_is_gone() -> None:
    named = set(re.findall(r"`([a-z0-9_/.-]+)/`", README.partition("## The source")[2]))
    assert packages() <= named
    assert all((ROOT / name).is_dir() for name in named)


def test_the_project_names_no_package_index_and_no_machine() -> None:
    forbidden = re.compile(r"--(extra-)?index-url|https?://\S*/simple|/opt/")
    named = [ROOT / name for name in ("Makefile", "README.md", "CONTRIBUTING.md", "pyproject.toml")]
    named += filter(Path.is_file, (ROOT / ".ci").iterdir())
    assert [path for path in named if forbidden.search(path.read_text())] == []
