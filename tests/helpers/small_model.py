"""The golden checkpoint with a tokenizer of one token a letter, for commands that need text."""

import shutil
from pathlib import Path

from helpers.golden import CHECKPOINT
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast


def golden_with_tokenizer(folder: Path) -> Path:
    """Copy it to `folder`; printable ASCII letters are their own numbers."""
    shutil.copytree(CHECKPOINT, folder)
    vocabulary = {chr(number) if 32 <= number < 127 else f"<{number}>": number for number in range(256)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.decoder = decoders.Fuse()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    return folder
