"""Checks that a small model may draft for another one, and opens the one that a swarm's leaders chose."""

from __future__ import annotations

from tokenizers import Tokenizer

from potluck.checkpoint.hub import HubFiles
from potluck.checkpoint.prepared import usable_bytes
from potluck.checkpoint.shards import disk_full
from potluck.checkpoint.source import INDEX_FILE, SINGLE_FILE, Checkpoint, open_checkpoint
from potluck.errors import CheckpointError
from potluck.model_files import make_manifest
from potluck.protocol.swarm import LOCAL_REVISION, Draft
from potluck.sentences import Size, sentence

MOST_BYTES = 8 << 30
"""Of a drafting model's weights; a larger model takes longer on a processor than most ways between servers."""

_TOKENIZER_FILE = "tokenizer.json"
_RARE = 1000  # The small model may lack one token in so many: the small Gemma 3 have no row for the token of images.


def check_pair(model: Checkpoint, draft: Checkpoint) -> None:
    """Raise CheckpointError unless both models give the same tokens the same ids, and the second one is small.

    Families pad their vocabularies to different sizes, so only tokens below the smaller size are compared.
    """
    _checked_sizes(draft)
    size = min(int(each.text_config.vocab_size) for each in (model, draft))
    whole = _vocabulary(model)
    tokens, drafted = ({item for item in each if item[1] < size} for each in (whole, _vocabulary(draft)))
    if tokens != drafted or (len(whole) - len(tokens)) * _RARE > len(whole):
        raise CheckpointError(
            sentence("{draft} cannot draft for {model}: its tokenizer differs", draft=draft.name, model=model.name),
            hint=sentence("name a small model of the same family, or none"),
        )


def open_draft(draft: Draft, place: str, room_bytes: int = MOST_BYTES) -> Checkpoint:
    """Open a swarm's drafting model, with all of its files. Weights that have no room are not downloaded.

    Args:
        place: its folder if it comes with Potluck, else its name.
        room_bytes: that its weights may take in memory.

    Raises:
        CheckpointError: it cannot be had or is too large, or its files are not those that the swarm's leaders chose.
    """
    revision = None if draft.revision == LOCAL_REVISION else draft.revision
    checkpoint = open_checkpoint(place, revision=revision)
    sizes = _checked_sizes(checkpoint)
    if sum(sizes.values()) > room_bytes:
        raise CheckpointError(sentence("memory is short"))
    missing = {file: size for file, size in sizes.items() if not checkpoint.path_of(file).is_file()}
    if missing and usable_bytes(checkpoint.folder) < sum(missing.values()):
        raise disk_full(checkpoint.path_of(next(iter(missing))))
    checkpoint.fetch(checkpoint.weight_map.values())
    if draft.weights and make_manifest(checkpoint.folder).digest.hex() != draft.weights:
        raise CheckpointError(
            sentence("the files of {draft} are not those that the swarm's leaders chose", draft=draft.model),
            hint=sentence("delete it, and it is downloaded again: potluck models delete {draft}", draft=draft.model),
        )
    return checkpoint


def weight_sizes(checkpoint: Checkpoint) -> dict[str, int]:
    """Return the files of weights and their bytes, here or at the hub; none is downloaded. Raises CheckpointError."""
    has_index = checkpoint.path_of(INDEX_FILE).is_file()
    found: dict[str, int] = {}
    for file in sorted(set(checkpoint.weight_map.values())) if has_index else [SINGLE_FILE]:
        path = checkpoint.path_of(file)
        if path.is_file():
            found[file] = path.stat().st_size
        elif isinstance(checkpoint.files, HubFiles):
            found[file] = checkpoint.files.size_of(file)
    return found


def _checked_sizes(draft: Checkpoint) -> dict[str, int]:
    """Return `weight_sizes` of a model that is small enough to draft. Raises CheckpointError."""
    sizes = weight_sizes(draft)
    if (num_bytes := sum(sizes.values())) > MOST_BYTES:
        raise CheckpointError(
            sentence("{draft} is too large to draft: {size}", draft=draft.name, size=Size(num_bytes)),
            hint=sentence("name a small model of the same family, or none"),
        )
    return sizes


def _vocabulary(checkpoint: Checkpoint) -> set[tuple[str, int]]:
    """Return each token with its id. Raises CheckpointError."""
    try:
        read = Tokenizer.from_file(str(checkpoint.path_of(_TOKENIZER_FILE)))
    except Exception as error:  # the library raises nothing more particular
        raise CheckpointError(
            sentence("{model} has no usable {file}", model=checkpoint.name, file=_TOKENIZER_FILE),
            hint=sentence("copy the tokenizer files too"),
        ) from error
    return set(read.get_vocab(with_added_tokens=True).items())
