"""What to ask a model first."""

from __future__ import annotations

from potluck_control.resources import DEMO_MODEL

from potluck_app.words.language import tr

_OF_THE_DEMO = ("What can you do?", "What is Potluck?", "Count from 3 to 9", "Write a haiku")


def suggestions(model: str) -> tuple[str, ...]:
    """Return questions that the swarm's model can answer. The demo model understands English alone."""
    if model == DEMO_MODEL:
        return _OF_THE_DEMO
    return (
        tr("Explain language models in three sentences."),
        tr("Suggest a dinner for five friends."),
        tr("Write a haiku about sharing."),
    )
