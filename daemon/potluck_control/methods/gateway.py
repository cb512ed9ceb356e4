"""`gateway.*`: an OpenAI-compatible server on loopback, and the keys with which programs use it.

It answers `POST {url}/chat/completions` with `Authorization: Bearer {token}`, or a key instead of the token;
`"stream": true` streams. It ends with the daemon and on request. Unless it stays, as `gateway.start_with_daemon` says,
it also ends when nobody has used it for `chat.end_after_s`, and when a game starts.
"""

from __future__ import annotations

from msgspec import Struct

from potluck.protocol.codec import Confidential
from potluck.sentences import NOTHING, Sentence
from potluck_control.api.method import Empty, Method
from potluck_control.states import OpenEnum


class GatewayState(OpenEnum):
    """The life of the gateway."""

    STOPPED = "stopped"
    STARTING = "starting"  # imports, loads embeddings and head, looks for servers
    READY = "ready"
    FAILED = "failed"  # `problem` says why; the daemon restarts one that stays or had been ready
    UNKNOWN = "unknown"  # a word of a newer daemon


class StartParams(Struct, frozen=True):
    """The gateway to start.

    `swarm`: a joined one; empty: `gateway.swarm`, or the served one. `stays`: keep it running, by the settings.
    """

    swarm: str = ""
    stays: bool = False


class GatewayStatus(Confidential, frozen=True):
    """The gateway's state. `token` is valid until `gateway.stop`; only callers of the daemon can read it."""

    state: GatewayState
    url: str = ""  # http://127.0.0.1:PORT/v1 while it is ready
    token: str = ""
    swarm: str = ""
    model: str = ""
    step: Sentence = NOTHING  # the current step of its start
    is_waiting: bool = False  # it waits, or waited when it failed, for a member of the swarm to answer
    problem: Sentence = NOTHING  # the error with its advice
    ends_at: float | None = None  # Unix; when it ends by itself if nobody asks; None: it stays
    notice: Sentence = NOTHING  # what its user should know: that its port was taken, or who else can reach it


class KeyName(Struct, frozen=True):
    """A key by its name."""

    name: str


class KeyInfo(Struct, frozen=True):
    """A key without what is secret about it."""

    name: str
    made_at: float  # Unix
    answers: int = 0  # answers to requests with this key
    tokens: int = 0  # tokens of these prompts and answers
    used_at: float | None = None  # Unix; None: never


class KeyList(Struct, frozen=True):
    """The keys that programs may use the gateway with, without their secrets."""

    keys: tuple[KeyInfo, ...] = ()


class MadeKey(Confidential, frozen=True):
    """A new key, which can be read only now."""

    name: str
    key: str


START = Method("gateway.start", StartParams, GatewayStatus)  # returns at once; ask `gateway.status` until it is ready
STOP = Method("gateway.stop", Empty, GatewayStatus)  # also clears `gateway.start_with_daemon`
STATUS = Method("gateway.status", Empty, GatewayStatus)
KEYS = Method("gateway.keys", Empty, KeyList)
MAKE_KEY = Method("gateway.make_key", KeyName, MadeKey)
REVOKE_KEY = Method("gateway.revoke_key", KeyName, KeyList)
