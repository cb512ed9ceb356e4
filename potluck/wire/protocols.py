"""The libp2p protocol ids of our calls. The version is in each message, so that a mismatch is refused in words."""

from __future__ import annotations

from typing import Final

SESSION: Final = "Potluck.session"  # stream: an opening, then steps
FORWARD: Final = "Potluck.forward"  # stream: one request, one answer, each in one frame or more
BACKWARD: Final = "Potluck.backward"  # likewise
PUSH: Final = "Potluck.push"  # stream: a secret, its acceptance, then outputs for the next server of a session
ADAPTER: Final = "Potluck.adapter"  # stream: a private adapter in one frame or more, then an empty answer
QUOTE: Final = "Potluck.quote"  # unary, like those below
SETTLE: Final = "Potluck.settle"
CHOICES: Final = "Potluck.choices"
DIAL_BACK: Final = "Potluck.dial_back"
WEIGHTS: Final = "Potluck.weights"  # stream: requests for pieces of the model's files, each answered by its bytes
