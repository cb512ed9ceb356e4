"""Widgets without a screen."""

from __future__ import annotations

import os

import pytest

os.environ["QT_QPA_PLATFORM"] = "offscreen"  # before Qt is imported by a test

from potluck_app import theme
from PySide6.QtWidgets import QApplication


@pytest.fixture(scope="session", autouse=True)
def application() -> QApplication:
    made = QApplication([])
    theme.choose("light")
    return made
