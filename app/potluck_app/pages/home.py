"""The page Home: what this computer does right now, why, and the one big button."""

from __future__ import annotations

import datetime
import time

from potluck_control import schema
from potluck_control.methods import activity, contribution, earnings, members, programs, settings
from potluck_control.methods.activity import LastHour
from potluck_control.methods.contribution import Contribution, ContributionNow
from potluck_control.methods.earnings import EarningsGroups, Group, GroupParams
from potluck_control.methods.members import MembersList
from potluck_control.methods.programs import PlaceParams, ProgramPlace
from potluck_control.methods.setup import SetupProgress
from potluck_control.methods.updates import Offered
from potluck_control.schema import HistoryPage, HistoryParams, Status
from potluck_control.states import Reason
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu

from potluck_app.pages.game_question import GameQuestion
from potluck_app.pages.inviting import who_invites
from potluck_app.pages.load import MachineCard, NowCard
from potluck_app.pages.never import NeverYield
from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.pages.points import PointsCard
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, Pot, text
from potluck_app.widgets.layout import column, row
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.strip import LayerStrip
from potluck_app.widgets.theme import Type
from potluck_app.words import detectors, engine, layers, states, today
from potluck_app.words.daemon_texts import translated
from potluck_app.words.pauses import PauseChoice, donating, is_stopped, offered
from potluck_app.words.people import helped, unconfirmed

_POT = 56
_MOST_TRANSITIONS = 1000  # of a day


