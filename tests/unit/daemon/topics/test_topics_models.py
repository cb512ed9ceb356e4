"""Models on the disk, what is served, and how far downloads are."""

import errno
import os
import shutil
from pathlib import Path

import pytest
from helpers.hub_server import HubRepo, HubServer
from helpers.own_daemon import Ask, asking, own_daemon
from potluck_control.api.client import ControlError
from potluck_control.api.schema import SwarmStatus
from potluck_control.methods import models, settings
from potluck_control.methods.models import DeleteParams, SearchParams, Served
from potluck_control.methods.settings import Change, SetParams
from potluck_control.places import Places
from potluck_control.processes.engine_messages import EngineReport, Placed
from potluck_daemon.daemon import Daemon
from potluck_daemon.loop import ServingLoop
from potluck_daemon.parts import Parts
from potluck_daemon.reporting.status import download, served
from potluck_daemon.supervisor.facts import EngineFacts

from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import ChosenModel, choose_draft
from potluck.protocol.swarm import new_swarm
from potluck.sentences import verbatim


def hub_model(hub: Path, name: str, size: int, *, partial: int = 0) -> Path:
    """As huggingface_hub leaves it: a snapshot that is links to blobs."""
    folder = hub / f"models--{name.replace('/', '--')}"
    snapshot = folder / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (folder / "blobs").mkdir()
    (folder / "blobs" / "1").write_bytes(os.urandom(size))
    (snapshot / "model.safetensors").symlink_to("../../blobs/1")
    if partial:
        (folder / "blobs" / "2.partial").write_bytes(os.urandom(partial))
    return folder


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    hub_model(tmp_path / "hub", "owner/small", 10_000)
    hub_model(tmp_path / "hub", "owner/large--one", 500_000, partial=90_000)
    return tmp_path / "hub"


@pytest.fixture
def _runs_small(daemon: Daemon) -> None:
    joined = JoinedSwarms(daemon.places.swarms_file, daemon.places.identity_file)
    joined.create(new_swarm("friends", "owner/large", 4))
    joined.lead("friends", lambda own: [choose_draft(own, ChosenModel("owner/small", 4, "main"))], may_lag=True)


@pytest.mark.usefixtures("_runs_small")
async def test_downloads_are_listed_with_who_uses_them(hub: Path, ask: Ask) -> None:
    listed = await ask(models.LIST)
    large, small = listed.stored
    assert (large.name, large.swarms) == ("owner/large--one", ())
    assert (small.name, small.swarms) == ("owner/small", ("friends",))
    assert large.bytes > 590_000
    assert (large.is_partial, small.is_partial) == (True, False)
    assert (listed.folder.path, listed.folder.is_default) == (str(hub), True)
    assert listed.folder.models_bytes == large.bytes + small.bytes
    assert listed.folder.free_bytes > 0


@pytest.mark.usefixtures("_runs_small")
async def test_what_a_swarm_runs_is_not_deleted_by_mistake_and_what_is_served_never(
    hub: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ControlError, match="friends runs owner/small"):
        await ask(models.DELETE, DeleteParams("owner/small"))
    with monkeypatch.context() as serving:
        serving.setattr(Parts, "served", lambda _: Served("owner/small", "friends", 4))
        serving.setattr(ServingLoop, "is_serving", property(lambda _: True))
        with pytest.raises(ControlError, match="the engine serves owner/small"):
            await ask(models.DELETE, DeleteParams("owner/small", force=True))
    assert len(os.listdir(hub)) == 2
    assert (await ask(models.DELETE, DeleteParams("owner/small", force=True))).freed_bytes >= 10_000
    assert os.listdir(hub) == ["models--owner--large--one"]


async def test_only_models_are_deleted(hub: Path, ask: Ask) -> None:
    for name in ("owner/none", "../hub", "..", "owner/large"):
        with pytest.raises(ControlError, match="not among the downloaded"):
            await ask(models.DELETE, DeleteParams(name))
    assert len(os.listdir(hub)) == 2


async def test_a_model_that_cannot_be_deleted_is_named_with_the_reason(
    hub: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(ControlError, match=f"cannot use {hub}/models--owner--small: Permission denied") as refused:
        await ask(models.DELETE, DeleteParams("owner/small", force=True))
    assert refused.value.hint == "does it belong to you?"


async def test_prepared_blocks_are_deleted(ask: Ask, daemon: Daemon) -> None:
    (daemon.places.cache / "blocks" / "x").mkdir(parents=True)
    (daemon.places.cache / "blocks" / "x" / "y").write_bytes(os.urandom(5000))
    assert (await ask(models.LIST)).folder.prepared_bytes >= 5000
    assert (await ask(models.DELETE, DeleteParams(""))).freed_bytes >= 5000
    assert (await ask(models.LIST)).folder.prepared_bytes == 0


def test_what_is_served_is_told_with_its_place() -> None:
    placed = Placed("cuda:0", "bfloat16", "int4", 3, 1, 300, 100, verbatim("one streamed"))
    swarm = SwarmStatus("friends", "owner/small", 8, span=(2, 6))
    facts = EngineFacts(placed=placed)
    now = served(swarm, facts, is_running=True)
    assert now is not None
    assert (now.span, now.quantization, now.resident_blocks, now.streamed_bytes) == ((2, 6), "int4", 3, 100)
    ended = served(swarm, facts, is_running=False)
    assert ended is not None
    assert (ended.span, ended.device) == ((2, 6), "")
    assert served(None, facts, is_running=True) is None


def test_a_download_has_a_speed_and_an_end() -> None:
    facts = EngineFacts().after(EngineReport(), 1.0)
    assert download(facts) is None
    facts = facts.after(EngineReport(fetched_bytes=0, fetch_total_bytes=1000), 2.0)
    for second in range(1, 40):
        facts = facts.after(EngineReport(fetched_bytes=10 * second, fetch_total_bytes=1000), 2.0 + second)
    progress = download(facts)
    assert progress is not None
    assert (progress.done_bytes, progress.total_bytes) == (390, 1000)
    assert progress.bytes_per_s == pytest.approx(10, rel=0.01)
    assert download(facts.after(EngineReport(), 60.0)) is None


async def test_models_on_the_hub_are_found_in_a_process_of_its_own(
    places: Places, environment: dict[str, str], tmp_path: Path
) -> None:
    listing: dict[str, object] = {"safetensors": {"parameters": {"BF16": 1000}, "total": 1000}, "tags": ["license:mit"]}
    with HubServer({"owner/llama": HubRepo(tmp_path, listing=listing)}) as hub:
        async with own_daemon(places, environment | {"HF_ENDPOINT": hub.origin}) as daemon:
            (found,) = (await asking(daemon)(models.SEARCH, SearchParams("llama"))).models
    assert (found.model, found.bytes, found.licence, found.num_computers) == ("owner/llama", 2000, "mit", 1)


async def test_a_search_without_a_network_or_an_engine_says_so(
    places: Places, environment: dict[str, str], tmp_path: Path
) -> None:
    async with own_daemon(places, environment | {"HF_ENDPOINT": "http://127.0.0.1:9"}) as daemon:
        ask = asking(daemon)
        with pytest.raises(ControlError, match="cannot reach the hub") as caught:
            await ask(models.SEARCH, SearchParams("llama"))
        assert "on this computer" in str(caught.value.hint)
        await ask(settings.SET, SetParams((Change("serve.python", str(tmp_path / "none")),)))
        with pytest.raises(ControlError, match="cannot start"):
            await ask(models.SEARCH, SearchParams("llama"))
        assert [item.name for item in (await ask(models.ON_DISK)).models] == ["demo-model"]
