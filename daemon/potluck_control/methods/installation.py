"""`setup.*` and `updates.*`: the engine's environment and Potluck's version, and the progress of changing them.

`setup.*` says which environment fits this machine, what is in its way, how far its set-up is, and how it ended.
`updates.*` shows the version that is offered, looks for one, and installs it. The daemon is away for a moment while it
becomes the new version.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from potluck.sentences import NOTHING, Sentence
from potluck_control.api.method import Empty, Method, Name
from potluck_control.methods.health import Finding


class WorkProgress(Struct, frozen=True):
    """The present step of long work. `done` and `total` are bytes, 0 if nothing is fetched."""

    text: Sentence
    done: int = 0
    total: int = 0


class Problem(Struct, frozen=True):
    """A failure in one plain sentence, and what to do about it."""

    text: Sentence
    hint: Sentence = NOTHING


class Plan(Struct, frozen=True):
    """The environment to make. `advice`: how more of the hardware could be used; empty: nothing to do.

    `download_bytes` and `disk_bytes`: at most. `is_verified`: Potluck's own tests install and run this variant.
    """

    variant: str
    why: Sentence
    advice: Sentence
    download_bytes: int
    disk_bytes: int
    is_verified: bool


class SetupState(Struct, frozen=True):
    """The engine's environment.

    `ready`: an engine can run; without a `variant` it uses the user's own Python environment.

    `folder`: where environments lie, or would. `findings`: as the doctor's; an error among them blocks the set-up.
    `progress` None: no set-up runs. `error`: of the last try; None: it succeeded, or there was none.
    """

    ready: bool
    folder: str
    plan: Plan
    variant: str = ""  # the variant in use
    devices: tuple[str, ...] = ()  # the devices that passed its self-test
    outdated: bool = False  # newer packages are available; the present ones go on working
    can_roll_back: bool = False
    findings: tuple[Finding, ...] = ()
    variants: tuple[str, ...] = ()  # variants with packages in this version
    progress: WorkProgress | None = None
    error: Problem | None = None


class BeginParams(Struct, frozen=True):
    """The set-up to begin.

    `variant` empty: the best fit. `folder`: absolute, for all later environments; empty: no change.
    """

    variant: Name = ""
    folder: Annotated[str, Meta(max_length=4096, pattern=r"^(/[^\0]*)?\Z")] = ""


class Offered(Struct, frozen=True):
    """A newer version. `issued_at`: when the publisher signed it, in Unix seconds."""

    version: str
    changes: tuple[str, ...]
    issued_at: int


class UpdatesState(Struct, frozen=True):
    """This version and a newer one.

    `checked_at`: when the publisher last answered, in Unix seconds. `error`: of the daemon's last try.
    """

    running: str  # version
    is_allowed: bool  # the daemon may ask by itself: the setting updates.check
    is_configured: bool  # updates.url and updates.key are set
    can_install: bool  # False: apt, pip or whatever installed it updates it
    offered: Offered | None = None
    checked_at: float | None = None
    progress: WorkProgress | None = None  # progress of the check or update that runs now
    error: Problem | None = None


SETUP_STATE = Method("setup.state", Empty, SetupState)
BEGIN_SETUP = Method("setup.begin", BeginParams, SetupState)  # returns at once and resumes an earlier try
CANCEL_SETUP = Method("setup.cancel", Empty, SetupState)  # what was in use stays in use
ROLL_BACK_SETUP = Method("setup.rollback", Empty, SetupState)  # only if the previous environment passes its self-test
SETUP_EVENT = "setup"  # SetupState: when it changes, at most twice a second
UPDATES_STATE = Method("updates.state", Empty, UpdatesState)
CHECK_FOR_UPDATE = Method("updates.check", Empty, UpdatesState)  # answers when the publisher has answered
INSTALL_UPDATE = Method("updates.install", Empty, UpdatesState)  # answers when the update has begun
UPDATES_EVENT = "updates"  # UpdatesState: when it changes
