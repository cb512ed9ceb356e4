"""What the pages for users have a reader type, in the order in which it stands there.

A line that is indented by four letters is a command for a shell; a fenced block is `python`, or `text`: what the
command before it prints.
"""

from collections.abc import Container
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


class Kind(Enum):
    SHELL = auto()
    PYTHON = auto()
    SHOWN = auto()


@dataclass(frozen=True, slots=True)
class Passage:
    """One command, one program, or what a reader sees; `line`: of the page, from 1."""

    kind: Kind
    text: str
    page: str
    line: int

    def __str__(self) -> str:
        return f"{self.page}.md:{self.line}: {self.text}"


def passages(page: str, sections: Container[str] | None = None) -> list[Passage]:
    """Return the passages of `docs/PAGE.md`, or of some of its sections; "" is what stands before the first heading."""
    found, fence, fenced, section = [], "", list[str](), ""
    for number, line in enumerate((DOCS / f"{page}.md").read_text().splitlines(), 1):
        if line.startswith("## "):
            section = line[3:]
        if sections is not None and section not in sections:
            continue
        if line.startswith("```"):
            if fence:
                kind = {"python": Kind.PYTHON, "text": Kind.SHOWN}[fence]
                found.append(Passage(kind, "\n".join(fenced), page, number - len(fenced)))
            fence, fenced = line[3:], []
        elif fence:
            fenced.append(line)
        elif line.startswith("    ") and line.strip():
            found.append(Passage(Kind.SHELL, line.strip().partition("  #")[0].strip(), page, number))
    return found


def commands(page: str) -> list[str]:
    """What is to be typed into a shell, without the remarks behind it."""
    return [passage.text for passage in passages(page) if passage.kind is Kind.SHELL]
