"""A checkpoint, local or on a hub: its configuration, the file of each tensor, and downloads of just those files.

Opening a checkpoint downloads small files alone; shards come when they are needed. Nothing is unpickled, and no code
from a checkpoint is ever run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import torch

from potluck.checkpoint.families import SAME_LAYERS, decoder_class, decoder_of, layers_in_a_block
from potluck.checkpoint.hub import HubFiles, local_folder
from potluck.checkpoint.shards import Shard
from potluck.errors import CheckpointError
from potluck.model_files import SMALL
from potluck.protocol.swarm import LOCAL_REVISION, MAX_BLOCKS
from potluck.sentences import sentence

INDEX_FILE = "model.safetensors.index.json"
SINGLE_FILE = "model.safetensors"
_MOST = {  # many times what the largest public models have
    "num_hidden_layers": MAX_BLOCKS,
    "hidden_size": 1 << 20,
    "intermediate_size": 1 << 22,
    "num_attention_heads": 1 << 16,
    "num_key_value_heads": 1 << 16,
    "head_dim": 1 << 16,
    "vocab_size": 1 << 26,
}


class Files(Protocol):
    """The source of the files of a checkpoint."""

    def download(self, file: str) -> Path:
        """Return where a file is, after fetching it if it is missing. Raises CheckpointError."""


@dataclass(frozen=True)
class Checkpoint:
    """An opened checkpoint: configuration, names of files, and where missing ones come from.

    Attributes:
        name: as the user gave it.
        revision: the commit on the hub, or `local` for a folder.
        folder: where its files are (for a hub, the snapshot in the cache).
        config: the configuration of transformers.
        files: where missing ones come from; None: nowhere.
        is_pinned: a swarm pins the files, which are checked.
    """

    name: str
    revision: str
    folder: Path
    config: Any
    files: Files | None = None
    is_pinned: bool = False

    @property
    def text_config(self) -> Any:
        """Return the decoder's part of the configuration: all of it unless the model also handles images or sound."""
        return self.config.get_text_config(decoder=True)

    @property
    def num_blocks(self) -> int:
        return int(self.text_config.num_hidden_layers) // layers_in_a_block(self.text_config)

    @property
    def hidden_size(self) -> int:
        return int(self.text_config.hidden_size)

    @property
    def dtype(self) -> torch.dtype:
        """Return the dtype of the weights according to the configuration; float32 if it does not say."""
        dtype = self.text_config.dtype or self.config.dtype
        return dtype if isinstance(dtype, torch.dtype) else torch.float32

    @cached_property
    def weight_map(self) -> Mapping[str, str]:
        """Return which file has each tensor. A checkpoint in one file has no index: it is downloaded for its header."""
        index = self.folder / INDEX_FILE
        if index.is_file():
            return _read_index(index)
        self.fetch([SINGLE_FILE])
        return dict.fromkeys(Shard(self.path_of(SINGLE_FILE)).shapes, SINGLE_FILE)

    @property
    def total_bytes(self) -> int:
        """Return the size of all tensors according to the index or the only file; 0: unknown."""
        index = self.folder / INDEX_FILE
        if not index.is_file():
            single = self.path_of(SINGLE_FILE)
            return single.stat().st_size if single.is_file() else 0
        metadata = _read_json(index).get("metadata")
        total = metadata.get("total_size") if isinstance(metadata, dict) else None
        return total if isinstance(total, int) else 0

    def empty_blocks(self, dtype: torch.dtype | None = None) -> tuple[torch.nn.ModuleList, str]:
        """Return the blocks without values, from the architecture alone, and the decoder's name for them.

        Nothing is read or downloaded. Don't call it while another thread builds a model, because torch's default dtype
        is global.
        """
        with torch.device("meta"):
            model = decoder_class(self.text_config)._from_config(self.text_config, dtype=dtype)
        decoder, name = decoder_of(model, self.num_blocks)
        return getattr(decoder, name), name

    def block_parameters(self) -> tuple[int, ...]:
        """Return the number of parameters of each block, experts included; client and server must agree on them."""
        return tuple(sum(parameter.numel() for parameter in block.parameters()) for block in self.empty_blocks()[0])

    def path_of(self, file: str) -> Path:
        return self.folder / file

    def fetch(self, files: Iterable[str]) -> None:
        """Download those of these files that are missing. Raises CheckpointError if that fails."""
        for file in sorted(set(files)):
            if self.files is not None:
                self.files.download(file)
            elif not self.path_of(file).is_file():
                raise CheckpointError(
                    sentence("{file} is missing from {folder}", file=file, folder=self.folder),
                    hint=sentence("copy the whole checkpoint, or give its hub name"),
                )


