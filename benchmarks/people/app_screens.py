"""What the app's pages say in other languages and how they fit small screens, without a screen.

`languages`: texts of all pages that are English in German or Spanish, for several states and with full, empty and
failing answers, and errors of the daemon that are no sentences. `small_screens`: pages that are cut off or whose
parts overlap. Screens of other scales need processes of their own.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from msgspec import structs
from potluck_app.pages.catalogue import FIRST_RUN, SIDEBAR
from potluck_app.shell.window import MainWindow
from potluck_app.widgets import theme
from potluck_control.api.schema import EngineStatus, SpeedForYou, Status
from potluck_control.states import Reason, State
from PySide6.QtCore import QCoreApplication, QEvent, QRect, QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLayout, QStackedLayout, QWidget

from benchmarks import ROOT
from benchmarks.figures import Measured, figure
from potluck.errors import PotluckError
from potluck.sentences import NOTHING, Blocks, sentence
from tests.helpers.app_answers import ANSWERS, PROBES, SERVING, SWARM
from tests.helpers.app_texts import english_left, in_language, window_texts
from tests.helpers.fake_link import FakeLink
from tests.helpers.screen import unfold

LANGUAGES = ("de", "es")
FAILURE = PotluckError(sentence("the daemon is not running"), hint=sentence("start it with: potluck start"))
# Where sentences are written that the app shows: the daemon's own, and those of what it calls.
_SPEAKERS = (
    "daemon/potluck_daemon",
    "daemon/potluck_control/resources.py",
    "potluck/membership",
    "potluck/protocol/swarm.py",
    "potluck/p2p",
    "potluck/checkpoint",
)
_TERMINAL = ("ledger/backup.py", "presence/agents.py", "instance.py", "bare_hivemind.py")  # only commands meet them
_LIBRARY = ("checkpoint/remote_layers.py",)  # only Python programs do
_NOT_SHOWN = re.compile(
    r"^(ValueError|TypeError|OSError|RuntimeError|KeyError|AttributeError|TimeoutError|RecordError)$"
)
_SCREENS = ((1280, 720, 1.0), (1280, 720, 1.5))  # multiplied by the scale
_PANEL, _TITLE_BAR = 40, 30  # height that a desktop keeps for itself, in logical pixels
_SLACK = 2  # pixels by which fonts' measures differ from what is painted


@figure("languages", unit="texts", reach=0)
def languages(soak: bool) -> Measured:
    """Texts of the app's pages, and errors that it may show, that are English in German or Spanish.

    Eight states with full, empty and failing answers.
    """
    running = application()
    theme.choose("light")
    left: list[str] = []
    for name, status in statuses().items():
        for kind, answers, failure in (("full", ANSWERS, None), ("empty", {}, None), ("failing", {}, FAILURE)):
            english = window_texts("en", status, answers, failure)
            for language in LANGUAGES:
                found = english_left(english, window_texts(language, status, answers, failure))
                left += [f"{language}, {name}, {kind}: {text}" for text in found]
                running.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    left += [f"error: {text}" for text in sorted(set(english_errors()))]
    return Measured(len(left), {"texts": left[:200], "states": len(statuses())})


@figure("small_screens", unit="faults", reach=0)
def small_screens(soak: bool) -> Measured:
    """Texts cut off and parts that overlap or stick out on small screens, in three languages.

    All pages, on 1280x720 at 100 and 150 % and in the smallest window.
    """
    faults: list[str] = []
    for width, height, scale in _SCREENS:
        faults += _faults_of(width, height, scale)
    return Measured(len(faults), {"faults": faults})


def statuses() -> dict[str, Status]:
    """Return one status for each way in which the pages differ."""
    what = sentence("layers {blocks} of {model}", blocks=Blocks(0, 2), model="demo")
    aside = structs.replace(
        SERVING,
        state=State.YIELDED,
        reason=Reason.GAME,
        text=sentence("Giving way to {who}", who="Hades II"),
        app="hades2",
        app_title="Hades II",
        ends=sentence("{time} s after {who} has ended", time=15, who="Hades II"),
        probes=PROBES,
        engine=EngineStatus(),
    )
    serving = structs.replace(
        SERVING,
        text=sentence("Serving {what}", what=what),
        swarm=structs.replace(SWARM, speed_for_you=SpeedForYou(14.2, is_measured=True), is_live=True),
        probes=PROBES,
    )
    return {
        "serving": serving,
        "slow": structs.replace(
            serving, text=sentence("Serving {what} slowly, while you use the computer", what=what), duty=0.5
        ),
        "aside": aside,
        "paused": structs.replace(
            aside, state=State.PAUSED, reason=Reason.TIMER, text=sentence("Paused by you"), until=4e9
        ),
        "stopped": structs.replace(
            aside, state=State.PAUSED, reason=Reason.USER, text=sentence("Paused by you until you resume")
        ),
        "finishing": structs.replace(
            serving,
            state=State.DRAINING,
            reason=Reason.SHUTDOWN,
            text=sentence("Finishing the open sessions, then shutting down"),
            until=4e9,
            sessions=2,
        ),
        "no engine": structs.replace(
            aside, state=State.IDLE, reason=Reason.NO_ENGINE, text=sentence("The engine is not set up yet")
        ),
        "no swarm": structs.replace(
            aside,
            state=State.IDLE,
            reason=Reason.NO_SWARM,
            text=sentence("No swarm joined yet"),
            swarm=None,
            app="",
            ends=NOTHING,
        ),
    }


def english_errors() -> Iterator[str]:
    """Yield messages and hints of errors that the app may show but that are no sentences, with 7 for each name."""
    for speaker in _SPEAKERS:
        place = ROOT / speaker
        for path in sorted(place.rglob("*.py")) if place.is_dir() else (place,):
            if not str(path).endswith(_TERMINAL + _LIBRARY):
                yield from _errors_in(path)


def _errors_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
            continue
        name = ast.unparse(node.exc.func)
        if name.endswith("Error") and not _NOT_SHOWN.search(name):
            hints = (keyword.value for keyword in node.exc.keywords if keyword.arg == "hint")
            for part in (*node.exc.args[:1], *hints):
                text = _literal(part)
                if not re.fullmatch(r"[\W\d]*|`?potluck [\w -]+`?", text):  # names and commands alone
                    yield text


def _literal(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            names = (value.value for value in values if isinstance(value, ast.FormattedValue))
            if any(isinstance(name, ast.Name) and name.id.isupper() for name in names):
                return ""  # part of the sentence is a constant, which is not looked up
            return "".join(_literal(value) or "7" for value in values)
        case ast.BinOp(left=left, right=right):
            return _literal(left) + _literal(right)
        case ast.IfExp(body=body):
            return _literal(body)
        case _:
            return ""


def _faults_of(width: int, height: int, scale: float) -> list[str]:
    """Return what is cut off on a screen, judged in a process whose screen it is."""
    screen = {"name": "screen", "x": 0, "y": 0, "width": width, "height": height, "logicalDpi": 96, "dpr": 1}
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "screen.json")
        config.write_text(json.dumps({"screens": [screen]}))
        environment = os.environ | {
            "QT_QPA_PLATFORM": f"offscreen:configfile={config}",
            "QT_SCALE_FACTOR": str(scale),
        }
        command = [sys.executable, "-m", "benchmarks.people.app_screens"]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, cwd=ROOT)
    found = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(found, list)
    return [f"{width}x{height} at {100 * scale:.0f} %, {fault}" for fault in found]


def judge() -> list[str]:
    """Return what is cut off on this process's screen: in the window as it opens, and in the smallest."""
    running = application()
    theme.choose("light")
    screen = QGuiApplication.primaryScreen().size()
    whole = QSize(screen.width(), screen.height() - _TITLE_BAR)
    beside_panel = QSize(whole.width(), whole.height() - _PANEL)  # this screen, all of it free, has none
    faults = []
    for language in ("en", *LANGUAGES):
        with in_language(language):
            for name, room in (("as opened", whole), ("smallest", beside_panel)):
                window = MainWindow(FakeLink(dict(ANSWERS)))
                if room is beside_panel:
                    window.resize(window.minimumSize())
                window.show()
                opened = window.size()
                if opened.width() > room.width() or opened.height() > room.height():
                    faults.append(f"{language}, {name}: the window is larger ({opened.width()}x{opened.height()})")
                faults += [f"{language}, {name}, {fault}" for fault in _faults_in(window)]
                window.close()
                window.deleteLater()
                running.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return faults


