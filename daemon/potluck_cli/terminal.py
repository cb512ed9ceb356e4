"""The terminal: what commands print, and how Ctrl-C ends them.

Names, refusals and answers come from other computers, so every printed text passes `shown`.

    `potluck_cli.entry`, imports, reading the command line: ends at once | `run`: KeyboardInterrupt | after it: at once

An interrupted import leaves half a module behind, over which torch and transformers recurse without end or wait for
ever. Until there is something to close, Ctrl-C therefore simply ends the process: p2pd ends with it, and the next node
removes what it left. Knows nothing of swarms or networks.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from enum import Enum
from types import FrameType
from typing import ClassVar, Self, TextIO

from potluck_control.methods.installation import WorkProgress

from potluck.formatting import part_size

EXIT_INTERRUPTED = 130
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # controls
_WORD = re.compile(r"\s*\S+\s*")  # a word with the spaces around it
_GAP, _ONE, _MORE = "·", "▒", "█"  # nobody, one server, several
_ASCII = str.maketrans({_GAP: ".", _ONE: "+", _MORE: "#", "✓": "+", "✗": "x", "→": ">"})
_NARROWEST = 30  # columns; below that, a terminal breaks the lines itself
_SILENCE_S = 0.6  # a silence that needs no explanation; an import may hold the interpreter's lock for another second


def shown(text: str) -> str:
    """Return a text without what controls a terminal or reverses letters; lines and tabs stay."""
    return _UNSAFE.sub("", text)


def shown_in_style(text: str) -> str:
    """Return one of our own texts as `shown`, but with its colours."""
    parts = zip(_STYLE.split(text), (*_STYLE.findall(text), ""), strict=True)
    return "".join(shown(part) + style for part, style in parts)


def say(*texts: object, sep: str = " ", end: str = "\n", file: TextIO | None = None, flush: bool = False) -> None:
    """Print texts as `print` does, but only what can be shown."""
    _make_room()
    print(shown(sep.join(map(str, texts))), end=end, file=file, flush=flush)


def _make_room() -> None:
    if WaitNotice._open is not None:
        WaitNotice._open.make_room()


class Style(Enum):
    """A text style, as an SGR number of ECMA-48."""

    BOLD = "1"
    FAINT = "2"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"


class Terminal:
    """Standard output, or `out`; plain text unless it is a terminal that shows colours."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out = out or sys.stdout
        self.is_interactive = out.isatty()
        self.can_move = self.is_interactive and (os.environ.get("TERM") or "dumb") != "dumb"  # its cursor
        self._has_colour = self.can_move and not os.environ.get("NO_COLOR")
        self.has_unicode = "utf" in (out.encoding or "utf-8").lower()

    @property
    def width(self) -> int | None:
        """Return the columns of a terminal, or None for a file or a pipe, whose lines may have any length."""
        return max(shutil.get_terminal_size().columns, _NARROWEST) if self.is_interactive else None

    def line(self, text: str = "") -> None:
        """Write `text` as a line of its own."""
        self.write(text + "\n")

    def faint(self, text: str) -> str:
        """Return a text in a faint style."""
        return self.styled(text, Style.FAINT)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
        """Return the lines of a table with a bold heading."""
        heading, *lines = table(headers, rows)
        return [self.styled(heading, Style.BOLD), *lines]

    def write(self, text: str) -> None:
        """Write what can be shown of a text at once."""
        self.control(shown_in_style(text))

    def control(self, text: str) -> None:
        """Write at once what also moves the cursor, and replace characters that the terminal cannot show."""
        _make_room()
        self._out.write(self.encodable(text))
        self._out.flush()

    def encodable(self, text: str) -> str:
        """Return the text without characters that the terminal cannot show."""
        if self.has_unicode:
            return text
        encoding = self._out.encoding or "ascii"
        return text.translate(_ASCII).encode(encoding, "replace").decode(encoding)

    def styled(self, text: str, *styles: Style) -> str:
        """Return a text in these styles, or as it is without colours."""
        if not self._has_colour or not text:
            return text
        return f"\x1b[{';'.join(style.value for style in styles)}m{text}\x1b[0m"


