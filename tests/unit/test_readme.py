"""README, ARCHITECTURE and CONTRIBUTING name what is there, and the project names no machine of anybody's."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BASES = (ROOT, ROOT / "daemon", ROOT / "app")


def packages() -> set[str]:
    """Return the library, and every package of the processes and the app."""
    modules = [path for parent in ("app", "daemon", "potluck") for path in (ROOT / parent).glob("*/*.py")]
    return {"potluck", *(path.parent.relative_to(ROOT).as_posix() for path in modules)}


def named_in(page: str, heading: str) -> set[str]:
    """Return the folders that a section of a page names."""
    section = (ROOT / page).read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"`([a-z0-9_/.-]+)/`", section))


def test_trees_name_every_package_and_none_that_is_gone() -> None:
    assert {name.partition("/")[0] for name in packages()} <= named_in("README.md", "The source")
    assert packages() - {"potluck"} <= named_in("ARCHITECTURE.md", "Packages")
    named = named_in("README.md", "The source") | named_in("ARCHITECTURE.md", "Packages")
    assert all((ROOT / name).is_dir() for name in named)


def test_pages_for_developers_name_what_exists() -> None:
    sources = [path for folder in ("potluck", "daemon", "app") for path in (ROOT / folder).rglob("*.py")]
    defined = {name for path in sources for name in re.findall(r"^(?:class|def) (\w+)", path.read_text(), re.MULTILINE)}
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text()
        places = re.findall(r"`([a-z_/]+/[a-z_/.]*)`", text)
        assert [name for name in places if not any((base / name).exists() for base in BASES)] == []
        for name, place in re.findall(r"`(\w+)` \(`([\w/]+\.py)`\)", text):
            (path,) = [base / place for base in BASES if (base / place).exists()]
            assert re.search(rf"^(class|def) {name}\b", path.read_text(), re.MULTILINE), f"{page}: {name} in {place}"
    classes = re.findall(r"`((?:[A-Z][a-z]+)+)`", (ROOT / "ARCHITECTURE.md").read_text())
    assert set(classes) <= defined, set(classes) - defined


def test_the_project_names_no_package_index_and_no_machine() -> None:
    forbidden = re.compile(r"--(extra-)?index-url|https?://\S*/simple|/opt/")
    named = [ROOT / name for name in ("Makefile", "README.md", "CONTRIBUTING.md", "pyproject.toml")]
    named += filter(Path.is_file, (ROOT / ".ci").iterdir())
    assert [path for path in named if forbidden.search(path.read_text())] == []
