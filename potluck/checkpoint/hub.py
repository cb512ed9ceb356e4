"""Downloads files of a model from a hub, one by one, into the usual cache; each kind of failure has its own message."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from huggingface_hub import HfApi, HfFileMetadata, constants, get_hf_file_metadata, hf_hub_download, hf_hub_url
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.file_download import _create_symlink, http_get
from huggingface_hub.utils._fixes import WeakFileLock
from huggingface_hub.utils._headers import build_hf_headers
from huggingface_hub.utils.tqdm import tqdm

from potluck.checkpoint.fetching import FETCHING
from potluck.checkpoint.shards import disk_full
from potluck.errors import CheckpointError, explained
from potluck.model_files import SMALL
from potluck.protocol.swarm import is_revision
from potluck.sentences import sentence
from potluck.unreachable import is_network_error, why_unreachable

_SEARCH_TIMEOUT_S = 15.0


class _CountingBar(tqdm):
    """A progress bar that also reports to `FETCHING`."""

    def update(self, n: float | None = 1) -> bool | None:
        FETCHING.add(int(n or 0))
        return super().update(n)  # type: ignore[no-any-return]


class _SilentBar(_CountingBar):
    """A progress bar that reports to `FETCHING` and shows nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["disable"] = True
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class HubFiles:
    """A model at one commit: `folder` is its snapshot in the cache, `files` lists its top folder on the hub."""

    name: str
    revision: str
    folder: Path
    files: set[str]
    token: str | None
    progress: bool

    @classmethod
    def find(cls, name: str, *, revision: str | None, token: str | None, progress: bool) -> HubFiles:
        """Get the list of files from the hub, or from the cache if the hub cannot be reached."""
        try:
            with hub_errors(name, "config.json"):
                info = HfApi(endpoint=_endpoint(), token=token).model_info(
                    name, revision=revision, timeout=_SEARCH_TIMEOUT_S
                )
        except HubUnreachableError as error:
            return cls._from_cache(name, revision, error)
        files = {sibling.rfilename for sibling in info.siblings or () if "/" not in sibling.rfilename}
        if "config.json" not in files:
            raise CheckpointError(
                sentence("{folder} is not a checkpoint: it has no config.json", folder=name),
                hint=sentence("look for another name"),
            )
        # Ask by branch, so that the cache remembers its commit for times when the hub cannot be reached.
        path = download_file(name, "config.json", revision=revision, token=token, progress=progress)
        return cls(name, path.parent.name, path.parent, files, token, progress)

    @classmethod
    def _from_cache(cls, name: str, revision: str | None, why: CheckpointError) -> HubFiles:
        try:
            path = Path(hf_hub_download(name, "config.json", revision=revision, local_files_only=True))
        except (LocalEntryNotFoundError, HFValidationError, ValueError) as error:
            raise why from error
        files = {entry.name for entry in path.parent.iterdir()}
        return cls(name, path.parent.name, path.parent, files, None, progress=False)

    def download(self, file: str) -> Path:
        """Return a file in the cache, downloading it if necessary; shards continue where an attempt stopped."""
        if file.endswith(SMALL):
            return download_file(self.name, file, revision=self.revision, token=self.token, progress=self.progress)
        pointer = self.folder / file
        with hub_errors(self.name, file):
            if not pointer.exists():
                self._resume(file, pointer)
        return pointer

    def size_of(self, file: str) -> int:
        """Return the bytes of a file at the hub; what it doesn't tell counts as endless. Raises CheckpointError."""
        with hub_errors(self.name, file):
            size = self._metadata(file)[1].size
        return sys.maxsize if size is None else size

    def _metadata(self, file: str) -> tuple[str, HfFileMetadata]:
        """Return the address of a file at the hub, and what the hub tells of it."""
        endpoint = _endpoint()
        url = hf_hub_url(self.name, file, revision=self.revision, endpoint=endpoint)
        return url, get_hf_file_metadata(url, token=self.token, endpoint=endpoint)

    def _resume(self, file: str, pointer: Path) -> None:
        """Download a shard into a partial file of our own, because the library deletes its partial file with the
        process.
        """
        headers = build_hf_headers(token=self.token)
        url, found = self._metadata(file)
        if not is_revision(found.etag):
            raise CheckpointError(
                sentence("the hub sends no valid etag for {file}", file=file), hint=sentence("try again later")
            )
        blob = self.folder.parent.parent / "blobs" / str(found.etag)
        for folder in (blob.parent, self.folder):
            folder.mkdir(parents=True, exist_ok=True)
        partial = blob.with_name(f"{blob.name}.partial")
        with WeakFileLock(blob.with_name(f"{blob.name}.lock")):
            if not blob.exists():
                if urlsplit(found.location).netloc != urlsplit(url).netloc:
                    headers.pop("authorization", None)  # other hosts must not see the token
                with partial.open("ab") as stream:
                    if found.size is not None and stream.tell() > found.size:
                        stream.truncate(0)
                    with FETCHING.file(stream.tell(), found.size or 0):
                        http_get(
                            found.location,
                            stream,
                            resume_size=stream.tell(),
                            headers=headers,
                            expected_size=found.size,
                            tqdm_class=_CountingBar if self.progress else _SilentBar,
                        )
                partial.replace(blob)
            _create_symlink(str(blob), str(pointer), new_blob=True)


