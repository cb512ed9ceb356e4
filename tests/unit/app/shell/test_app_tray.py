"""The tray: what its menu offers in each state, and its icons."""

import itertools

import pytest
from helpers.app_states import FINISHING, GAME, NO_SWARM, PAUSED, SERVING, STOPPED, YIELDED
from potluck_app.shell.tray import Tray
from potluck_app.widgets.icons import icon, name_of
from potluck_control.states import State
from PySide6.QtGui import QColor, QImage, QPainter

NEVER = "Never step aside for Hades II"
PAUSES = {"Pause for an hour", "Pause until tomorrow, 08:00", "Pause until I resume"}


def test_the_menu_offers_what_makes_sense() -> None:
    for status, enabled in (
        (None, set()),
        (NO_SWARM, set()),
        (SERVING, PAUSES),
        (YIELDED, PAUSES),
        (GAME, PAUSES | {"Pause until the game ends", NEVER}),
        (FINISHING, {"Keep serving"}),
        (PAUSED, {"Resume"}),
        (STOPPED, {"Resume"}),
    ):
        tray = Tray()
        tray.show_status(SERVING)  # something else before
        tray.show_status(status)
        actions = [action for action in tray.menu.actions() if action.text() and action.isVisible()]
        offered = {action.text() for action in actions if action.isEnabled()}
        assert offered == enabled | {"Open Potluck", "Show notifications", "Quit the app"}


def test_states_that_matter_differ_in_shape() -> None:
    shapes = {name_of(state) for state in (State.SERVING, State.IDLE, State.PAUSED, State.YIELDED, State.ERROR)}
    assert len(shapes) == 5


def contrast(one: QColor, other: QColor) -> float:
    """Return the ratio of the web's guidelines for accessibility (WCAG 2, 1.4.11)."""

    def luminance(colour: QColor) -> float:
        parts = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.getRgbF()[:3])
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("panel", ["#ffffff", "#eeeeee", "#2b2b2b", "#000000"])
def test_the_tray_icon_of_every_state_stands_out_on_light_and_dark_panels(panel: str) -> None:
    for state, side in itertools.product((None, *State), (16, 22, 24, 48)):
        picture = QImage(side, side, QImage.Format.Format_RGB32)
        picture.fill(QColor(panel))
        drawn = icon(state).pixmap(side, side)
        painter = QPainter(picture)
        painter.drawPixmap(0, 0, drawn)
        painter.end()
        alpha = drawn.toImage()
        opaque = [(x, y) for x in range(side) for y in range(side) if alpha.pixelColor(x, y).alpha() > 200]
        clear = [place for place in opaque if contrast(picture.pixelColor(*place), QColor(panel)) >= 3]
        assert len(clear) > len(opaque) / 4, (state, side)
