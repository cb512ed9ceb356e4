"""A daemon in each state that the app shows in its own way: statuses, set-ups of the engine, and updates."""

from helpers import app_answers
from msgspec import structs
from potluck_control.api import schema
from potluck_control.methods.installation import Offered, Plan, SetupState, UpdatesState, WorkProgress
from potluck_control.states import Reason, State

from potluck.sentences import NOTHING, Blocks, sentence

SWARM = schema.SwarmStatus("friday", "demo", 4, span=(0, 2), coverage=(2, 1, 0, 0), coverage_at=0.0, is_live=True)
SERVING = structs.replace(
    app_answers.SERVING,
    text=sentence("Serving {what}", what=sentence("layers {blocks} of {model}", blocks=Blocks(0, 2), model="demo")),
    swarm=SWARM,
    tokens_per_s=12.5,
)
PAUSED = structs.replace(
    SERVING,
    swarm=structs.replace(SWARM, span=None, is_live=False),
    state=State.PAUSED,
    reason=Reason.TIMER,
    text=sentence("Paused by you"),
    until=4e9,
    engine=schema.EngineStatus(),
)
NO_SWARM = structs.replace(
    SERVING, state=State.IDLE, reason=Reason.NO_SWARM, text=sentence("No swarm joined yet"), swarm=None
)
YIELDED = structs.replace(
    SERVING, state=State.YIELDED, reason=Reason.GAME, text=sentence("Giving way to {who}", who="hades2")
)
GAME = structs.replace(
    YIELDED,
    text=sentence("Giving way to {who}", who="Hades II"),
    ends=sentence("{time} s after {who} is done", time=15, who="Hades II"),
    app="hades2",
    app_title="Hades II",
)
FINISHING = structs.replace(
    SERVING, state=State.DRAINING, reason=Reason.SHUTDOWN, text=sentence("Finishing"), until=4e9, sessions=2
)
STOPPED = structs.replace(PAUSED, reason=Reason.USER, text=sentence("Paused by you until you resume"), until=None)

GIB = 1 << 30
PLAN = Plan("cu130", sentence("RTX 3090 can be used"), NOTHING, 3 * GIB, 7 * GIB, False)
MISSING = SetupState(False, "/home/me/engines", PLAN, variants=("cpu", "cu130"))
FETCHING = structs.replace(MISSING, progress=WorkProgress(sentence("downloading torch (3 of 40)"), GIB, 3 * GIB))
READY = structs.replace(MISSING, ready=True, variant="cu130", devices=("cuda:0", "cpu"))
NO_ENGINE = structs.replace(
    NO_SWARM,
    reason=Reason.NO_ENGINE,
    text=sentence("The engine is not set up yet"),
    ends=sentence("when you set it up"),
)
MEMBER = structs.replace(NO_ENGINE, swarm=schema.SwarmStatus("friday", "demo", 4))
UPDATES = UpdatesState("0.1.0", False, True, True)
OFFERED = Offered("0.2.0", ("Faster <b>starts</b>", "Less memory"), 1_700_000_000)
