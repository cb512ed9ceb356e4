"""The page Home: what this computer does and why, the one pause control, what today brought, and what happened."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import partial

from potluck_control.api import schema
from potluck_control.methods import earnings, machine, members
from potluck_control.methods.installation import SetupState, UpdatesState, WorkProgress
from potluck_control.methods.machine import PlaceParams, ProgramPlace
from potluck_control.states import Reason
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QMenu, QProgressBar, QWidget

from potluck_app.pages.calls import DaemonCaller
from potluck_app.pages.destination import Destination
from potluck_app.pages.home.activity import ActivitySection
from potluck_app.pages.home.earnings import EarningsSection
from potluck_app.pages.page import Fold, Page, PageSection
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.parts import Card, Figure, StateIcon, caption, column, figure_row, muted, row, text
from potluck_app.widgets.theme import TextStyle
from potluck_app.words import formats, layers, people, sentences, states

_ICON = 56


class GameQuestion(PageSection):
    """A question whether a program that Potluck stepped aside for is a game. The answer puts it on a list.

    Hidden unless a question is open; the oldest comes first.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._app, self._question = "", text()
        yes = Button(self.tr("It is a game"), act=lambda: self._answer(ProgramPlace.ALWAYS))
        no = Button(self.tr("Not a game"), act=lambda: self._answer(ProgramPlace.NEVER))
        self.fill(Card("", self._question, row(None, yes, no)))
        self.hide()

    def show_status(self, status: schema.Status) -> None:
        question = next((item for item in status.questions if item.is_open), None)
        self._app = question.app if question is not None else ""
        if question is not None:
            asked = self.tr("Is {program} a game?")
            self._question.setText(asked.format(program=sentences.short(question.title)))
        self.setVisible(question is not None)

    def _answer(self, place: ProgramPlace) -> None:
        self.page.call(machine.PLACE_PROGRAM, PlaceParams(self._app, place), lambda _: None)


class TodaySection(PageSection):
    """What today brought: points and tokens, as the ledger has them, and who was helped."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._points, self._tokens = Figure(self.tr("points earned")), Figure(self.tr("tokens served"))
        self._helped = muted()
        self._helped.hide()
        self._swarm = ""
        self._members: members.MembersList | None = None
        self._groups: Sequence[earnings.Group] = ()
        self.fill(Card(self.tr("Today"), figure_row(self._points, self._tokens), self._helped))

    def show_status(self, status: schema.Status) -> None:
        name = status.swarm.name if status.swarm is not None else ""
        if name != self._swarm:
            self._swarm = name
            self._ask_members()

    def refresh(self) -> None:
        self.page.call(earnings.SUMMARY, None, self._show_sums)
        self.page.call(earnings.BY_PERSON, earnings.GroupParams(days=1), self._show_groups)
        self._ask_members()

    def _ask_members(self) -> None:
        if self._swarm:
            self.page.link.call(members.LIST, members.SwarmParams(self._swarm), done=self._show_members)

    def _show_sums(self, sums: earnings.Earnings) -> None:
        self._points.say(formats.points(sums.today.earned))
        self._tokens.say(formats.number(sums.today.tokens))

    def _show_groups(self, found: earnings.EarningsGroups) -> None:
        self._groups = [group for group in found.groups if group.sums.tokens > 0]
        self._show_helped()

    def _show_members(self, found: members.MembersList) -> None:
        self._members = found
        self._show_helped()

    def _show_helped(self) -> None:
        known = people.helped_people(self._groups, self._members) if self._members is not None else ([], 0)
        names = people.join_names(*known) or self.tr("%n people", "", len(self._groups))
        self._helped.say(self.tr("You helped {people}.").format(people=names) if self._groups else "")


class LoadSection(PageSection):
    """The load of this computer now: speed and sessions, processor, graphics card, memory, and today's traffic."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._speed, self._sessions = Figure(self.tr("tokens/s")), Figure(self.tr("open session(s)", "", 0))
        self._cpu, self._gpu = _LoadBar(self.tr("Processor")), _LoadBar(self.tr("Graphics card"))
        self._memory, self._use = _LoadBar(self.tr("Memory")), caption()
        self.fill(Card("", figure_row(self._speed, self._sessions), self._cpu, self._gpu, self._memory, self._use))

    def show_status(self, status: schema.Status) -> None:
        self._speed.say(formats.number(status.tokens_per_s, 1))
        self._sessions.say(formats.number(status.sessions), self.tr("open session(s)", "", status.sessions))
        load = status.load
        message = self.tr("{all} %, Potluck {ours} %")
        cpu = message.format(all=formats.number(load.cpu_percent), ours=formats.number(load.engine_cpu_percent))
        self._cpu.show_share(load.cpu_percent, cpu)
        gpu = load.gpu_percent
        self._gpu.setVisible(gpu is not None)
        self._gpu.show_share(gpu or 0.0, f"{formats.number(gpu or 0.0)} %")
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

    def show_share(self, percent: float, message: str) -> None:
        self._bar.setValue(round(min(max(percent, 0.0), 100.0) * 10))
        self._bar.setAccessibleDescription(message)
        self._text.setText(message)


