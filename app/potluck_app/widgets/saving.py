"""Asks the user where to save a file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QStandardPaths
from PySide6.QtWidgets import QFileDialog, QWidget

Place = QStandardPaths.StandardLocation


def choose_file(
    window: QWidget, title: str, name: str, kinds: str = "", place: Place = Place.DocumentsLocation
) -> Path | None:
    """Return the file that the user chose, at first `name` in their folder `place`; None if they chose none."""
    suggested = Path(QStandardPaths.writableLocation(place)) / name
    chosen, _ = QFileDialog.getSaveFileName(window, title, str(suggested), kinds)
    return Path(chosen) if chosen else None
