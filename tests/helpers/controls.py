"""Every control of the app's window, and what a hand or a screen reader finds wrong with it.

Names are read through Qt's accessibility interface, which is also what a screen reader gets.
"""

from __future__ import annotations

from collections.abc import Iterator

from potluck_app.pages.catalogue import FIRST_RUN, SIDEBAR
from potluck_app.shell.window import MainWindow
from potluck_app.widgets.button import DisclosureButton
from potluck_control.api.schema import Status
from potluck_control.states import Reason
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface, QKeyEvent, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QScrollBar,
    QStackedWidget,
    QTabBar,
    QWidget,
)

_KEYS = {"Enter": Qt.Key.Key_Return, "Space": Qt.Key.Key_Space}
_NAMELESS = (  # parts of a control that has a name, or what only holds others
    QAccessible.Role.ScrollBar,
    QAccessible.Role.Pane,
    QAccessible.Role.Client,
    QAccessible.Role.Window,
)
_WHEEL_STEP = 120


def faults_of(window: MainWindow, status: Status) -> Iterator[str]:
    """Yield what is wrong on every page of a window, the first run and the page without a daemon among them."""
    window.show()
    window.show_status(status)
    if status.reason is Reason.NO_SWARM:
        page = window._made[FIRST_RUN.key]
        for step in page._path():  # type: ignore[attr-defined]
            page._go(step)  # type: ignore[attr-defined]
            yield from (f"{FIRST_RUN.key} {step}: {fault}" for fault in page_faults(page))
        return
    for entry in SIDEBAR:
        window.open(entry.key)
        assert window.page is not None
        yield from (f"{entry.key}: {fault}" for fault in page_faults(window.page))
    yield from (f"sidebar: {fault}" for fault in page_faults(window._sidebar))
    window.show_away("Potluck is not running")
    yield from (f"away: {fault}" for fault in page_faults(window.away))


def page_faults(page: QWidget) -> Iterator[str]:
    """Yield what is wrong with the controls of a page that is on the screen, with all that it folds away."""
    unfold(page)
    yield from wheel_faults(page)
    yield from name_faults(page)
    yield from key_faults(page)


def unfold(page: QWidget) -> None:
    """Open all that a page hides behind a click, also what is only made then."""
    opened: set[QWidget] = set()
    while closed := [button for button in _openers(page) if button not in opened and not button.isChecked()]:
        for button in closed:
            opened.add(button)
            button.setChecked(True)
        QApplication.processEvents()