class HomePage(Page):
    """The page of one `Status`."""

    AGAIN_MS = 30_000

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, "")
        self.setAccessibleName(self.tr("Home"))
        self._notices, self._offer = text(colour="error"), Notice("info", "accent")
        self._icon, self._title = StateIcon(_ICON), text(style=TextStyle.TITLE)
        self._reason, self._about = text(), muted()
        self._button, self._choices = Button(style="primary", is_trailing=True), QMenu(self)
        to_rules, to_joining = partial(self._go, Destination.RULES), partial(self._go, Destination.JOIN)
        self._rules = Button(self.tr("Change the rules"), "next", "link", to_rules, is_trailing=True)
        self._another = Button(self.tr("Paste another"), "", "primary", to_joining)
        self._watching = Button("", "next", "link", partial(self._go, Destination.DIAGNOSTICS), is_trailing=True)
        self._setup: WorkProgress | None = None
        self._status: schema.Status | None = None
        self._build()
        self.setFocusProxy(self._button)

    def show_status(self, status: schema.Status) -> None:
        self._status = status
        self._icon.show_state(status.state)
        self._title.setText(states.title(status))
        self._reason.setText(sentences.translated(status.text))
        self._show_about(status)
        self._show_button(status)
        super().show_status(status)
        self._rules.setVisible(states.is_held_by_rules(status))
        is_out = status.reason in (Reason.INVITE_OVER, Reason.REMOVED)
        self._another.setVisible(is_out)
        self._button.setHidden(is_out)
        self._watching.setText(states.detector_summary(status.probes))
        self._watching.setVisible(bool(status.probes))
        self._notices.say("\n".join(map(sentences.translated, status.notices)))

    def show_setup(self, state: SetupState) -> None:
        """Show how far the engine's set-up is."""
        self._setup = state.progress
        if self._status is not None:
            self._show_about(self._status)
            self._show_button(self._status)

    def show_updates(self, state: UpdatesState) -> None:
        """Offer a newer version of Potluck, if there is one."""
        message = (
            self.tr("Potluck {version} is available.").format(version=state.offered.version) if state.offered else ""
        )
        self._offer.say(message, self.tr("What's new"))

    def _show_about(self, status: schema.Status) -> None:
        setup = self._setup if status.reason is Reason.NO_ENGINE else None
        ending = sentences.reason(setup.text) if setup is not None else states.ending(status)
        speed = layers.speed_for_you(status.swarm) if status.swarm is not None else ""
        self._about.say("\n".join(filter(None, (ending, speed, people.guest_notice(status)))))

    def _show_button(self, status: schema.Status) -> None:
        """Offer to pause or to go on, or both in a menu."""
        going_on, pauses = states.resume(status), states.offered_pauses(status)
        if status.reason is Reason.NO_ENGINE:
            going_on = self.tr("Set up the compute engine") if self._setup is None else self.tr("Show progress")
        self._button.setText(going_on or self.tr("Pause"))
        self._button.show_glyph("down" if pauses else "play" if going_on else "pause")
        self._button.setEnabled(bool(going_on or pauses))
        self._button.setMenu(self._choices if pauses else None)  # type: ignore[arg-type]  # the stubs lack None
        for action in self._choices.actions():
            action.setVisible(action.data() in pauses)
        self._resume.setText(going_on)
        self._resume.setVisible(bool(going_on))

    def _build(self) -> None:
        self._button.setMinimumWidth(220)
        self._button.clicked.connect(self._go_on)
        self._resume = self._choices.addAction("")
        self._resume.triggered.connect(self._go_on)
        for pause in states.PauseChoice:
            action = self._choices.addAction(pause.label())
            action.setData(pause)
            action.triggered.connect(lambda _checked=False, chosen=pause: self._pause(chosen))
        self._offer.pressed.connect(partial(self._go, Destination.INSTALLATION))
        self._watching.setToolTip(self.tr("Show all detectors"))
        self._notices.hide()
        texts = column(self._title, self._reason, self._about, None, spacing=2)
        state = row(column(self._icon, None), (texts, 1), spacing=theme.SPACE_L)
        self.add(self._notices, self._offer, state)  # what needs attention comes first
        self.add(row(self._another, self._button, self._rules, None))
        self.add(GameQuestion(self), TodaySection(self), ActivitySection(self))
        about = self.tr("Points by time and by model, electricity, export")
        self.add(Fold(self, self.tr("Earnings"), about, lambda: EarningsSection(self)))
        self.add(Fold(self, self.tr("This computer"), self.tr("Its load now"), lambda: LoadSection(self)))
        foot = row(self._watching, None)
        foot.setContentsMargins(theme.SPACE_S, 0, 0, 0)  # aligned with the texts of the cards
        self.add(foot)

    def _go(self, destination: Destination) -> None:
        self.requested.emit(destination)

    def _go_on(self) -> None:
        if self._status is not None and self._status.reason is Reason.NO_ENGINE:
            self._go(Destination.INSTALLATION)
        else:
            self.call(schema.RESUME, None, self.show_status)

    def _pause(self, pause: states.PauseChoice) -> None:
        self.call(schema.PAUSE, pause.params(datetime.datetime.now()), self.show_status)
