"""Markdown as labels show it. What models write is never HTML, and nothing is loaded: no pictures, no files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from textwrap import dedent

from PySide6.QtGui import QTextDocument

from potluck_app.widgets import theme

_FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML
_CODE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n?(.*?)(?:^[ \t]*\1[^\n]*\n?|\Z)", re.DOTALL | re.MULTILINE)
_GAP = re.compile(r"\n[ \t]*\n(?!\s|\Z|[-+*](\s|\Z)|\d+([.)]?\s|[.)]?\Z))")  # no item of a list follows
_LINE = re.compile(r"\n(?=[^\s|])")  # which begins nothing that is indented, and no row of a table
_BODY = re.compile(r"<body[^>]*>(.*)</body>", re.DOTALL)
_PICTURE = re.compile(r"<img [^>]*>")  # Qt writes a ">" in an address as an entity
_LINK = re.compile(r'<a href="([^"]*)">(?:<span[^>]*>)?(.*?)(?:</span>)?</a>', re.DOTALL)
_LONG = 1500  # characters of a list that is cut at its next line
_APART = theme.SPACE_M  # paragraphs, as the labels of an answer that still comes
_CODE_LINE = '<pre style="'
_ABOVE, _BELOW = re.compile(r"margin-top:\d+px"), re.compile(r"margin-bottom:\d+px(?!.*margin-bottom)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of text, or the lines between two fences of code. `start`: the character at which it begins."""

    start: int
    said: str
    is_code: bool = False


def blocks(markdown: str, *, is_whole: bool) -> list[Block]:
    """Return the parts of an answer: code, and the text between. Text that still grows is cut into its paragraphs."""
    found, place = [], 0
    for code in _CODE.finditer(markdown):
        found += _texts(markdown, place, code.start(), is_whole)
        found.append(Block(code.start(), dedent(code[2]).strip("\n"), is_code=True))
        place = code.end()
    return found + _texts(markdown, place, len(markdown), is_whole)


def _texts(markdown: str, start: int, end: int, is_whole: bool) -> list[Block]:
    cuts = [start] if is_whole else [start, *(gap.end() for gap in _GAP.finditer(markdown, start, end))]
    while not is_whole and (line := _LINE.search(markdown, cuts[-1] + _LONG, end)):
        cuts.append(line.end())
    said = ((place, markdown[place:until].strip("\n")) for place, until in pairwise((*cuts, end)))
    return [Block(place, each) for place, each in said if each]


def as_html(markdown: str) -> str:
    """Return Markdown as the HTML that Qt's labels know, without room above and below.

    Line breaks stay, as in poems. Addresses follow the words of their links.
    """
    paragraphs = (block.said for block in blocks(markdown, is_whole=False))
    return "".join(_as_html(said, _APART if place else 0) for place, said in enumerate(paragraphs))


def _as_html(paragraph: str, above: int) -> str:
    """`above`: its distance from the one before it, in pixels."""
    document = QTextDocument()
    document.setMarkdown(_with_breaks(paragraph), _FEATURES)
    found = _BODY.search(document.toHtml())
    body = _PICTURE.sub("", found[1].strip()) if found is not None else ""
    body = _BELOW.sub("margin-bottom:0px", _ABOVE.sub(f"margin-top:{above}px", body, count=1), count=1)
    return _LINK.sub(_with_address, body).replace(_CODE_LINE, f"{_CODE_LINE}white-space: pre-wrap;")


def _with_breaks(markdown: str) -> str:
    """End each line of text with two spaces, which keeps its end."""
    return "\n".join(f"{line.rstrip()}  " if line.strip() else line for line in markdown.split("\n"))


def _with_address(link: re.Match[str]) -> str:
    address, words = link.groups()
    return words if words == address else f"{words} ({address})"
