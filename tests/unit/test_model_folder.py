"""No name leads out of a model's folder, and downloads of the hub's library need not be fetched again."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from potluck_engine.weights.checkpoints import MemberSource, PinnedFiles

from potluck.errors import CheckpointError, UsageError
from potluck.model_files import Manifests, hub_folder, inside, make_manifest, model_folder, pinned_folder
from potluck.protocol.swarm import Swarm

LEADING_OUT = ("..", ".", "../..", "/etc", "a/../b", "..\\..", "a\0b", "~", "a/b/c", "", "a\nb", "x" * 999, None, b"..")
SWARM = Swarm("home", "owner/model", 4, "_home", "1" * 40)


@pytest.mark.parametrize("name", LEADING_OUT)
def test_no_name_of_a_model_or_a_revision_leads_out_of_the_folder(name: Any, tmp_path: Path) -> None:
    for field in ("model", "revision"):
        with pytest.raises(UsageError, match="a swarm cannot have this"):
            replace(SWARM, **{field: name})
    for model, version in ((name, "1" * 40), ("owner/model", name)):
        with pytest.raises(CheckpointError):
            model_folder(model, version, tmp_path)


@pytest.mark.parametrize("name", ["..", ".", "", "../..", "/etc", "a/../../b", "a\0b"])
def test_no_name_of_a_file_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError):
        inside(tmp_path, name)


def test_a_branch_with_a_slash_is_refused_with_what_to_name_instead() -> None:
    with pytest.raises(UsageError) as error:
        Swarm("home", "owner/model", 4, "_home", "feature/x")
    assert "hash" in str(error.value.hint)


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    cache, mine = tmp_path / "cache", tmp_path / "mine"
    for folder in (cache, mine):
        folder.mkdir()
    (cache / "link").symlink_to(mine)
    for names in (("link",), ("link", "config.json")):
        with pytest.raises(CheckpointError):
            inside(cache, *names)


class Downloads:
    """A model that the hub's library has downloaded, and members who have nothing."""

    def __init__(self, tmp_path: Path) -> None:
        self.cache = tmp_path / "cache"
        self.hubs = hub_folder(SWARM, self.cache)
        self.hubs.mkdir(parents=True)
        blobs = self.hubs.parents[1] / "blobs"
        blobs.mkdir()
        (blobs / "one").write_text("{}")
        (self.hubs / "config.json").symlink_to("../../blobs/one")
        (self.hubs / "model.safetensors").write_bytes(b"weights")
        manifest = make_manifest(self.hubs)
        self.swarm = Swarm("home", "owner/model", 4, "_home", "1" * 40, weights=manifest.digest.hex())
        self.folder = pinned_folder(self.swarm, self.cache)
        members: Any = MemberSource(None, None)  # type: ignore[arg-type]  # not asked
        self.files = PinnedFiles(self.swarm, manifest, Manifests(tmp_path / "kept"), self.folder, members)


def test_a_download_of_the_hubs_library_is_linked_into_the_folder_of_the_digest(tmp_path: Path) -> None:
    there = Downloads(tmp_path)
    for name in ("config.json", "model.safetensors"):
        assert there.files.download(name) == there.folder / name
        assert os.path.samefile(there.folder / name, there.hubs / name)
        assert not (there.folder / name).is_symlink()


def test_a_download_that_leads_out_of_the_models_folder_is_not_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Downloads(tmp_path)
    (tmp_path / "mine").write_text("{}")
    (there.hubs / "config.json").unlink()
    (there.hubs / "config.json").symlink_to(tmp_path / "mine")
    monkeypatch.setattr(MemberSource, "run", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        there.files.download("config.json")


def test_a_users_own_folder_is_never_written(tmp_path: Path) -> None:
    there = Downloads(tmp_path)
    (there.hubs / "model.safetensors").write_bytes(b"changed")
    own = PinnedFiles(there.swarm, there.files.manifest, there.files.manifests, there.hubs, None)
    with pytest.raises(CheckpointError, match="differs from the file of"):
        own.download("model.safetensors")
    assert (there.hubs / "model.safetensors").read_bytes() == b"changed"
