"""The page Home: what this computer does and why, the one pause control, what today brought, and what happened.

The question whether a program that Potluck stepped aside for is a game. The answer puts it on a list.

What today brought: points and tokens, as the ledger has them, and who was helped.

The load of this computer now, and what serving made of it.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from potluck_control.api import schema
from potluck_control.api.schema import Status
from potluck_control.methods import earnings, members
from potluck_control.methods import machine as programs
from potluck_control.methods.earnings import Earnings, EarningsGroups, Group, GroupParams
from potluck_control.methods.installation import Offered, WorkProgress
from potluck_control.methods.machine import PlaceParams, ProgramPlace
from potluck_control.methods.members import MembersList
from potluck_control.states import Reason
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QMenu, QProgressBar, QWidget

from potluck_app.pages.home.activity import ActivitySection
from potluck_app.pages.home.earnings import EarningsSection
from potluck_app.pages.page import DaemonCaller, Destination, Fold, Page, PageSection
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.parts import Card, Figure, StateIcon, column, figure_row, row, text
from potluck_app.widgets.theme import TextStyle
from potluck_app.words import formats as numbers
from potluck_app.words import layers, people, sentences, states
from potluck_app.words.people import guest_notice
from potluck_app.words.sentences import translated
from potluck_app.words.states import PauseChoice, offered_pauses


class GameQuestion(PageSection):
    """Hidden unless a question is open; the oldest comes first."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._app, self._question = "", text()
        yes = Button(self.tr("It is a game"), act=lambda: self._answer(ProgramPlace.ALWAYS))
        no = Button(self.tr("Not a game"), act=lambda: self._answer(ProgramPlace.NEVER))
        self.fill(Card("", self._question, row(None, yes, no)))
        self.hide()

    def show_status(self, status: Status) -> None:
        question = next((item for item in status.questions if item.is_open), None)
        self._app = question.app if question is not None else ""
        if question is not None:
            asked = self.tr("Is {program} a game?")
            self._question.setText(asked.format(program=sentences.short(question.title)))
        self.setVisible(question is not None)

    def _answer(self, place: ProgramPlace) -> None:
        self.page.ask(programs.PLACE_PROGRAM, PlaceParams(self._app, place), lambda _: None)


class TodaySection(PageSection):
    """A card with two numbers and a sentence."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._points, self._tokens = Figure(self.tr("points earned")), Figure(self.tr("tokens served"))
        self._helped = text("muted")
        self._helped.hide()
        self._swarm = ""
        self._members: MembersList | None = None
        self._groups: Sequence[Group] = ()
        self.fill(Card(self.tr("Today"), figure_row(self._points, self._tokens), self._helped))

    def show_status(self, status: Status) -> None:
        name = status.swarm.name if status.swarm is not None else ""
        if name != self._swarm:
            self._swarm = name
            self._ask_members()

    def refresh(self) -> None:
        self.page.ask(earnings.SUMMARY, None, self._show_sums)
        self.page.ask(earnings.BY_PERSON, GroupParams(days=1), self._show_groups)
        self._ask_members()

    def _ask_members(self) -> None:
        if self._swarm:
            self.page.link.call(members.LIST, members.SwarmParams(self._swarm), done=self._show_members)

    def _show_sums(self, sums: Earnings) -> None:
        self._points.say(numbers.points(sums.today.earned))
        self._tokens.say(numbers.number(sums.today.tokens))

    def _show_groups(self, found: EarningsGroups) -> None:
        self._groups = [group for group in found.groups if group.sums.tokens > 0]
        self._show_helped()

    def _show_members(self, found: MembersList) -> None:
        self._members = found
        self._show_helped()

    def _show_helped(self) -> None:
        known = people.helped_people(self._groups, self._members) if self._members is not None else ([], 0)
        names = people.join_names(*known) or self.tr("%n people", "", len(self._groups))
        self._helped.say(self.tr("You helped {people}.").format(people=names) if self._groups else "")


class LoadSection(PageSection):
    """Speed and sessions; processor, graphics card and memory; and today's traffic."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._speed, self._sessions = Figure(self.tr("tokens/s")), Figure(self.tr("open session(s)", "", 0))
        self._cpu, self._gpu = _LoadBar(self.tr("Processor")), _LoadBar(self.tr("Graphics card"))
        self._memory, self._use = _LoadBar(self.tr("Memory")), text("muted", kind=TextStyle.CAPTION)
        self.fill(Card("", figure_row(self._speed, self._sessions), self._cpu, self._gpu, self._memory, self._use))

    def show_status(self, status: Status) -> None:
        self._speed.say(numbers.number(status.tokens_per_s, 1))
        self._sessions.say(numbers.number(status.sessions), self.tr("open session(s)", "", status.sessions))
        load = status.load
        said = self.tr("{all} %, Potluck {ours} %")
        cpu = said.format(all=numbers.number(load.cpu_percent), ours=numbers.number(load.engine_cpu_percent))
        self._cpu.show_share(load.cpu_percent, cpu)
        gpu = load.gpu_percent
        self._gpu.setVisible(gpu is not None)
        self._gpu.show_share(gpu or 0.0, _percent(gpu or 0.0))
        limit = load.memory_limit_bytes or load.memory_total_bytes
        self._memory.show_share(100.0 * load.memory_used_bytes / limit if limit else 0.0, states.memory(status))
        self._use.say(states.traffic_today(status.use))


