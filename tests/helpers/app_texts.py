"""All that the app's window says in a language, and which of it is English."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from potluck_app.pages.catalogue import FIRST_RUN, SIDEBAR
from potluck_app.shell.tray import Tray
from potluck_app.shell.window import MainWindow
from potluck_control.api.schema import Status
from PySide6.QtCore import QCoreApplication, QLocale, QTranslator
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QPlainTextEdit, QPushButton, QWidget

from potluck.errors import PotluckError
from tests.helpers.fake_link import FakeLink
from tests.helpers.screen import unfold

ROOT = Path(__file__).parents[2]
ENGLISH = re.compile(r"\b(the|is|are|of|and|with|not|when|your?|for|this|be|it|that|from|by|which|does|cannot)\b")
# Words of both languages, units, names, and what a user or a model wrote.
SAME = re.findall(
    r"\S+",
    """Ada Aider B B Bob Chat Claude Cline Code Codex Continue Details Deutsch Doom English Español Eve GB GPU GameMode
    GeForce Hades Home II Installation JSON Kim LangChain Limit Mbit/s NVIDIA Name Ollama Open OpenAI OpenCode
    Potluck Python RTX Ryzen Steam System TFLOPS Version W Watt WebUI Wh Zed aider blender cpu d demo engines friday
    h hub kB kWh log min one potluck potluckd s tokens/s two x C In""",
)
_QUOTED = re.compile(r"[‘`“«„].*?[’`”»“]|potluck \w+|~/\S+")


@contextmanager
def in_language(language: str) -> Iterator[None]:
    """Have texts that are made meanwhile in `language`."""
    translator, before = QTranslator(), QLocale()
    assert translator.load(f"potluck_{language}", str(ROOT / "resources" / "translations"))
    QCoreApplication.installTranslator(translator)
    QLocale.setDefault(QLocale(language))
    try:
        yield
    finally:
        QLocale.setDefault(before)
        QCoreApplication.removeTranslator(translator)


def window_texts(
    language: str, status: Status, answers: Mapping[str, object], failure: PotluckError | None = None
) -> set[str]:
    """Return all that the window and the menu say, to the eye and to screen readers.

    Args:
        failure: how each of the daemon's answers fails that `answers` lacks; None: it keeps them waiting.
    """
    with in_language(language):
        link = FakeLink(dict(answers), failure)
        window, tray = MainWindow(link), Tray()
        window.show_status(status)
        tray.show_status(status)
        found = {action.text() for action in tray.menu.actions()}
        for entry in (*SIDEBAR, FIRST_RUN):
            window._page(entry).show_status(status)
            window._page(entry).refresh()
            unfold(window._page(entry))
        for widget in window.findChildren(QWidget):
            found |= {widget.accessibleName(), widget.accessibleDescription(), widget.toolTip()}
            if isinstance(widget, QLabel | QPushButton):
                found.add(widget.text())
            if isinstance(widget, QLineEdit | QPlainTextEdit):
                found.add(widget.placeholderText())
            if isinstance(widget, QComboBox):
                found |= {widget.itemText(place) for place in range(widget.count())}
        window.deleteLater()
        tray.deleteLater()
        return found


def is_english(said: str) -> bool:
    """Tell whether a sentence that should be in another language has an English word outside of quotes."""
    return bool(ENGLISH.search(_QUOTED.sub("", said)))


def english_left(english: set[str], other: set[str]) -> list[str]:
    """Return the texts of a window in another language that are English, or the same as in English."""
    same = {said for said in english & other if set(re.findall(r"[^\W\d_]+(?:/s)?", _QUOTED.sub("", said))) - {*SAME}}
    return sorted(same | {said for said in other if is_english(said)})
