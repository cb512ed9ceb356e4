"""The style sheet: cards, buttons, fields and menus, which palettes cannot describe.

Widgets say what they are with their object name: "card", "primary", "quiet", "muted", "error", ...
"""

from __future__ import annotations

from potluck_app.widgets.theme import (
    CONTROL,
    LINK,
    RADIUS_L,
    RADIUS_M,
    SCROLL_BAR,
    SPACE_L,
    SPACE_M,
    SPACE_S,
    SPACE_XS,
    Colours,
)

_BORDER = 1
_FOCUS = 2


def style_sheet(of: Colours) -> str:
    return "\n".join((_surfaces(of), _buttons(of), _fields(of), _lists(of)))


def _surfaces(of: Colours) -> str:
    edges = {"yielded": of.yielded, "error": of.error, "serving": of.serving, "accent": of.outline}
    notices = " ".join(
        f"QFrame#notice-{role} {{ background: {of.card}; border: {_BORDER}px solid {edge}; "
        f"border-radius: {RADIUS_M}px; }}"
        for role, edge in edges.items()
    )
    return f"""
        QWidget {{ color: {of.text}; }}
        MainWindow {{ background: {of.window}; }}
        QFrame#sidebar {{ background: {of.sidebar}; border: none; border-right: {_BORDER}px solid {of.line}; }}
        QFrame#card {{ background: {of.card}; border: {_BORDER}px solid {of.line}; border-radius: {RADIUS_L}px; }}
        QFrame#question {{ background: {of.chosen}; border: none; border-radius: {RADIUS_L}px; }}
        QFrame#line {{ background: {of.line}; border: none; }}
        {notices}
        QLabel#muted {{ color: {of.muted}; }}
        QLabel#error {{ color: {of.error}; }}
        QLabel#warning {{ color: {of.yielded}; }}
        QLabel#good {{ color: {of.serving}; }}
        QScrollArea, QScrollArea > QWidget > QWidget {{ background: transparent; }}
        QScrollBar:vertical {{ background: transparent; width: {SCROLL_BAR}px; }}
        QScrollBar:horizontal {{ background: transparent; height: {SCROLL_BAR}px; }}
        QScrollBar::handle {{ background: {of.outline}; border-radius: 2px; margin: 2px; }}
        QScrollBar::handle:vertical {{ min-height: 24px; }}
        QScrollBar::handle:horizontal {{ min-width: 24px; }}
        QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
        QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
        QProgressBar {{ background: {of.line}; border: none; border-radius: 3px; max-height: 6px; }}
        QProgressBar::chunk {{ background: {of.accent}; border-radius: 3px; }}
        QMessageBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
        QToolTip {{ background: {of.card}; color: {of.text}; border: {_BORDER}px solid {of.line}; padding: 4px; }}
    """


def _buttons(of: Colours) -> str:
    """Return the style of buttons. A focused one has a border of two pixels and less padding, so nothing moves."""
    inner = CONTROL - 2 * _BORDER
    focused = inner - 2 * (_FOCUS - _BORDER)
    return f"""
        QPushButton {{ background: {of.card}; border: {_BORDER}px solid {of.outline}; border-radius: {RADIUS_M}px;
            min-height: {inner}px; padding: 0 {SPACE_L}px; }}
        QPushButton:hover {{ background: {of.hover}; }}
        QPushButton:focus {{ border: {_FOCUS}px solid {of.accent}; min-height: {focused}px;
            padding: 0 {SPACE_L - 1}px; outline: none; }}
        QPushButton:disabled {{ color: {of.muted}; border-color: {of.line}; }}
        QPushButton#primary {{ background: {of.accent}; color: {of.on_accent}; border-color: {of.accent};
            font-weight: 600; }}
        QPushButton#primary:focus {{ border-color: {of.text}; }}
        QPushButton#primary:disabled {{ background: {of.line}; border-color: {of.line}; color: {of.muted}; }}
        QPushButton#quiet {{ background: transparent; border-color: transparent; color: {of.muted}; text-align: left;
            padding: 0 {SPACE_S}px; }}
        QPushButton#quiet:hover {{ color: {of.text}; background: {of.hover}; }}
        QPushButton#quiet:focus {{ border-color: {of.accent}; color: {of.text}; padding: 0 {SPACE_S - 1}px; }}
        QPushButton#link {{ background: transparent; border-color: transparent; color: {of.accent};
            min-height: {LINK - 2 * _BORDER}px; padding: 0 {SPACE_XS}px; }}
        QPushButton#link:hover {{ background: {of.hover}; }}
        QPushButton#link:focus {{ border-color: {of.accent}; min-height: {LINK - 2 * _FOCUS}px;
            padding: 0 {SPACE_XS - 1}px; }}
        QPushButton#fold {{ background: transparent; border-color: transparent; text-align: left;
            min-height: {LINK - 2 * _BORDER}px; padding: 0 1px; }}
        QPushButton#fold:hover {{ background: {of.hover}; }}
        QPushButton#fold:focus {{ border-color: {of.accent}; min-height: {LINK - 2 * _FOCUS}px; padding: 0; }}
        QPushButton#segment {{ border-color: transparent; background: transparent; color: {of.muted};
            min-height: {inner - 8}px; border-radius: {RADIUS_M - 2}px; }}
        QPushButton#segment:focus {{ border-color: {of.accent}; min-height: {focused - 8}px; }}
        QPushButton#segment:hover {{ color: {of.text}; }}
        QPushButton#segment:checked {{ background: {of.chosen}; color: {of.accent}; }}
        QFrame#segments {{ background: {of.card}; border: {_BORDER}px solid {of.line}; border-radius: {RADIUS_M}px; }}
        QPushButton::menu-indicator {{ image: none; width: 0; }}
    """