def _faults_in(window: MainWindow) -> Iterator[str]:
    states = statuses()
    window.show_status(states["serving"])
    for entry in SIDEBAR:
        window.open(entry.key)
        assert window.page is not None
        unfold(window.page)
        yield from (f"{entry.key}: {fault}" for fault in _cut(window))
    window.open("home")
    for name, status in states.items():
        window.show_status(status)
        yield from (f"{FIRST_RUN.key if status.swarm is None else 'home'}, {name}: {fault}" for fault in _cut(window))


def _cut(window: MainWindow) -> Iterator[str]:
    for _ in range(3):
        QCoreApplication.processEvents()
    window.grab()
    page = window.page
    assert page is not None
    content = page.widget()
    assert content is not None
    more = content.minimumSizeHint().width() - page.viewport().width()
    if more > 0:
        yield f"{more} px too wide"
    for widget in window.findChildren(QWidget):
        if widget.isVisible() and (said := _cut_text(widget)):
            yield f"cut off: {said}"
        layout = widget.layout()
        if widget.isVisible() and layout is not None and not isinstance(layout, QStackedLayout):
            yield from _overlaps(layout)
        if widget.isVisible() and _sticks_out(widget):
            yield f"sticks out: {type(widget).__name__} {widget.accessibleName()}"


