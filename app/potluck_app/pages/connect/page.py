"""The page Connect, for other programs that use the swarm's model: the address, a key for each, and recipes."""

from __future__ import annotations

from functools import partial

from potluck_control.api.schema import Status
from potluck_control.methods import gateway

from potluck_app.pages.calls import DaemonCaller
from potluck_app.pages.connect.recipes import RecipeCard
from potluck_app.pages.settings_form import SettingsForm
from potluck_app.widgets.button import Button
from potluck_app.widgets.controls import text_field
from potluck_app.widgets.copying import CopyField
from potluck_app.widgets.dialogs import ConfirmDialog
from potluck_app.widgets.parts import Card, PollTimer, divided, muted, row
from potluck_app.widgets.row import Row, RowList
from potluck_app.words import engine, formats, layers, sentences

_POLL_MS = 700  # time between two looks at a gateway that starts
_RUNS = (gateway.GatewayState.STARTING, gateway.GatewayState.READY)


class ConnectPage(SettingsForm):
    """The page shows the state of the gateway and the keys. It keeps a key that was just made until the next one is."""

    AGAIN_MS = 10_000

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Connect"))
        self._gateway = gateway.GatewayStatus(gateway.GatewayState.STOPPED)
        self._model, self._key = "", ""
        self._state = muted()
        self._address = CopyField(self.tr("Address"), self.tr("Copy the address"))
        self._button = Button(self.tr("Start"), "play", act=self._press)
        self._name = text_field(self.tr("Name of the program"), max_chars=64)
        self._make = Button(self.tr("Make a key"), "plus", act=self._make_key)
        self._new, self._new_note = CopyField(self.tr("New key"), self.tr("Copy the new key")), muted()
        self._keys, self._recipes = RowList(), RecipeCard()
        self._starting = PollTimer(self, lambda: self.call(gateway.STATUS, None, self._show_gateway))
        self._build()
        self._show_gateway(self._gateway)

    def show_status(self, status: Status) -> None:
        self._model = status.swarm.model if status.swarm is not None else ""
        self._button.setEnabled(status.swarm is not None)
        self._show_recipes()

    def refresh(self) -> None:
        super().refresh()
        self.call(gateway.STATUS, None, self._show_gateway)
        self.call(gateway.KEYS, None, self._show_keys)

    def _show_gateway(self, status: gateway.GatewayStatus) -> None:
        self._gateway = status
        self._state.setText(self._described(status))
        self._address.show_content(status.url, instead=self.tr("Known once it runs"))
        is_running = status.state in _RUNS
        self._button.setText(self.tr("Stop") if is_running else self.tr("Start"))
        self._button.show_glyph("close" if is_running else "play")
        self._starting.run_while(status.state is gateway.GatewayState.STARTING, _POLL_MS)
        self._show_recipes()

    def _press(self) -> None:
        if self._gateway.state in _RUNS:
            self.call(gateway.STOP, None, self._show_gateway)
        else:
            self.call(gateway.START, gateway.StartParams(stays=True), self._show_gateway)

    def _show_keys(self, found: gateway.KeyList) -> None:
        nothing = self.tr("No program has a key yet.")
        self._keys.show_rows(found.keys, lambda: list(map(self._row, found.keys)) or [muted(nothing)])

    def _row(self, key: gateway.KeyInfo) -> Row:
        about = self.tr("Revoke the key of {program}").format(program=key.name)
        revoke = Button(self.tr("Revoke…"), "", "quiet", lambda: self._ask_revoke(key.name), about=about)
        made = self.tr("Made {day}").format(day=formats.date(key.made_at))
        used = self.tr("%n answer(s), {tokens} tokens", "", key.answers).format(tokens=formats.number(key.tokens))
        return Row(key.name, f"{made} · {used}" if key.answers else made, revoke)

    def _make_key(self) -> None:
        name = self._name.text().strip()
        if name:
            self.call(gateway.MAKE_KEY, gateway.KeyName(name), self._show_made)

    def _show_made(self, made: gateway.MadeKey) -> None:
        self._key = made.key
        self._name.clear()
        self._new.show_content(made.key)
        text = self.tr("The key of {program}. Copy it now: Potluck keeps only its hash, and shows it this once.")
        self._new_note.setText(text.format(program=made.name))
        self._new.show()
        self._new_note.show()
        self._show_recipes()
        self.call(gateway.KEYS, None, self._show_keys)

    def _ask_revoke(self, name: str) -> None:
        asked = self.tr("Revoke the key of {program}?").format(program=name)
        text = self.tr("That program can no longer use the swarm's model.")
        revoke = partial(self.call, gateway.REVOKE_KEY, gateway.KeyName(name), self._show_keys)
        ConfirmDialog(self, asked, text, self.tr("Revoke"), revoke).open()

    def _show_recipes(self) -> None:
        self._recipes.show_values(self._gateway.url, self._key, self._model)

    def _described(self, status: gateway.GatewayStatus) -> str:
        """Return the gateway's state as a sentence or two."""
        match status.state:
            case gateway.GatewayState.READY:
                text = self.tr("Ready: {model}.").format(model=layers.model(status.model))
                ends = self.tr("Ends at {time} if nobody asks.") if status.ends_at is not None else ""
                ending = ends.format(time=formats.clock(status.ends_at)) if status.ends_at is not None else ""
                return " ".join(filter(None, (text, ending, sentences.reason(status.notice))))
            case gateway.GatewayState.STARTING:
                return engine.getting_ready(sentences.translated(status.step))
            case gateway.GatewayState.FAILED:
                return sentences.reason(status.problem)
            case _:
                return self.tr("It does not run.")

    def _build(self) -> None:
        lead = self.tr(
            "Programs that speak OpenAI's, Anthropic's or Ollama's API can use the swarm's model through this computer."
        )
        always = self.flag(
            "gateway.start_with_daemon",
            self.tr("Always on"),
            self.tr(
                "Starts with Potluck and keeps running. Otherwise it ends when nobody asks, or when a game starts."
            ),
        )
        address = Card(self.tr("Address"), self._state, self._address, row(self._button, None), *divided((always,)))
        self._name.returnPressed.connect(self._make_key)
        self._new.hide()
        self._new_note.hide()
        note = muted(self.tr("Give each program a key of its own. Whoever has one asks in your name."))
        making = row((self._name, 1), self._make)
        keys = Card(self.tr("Keys"), note, making, self._new, self._new_note, self._keys)
        self.add(muted(lead), address, keys, self._recipes)
        self.setFocusProxy(self._button)
