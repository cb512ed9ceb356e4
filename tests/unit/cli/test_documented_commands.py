"""Nothing stands in the pages for users that no test does, and nothing that the program does not say."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from helpers.documented import CONTAINER_PAGES, ELSEWHERE, OTHERS, STORIES
from helpers.documents import DOCS, commands
from potluck_cli import main

ROOT = DOCS.parent
DONE = frozenset(chain(*STORIES.values(), CONTAINER_PAGES))
SOURCES = ("potluck", "daemon")
MADE = {"commands"}  # from the commands themselves


def pages() -> list[str]:
    return sorted(path.stem for path in DOCS.glob("*.md") if path.stem not in MADE)


@pytest.mark.parametrize("page", pages())
def test_a_page_with_commands_is_done_by_a_test(page: str) -> None:
    assert page in DONE | OTHERS.keys() or not commands(page)


def test_who_tests_a_page_of_another_system_names_it() -> None:
    for page, test in OTHERS.items():
        assert f"{page}.md" in (ROOT / test).read_text()


def test_what_is_proved_elsewhere_is_on_its_page_and_the_proof_is_there() -> None:
    for page, left in ELSEWHERE.items():
        assert left.keys() <= set(commands(page)), page
        for command, proof in left.items():
            assert (ROOT / proof).exists(), (command, proof)
            if proof.startswith("docs/"):
                assert command in commands(Path(proof).stem)


@pytest.mark.parametrize("page", pages())
def test_what_sentences_name_are_commands(page: str) -> None:
    named = re.findall(r"`(?:sudo )?potluck ([a-z]+)[^`]*`", (DOCS / f"{page}.md").read_text())
    assert set(named) <= set(main.COMMANDS)


@pytest.mark.parametrize("page", ["README", *sorted(DONE)])
def test_links_lead_somewhere(page: str) -> None:
    sentences = re.sub(r"^```.*?^```", "", (DOCS / f"{page}.md").read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#:]+)\)", sentences):
        assert (DOCS / target).exists(), target


def test_the_index_has_every_page() -> None:
    index = (DOCS / "README.md").read_text()
    assert [page for page in pages() if page != "README" and f"({page}.md)" not in index] == []


def symptoms() -> list[str]:
    """What stands in double quotes at the beginning of a row."""
    return re.findall(r'^\| "([^"]+)" \|', (DOCS / "troubleshooting.md").read_text(), re.M)


@cache
def said() -> str:
    """All sources as one text, with texts that go on in the next line put together."""
    text = "\n".join(path.read_text() for source in SOURCES for path in sorted((ROOT / source).rglob("*.py")))
    return re.sub(r'"\s*\n?\s*f?"', "", text)


@pytest.mark.parametrize("symptom", symptoms())
def test_a_symptom_is_in_the_words_of_the_program(symptom: str) -> None:
    pattern = r"[^\n]*".join(re.escape(part) for part in symptom.split("..."))
    assert re.search(pattern, said())
