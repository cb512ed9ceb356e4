"""The page Home: what this computer does and why, the one pause control, what today brought, and what happened."""

from __future__ import annotations

import datetime

from potluck_control import schema
from potluck_control.methods.updates import Offered
from potluck_control.methods.work import WorkProgress
from potluck_control.schema import Status
from potluck_control.states import Reason
from PySide6.QtWidgets import QMenu

from potluck_app.pages.activity import Activity
from potluck_app.pages.earnings import EarningsSection
from potluck_app.pages.game_question import GameQuestion
from potluck_app.pages.load import Load
from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.pages.section import Fold, Part
from potluck_app.pages.today import Today
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Pot, text
from potluck_app.widgets.layout import column, row
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.theme import Type
from potluck_app.words import layers, sentences, states
from potluck_app.words.daemon_texts import translated
from potluck_app.words.pauses import PauseChoice, offered
from potluck_app.words.people import unconfirmed

_POT = 56


class HomePage(Page):
    """Shows one `Status`."""

    AGAIN_MS = 30_000

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, "")
        self.setAccessibleName(self.tr("Home"))
        self._notices, self._offer = text("error"), Notice("info", "accent")
        self._pot, self._title = Pot(_POT), text(kind=Type.TITLE)
        self._reason, self._about = text(), text("muted")
        self._button, self._choices = Button(style="primary", is_trailing=True), QMenu(self)
        self._rules = Button(self.tr("Change the rules"), "next", "link", is_trailing=True)
        self._another = Button(self.tr("Paste another"), "", "primary", lambda: self.wanted.emit(Part.JOIN))
        self._watching = Button(glyph="next", style="link", is_trailing=True)
        self._setup: WorkProgress | None = None
        self._status: Status | None = None
        self._build()
        self.setFocusProxy(self._button)

    def show_status(self, status: Status) -> None:
        self._status = status
        self._pot.show_state(status.state)
        self._title.setText(states.title(status))
        self._reason.setText(translated(status.text))
        self._show_about(status)
        self._show_button(status)
        super().show_status(status)
        self._rules.setVisible(states.is_held_by_rules(status))
        is_out = status.reason in (Reason.INVITE_OVER, Reason.REMOVED)
        self._another.setVisible(is_out)
        self._button.setHidden(is_out)
        self._watching.setText(states.watching(status.probes))
        self._watching.setVisible(bool(status.probes))
        self._notices.say("\n".join(map(translated, status.notices)))

    def show_setup(self, progress: WorkProgress | None) -> None:
        """Show how far the engine's set-up is; None: none runs."""
        self._setup = progress
        if self._status is not None:
            self._show_about(self._status)
            self._show_button(self._status)

    def show_offer(self, offer: Offered | None) -> None:
        """Offer a newer version of Potluck, if there is one."""
        said = self.tr("Potluck {version} is available.").format(version=offer.version) if offer else ""
        self._offer.say(said, self.tr("What's new"))

    def _show_about(self, status: Status) -> None:
        setup = self._setup if status.reason is Reason.NO_ENGINE else None
        ending = sentences.reason(setup.text) if setup is not None else states.ending(status)
        speed = layers.speed_for_you(status.swarm) if status.swarm is not None else ""
        self._about.say("\n".join(filter(None, (ending, speed, unconfirmed(status)))))

    def _show_button(self, status: Status) -> None:
        """Offer to pause or to go on; both in a menu if both are possible."""
        going_on, pauses = states.resume(status), offered(status)
        if status.reason is Reason.NO_ENGINE:
            going_on = self.tr("Set up the compute engine") if self._setup is None else self.tr("Show progress")
        self._button.setText(going_on or self.tr("Pause"))
        self._button.show_glyph("down" if pauses else "play" if going_on else "pause")
        self._button.setEnabled(bool(going_on or pauses))
        self._button.setMenu(self._choices if pauses else None)  # type: ignore[arg-type]  # its stubs know no None
        for action in self._choices.actions():
            action.setVisible(action.data() in pauses)
        self._resume.setText(going_on)
        self._resume.setVisible(bool(going_on))

    def _build(self) -> None:
        self._button.setMinimumWidth(220)
        self._button.clicked.connect(self._go_on)
        self._resume = self._choices.addAction("")
        self._resume.triggered.connect(self._go_on)
        for pause in PauseChoice:
            action = self._choices.addAction(pause.said())
            action.setData(pause)
            action.triggered.connect(lambda _checked=False, chosen=pause: self._pause(chosen))
        self._offer.pressed.connect(lambda: self.wanted.emit(Part.INSTALLATION))
        self._rules.clicked.connect(lambda: self.wanted.emit(Part.RULES))
        self._watching.clicked.connect(lambda: self.wanted.emit(Part.DIAGNOSTICS))
        self._watching.setToolTip(self.tr("Show all detectors"))
        self._notices.hide()
        self.column.addWidget(self._notices)  # what needs attention comes first
        self.column.addWidget(self._offer)
        texts = column(self._title, self._reason, self._about, None, spacing=2)
        self.column.addLayout(row(column(self._pot, None), (texts, 1), spacing=theme.SPACE_L))
        self.column.addLayout(row(self._another, self._button, self._rules, None))
        self.add(GameQuestion(self), Today(self), Activity(self))
        about = self.tr("Points by time and by model, electricity, export")
        self.add(Fold(self, self.tr("Earnings"), about, lambda: EarningsSection(self)))
        self.add(Fold(self, self.tr("This computer"), self.tr("Its load now"), lambda: Load(self)))
        foot = row(self._watching, None)
        foot.setContentsMargins(theme.SPACE_S, 0, 0, 0)  # its text stands under those of the cards
        self.column.addLayout(foot)

    def _go_on(self) -> None:
        if self._status is not None and self._status.reason is Reason.NO_ENGINE:
            self.wanted.emit(Part.INSTALLATION)
        else:
            self.ask(schema.RESUME, None, self.show_status)

    def _pause(self, pause: PauseChoice) -> None:
        self.ask(schema.PAUSE, pause.params(datetime.datetime.now()), self.show_status)
