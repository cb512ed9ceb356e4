"""The search for models, against a hub on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.hub_server import HubRepo, HubServer

from potluck.checkpoint.search import FoundModel, search_hub
from potluck.errors import PotluckError

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
