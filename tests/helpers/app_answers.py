"""What a daemon answers to the pages of the app, for tests and figures that need a window full of them."""

import time
from pathlib import Path

from potluck_control.api.schema import (
    EngineStatus,
    HistoryPage,
    Logs,
    ProbeState,
    ProbeStatus,
    Status,
    SwarmStatus,
    Transition,
)
from potluck_control.methods.earnings import Earnings, EarningsGroups, EarningsSeries, EnergySource, Group, Period, Sums
from potluck_control.methods.gateway import GatewayState, GatewayStatus, KeyInfo, KeyList
from potluck_control.methods.health import Examination
from potluck_control.methods.installation import Plan, SetupState, UpdatesState
from potluck_control.methods.machine import Device, DeviceList, LoginStart, Programs
from potluck_control.methods.members import Member, MemberMachine, MembersList, OpenInvite, SeenServer
from potluck_control.methods.models import ModelChoice, ModelChoices, Models, ModelsFolder
from potluck_control.methods.swarms import Contact, InviteReach, JoinedSwarm, Swarms, UserNames
from potluck_control.settings import ServeSettings, Settings
from potluck_control.states import Reason, State
from potluck_daemon.settings.store import Loaded
from potluck_daemon.topics.settings import settings_page

from potluck.sentences import NOTHING, sentence

SWARM = SwarmStatus("friday", "demo", 4, span=(0, 2), coverage=(1, 1, 0, 1))
SERVING = Status(
    State.SERVING, Reason.NONE, sentence("Serving"), since=5.0, version="1", engine=EngineStatus(pid=1), swarm=SWARM
)
WEEK = Sums(0.0, 0.0, earned=2_500_000, received=500_000, tokens=1234, people=3)
DAYS = EarningsSeries(
    Period.DAY,
    (
        *(Sums(86400.0 * day, 86400.0 * (day + 1), earned=day) for day in range(6)),
        Sums(86400.0 * 6, 86400.0 * 7, earned=6, served_s=3600.0, energy_wh=1500.0, cost=0.3),
    ),
)
METERS = (EnergySource("nvml", sentence("RTX 3090"), 140.0),)
EARNINGS = Earnings(Sums(0, 0), WEEK, WEEK, WEEK, METERS)
ANSWERS: dict[str, object] = {
    "earnings.summary": EARNINGS,
    "earnings.series": DAYS,
    "earnings.by_person": EarningsGroups((Group("bb22bb22" * 8, WEEK),)),
    "earnings.by_model": EarningsGroups((Group("demo", WEEK),)),
    "history": HistoryPage(
        (
            Transition(
                10.0,
                State.SERVING,
                State.YIELDED,
                Reason.GAME,
                sentence("Giving way to {who}", who="Doom"),
                "doom",
                "Doom",
            ),
        )
    ),
    "programs.running": Programs((), (), ()),
    "gateway.status": GatewayStatus(GatewayState.READY, "http://127.0.0.1:8737/v1", "t", "friday", "demo"),
    "gateway.keys": KeyList((KeyInfo("blender", 43_200.0, 12, 3400, 50_000.0),)),
    "doctor.findings": Examination(),
    "settings.get": settings_page(
        Loaded(Settings(serve=ServeSettings(devices=("cuda:0", "cuda:1")))), Path("/x/settings.toml"), {}
    ),
    "login.get": LoginStart(app=False, daemon=False),
    "machine.get": DeviceList(
        (
            Device("cuda:0", "NVIDIA GeForce RTX 3090", 24 << 30, 20 << 30, 61.4, 180.2),
            Device("cuda:1", "NVIDIA GeForce RTX 2060", 6 << 30, 5 << 30, 44.0, 12.0),
            Device("cpu", "Ryzen", 32 << 30, 30 << 30, 55.0, 30.0),
        ),
        "cuda:0",
    ),
    "models.list": Models(None, ModelsFolder("/x/hub", True, 0, 0, 9 << 30, 0), ()),
    "models.on_disk": ModelChoices(
        (
            ModelChoice("a/llama", "a/llama", 140 << 30, "llama3", 12, is_here=False, is_gated=True),
            ModelChoice("", "demo", 11 << 20, "", 1, is_here=True),
            ModelChoice("/x/other", "other", 0, "", 0, is_here=False),
        ),
        12 << 30,
    ),
    "swarms.list": Swarms((JoinedSwarm("friday", "demo", 4, False, True, may_lead=True),)),
    "swarms.own_names": UserNames("Ada", "hub"),
    "swarms.contact": Contact("friday", "p", ("/ip4/192.168.0.7/tcp/31337/p2p/12D3",), InviteReach.NEARBY),
    "members.list": MembersList(
        "friday",
        (
            Member("Ada", "aa11aa11", "founder", 10.0, "", True, False, (MemberMachine("hub", "12D3"),)),
            Member("Bob", "bb22bb22", "member", 20.0, "3f", False, False, (MemberMachine("blender", "12D4"),)),
            Member("Eve", "cc33cc33", "admin", 30.0, "3f", False, False, (MemberMachine("x", "12D5"),)),
            Member("Kim", "dd44dd44", "guest", 40.0, "3f", False, True, (), waits=True),
        ),
        (OpenInvite("3fa9c2d1", 4e9, 10, 2),),
        True,
        True,
        asking="laptop",
        servers=(
            SeenServer("12D3", 0, 2, "online", 20.0),
            SeenServer("12D4", 1, 3, "online", 12.5, 0.023),
            SeenServer("12D5", 3, 4, "offline", 8.0),
        ),
        servers_at=time.time(),
    ),
    "logs": Logs("/x/potluckd.log", ("one", "two")),
    "setup.state": SetupState(
        True, "/x/engines", Plan("cpu", sentence("as you asked"), NOTHING, 400 << 20, 2 << 30, True), "cpu"
    ),
    "updates.state": UpdatesState("0.1.0", False, True, True),
}
PROBES = (
    ProbeStatus(sentence("Steam"), ProbeState.WATCHING),
    ProbeStatus(sentence("GameMode"), ProbeState.WATCHING),
    ProbeStatus(sentence("GPU memory"), ProbeState.FAILED, sentence("the NVIDIA driver does not answer")),
    ProbeStatus(sentence("Battery"), ProbeState.UNAVAILABLE, sentence("no battery")),
    ProbeStatus(sentence("Running programs"), ProbeState.SEEN, sentence("blender")),
    ProbeStatus(sentence("Power"), ProbeState.OFF),
)