def controls(page: QWidget) -> list[QWidget]:
    """Return what the mouse or the keyboard can change or press, and sees."""
    kinds = QAbstractButton | QComboBox | QAbstractSpinBox | QAbstractSlider | QTabBar
    found = [
        widget
        for widget in page.findChildren(QWidget)
        if widget.isVisible() and (isinstance(widget, kinds) or widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    ]
    return [widget for widget in found if not isinstance(widget, QScrollBar)]


def wheel_faults(page: QWidget) -> Iterator[str]:
    """Yield the controls that a wheel changes while the keyboard is elsewhere, or that take the keyboard by it."""
    for widget in controls(page):
        _leave_focus(page)
        before = _content(page)
        for angle in (-_WHEEL_STEP, _WHEEL_STEP, _WHEEL_STEP):
            roll(widget, angle)
            if _content(page) != before:
                yield f"the wheel changes {name(widget)}"
                break
        if widget.focusPolicy() is Qt.FocusPolicy.WheelFocus:
            yield f"the wheel moves the keyboard to {name(widget)}"


def roll(widget: QWidget, angle: int) -> None:
    """Turn the wheel by `angle` eighths of a degree over the middle of a widget.

    What a widget leaves goes to the one around it, as Qt does it with a real wheel but not with an event of a test.
    """
    middle, none = QPointF(widget.rect().center()), Qt.MouseButton.NoButton
    phase, keys = Qt.ScrollPhase.NoScrollPhase, Qt.KeyboardModifier.NoModifier
    around: QWidget | None = widget
    while around is not None:
        at, place = widget.mapToGlobal(middle), QPointF(widget.mapTo(around, middle.toPoint()))
        event = QWheelEvent(place, at, QPoint(), QPoint(0, angle), none, keys, phase, False)
        is_used = QApplication.sendEvent(around, event) and event.isAccepted()
        around = None if is_used or around.isWindow() else around.parentWidget()


def name_faults(page: QWidget) -> Iterator[str]:
    """Yield what the keyboard can reach, or a reader can press or change, and that Qt tells no name of."""
    yield from _nameless(QAccessible.queryAccessibleInterface(page))


def key_faults(page: QWidget) -> Iterator[str]:
    """Yield the buttons that Enter or Space does not press, and the choices that no key opens.

    What they lead to is cut off first, for good.
    """
    for widget in controls(page):
        if not widget.isEnabled() or isinstance(widget.parent(), QAbstractScrollArea):
            continue
        if isinstance(widget, QComboBox) and widget.count():
            _press(widget, Qt.Key.Key_F4 if widget.isEditable() else Qt.Key.Key_Space)
            if not widget.view().isVisible():
                yield f"no key opens {name(widget)}"
            widget.hidePopup()
        elif isinstance(widget, QAbstractButton) and not (widget.isChecked() and widget.group() is not None):
            yield from (f"{key} does not press {name(widget)}" for key in _KEYS if not _is_pressed_by(widget, key))


def name(widget: QWidget) -> str:
    said = widget.accessibleName() or getattr(widget, "text", lambda: "")()
    return f"{type(widget).__name__} {said!r}"


def _openers(page: QWidget) -> list[QAbstractButton]:
    """Return the buttons that show and hide a part of the page."""
    checkable = [button for button in page.findChildren(QAbstractButton) if button.isCheckable()]
    return [button for button in checkable if isinstance(button, DisclosureButton) or button.objectName() == "fold"]


def _leave_focus(page: QWidget) -> None:
    focused = QApplication.focusWidget()
    if focused is not None:
        focused.clearFocus()


def _content(page: QWidget) -> list[object]:
    """Return what all controls of a page hold."""
    kept: list[object] = []
    for widget in page.findChildren(QWidget):
        if not isinstance(widget, QScrollBar):
            for read in ("value", "isChecked", "currentIndex", "text", "toPlainText", "hours"):
                found = getattr(widget, read, None)
                if found is not None and not isinstance(widget, QStackedWidget):
                    kept.append(found() if callable(found) else found)
    return kept


def _nameless(part: QAccessibleInterface) -> Iterator[str]:
    widget = part.object()
    if isinstance(widget, QWidget) and not widget.isVisible():
        return
    can_act = part.actionInterface() is not None and part.actionInterface().actionNames()
    is_inner = isinstance(widget, QWidget) and isinstance(widget.parentWidget(), QComboBox | QAbstractSpinBox)
    is_control = bool(part.state().focusable) or (can_act and part.role() not in _NAMELESS)
    said = part.text(QAccessible.Text.Name).strip()
    if isinstance(widget, QComboBox):
        said = part.text(QAccessible.Text.Description).strip()  # on Linux, Qt gives its value as the name
    if isinstance(widget, QWidget) and is_control and not is_inner and not said:
        yield f"no name: {name(widget)} in {name(widget.parentWidget())}"
    if isinstance(widget, QComboBox | QAbstractSpinBox):
        return
    for place in range(part.childCount()):
        child = part.child(place)
        if child is not None and child.object() is not None:
            yield from _nameless(child)


def _press(widget: QWidget, key: Qt.Key) -> None:
    said = " " if key == Qt.Key.Key_Space else "\r"
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        QApplication.sendEvent(widget, QKeyEvent(kind, key, Qt.KeyboardModifier.NoModifier, said))


def _is_pressed_by(button: QAbstractButton, key: str) -> bool:
    """Tell whether a key presses a button, whose effects are cut off before."""
    _cut_off(button)
    effects: list[None] = []
    note = button.clicked.connect(lambda *_: effects.append(None))
    menu = getattr(button, "menu", lambda: None)()
    button.setFocus()
    _press(button, _KEYS[key])
    has_opened = menu is not None and menu.isVisible()
    if menu is not None:
        menu.hide()
    button.clicked.disconnect(note)
    return bool(effects) or has_opened


def _cut_off(button: QAbstractButton) -> None:
    for signal, signature in ((button.clicked, "2clicked(bool)"), (button.toggled, "2toggled(bool)")):
        if button.receivers(signature):
            signal.disconnect()
    group = button.group()
    if group is not None:
        group.blockSignals(True)
