"""Checks that a small model may draft for another one, and opens the one that a swarm's leaders chose."""

from __future__ import annotations

from tokenizers import Tokenizer

from potluck.checkpoint.source import Checkpoint, open_checkpoint
from potluck.errors import CheckpointError
from potluck.manifest import make_manifest
from potluck.protocol.swarm import LOCAL_REVISION, Draft
from potluck.sentences import sentence

_TOKENIZER_FILE = "tokenizer.json"
_RARE = 1000  # of so many tokens the small model may lack one: the small Gemma 3 have no row for the token of images


def check_pair(model: Checkpoint, draft: Checkpoint) -> None:
    """Raise CheckpointError unless both models give the same tokens the same ids.

    Families pad their vocabularies to different sizes, so only tokens below the smaller size are compared.
    """
    size = min(int(each.text_config.vocab_size) for each in (model, draft))
    whole = _vocabulary(model)
    tokens, drafted = ({item for item in each if item[1] < size} for each in (whole, _vocabulary(draft)))
    if tokens != drafted or (len(whole) - len(tokens)) * _RARE > len(whole):
        raise CheckpointError(
            sentence("{draft} cannot draft for {model}: its tokenizer differs", draft=draft.name, model=model.name),
            hint=sentence("name a small model of the same family, or none"),
        )


def open_draft(draft: Draft, place: str) -> Checkpoint:
    """Open a swarm's drafting model, with all of its files.

    Args:
        place: its folder if it comes with Potluck, else its name.

    Raises:
        CheckpointError: it cannot be had, or its files are not those that the swarm's leaders chose.
    """
    revision = None if draft.revision == LOCAL_REVISION else draft.revision
    checkpoint = open_checkpoint(place, revision=revision)
    checkpoint.fetch(checkpoint.weight_map.values())
    if draft.weights and make_manifest(checkpoint.folder).digest.hex() != draft.weights:
        raise CheckpointError(
            sentence("the files of {draft} are not those that the swarm's leaders chose", draft=draft.model),
            hint=sentence("delete it, and it is downloaded again: potluck models delete {draft}", draft=draft.model),
        )
    return checkpoint


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