def _cut_text(widget: QWidget) -> str:
    if isinstance(widget, QLabel) and widget.text():
        if widget.wordWrap():
            needed = widget.heightForWidth(widget.width())
            longest = max(widget.fontMetrics().horizontalAdvance(word) for word in widget.text().split() or [""])
            is_cut = needed > widget.height() + _SLACK or longest > widget.width() + _SLACK
        else:
            is_cut = widget.sizeHint().width() > widget.width() + _SLACK
        return widget.text() if is_cut else ""
    if isinstance(widget, QAbstractButton) and widget.text():
        is_cut = widget.fontMetrics().horizontalAdvance(widget.text()) > widget.width()
        is_low = widget.fontMetrics().height() > widget.height()
        return widget.text() if is_cut or is_low else ""
    return ""


def _overlaps(layout: QLayout) -> Iterator[str]:
    widgets = _widgets(layout)
    shown = [widget for widget in widgets if widget.isVisible() and not widget.geometry().isEmpty()]
    for one, other in combinations(shown, 2):
        common = one.geometry().intersected(other.geometry())
        if common.width() > _SLACK and common.height() > _SLACK:
            yield f"overlap: {_name(one)} and {_name(other)}"


def _widgets(layout: QLayout) -> list[QWidget]:
    """Return the widgets of a layout and of those inside it, which have the same parent."""
    found = []
    for place in range(layout.count()):
        item = layout.itemAt(place)
        assert item is not None
        inner, widget = item.layout(), item.widget()
        if inner is not None:
            found += _widgets(inner)
        elif widget is not None:
            found.append(widget)
    return found


def _sticks_out(widget: QWidget) -> bool:
    """Tell whether a widget that a layout placed reaches beyond its parent, where it cannot be seen."""
    parent = widget.parentWidget()
    layout = parent.layout() if parent is not None else None
    if parent is None or layout is None or layout.indexOf(widget) < 0:
        return False
    room = QRect(0, 0, parent.width() + _SLACK, parent.height() + _SLACK)
    return not room.contains(widget.geometry())


def _name(widget: QWidget) -> str:
    return widget.accessibleName() or getattr(widget, "text", lambda: "")() or type(widget).__name__


def application() -> QApplication:
    found = QApplication.instance()
    if isinstance(found, QApplication):
        return found
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    return QApplication(["potluck"])


if __name__ == "__main__":
    print(json.dumps(judge()))
