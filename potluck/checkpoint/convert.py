"""Converts a checkpoint of .bin shards, which are pickles, to safetensors. This process never opens a pickle.

A child process (`python -m potluck.checkpoint.convert SOURCE OUT_DIR`) reads one shard at a time with torch's
weights-only loader, which accepts only tensors and plain containers. The parent reads only the child's verdict, one
JSON line. The result appears under its name when it is complete, or not at all.
"""

from __future__ import annotations

import errno
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from potluck.errors import CheckpointError, UsageError

BIN_INDEX = "pytorch_model.bin.index.json"
BIN_SINGLE = "pytorch_model.bin"
_COPIED = (".json", ".txt", ".model", ".jinja", ".md")


def convert_checkpoint(
    source: str,
    out_dir: Path,
    *,
    revision: str | None = None,
    token: str | None = None,
    progress: bool = False,
) -> Path:
    """Write `source` (a folder or a hub name) with safetensors shards, index, configuration and tokenizer to `out_dir`.

    Raises:
        UsageError: `out_dir` exists and is not empty.
        CheckpointError: there is nothing to convert, a shard is damaged or holds more than tensors, or the disk is
            full.
    """
    out_dir = out_dir.expanduser().absolute()
    if out_dir.exists() and (not out_dir.is_dir() or any(out_dir.iterdir())):
        raise UsageError(f"{out_dir} exists already", hint="give a new folder to write to")
    folder = _bin_folder(source, revision, token, progress)
    out_dir.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{out_dir.name}-", dir=out_dir.parent))
    try:
        _run_child(folder, scratch)
        scratch.chmod(0o755)
        if out_dir.exists():
            out_dir.rmdir()
        scratch.rename(out_dir)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return out_dir


def _bin_folder(source: str, revision: str | None, token: str | None, progress: bool) -> Path:
    """Return the local folder with the shards, downloading them if necessary."""
    from potluck.checkpoint.hub import HubFiles, local_folder

    folder = local_folder(source)
    if folder is not None:
        return folder
    hub = HubFiles.find(source, revision=revision, token=token, progress=progress)
    for file in sorted(hub.small_files()):
        hub.download(file)
    for file in sorted(_shards_of(hub.folder, hub.files)):
        hub.download(file)
    return hub.folder


def _shards_of(folder: Path, files: set[str]) -> set[str]:
    if BIN_INDEX in files:
        weight_map = json.loads((folder / BIN_INDEX).read_text(encoding="utf-8")).get("weight_map")
        if not isinstance(weight_map, dict):
            raise CheckpointError(f"{BIN_INDEX} is damaged: it has no weight_map")
        shards = set(map(str, weight_map.values()))
        if any(Path(shard).name != shard for shard in shards):
            raise CheckpointError(f"{BIN_INDEX} names files outside of the checkpoint")
        return shards
    if BIN_SINGLE in files:
        return {BIN_SINGLE}
    raise CheckpointError("there is nothing to convert: no pytorch_model.bin", hint="try to use it as it is")


def _run_child(folder: Path, scratch: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if "TOKEN" not in key}
    command = [sys.executable, "-m", "potluck.checkpoint.convert", str(folder), str(scratch)]
    child = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    try:
        verdict = json.loads(child.stdout.splitlines()[-1])
        error, hint = verdict["error"], verdict["hint"]
    except (IndexError, ValueError, KeyError, TypeError) as bad:
        raise CheckpointError(
            f"the converter died (exit status {child.returncode})", hint="make sure that one shard fits in memory"
        ) from bad
    if error is not None:
        raise CheckpointError(str(error), hint=str(hint) if hint else None)


def _convert_here(folder: Path, scratch: Path) -> None:
    """Convert all shards, in the child. Each .bin becomes one .safetensors."""
    shards = sorted(_shards_of(folder, {path.name for path in folder.iterdir()}))
    weight_map: dict[str, str] = {}
    total_bytes = 0
    for number, shard in enumerate(shards, start=1):
        name = "model.safetensors" if len(shards) == 1 else f"model-{number:05}-of-{len(shards):05}.safetensors"
        tensors = _load_shard(folder / shard)
        _save_shard(tensors, scratch / name)
        weight_map.update(dict.fromkeys(tensors, name))
        total_bytes += sum(tensor.nbytes for tensor in tensors.values())
    if len(shards) > 1:
        index = {"metadata": {"total_size": total_bytes}, "weight_map": dict(sorted(weight_map.items()))}
        (scratch / "model.safetensors.index.json").write_text(json.dumps(index, indent=2), encoding="utf-8")
    for path in folder.iterdir():
        if path.name.endswith(_COPIED) and path.name != BIN_INDEX:
            shutil.copyfile(path, scratch / path.name)


def _load_shard(path: Path) -> dict[str, Any]:
    import torch

    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path.name} contains more than tensors and may be malicious, so it is refused",
            hint="do not use this checkpoint; look for one in the safetensors format",
        ) from error
    except FileNotFoundError as error:
        raise CheckpointError(f"{path.name} is missing", hint="download the checkpoint again") from error
    except (RuntimeError, EOFError, OSError) as error:
        raise CheckpointError(f"{path.name} is damaged", hint="download it again") from error
    if not isinstance(content, dict) or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in content.items()
    ):
        raise CheckpointError(f"{path.name} is not a table of tensors")
    return content


def _save_shard(tensors: dict[str, Any], path: Path) -> None:
    """Save a shard. Tied tensors share memory in a .bin file; safetensors needs a copy of each."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    seen: set[int] = set()
    separate = {}
    for name, tensor in tensors.items():
        plain = tensor.detach().contiguous()
        start = plain.untyped_storage().data_ptr()
        separate[name] = plain.clone() if start in seen else plain
        seen.add(start)
    try:
        save_file(separate, path, metadata={"format": "pt"})
    except SafetensorError as error:
        if "No space left" in str(error):
            raise OSError(errno.ENOSPC, str(error), str(path)) from error
        raise


def main(arguments: list[str]) -> int:
    """Convert and print the verdict as one JSON line: {"error": null or text, "hint": null or text}."""
    folder, scratch = map(Path, arguments)
    error: str | None = None
    hint: str | None = None
    try:
        _convert_here(folder, scratch)
    except CheckpointError as refusal:
        error, hint = refusal.message, refusal.hint
    except OSError as problem:
        full = problem.errno == errno.ENOSPC
        error = "the disk is full" if full else f"cannot write: {problem}"
        hint = f"free some space in {scratch.parent}" if full else None
    print(json.dumps({"error": error, "hint": hint}))
    return 0 if error is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
