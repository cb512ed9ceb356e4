"""Finding the small model that drafts for a swarm's model, with a hub on loopback."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from helpers.hub_server import HubRepo, HubServer
from potluck_control.resources import DEMO_MODEL, resource
from potluck_daemon.swarms.new_model import NewModel, find_draft, find_model

from potluck.draft_pairs import NO_DRAFT
from potluck.errors import PotluckError, UsageError


@pytest.fixture
def repos(tmp_path: Path) -> dict[str, HubRepo]:
    """A model that is known to have a drafting one, that one, and another with another tokenizer."""
    demo, names = resource(DEMO_MODEL), ("Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B", "owner/other")
    made = {}
    for name in names:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for file in ("config.json", "tokenizer.json"):
            shutil.copy(demo / file, folder)
        (folder / "model.safetensors").write_bytes(b"")
        made[name] = HubRepo(folder)
    tokenizer = json.loads((demo / "tokenizer.json").read_text())
    one, other = [*tokenizer["model"]["vocab"]][-2:]
    tokenizer["model"]["vocab"] |= {one: tokenizer["model"]["vocab"][other], other: tokenizer["model"]["vocab"][one]}
    (tmp_path / "owner/other/tokenizer.json").write_text(json.dumps(tokenizer))
    return made


async def test_a_known_pair_is_taken_and_another_tokenizer_refused(repos: dict[str, HubRepo], tmp_path: Path) -> None:
    with HubServer(repos) as hub:
        environment = {**os.environ, "HF_ENDPOINT": hub.origin, "HF_HUB_CACHE": str(tmp_path / "cache")}
        model = await find_model("Qwen/Qwen3-8B", sys.executable, environment)
        draft = await find_draft(model, "", sys.executable, environment)
        assert draft is not None
        assert (draft.name, draft.revision, draft.num_blocks) == ("Qwen/Qwen3-0.6B", "1" * 40, 12)
        assert "model.safetensors" not in hub.fetched()
        with pytest.raises(PotluckError, match="owner/other cannot draft for Qwen/Qwen3-8B: its tokenizer differs"):
            await find_draft(model, "owner/other", sys.executable, environment)


async def test_nothing_is_asked_where_nothing_drafts_and_no_folder_is_taken() -> None:
    python = "/nowhere"  # it would not start
    assert await find_draft(NewModel("Qwen/Qwen3-8B", 1, "main", ""), NO_DRAFT, python, {}) is None
    assert await find_draft(NewModel("owner/unknown", 1, "main", ""), "", python, {}) is None
    for folder in ("/models/small", "./small", "~/small"):
        with pytest.raises(UsageError, match="from the hub") as refused:
            await find_draft(NewModel("owner/model", 1, "main", ""), folder, python, {})
        assert refused.value.hint
