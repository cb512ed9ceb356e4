"""Today in one sentence: whom this computer helped, with how much, and the games that it stepped aside for."""

from __future__ import annotations

from collections.abc import Sequence

from potluck_control.methods.contribution import Contribution
from potluck_control.schema import Transition
from potluck_control.states import Reason, State

from potluck_app.words import numbers, people
from potluck_app.words.language import tr
from potluck_app.words.people import Helped

_GAMES = (Reason.GAME, Reason.EXCLUSIVE_APP, Reason.FULL_SCREEN)
_LEAST_S = 60.0  # of a game
NOBODY = Helped()


def sentence(given: Contribution, transitions: Sequence[Transition], now: float, helped: Helped = NOBODY) -> str:
    """Return the sentence; empty if nothing happened yet.

    Args:
        transitions: of today, the oldest first.
        helped: who was helped, as far as members are among them.
    """
    parts = []
    if given.tokens:
        tokens = tr("{number} token(s)", "", given.tokens).format(number=numbers.number(given.tokens))
        number = tr("you helped %n people with {tokens}", "", given.people) if given.people else ""
        names = people.named(helped.names, helped.others)
        said = tr("you helped {people} with {tokens}") if names else number or tr("you served {tokens}")
        parts.append(said.format(people=names, tokens=tokens))
    game, seconds = longest_game(transitions, now)
    if seconds >= _LEAST_S:
        said = tr("stepped aside for {time} of {game}") if parts else tr("you stepped aside for {time} of {game}")
        parts.append(said.format(time=numbers.duration(seconds), game=game))
    if not parts:
        return ""
    both = tr("Today: {one} and {other}.") if len(parts) == 2 else tr("Today: {one}.")
    return both.format(one=parts[0], other=parts[-1])


def longest_game(transitions: Sequence[Transition], now: float) -> tuple[str, float]:
    """Return the game that this computer stepped aside for the longest, and for how long."""
    ends = [*(transition.at for transition in transitions[1:]), now]
    games: dict[str, float] = {}
    for transition, end in zip(transitions, ends, strict=False):
        if transition.state is State.YIELDED and transition.reason in _GAMES and transition.app:
            name = transition.app_title or transition.app
            games[name] = games.get(name, 0.0) + max(end - transition.at, 0.0)
    return max(games.items(), key=lambda item: item[1], default=("", 0.0))
