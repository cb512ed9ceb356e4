"""Fixtures of tests that show widgets: pytest-qt's application without a screen, in English and with light colours."""

import functools
from collections.abc import Callable

import pytest
from potluck_app.widgets import theme
from potluck_app.words import language
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

PATIENCE_MS = 120_000
Wait = Callable[[Callable[[], bool]], None]


@pytest.fixture(scope="session")
def qapp_args() -> list[str]:
    return ["potluck", "-platform", "offscreen"]


@pytest.fixture(scope="session", autouse=True)
def english(qapp: QApplication) -> None:
    language.install(qapp, QLocale("en_GB"))
    theme.choose("light")


@pytest.fixture
def wait(qtbot: QtBot) -> Wait:
    """Let Qt work until something is so; the limit only ends a hang."""
    return functools.partial(qtbot.waitUntil, timeout=PATIENCE_MS)
