"""The application of tests that show widgets; a conftest or a module of tests imports the fixture."""

from __future__ import annotations

import os

import pytest

os.environ["QT_QPA_PLATFORM"] = "offscreen"  # before Qt is imported by a test

from potluck_app.shell import language, theme
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QApplication


@pytest.fixture(scope="session", autouse=True)
def application() -> QApplication:
    made = QApplication.instance() or QApplication([])
    assert isinstance(made, QApplication)
    language.install(made, QLocale("en_GB"))
    theme.choose("light")
    return made
