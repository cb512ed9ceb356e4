"""Writes all entries of the ledger to a file that the user chose, without blocking the window."""

from __future__ import annotations

import csv
from pathlib import Path

from msgspec import structs
from potluck_control.methods import earnings
from potluck_control.methods.earnings import Entries, Entry, ExportParams

from potluck.errors import PotluckError
from potluck.protocol.codec import readable
from potluck_app.pages.page import Page
from potluck_app.widgets.saving import choose_file
from potluck_app.words import sentences
from potluck_app.words.language import tr

_PAGE = 1000


class Export:
    """One export at a time. The page says how it ended."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._path: Path | None = None
        self._entries: list[Entry] = []

    def choose(self) -> None:
        """Ask for a file and write it, unless an export is under way."""
        if self._path is not None:
            return
        table = tr("Table (CSV)")
        kinds = f"{table} (*.csv);;JSON (*.json)"
        file = choose_file(self._page, tr("Export all entries"), "potluck-earnings.csv", kinds)
        if file is not None:
            self.write(file)

    def write(self, path: Path) -> None:
        """Write JSON if the name ends so, and CSV otherwise."""
        self._path, self._entries = path, []
        self._ask(0)

    def _ask(self, after: int) -> None:
        self._page.link.call(earnings.EXPORT, ExportParams(after, _PAGE), done=self._take, failed=self._fail)

    def _take(self, page: Entries) -> None:
        self._entries.extend(page.entries)
        if page.next is not None:
            self._ask(page.next)
            return
        path, self._path = self._path, None
        assert path is not None
        try:
            _write(path, self._entries)
        except OSError as error:
            self._page.notice.say(sentences.sentence(f"{path}: {error.strerror or error}"))
        else:
            self._page.tell(_done(path, len(self._entries)))

    def _fail(self, error: PotluckError) -> None:
        self._path = None
        self._page.notice.say(sentences.failure(error))


def _done(path: Path, number: int) -> str:
    return tr("%n entries written to {file}.", "", number).format(file=path)


def _write(path: Path, entries: list[Entry]) -> None:
    """Write beside the file first, so that an existing one is replaced as a whole or not at all."""
    rows = [structs.asdict(entry) for entry in entries]
    beside = path.with_name(f".{path.name}.part")
    with beside.open("w", newline="", encoding="utf-8") as file:
        if path.suffix.lower() == ".json":
            file.write(readable(rows))
        else:
            writer = csv.DictWriter(file, Entry.__struct_fields__)
            writer.writeheader()
            writer.writerows(rows)
    beside.replace(path)
