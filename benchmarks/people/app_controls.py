"""`every_control`: the hand and the screen reader on every control of every page, without a screen.

Counts controls that a wheel changes without focus, that Enter or Space does not press, and that have no accessible
name; in several states, with full, empty and failing answers. A fault on a page counts once.
"""

from __future__ import annotations

from potluck_app.shell.window import MainWindow
from potluck_app.widgets import theme
from PySide6.QtCore import QEvent

from benchmarks.figures import Measured, figure
from benchmarks.people.app_screens import FAILURE, application, statuses
from tests.helpers.app_answers import ANSWERS
from tests.helpers.controls import faults_of
from tests.helpers.fake_link import FakeLink


@figure("every_control", unit="faults", reach=0)
def every_control(soak: bool) -> Measured:
    """Controls that a wheel changes without focus, that Enter or Space does not press, or that have no accessible name.

    All pages in eight states with full, empty and failing answers.
    """
    running = application()
    theme.choose("light")
    faults: set[str] = set()
    for status in statuses().values():
        for answers, failure in ((ANSWERS, None), ({}, None), ({}, FAILURE)):
            window = MainWindow(FakeLink(dict(answers), failure))
            faults.update(faults_of(window, status))
            window.close()
            window.deleteLater()
            running.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return Measured(len(faults), {"faults": sorted(faults)})