class HubUnreachableError(CheckpointError):
    """The hub did not answer; the cache may still have the model."""


def download_file(
    name: str, file: str, *, revision: str | None = None, token: str | None = None, progress: bool = False
) -> Path:
    """Return one file of a repository on the hub, from the cache if it is there. Raises CheckpointError.

    Args:
        revision: None takes the main branch.
    """
    with hub_errors(name, file):
        path = hf_hub_download(
            name,
            file,
            revision=revision or constants.DEFAULT_REVISION,
            token=token,
            endpoint=_endpoint(),
            tqdm_class=tqdm if progress else _SilentBar,
        )
    return Path(path)


@contextmanager
def hub_errors(name: str, file: str) -> Iterator[None]:
    """Turn exceptions of huggingface_hub into a CheckpointError."""
    try:
        yield
    except Exception as error:
        explained = _explained(error, name, file)
        if explained is None:
            raise
        raise explained from error


def _explained(error: Exception, name: str, file: str) -> CheckpointError | None:
    match error:
        case GatedRepoError():
            message = sentence("{name} is gated: its owner must grant you access", name=name)
            hint = sentence("accept its terms on its page, then log in with `hf auth login` or set HF_TOKEN")
        case RevisionNotFoundError():
            message = sentence("{name} has no such revision", name=name)
            hint = sentence("leave out the revision to use main")
        case RepositoryNotFoundError():
            message = sentence("there is no model {name} on the hub, or you may not see it", name=name)
            hint = sentence("check the spelling; for a private model log in with `hf auth login` or set HF_TOKEN")
        case HFValidationError():
            message = sentence("{name} is neither a folder nor a hub name", name=repr(name))
            hint = sentence("a hub name looks like owner/model")
        case EntryNotFoundError() if not isinstance(error, LocalEntryNotFoundError):
            message = sentence("{name} has no file {file} on the hub", name=name, file=file)
            hint = sentence("try another revision")
        case HfHubHTTPError(response=response):
            status = response.status_code if response is not None else None
            if status not in (401, 403):
                message = sentence("the hub answered {number} for {name}", number=status, name=name)
                return HubUnreachableError(message, hint=sentence("try again later"))
            message = sentence("the hub refuses access to {name}", name=name)
            hint = sentence("log in with `hf auth login` or set HF_TOKEN")
        case OSError(errno=errno.ENOSPC):
            return disk_full(Path(constants.HF_HUB_CACHE) / file)
        case OSError(filename=str(), errno=number) if number != errno.ENOENT and (refused := explained(error)):
            return CheckpointError(refused.sentence, hint=refused.advice)
        case _ if not is_network_error(error):
            return None
        case _:
            why, advice = why_unreachable(urlsplit(_endpoint()).hostname or "the hub", error)
            message = sentence(
                "cannot reach the hub to fetch {name}, and it is not in the cache: {why}", name=name, why=why
            )
            return HubUnreachableError(message, hint=sentence("{advice}, or give a local folder", advice=advice))
    return CheckpointError(message, hint=hint)


def local_folder(model: str) -> Path | None:
    """Return the folder that a user named, or None for a name on the hub. Raises CheckpointError for other paths.

    A folder begins with `/`, `.` or `~`. The model of a swarm can't, so its leaders choose no folder here.
    """
    folder = Path(model).expanduser()
    is_path = model.startswith((".", "/", "~"))
    if is_path and folder.is_dir():
        return folder
    if is_path or model.count("/") > 1:
        raise CheckpointError(
            sentence("there is no folder {path}", path=model),
            hint=sentence("give a folder with a config.json, or a hub name"),
        )
    return None


def _endpoint() -> str:
    """Return the hub's address. It is read at each call, because the library reads it only at import."""
    return os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
