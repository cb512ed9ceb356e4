"""`setup.*`: what engine environment fits this machine, what is in its way, how far its set-up is, how it ended."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from potluck.sentences import Sentence
from potluck_control.method import Empty, Method, Name
from potluck_control.methods.health import Finding
from potluck_control.methods.work import Problem, WorkProgress


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
    """`ready`: an engine can run; without a `variant` it uses the user's own Python environment.

    `folder`: where environments lie, or would. `findings`: as the doctor's; an error among them blocks the set-up.
    `progress` None: no set-up runs. `error`: of the last try; None: it succeeded, or there was none.
    """

    ready: bool
    folder: str
    plan: Plan
    variant: str = ""  # of the environment in use
    devices: tuple[str, ...] = ()  # on which its trial computed
    outdated: bool = False  # newer packages are available; the present ones go on working
    can_roll_back: bool = False
    findings: tuple[Finding, ...] = ()
    variants: tuple[str, ...] = ()  # for which this version has packages
    progress: WorkProgress | None = None
    error: Problem | None = None


class BeginParams(Struct, frozen=True):
    """`variant` empty: the best fit. `folder`: absolute, for all later environments; empty: no change."""

    variant: Name = ""
    folder: Annotated[str, Meta(max_length=4096, pattern=r"^(/[^\0]*)?\Z")] = ""


STATE = Method("setup.state", Empty, SetupState)
BEGIN = Method("setup.begin", BeginParams, SetupState)  # returns at once and resumes an earlier try
CANCEL = Method("setup.cancel", Empty, SetupState)  # what was in use stays in use
ROLL_BACK = Method("setup.rollback", Empty, SetupState)  # to the environment before this one, if it passes its trial
EVENT = "setup"  # SetupState: when it changes, at most twice a second