def _fields(of: Colours) -> str:
    fields = "QPlainTextEdit, QLineEdit, QComboBox, QAbstractSpinBox, QTimeEdit"
    focused = ", ".join(f"{name}:focus" for name in fields.split(", "))
    return f"""
        {fields} {{ background: {of.card}; border: {_BORDER}px solid {of.outline}; border-radius: {RADIUS_M}px;
            padding: 0 {SPACE_S}px; selection-background-color: {of.accent}; selection-color: {of.on_accent}; }}
        QLineEdit, QComboBox, QAbstractSpinBox {{ min-height: {CONTROL - 2 * _BORDER}px; }}
        QAbstractSpinBox QLineEdit {{ border: none; padding: 0 {SPACE_S}px; min-height: 0; background: transparent; }}
        QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{ width: 0; border: none; }}
        QPlainTextEdit {{ padding: {SPACE_S}px; }}
        QFrame#composer QPlainTextEdit {{ background: {of.card}; }}
        {focused} {{ border-color: {of.accent}; }}
        QSlider {{ min-height: 24px; }}
        QSlider::groove:horizontal {{ background: {of.line}; height: 4px; border-radius: 2px; }}
        QSlider::sub-page:horizontal {{ background: {of.accent}; height: 4px; border-radius: 2px; }}
        QSlider::handle:horizontal {{ background: {of.card}; border: {_FOCUS}px solid {of.outline}; width: 14px;
            height: 14px; margin: -7px 0; border-radius: 9px; }}
        QSlider::handle:horizontal:hover {{ background: {of.hover}; }}
        QSlider::handle:horizontal:focus {{ border-color: {of.accent}; background: {of.chosen}; }}
        QSlider::sub-page:horizontal:disabled {{ background: {of.outline}; }}
        QComboBox::drop-down {{ border: none; width: 24px; }}
        QComboBox QAbstractItemView {{ background: {of.card}; border: {_BORDER}px solid {of.line};
            selection-background-color: {of.chosen}; selection-color: {of.text}; outline: none; }}
        QPlainTextEdit:disabled, QLineEdit:disabled, QComboBox:disabled, QAbstractSpinBox:disabled {{
            color: {of.muted}; border-color: {of.line}; }}
    """


def _lists(of: Colours) -> str:
    return f"""
        QListWidget {{ background: transparent; border: {_BORDER}px solid transparent; border-radius: {RADIUS_M}px;
            outline: none; }}
        QListWidget:focus {{ border-color: {of.accent}; }}
        QListWidget::item {{ padding: {SPACE_S}px; border-radius: {RADIUS_M}px; color: {of.text}; }}
        QListWidget::item:hover {{ background: {of.hover}; }}
        QListWidget::item:selected {{ background: {of.chosen}; color: {of.accent}; }}
        QListWidget QPushButton#quiet {{ background: {of.hover}; min-height: 0; }}
        QListWidget QLineEdit {{ border: none; border-radius: 0; min-height: 0; padding: 0; }}
        QTableWidget {{ background: {of.card}; border: none; gridline-color: {of.line};
            selection-background-color: {of.chosen}; selection-color: {of.text}; }}
        QTableWidget::item {{ padding: 0 {SPACE_S}px; border-bottom: {_BORDER}px solid {of.line}; }}
        QHeaderView, QHeaderView::section {{ background: {of.card}; color: {of.muted}; border: none; }}
        QHeaderView::section {{ padding: {SPACE_S}px {SPACE_M}px; border-bottom: {_BORDER}px solid {of.outline}; }}
        QTableCornerButton::section {{ background: {of.card}; border: none; }}
        QMenu {{ background: {of.card}; border: {_BORDER}px solid {of.line}; padding: 6px; }}
        QMenu::item {{ padding: {SPACE_S}px {SPACE_L}px; border-radius: 6px; }}
        QMenu::item:selected {{ background: {of.chosen}; }}
        QMenu::item:disabled {{ color: {of.muted}; }}
        QMenu::separator {{ height: {_BORDER}px; background: {of.line}; margin: 4px 8px; }}
    """