class _LoadBar(QWidget):
    """A name, a bar, and the number that the bar stands for."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._bar, self._text, label = QProgressBar(), QLabel("–"), QLabel(name)
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 1000)
        self._bar.setAccessibleName(name)
        self._text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._text.setMinimumWidth(140)
        label.setMinimumWidth(110)
        self.setLayout(row(label, (self._bar, 1), self._text))

    def show_share(self, percent: float, said: str) -> None:
        self._bar.setValue(round(min(max(percent, 0.0), 100.0) * 10))
        self._bar.setAccessibleDescription(said)
        self._text.setText(said)


def _percent(value: float) -> str:
    return f"{numbers.number(value)} %"


_POT = 56


class HomePage(Page):
    """Shows one `Status`."""

    AGAIN_MS = 30_000

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, "")
        self.setAccessibleName(self.tr("Home"))
        self._notices, self._offer = text("error"), Notice("info", "accent")
        self._pot, self._title = StateIcon(_POT), text(kind=TextStyle.TITLE)
        self._reason, self._about = text(), text("muted")
        self._button, self._choices = Button(style="primary", is_trailing=True), QMenu(self)
        self._rules = Button(self.tr("Change the rules"), "next", "link", is_trailing=True)
        self._another = Button(self.tr("Paste another"), "", "primary", lambda: self.wanted.emit(Destination.JOIN))
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
        self._watching.setText(states.detector_summary(status.probes))
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
        self._about.say("\n".join(filter(None, (ending, speed, guest_notice(status)))))

    def _show_button(self, status: Status) -> None:
        """Offer to pause or to go on; both in a menu if both are possible."""
        going_on, pauses = states.resume(status), offered_pauses(status)
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
        self._offer.pressed.connect(lambda: self.wanted.emit(Destination.INSTALLATION))
        self._rules.clicked.connect(lambda: self.wanted.emit(Destination.RULES))
        self._watching.clicked.connect(lambda: self.wanted.emit(Destination.DIAGNOSTICS))
        self._watching.setToolTip(self.tr("Show all detectors"))
        self._notices.hide()
        self.column.addWidget(self._notices)  # what needs attention comes first
        self.column.addWidget(self._offer)
        texts = column(self._title, self._reason, self._about, None, spacing=2)
        self.column.addLayout(row(column(self._pot, None), (texts, 1), spacing=theme.SPACE_L))
        self.column.addLayout(row(self._another, self._button, self._rules, None))
        self.add(GameQuestion(self), TodaySection(self), ActivitySection(self))
        about = self.tr("Points by time and by model, electricity, export")
        self.add(Fold(self, self.tr("Earnings"), about, lambda: EarningsSection(self)))
        self.add(Fold(self, self.tr("This computer"), self.tr("Its load now"), lambda: LoadSection(self)))
        foot = row(self._watching, None)
        foot.setContentsMargins(theme.SPACE_S, 0, 0, 0)  # its text stands under those of the cards
        self.column.addLayout(foot)

    def _go_on(self) -> None:
        if self._status is not None and self._status.reason is Reason.NO_ENGINE:
            self.wanted.emit(Destination.INSTALLATION)
        else:
            self.ask(schema.RESUME, None, self.show_status)

    def _pause(self, pause: PauseChoice) -> None:
        self.ask(schema.PAUSE, pause.params(datetime.datetime.now()), self.show_status)