def open_checkpoint(
    model: str,
    *,
    revision: str | None = None,
    token: str | None = None,
    progress: bool = False,
) -> Checkpoint:
    """Open a local folder or a model on the hub (HF_ENDPOINT and HF_HOME are honoured).

    Args:
        revision: branch, tag or commit on the hub; None takes `main`. Ignored for a folder.
        token: for gated and private models; None takes the token of `hf auth login` or HF_TOKEN.
        progress: show a bar on standard error for each download.

    Raises:
        CheckpointError: with a hint of what to do.
    """
    folder = local_folder(model)
    if folder is not None:
        files = {path.name for path in folder.iterdir()}
        _check_layout(model, files)
        return Checkpoint(model, LOCAL_REVISION, folder, _read_config(folder))
    name = model.replace("-petals", "") if model.startswith("bigscience/") else model
    hub = HubFiles.find(name, revision=revision, token=token, progress=progress)
    _check_layout(name, hub.files)
    for file in sorted(file for file in hub.files if file.endswith(SMALL)):
        hub.download(file)
    return Checkpoint(model, hub.revision, hub.folder, _read_config(hub.folder), hub)


def open_folder(name: str, revision: str, folder: Path, pinned: Files) -> Checkpoint:
    """Open a folder whose weights come from `pinned` when they are needed. Raises CheckpointError."""
    return Checkpoint(name, revision, folder, _read_config(folder), pinned, is_pinned=True)


def _check_layout(name: str, files: set[str]) -> None:
    has_weights = INDEX_FILE in files or SINGLE_FILE in files
    if not has_weights and any(file.endswith(".gguf") for file in files):
        raise CheckpointError(
            sentence("{folder} has its weights in GGUF, which is not supported", folder=name),
            hint=sentence("choose the same model in safetensors, such as GPTQ or AWQ if it should be small"),
        )
    if "config.json" not in files:
        raise CheckpointError(
            sentence("{folder} is not a checkpoint: it has no config.json", folder=name),
            hint=sentence("give a folder in the Hugging Face layout"),
        )
    if has_weights:
        return
    if any(file.endswith(".bin") for file in files):
        raise CheckpointError(
            sentence(
                "{folder} has only .bin files, which are pickles; servers and clients never open them", folder=name
            ),
            hint=sentence("save it as safetensors first, with save_pretrained() of Transformers"),
        )
    raise CheckpointError(
        sentence("{folder} has no safetensors weights", folder=name),
        hint=sentence("expected {one} or {other} beside config.json", one=SINGLE_FILE, other=INDEX_FILE),
    )


def _read_config(folder: Path) -> Any:
    from transformers import AutoConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    path = folder / "config.json"
    raw = _read_json(path)
    _check_layer_counts(raw)  # some families' classes make a list of so many entries
    model_type = raw.get("model_type")
    if not isinstance(model_type, str):
        raise CheckpointError(
            sentence("{file} has no model_type", file=path),
            hint=sentence("give a checkpoint with a transformers configuration"),
        )
    family = SAME_LAYERS.get(model_type, model_type)
    if family not in CONFIG_MAPPING:
        if "auto_map" in raw:
            raise CheckpointError(
                sentence("the family {family} needs code from the checkpoint, which is never run", family=model_type),
                hint=sentence("choose a model whose family is part of transformers"),
            )
        raise CheckpointError(
            sentence("the family {family} is unknown to the installed transformers", family=model_type),
            hint=sentence("try a newer transformers"),
        )
    try:
        if family == model_type:
            config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        else:
            config = CONFIG_MAPPING[family].from_dict({**raw, "model_type": family})
        _check_sizes(config.get_text_config(decoder=True))
    except Exception as error:  # configuration classes raise exceptions of many kinds
        raise CheckpointError(
            sentence("{file} is not a valid configuration: {why}", file=path, why=(str(error) or "no").splitlines()[0])
        ) from error
    return config


def _check_layer_counts(raw: dict[str, Any]) -> None:
    """Raise CheckpointError for a number of layers that no model has, in the configuration or a part of it."""
    for part in (raw, *(value for value in raw.values() if isinstance(value, dict))):
        for name, value in part.items():
            if "layer" in name and isinstance(value, int) and value > MAX_BLOCKS:
                raise CheckpointError(
                    sentence(
                        "config.json is damaged: {what} is {number}, above {limit}",
                        what=name,
                        number=value,
                        limit=MAX_BLOCKS,
                    )
                )


def _check_sizes(config: Any) -> None:
    """Raise ValueError for sizes that no model has."""
    for each in [*config.per_layer_config] if config.is_heterogeneous else [config]:
        for name, most in _MOST.items():
            value = getattr(each, name, None)
            if isinstance(value, int) and not 1 <= value <= most:
                raise ValueError(f"{name} is {value}, not from 1 to {most}")


def _read_index(path: Path) -> dict[str, str]:
    weight_map = _read_json(path).get("weight_map")
    if not isinstance(weight_map, dict) or not all(
        isinstance(file, str) and file.endswith(".safetensors") and Path(file).name == file
        for file in weight_map.values()
    ):
        raise CheckpointError(
            sentence("{file} is damaged: it does not map tensors to safetensors files beside it", file=path.name)
        )
    return weight_map


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(
            sentence("cannot read {path}: {why}", path=path.name, why=error), hint=sentence("look at {file}", file=path)
        ) from error
    if not isinstance(content, dict):
        raise CheckpointError(
            sentence("{file} is damaged: it is not a JSON object", file=path.name),
            hint=sentence("look at {file}", file=path),
        )
    return content