class WaitNotice:
    """Shows on standard error what a command does, whenever it has been silent for a moment.

    On a terminal the line counts the seconds and disappears before other output; elsewhere it is written once. A notice
    within another one shows nothing.
    """

    _open: ClassVar[WaitNotice | None] = None

    def __init__(self, doing: str, about_s: int = 0) -> None:
        """Store what is done, and how many seconds that usually takes; 0: not known."""
        self.doing = doing
        self._usually = f" (usually about {about_s} s)" if about_s else ""
        self._changed = threading.Condition()  # guards the following state, and the line on the screen
        self._is_shown = self._is_over = False
        self._thread = threading.Thread(target=self._show, args=(sys.stderr,), daemon=True)

    def __enter__(self) -> Self:
        if WaitNotice._open is None:
            WaitNotice._open = self
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Erase the line and end the notice."""
        if WaitNotice._open is self:
            self.make_room(is_over=True)
            self._thread.join()
            WaitNotice._open = None

    def make_room(self, *, is_over: bool = False) -> None:
        """Erase the line, because something else is about to be written."""
        with self._changed:
            self._is_over = is_over
            if self._is_shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
            self._is_shown = False
            self._changed.notify()

    def _show(self, out: TextIO) -> None:
        terminal, began = Terminal(out), time.monotonic()
        with self._changed:
            while not self._is_over:
                if self._changed.wait(_SILENCE_S):
                    continue
                text = terminal.encodable(shown(f"{self.doing}{self._usually} ..."))
                self._is_shown = terminal.can_move
                if self._is_shown:
                    seconds = f" {time.monotonic() - began:.0f} s"
                    text = f"{text[: (terminal.width or 0) - len(seconds) - 1]}{seconds}"
                with contextlib.suppress(OSError):  # nobody reads it, or its disk is full
                    out.write(f"\r\x1b[K{terminal.faint(text)}" if self._is_shown else f"{text}\n")
                    out.flush()
                self._is_over = not self._is_shown


class Steps:
    """Shows the steps of long work: on a terminal a line for each, which counts its bytes; elsewhere one each tenth."""

    def __init__(self, *, shows: bool) -> None:
        self._shows = shows
        self._terminal = Terminal()
        self._last = ("", 0)

    def __call__(self, progress: WorkProgress) -> None:
        text, done, total = str(progress.text), progress.done, progress.total
        (step, _), can_move = self._last, self._terminal.can_move
        now = (text, done * (100 if can_move else 10) // total if total else 0)
        if self._shows and now != self._last:
            counted = f"{text}  {part_size(done, total)}" if total else text
            over = "\x1b[A\x1b[K" if can_move and step == text else ""  # the line above
            self._terminal.control(f"{over}{shown(counted)}\n")
            self._last = now


def agrees(question: str) -> bool:
    """Ask a question at a terminal; elsewhere the answer is no. Standard output may be a file, so it is not used."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    say(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table. Columns of numbers are aligned to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(headers, *rows, strict=True)]
    right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(headers))]

    def join(cells: Sequence[str]) -> str:
        padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True))
        return "  ".join(padded).rstrip()

    return [join(headers), *(join(row) for row in rows)]


def wrapped(text: str, width: int | None, indent: int) -> list[str]:
    """Break a line between words so that each part fits; what follows the first part is indented by `indent`."""
    if width is None or _letters(text) <= width:
        return [text]
    lines, line = [], ""
    for word in _WORD.findall(text):
        if line.strip() and _letters(line + word.rstrip()) > width:
            lines.append(line.rstrip())
            line = " " * indent
        line += word
    return [*lines, line.rstrip()]


def _letters(text: str) -> int:
    """Count what a terminal shows of a text."""
    return len(_STYLE.sub("", text))


def strip(replicas: Sequence[int]) -> str:
    """Return one character per layer: nobody, one server, or several serve it."""
    return "".join(_GAP if count == 0 else _ONE if count == 1 else _MORE for count in replicas)


STRIP_LEGEND = f"{_GAP} nobody  {_ONE} one server  {_MORE} two or more"


def _is_number(cell: str) -> bool:
    return cell == "" or cell == "-" or cell.replace(".", "", 1).replace(",", "").isdecimal()


@contextlib.contextmanager
def ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process at once inside the block, without KeyboardInterrupt."""
    is_main = threading.current_thread() is threading.main_thread()  # only the main thread can set signal handlers
    if not is_main or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script runs the command with `&`
        yield
        return
    before = signal.signal(signal.SIGINT, _end_process)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def end_in_order() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from now on, if it would end the process at once."""
    _replace_handler(signal.SIG_DFL, signal.default_int_handler)


def end_at_once() -> None:
    """Let Ctrl-C end the process at once from now on, if it would raise KeyboardInterrupt."""
    _replace_handler(signal.default_int_handler, signal.SIG_DFL)


def _replace_handler(one: object, other: signal._HANDLER) -> None:
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is one:
        signal.signal(signal.SIGINT, other)


def _end_process(number: int, frame: FrameType | None) -> None:
    os.write(2, b"\n")
    os._exit(EXIT_INTERRUPTED)
