"""The libp2p protocol ids of our calls, and the messages of the small ones: dialling back, and pieces of model files.

The version is in each message, so that a mismatch is refused in words.

`DialBack` asks "can you dial me?": the caller asks for itself, and the callee dials it anew at addresses that it names.
`PieceRequest` asks for a piece of a model's files; its bytes follow as plain frames. The pieces are those of the signed
manifest, so a receiver checks each by itself and trusts nobody.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

SESSION: Final = "Potluck.session"  # stream: an opening, then steps
FORWARD: Final = "Potluck.forward"  # stream: one request, one answer, each in one frame or more
BACKWARD: Final = "Potluck.backward"  # stream, as FORWARD
PUSH: Final = "Potluck.push"  # stream: a secret, its acceptance, then outputs for the next server of a session
ADAPTER: Final = "Potluck.adapter"  # stream: a private adapter in one frame or more, then an empty answer
QUOTE: Final = "Potluck.quote"  # unary, like those below
SETTLE: Final = "Potluck.settle"
CHOICES: Final = "Potluck.choices"
DIAL_BACK: Final = "Potluck.dial_back"
WEIGHTS: Final = "Potluck.weights"  # stream: requests for pieces of the model's files, each answered by its bytes


MAX_ADDRESSES: Final = 8
_Address = Annotated[str, Meta(max_length=256, pattern=r"^(/[A-Za-z0-9.:%_-]+)*\Z")]  # no commas: p2pd gets it


class DialBack(Struct, frozen=True, omit_defaults=True):
    """A question whether the callee reaches the caller at its own addresses, which have no peer id.

    `seen_as` is the callee's address as the caller sees it: with one, the callee is asked to stay for a moment, so
    that the caller's relay opens (see `Libp2pHost.dial_anew`).
    """

    addresses: Annotated[tuple[_Address, ...], Meta(max_length=MAX_ADDRESSES)]
    seen_as: _Address = ""


class Reachable(Struct, frozen=True):
    """The answer whether the callee reached the caller at one of the addresses."""

    is_reachable: bool


PART_BYTES = 256 << 10  # size of one frame: a small answer of another stream waits for no more than this
MAX_REQUEST_BYTES = 512
MANIFEST = ""
"""The name under which the manifest itself is asked for; it has one piece."""


class PieceRequest(Struct, frozen=True):
    """A request for one piece of a file. `weights`: digest of the manifest."""

    weights: Annotated[bytes, Meta(min_length=32, max_length=32)]
    file: Annotated[str, Meta(max_length=200)]
    piece: Annotated[int, Meta(ge=0, lt=1 << 20)]
