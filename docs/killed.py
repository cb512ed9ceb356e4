"""Makes docs/screenshots/killed-*.svg from the real thing: `make demo` at a terminal, while it kills a server.

    make screenshots

Each word appears when it appeared there, with all times stretched alike, and the picture says how much. A viewer that
plays nothing shows the end.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from html import escape
from pathlib import Path

from potluck_app.widgets import theme

FOLDER = Path(__file__).parent / "screenshots"
PROMPT = "Count from 7 to 18:"
BEGIN, END = "The same again, while an engine is killed", "no process, socket"
COLUMNS = 74
LETTER, LINE, MARGIN = 8.43, 21, 16  # pixels; the font is as wide as its letters are set
PLAYED_S, SHOWN_S = 8.0, 5.0
RED, GREEN, FAINT = "31", "32", "2"


@dataclass(frozen=True, slots=True)
class Part:
    """Letters that came at once. `style`: of the terminal, such as "31"."""

    at: float
    text: str
    style: str = ""


def recorded() -> list[Part]:
    """Run the demo at a terminal, and return what it wrote about the killed server. Times are seconds from there."""
    outer, inner = pty.openpty()
    demo = [sys.executable, "-m", "benchmarks.demo", "--prompt", PROMPT]
    process = subprocess.Popen(
        demo, stdin=inner, stdout=inner, stderr=inner, env=os.environ | {"TERM": "xterm-256color"}
    )
    os.close(inner)
    chunks: list[tuple[float, str]] = []
    while True:
        try:
            data = os.read(outer, 1 << 14)
        except OSError:  # it has ended
            break
        chunks.append((time.monotonic(), data.decode(errors="replace").replace("\r\n", "\n")))
    os.close(outer)
    assert process.wait() == 0, "".join(text for _, text in chunks)
    return _styled(chunks)


def _styled(chunks: list[tuple[float, str]]) -> list[Part]:
    parts, style, is_begun, began = list[Part](), "", False, 0.0
    for at, chunk in chunks:
        for piece in re.split(r"(\x1b\[[0-9;]*m)", chunk):
            if piece.startswith("\x1b"):
                codes = piece[2:-1].split(";")
                style = next((code for code in (RED, GREEN, FAINT) if code in codes), "")
            elif BEGIN in piece:
                is_begun, began = True, at
            elif END in piece:
                return [part for part in parts if part.at < at - began]  # without the mark of the next line
            elif is_begun and piece:
                parts.append(Part(at - began, piece, style))
    raise AssertionError("the demo said nothing of a killed server")


def drawn(parts: list[Part], colours: theme.Colours) -> str:
    """Return the recording as an animated picture."""
    slower = PLAYED_S / parts[-1].at
    letters = {RED: colours.error, GREEN: colours.serving, FAINT: colours.muted, "": colours.text}
    column, row, lines = 0, 0, list[str]()
    for part in parts:
        share = part.at * slower / (PLAYED_S + SHOWN_S)
        blink = f'<animate attributeName="opacity" values="0;1" keyTimes="0;{share:.4f}" calcMode="discrete"'
        blink += f' dur="{PLAYED_S + SHOWN_S:g}s" repeatCount="indefinite"/>'
        for word in re.findall(r"\n|[^\n ]+ ?| +", part.text):
            if word == "\n" or column + len(word.rstrip()) > COLUMNS:
                column, row = 0, row + (column > 0)
            if not word.strip():
                column += word.count(" ") if column else 0
                continue
            x, y = MARGIN + column * LETTER, MARGIN + (row + 1) * LINE
            weight = ' font-weight="bold"' if part.style in (RED, GREEN) else ""
            lines.append(
                f'<text x="{x:.0f}" y="{y}" textLength="{len(word.rstrip()) * LETTER:.0f}" fill="{letters[part.style]}"'
                f"{weight}>{escape(word.rstrip())}{blink}</text>"
            )
            column += len(word)
    width, height = round(2 * MARGIN + COLUMNS * LETTER), 2 * MARGIN + (row + 2) * LINE
    note = f"make demo, recorded, and played {slower:.0f} times slower" if slower > 1.5 else "make demo, recorded"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-size="14"'
            ' font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace">',
            f'<rect width="{width}" height="{height}" rx="8" fill="{colours.card}" stroke="{colours.line}"/>',
            *lines,
            f'<text x="{width - MARGIN}" y="{height - MARGIN / 2:.0f}" font-size="11" text-anchor="end"'
            f' fill="{colours.muted}">{note}</text>',
            "</svg>\n",
        )
    )


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    parts = recorded()
    for name, colours in (("light", theme.LIGHT), ("dark", theme.DARK)):
        path = FOLDER / f"killed-{name}.svg"
        path.write_text(drawn(parts, colours))
        print(path.relative_to(Path.cwd()), path.stat().st_size)


if __name__ == "__main__":
    main()
