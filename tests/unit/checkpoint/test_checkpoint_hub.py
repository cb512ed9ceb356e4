"""Checkpoints by hub name, against a hub on loopback."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.hub_server import HubRepo, HubServer
from huggingface_hub import close_session, constants, hf_hub_download
from torch import nn
from transformers.utils import logging

from potluck.blocks.span.block_span import load_span
from potluck.checkpoint import hub as hub_module
from potluck.checkpoint.ends import load_ends
from potluck.checkpoint.fetching import Fetching
from potluck.checkpoint.search import FoundModel, search_hub
from potluck.checkpoint.source import open_checkpoint
from potluck.errors import CheckpointError, PotluckError
from potluck.protocol.blocks import Span
from tests.helpers.fork_server import run_python

NAME = "someone/Tiny-1.5"


@pytest.fixture
def repo(family_folder: Callable[[str], Path]) -> HubRepo:
    return HubRepo(family_folder("llama"))


@pytest.fixture
def hub(repo: HubRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with HubServer({NAME: repo}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.origin)
        yield server


def shards_of(folder: Path, *keys: str) -> set[str]:
    weight_map = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    return {file for name, file in weight_map.items() if any(key in name for key in keys)}


def test_opening_fetches_no_shard_and_a_span_only_its_own(hub: HubServer, repo: HubRepo) -> None:
    checkpoint = open_checkpoint(NAME)
    assert hub.fetched() == {"config.json", "generation_config.json", "model.safetensors.index.json"}
    assert checkpoint.revision == repo.commit
    span = load_span(checkpoint, Span(2, 4))
    shards = {file for file in hub.fetched() if file.endswith(".safetensors")}
    assert shards == shards_of(repo.folder, "layers.2.", "layers.3.")
    assert span.digests == load_span(open_checkpoint(str(repo.folder)), Span(2, 4)).digests


def test_ends_fetch_only_the_shards_of_the_ends_and_once(hub: HubServer, repo: HubRepo) -> None:
    load_ends(open_checkpoint(NAME), nn.Identity())
    shards = {file for file in hub.fetched() if file.endswith(".safetensors")}
    assert shards == shards_of(repo.folder, "embed_tokens", "lm_head", "model.norm.")
    hub.requests.clear()
    load_ends(open_checkpoint(NAME), nn.Identity())
    assert hub.fetched() == set()
    for shard in shards:  # other programs find them, too
        found = hf_hub_download(NAME, shard, local_files_only=True)
        assert Path(found).read_bytes() == (repo.folder / shard).read_bytes()


_KILLED_DOWNLOAD = """
import os, sys
from huggingface_hub import file_download
from potluck.checkpoint.source import open_checkpoint
checkpoint = open_checkpoint(sys.argv[1])
file_download.constants.DOWNLOAD_CHUNK_SIZE = 10_000
file_download.time.sleep = lambda seconds: os._exit(9)  # die where the library would wait and retry
checkpoint.fetch([sys.argv[2]])
"""


def test_a_download_that_died_goes_on_where_it_broke_off(hub: HubServer, repo: HubRepo, tmp_path: Path) -> None:
    (shard, *_) = sorted(shards_of(repo.folder, "layers.0."))
    repo.break_after[shard] = 20_000
    program = tmp_path / "killed.py"
    program.write_text(_KILLED_DOWNLOAD)
    environment = {**os.environ, "HF_ENDPOINT": hub.origin, "HF_HUB_CACHE": str(tmp_path)}
    assert run_python([program, NAME, shard], env=environment).returncode == 9
    repo.break_after.clear()
    hub.requests.clear()
    checkpoint = open_checkpoint(NAME)
    checkpoint.fetch([shard])
    (again,) = [request for request in hub.requests if request.method == "GET" and request.file == shard]
    assert again.range is not None
    assert int(again.range.removeprefix("bytes=").rstrip("-")) > 0
    assert checkpoint.path_of(shard).read_bytes() == (repo.folder / shard).read_bytes()


def test_how_far_a_download_is_can_be_asked_meanwhile(
    hub: HubServer, repo: HubRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int] | None] = []

    class Watched(Fetching):
        def add(self, num_bytes: int) -> None:
            super().add(num_bytes)
            seen.append(self.progress())

    monkeypatch.setattr(hub_module, "FETCHING", watched := Watched())
    (shard, *_) = sorted(shards_of(repo.folder, "layers.0."))
    size = (repo.folder / shard).stat().st_size
    open_checkpoint(NAME).fetch([shard])
    assert seen[-1] == (size, size)
    assert watched.progress() is None


def test_progress_is_shown_only_when_asked_for(
    hub: HubServer, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TQDM_POSITION", "-1")  # bars are for terminals; this asks for them elsewhere
    logging.enable_progress_bar()
    load_span(open_checkpoint(NAME), Span(0, 1))
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "shown"))
    load_span(open_checkpoint(NAME, progress=True), Span(0, 1))
    assert "model-00001" in capfd.readouterr().err


def test_a_gated_model_needs_its_token(hub: HubServer, repo: HubRepo) -> None:
    repo.token = "hf_right"
    for token in (None, "hf_wrong"):
        with pytest.raises(CheckpointError, match="gated") as refusal:
            open_checkpoint(NAME, token=token)
        assert "hf auth login" in (refusal.value.hint or "")
    checkpoint = open_checkpoint(NAME, token="hf_right")
    assert load_span(checkpoint, Span(0, 1)).digests


def test_unknown_names_are_told_apart(hub: HubServer) -> None:
    with pytest.raises(CheckpointError, match="no model someone/else on the hub"):
        open_checkpoint("someone/else")
    with pytest.raises(CheckpointError, match="no such revision"):
        open_checkpoint(NAME, revision="v9")
    with pytest.raises(CheckpointError, match="neither a folder nor a hub name"):
        open_checkpoint("what is this")
    with pytest.raises(CheckpointError, match="there is no folder"):
        open_checkpoint("./nowhere")


def test_offline_says_so_unless_the_cache_has_the_model(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = load_span(open_checkpoint(NAME), Span(0, 1)).digests
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    cached = open_checkpoint(NAME)
    assert load_span(cached, Span(0, 1)).digests == digests
    with pytest.raises(CheckpointError, match="cannot reach the hub"):
        load_span(cached, Span(5, 6))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "empty"))
    with pytest.raises(CheckpointError, match="cannot reach the hub"):
        open_checkpoint(NAME)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("ALL_PROXY", "socks5://user:secret@127.0.0.1:9", "SOCKS proxy"),
        ("HTTPS_PROXY", "odd://127.0.0.1:9", "address of the proxy cannot be read"),
        ("HTTPS_PROXY", "http://user:secret@127.0.0.1:9", "the proxy does not reach far-away.invalid"),
        ("SSL_CERT_FILE", "/nowhere.pem", "SSL_CERT_FILE names certificates that are not there"),
    ],
)
def test_a_proxy_and_certificates_of_the_environment_are_to_blame_in_one_sentence(
    name: str, value: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://far-away.invalid")
    monkeypatch.setenv(name, value)
    close_session()  # which has read the environment
    with pytest.raises(CheckpointError, match="cannot reach the hub") as refusal:
        hub_module.download_file("nobody/nothing", "config.json")
    close_session()
    assert why in refusal.value.message
    assert "secret" not in f"{refusal.value.message} {refusal.value.hint}"


def test_a_full_disk_is_named(hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = open_checkpoint(NAME)

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(hub_module, "http_get", full)
    with pytest.raises(CheckpointError, match="disk is full") as refusal:
        load_span(checkpoint, Span(0, 1))
    assert str(tmp_path) in (refusal.value.hint or "")


# -- search ------------------------------------------------------------------------------------------------------------


LISTING: dict[str, object] = {
    "tags": ["safetensors", "license:apache-2.0"],
    "gated": "manual",
    "safetensors": {"parameters": {"BF16": 1000, "F32": 10, "F8_E4M3": 4}, "total": 1014},
}


def test_a_search_tells_size_licence_and_who_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repos = {"owner/llama-1": HubRepo(tmp_path, listing=LISTING), "owner/llama-2": HubRepo(tmp_path)}
    with HubServer(repos | {"owner/other": HubRepo(tmp_path)}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.origin)
        first, second = search_hub("llama")
    assert first == FoundModel("owner/llama-1", 2044, 1014, "apache-2.0", is_gated=True)
    assert second == FoundModel("owner/llama-2", 0, 0, "", is_gated=False)


def test_a_hub_that_is_away_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(PotluckError, match="cannot reach the hub"):
        search_hub("llama")