class HomePage(Page):
    """Shows one `Status`. Signals: `diagnostics_wanted()`, `earnings_wanted()`, and `inviting_wanted()`."""

    AGAIN_MS = 30_000
    diagnostics_wanted = Signal()
    earnings_wanted = Signal()
    inviting_wanted = Signal()

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, "")
        self.setAccessibleName(self.tr("Home"))
        self._pot, self._title = Pot(_POT), text(kind=Type.TITLE)
        self._reason, self._ending, self._today = text(), text("muted"), text()
        self._button, self._longer = Button(style="primary"), Button(self.tr("Pause longer"), "down", is_trailing=True)
        self._pauses = QMenu(self)
        self.never, self._question = NeverYield(), GameQuestion()
        self._strip, self._layers = LayerStrip(), text("muted")
        self._points, self._now, self._machine = PointsCard(link), NowCard(), MachineCard()
        self._model, self._invite = text(kind=Type.HEADING), Button(self.tr("Invite someone"), "plus")
        self._inviters = text("muted")
        self._swarm = ""
        self._watching, self._notices = Button(glyph="next", style="link", is_trailing=True), text("error")
        self._can_resume, self._is_stopped, self._lacks_engine = False, False, False
        self._offer = Notice("info", "accent")
        self._setup: SetupProgress | None = None
        self._status: Status | None = None
        self._given: Contribution | None = None
        self._members: MembersList | None = None
        self._signers: tuple[Group, ...] = ()
        self._build()
        self.setFocusProxy(self._button)

    def show_status(self, status: Status) -> None:
        self._status = status
        self._pot.show_state(status.state)
        self._title.setText(states.title(status))
        self._reason.setText(translated(status.text))
        self._show_ending(status)
        self._show_buttons(status)
        focused = self.focusWidget()
        self.never.show_status(status)
        self._question.show_status(status)
        if self.never.isHidden() and focused is not None and self.never.isAncestorOf(focused):
            self._button.setFocus()  # the keyboard must not fall on whatever comes next
        self._show_swarm(status)
        self._now.show_status(status)
        self._machine.show_status(status)
        self._watching.setText(detectors.watching(status.probes))
        self._watching.setVisible(bool(status.probes))
        self._notices.say("\n".join(map(translated, status.notices)))

    def refresh(self) -> None:
        self._points.refresh()
        self._ask_who_invites()
        self.link.call(activity.HOUR, None, done=self._show_hour)
        self.link.call(earnings.BY_PERSON, GroupParams(days=1), done=self._show_signers)
        self.link.call(contribution.NOW, None, done=self._show_given)

    def _show_signers(self, found: EarningsGroups) -> None:
        self._signers = found.groups

    def _show_hour(self, found: LastHour) -> None:
        now = time.time()
        self._now.show_hour(found.minutes, now)
        self._machine.show_hour(found.minutes, now)

    def _show_given(self, found: ContributionNow) -> None:
        self._given = found.today
        since = datetime.datetime.now().replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
        self.link.call(schema.HISTORY, HistoryParams(_MOST_TRANSITIONS, since), done=self._show_today)

    def _show_today(self, page: HistoryPage) -> None:
        who = helped(self._signers, self._members) if self._members is not None else today.NOBODY
        said = today.sentence(self._given, page.transitions, time.time(), who) if self._given is not None else ""
        self._today.say(said)

    def show_setup(self, progress: SetupProgress | None) -> None:
        """Show how far the engine's set-up is; None: none runs."""
        self._setup = progress
        if self._status is not None:
            self._show_ending(self._status)
            self._show_buttons(self._status)

    def _show_ending(self, status: Status) -> None:
        setup = self._setup if status.reason is Reason.NO_ENGINE else None
        self._ending.say(engine.progress(setup) if setup is not None else states.ending(status))

    def show_offer(self, offer: Offered | None) -> None:
        """Offer a newer version of Potluck, if there is one."""
        said = self.tr("Potluck {version} is available.").format(version=offer.version) if offer else ""
        self._offer.say(said, self.tr("What's new"))

    def _show_buttons(self, status: Status) -> None:
        resume, pauses = states.resume(status), offered(status)
        self._can_resume, self._is_stopped = bool(resume), is_stopped(status)
        self._lacks_engine = status.reason is Reason.NO_ENGINE
        setting_up = self.tr("Set up the compute engine") if self._setup is None else self.tr("Show progress")
        said, glyph = (setting_up, "save") if self._lacks_engine else ("", "")
        self._button.setText(said or resume or PauseChoice.HOUR.said())
        self._button.show_glyph(glyph or ("play" if resume else "pause"))
        self._button.setEnabled(self._lacks_engine or self._can_resume or bool(pauses))
        self._longer.setVisible(bool(pauses))
        for action in self._pauses.actions():
            action.setVisible(action.data() in pauses)

    def _show_swarm(self, status: Status) -> None:
        swarm = status.swarm
        described = ""
        if swarm is not None:
            described = layers.summary(swarm, is_live=status.engine.pid is not None)
        self._strip.show_swarm(swarm, described)
        if swarm is None:
            self._model.setText(self.tr("No swarm joined"))
        else:
            said = self.tr("{model}, swarm “{swarm}”")
            self._model.setText(said.format(model=swarm.model, swarm=swarm.name))
        outlook, guest = ("", "") if swarm is None else (layers.outlook(swarm), unconfirmed(status))
        self._layers.setText("\n".join(filter(None, (described, outlook, guest))))
        name = swarm.name if swarm is not None else ""
        if name != self._swarm:
            self._swarm = name
            self._invite.setVisible(bool(name))
            self._inviters.hide()
            self._ask_who_invites()

    def _ask_who_invites(self) -> None:
        """Offer an invite to those who can make one; others learn whom to ask."""
        if self._swarm:
            self.link.call(members.LIST, members.SwarmParams(self._swarm), done=self._show_who_invites)

    def _show_who_invites(self, found: members.MembersList) -> None:
        if found.swarm == self._swarm:
            self._members = found
            self._invite.setVisible(found.may_lead)
            self._inviters.say("" if found.may_lead else who_invites(found))

    def _build(self) -> None:
        self._offer.pressed.connect(self.installation_wanted)
        self._notices.hide()
        self.column.addWidget(self._notices)  # what needs attention comes first
        self.column.addWidget(self._offer)
        texts = column(self._title, self._reason, self._ending, None, spacing=2)
        self.column.addLayout(row(column(self._pot, None), (texts, 1), spacing=theme.SPACE_L))
        self.column.addLayout(self._build_buttons())
        self.column.addWidget(self.never)
        self.column.addWidget(self._question)
        self._today.hide()
        self.column.addWidget(self._today)
        self.column.addLayout(row((self._now, 1), (self._points, 1), spacing=theme.SPACE_M))
        self._invite.clicked.connect(self.inviting_wanted)
        model = row((self._model, 1), column(self._invite, None))
        self.column.addWidget(Card("", model, self._strip, self._layers, self._inviters))
        self.column.addWidget(self._machine)
        self._watching.setToolTip(self.tr("Show all detectors"))
        self._watching.clicked.connect(self.diagnostics_wanted)
        self.never.never_wanted.connect(self._never_yield)
        self._question.answered.connect(lambda params: self.ask(programs.PLACE, params, lambda _: None))
        self._points.pressed.connect(self.earnings_wanted)
        foot = row(self._watching, None)
        foot.setContentsMargins(theme.SPACE_S, 0, 0, 0)  # its text stands under those of the cards
        self.column.addLayout(foot)

    def _build_buttons(self) -> QHBoxLayout:
        self._button.setMinimumWidth(220)
        self._button.clicked.connect(self._press)
        for pause in PauseChoice:
            action = self._pauses.addAction(pause.said())
            action.setData(pause)
            action.triggered.connect(lambda _checked=False, chosen=pause: self._pause(chosen))
        self._longer.setMenu(self._pauses)
        return row(self._button, self._longer, None)

    def _press(self) -> None:
        if self._lacks_engine:
            self.installation_wanted.emit()
        elif self._is_stopped:
            self.ask(settings.SET, donating(True), lambda _: None)
        elif self._can_resume:
            self.ask(schema.RESUME, None, self.show_status)
        else:
            self._pause(PauseChoice.HOUR)

    def _pause(self, pause: PauseChoice) -> None:
        self.ask(schema.PAUSE, pause.params(datetime.datetime.now()), self.show_status)

    def _never_yield(self, app: str) -> None:
        self.ask(programs.PLACE, PlaceParams(app, ProgramPlace.NEVER), lambda _: None)
