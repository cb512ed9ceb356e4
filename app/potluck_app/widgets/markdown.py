"""Markdown as a label shows it. What models write is never HTML, and nothing is loaded: no pictures, no files."""

from __future__ import annotations

import re

from PySide6.QtGui import QTextDocument

_FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML
_FENCES = ("```", "~~~")
_BODY = re.compile(r"<body[^>]*>(.*)</body>", re.DOTALL)
_PICTURE = re.compile(r"<img [^>]*>")  # Qt writes a ">" in an address as an entity
_LINK = re.compile(r'<a href="([^"]*)">(?:<span[^>]*>)?(.*?)(?:</span>)?</a>', re.DOTALL)
_CODE_LINE = '<pre style="'


def as_html(markdown: str) -> str:
    """Return Markdown as the HTML that Qt's labels know.

    Line breaks stay, as in poems. Addresses follow the words of their links. Long lines of code wrap.
    """
    document = QTextDocument()
    document.setMarkdown(_with_breaks(markdown), _FEATURES)
    found = _BODY.search(document.toHtml())
    body = _PICTURE.sub("", found[1].strip()) if found is not None else ""
    return _LINK.sub(_with_address, body).replace(_CODE_LINE, f"{_CODE_LINE}white-space: pre-wrap;")


def _with_breaks(markdown: str) -> str:
    """End each line of text with two spaces, which keeps its end."""
    is_code, lines = False, []
    for line in markdown.split("\n"):
        if line.lstrip().startswith(_FENCES):
            is_code = not is_code
        lines.append(line if is_code or not line.strip() else f"{line.rstrip()}  ")
    return "\n".join(lines)


def _with_address(link: re.Match[str]) -> str:
    address, words = link.groups()
    return words if words == address else f"{words} ({address})"
