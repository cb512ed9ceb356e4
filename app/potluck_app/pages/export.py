"""Writes all entries of the ledger to a file that the user chose, without blocking the window."""

from __future__ import annotations

import csv
from pathlib import Path

from msgspec import structs
from potluck_control.methods import earnings
from potluck_control.methods.earnings import Entries, Entry, ExportParams

from potluck.protocol.codec import readable
from potluck_app.pages.page import Page
from potluck_app.widgets.saving import choose_file
from potluck_app.words import sentences
from potluck_app.words.language import tr

_PAGE = 1000


def choose(page: Page) -> None:
    """Ask for a file and write it."""
    kinds = f"{tr('Table (CSV)')} (*.csv);;JSON (*.json)"
    file = choose_file(page, tr("Export all entries"), "potluck-earnings.csv", kinds)
    if file is not None:
        export(page, file)


def export(page: Page, path: Path, before: tuple[Entry, ...] = (), after: int = 0) -> None:
    """Write JSON if the name ends so, and CSV otherwise; the page says how it ended.

    Args:
        before: the entries up to number `after`, which the daemon has told already.
    """

    def take(found: Entries) -> None:
        entries = before + found.entries
        if found.next is not None:
            export(page, path, entries, found.next)
            return
        try:
            _write(path, entries)
        except OSError as error:
            page.complain(sentences.sentence(f"{path}: {error.strerror or error}"))
        else:
            page.tell(tr("%n entries written to {file}.", "", len(entries)).format(file=path))

    page.link.call(earnings.EXPORT, ExportParams(after, _PAGE), done=take, failed=page.complain)


def _write(path: Path, entries: tuple[Entry, ...]) -> None:
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
