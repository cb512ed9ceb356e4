"""How many first messages of newcomers the demo model answers: alone, with plain Transformers, greedily.

The messages and the rule that judges an answer are beside the model, in `first_messages.py`.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from importlib import import_module
from typing import Any

from potluck_control.resources import resource

from benchmarks.figures import Measured, figure

_BATCH = 50
_MAX_NEW_TOKENS = 64
_SHOWN = 10


@figure("demo_answers", unit="messages", reach=150, better="higher")
def answered(_: bool) -> Measured:
    """Of 200 first messages of newcomers, held out from training: those that the demo model answers.

    Greedily, with plain Transformers, by the rule of `resources/demo-model/first_messages.py`; `detail` has the
    counts by kind and ten that fail.
    """
    folder = resource("demo-model")
    sys.path.insert(0, str(folder))  # its scripts import each other by their bare names
    try:
        first_messages = import_module("first_messages")
    finally:
        sys.path.remove(str(folder))
    messages = first_messages.MESSAGES
    asked, right, failed = Counter[str](), Counter[str](), []
    for message, answer in zip(messages, _answers(str(folder), [m.text for m in messages]), strict=True):
        asked[message.kind] += 1
        if first_messages.is_answered(message, answer):
            right[message.kind] += 1
        else:
            failed.append({"message": message.text, "answer": answer})
    shown = random.Random(0).sample(failed, min(_SHOWN, len(failed)))
    kinds = {kind: f"{right[kind]} of {number}" for kind, number in asked.items()}
    return Measured(right.total(), {"answered": kinds, "not_answered": shown})


def _answers(folder: str, texts: list[str]) -> list[str]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval()
    rows = [_prompt_ids(tokenizer, text) for text in texts]
    answers: list[str] = []
    for start in range(0, len(rows), _BATCH):
        batch = tokenizer.pad({"input_ids": rows[start : start + _BATCH]}, padding_side="left", return_tensors="pt")
        with torch.inference_mode():
            output = model.generate(**batch, do_sample=False, max_new_tokens=_MAX_NEW_TOKENS)
        answers += tokenizer.batch_decode(output[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)
    return answers


def _prompt_ids(tokenizer: Any, text: str) -> list[int]:
    if tokenizer.chat_template is None:
        ids: list[int] = tokenizer(text)["input_ids"]
    else:
        messages = [{"role": "user", "content": text}]
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)["input_ids"]
    return ids
