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
    STOPPED = "stopped"
    STARTING = "starting"  # imports, loads embeddings and head, looks for servers
    READY = "ready"
    FAILED = "failed"  # `problem` says why; one that stays or had been ready is started again by itself
    UNKNOWN = "unknown"  # what a newer daemon says


class StartParams(Struct, frozen=True):
    """`swarm`: a joined one; empty: `gateway.swarm`, or the served one. `stays`: the settings keep it from now on."""

    swarm: str = ""
    stays: bool = False


class GatewayStatus(Confidential, frozen=True):
    """`token` lasts until `gateway.stop`, and only those who may call this daemon are told it."""

    state: GatewayState
    url: str = ""  # http://127.0.0.1:PORT/v1 while it is ready
    token: str = ""
    swarm: str = ""
    model: str = ""
    step: Sentence = NOTHING  # of its start
    is_waiting: bool = False  # for a member of the swarm that answers; also when it failed while it did
    problem: Sentence = NOTHING  # with the advice if there is any
    ends_at: float | None = None  # Unix; when it ends by itself if nobody asks; None: it stays
    notice: Sentence = NOTHING  # what its user should know: that its port was taken, or who else can reach it


class KeyName(Struct, frozen=True):
    name: str


class KeyInfo(Struct, frozen=True):
    """A key without what is secret about it."""

    name: str
    made_at: float  # Unix
    answers: int = 0  # to requests with this key
    tokens: int = 0  # of their prompts and answers
    used_at: float | None = None  # Unix; None: never


class KeyList(Struct, frozen=True):
    keys: tuple[KeyInfo, ...] = ()


class MadeKey(Confidential, frozen=True):
    """A new key, which nobody can read again."""

    name: str
    key: str


START = Method("gateway.start", StartParams, GatewayStatus)  # returns at once; ask `gateway.status` until it is ready
STOP = Method("gateway.stop", Empty, GatewayStatus)  # and keep it no longer
STATUS = Method("gateway.status", Empty, GatewayStatus)
KEYS = Method("gateway.keys", Empty, KeyList)
MAKE_KEY = Method("gateway.make_key", KeyName, MadeKey)
REVOKE_KEY = Method("gateway.revoke_key", KeyName, KeyList)
