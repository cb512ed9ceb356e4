"""How good the demo model is: held-out loss beside n-gram baselines, and exact answers by category."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice

import torch
from corpus import Document
from transformers import PreTrainedModel, PreTrainedTokenizerBase

BATCH = 64
CATEGORIES = ("fact", "list", "sum", "echo", "talk")


def token_ids(document: Document, tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[bool]]:
    """The beginning-of-sequence token, the prompt, the answer and an end-of-sequence token; and which are answers."""
    prompt, answer = (
        tokenizer(text, add_special_tokens=False).input_ids
        for text in (document.prompt, document.answer + tokenizer.eos_token)
    )
    return [tokenizer.bos_token_id, *prompt, *answer], [False] * (1 + len(prompt)) + [True] * len(answer)


def model_loss(model: PreTrainedModel, rows: Sequence[Sequence[int]]) -> float:
    """Mean cross-entropy in nats a token; every token of a row but the first counts."""
    total, count = 0.0, 0
    for start in range(0, len(rows), BATCH):
        tensors = [torch.tensor(row) for row in rows[start : start + BATCH]]
        labels = torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=-100)
        with torch.inference_mode():
            logits = model(input_ids=labels.clamp(min=0)).logits[:, :-1]  # (batch, length - 1, vocabulary), fp32
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")
        total += loss.item()
        count += int((labels[:, 1:] != -100).sum())
    return total / count


def ngram_losses(train: Iterable[Sequence[int]], test: Iterable[Sequence[int]], vocabulary: int) -> list[float]:
    """Losses of the unigram, bigram and trigram model over the tokens that `model_loss` counts.

    Source: Witten-Bell smoothing, which has no parameter to tune: a history seen c times with t different successors
    trusts its own counts with weight c / (c + t) and otherwise the next shorter history.
    """
    orders = (1, 2, 3)
    successors: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for row in train:
        for i in range(1, len(row)):
            for order in orders:
                if i + 1 >= order:
                    successors[tuple(row[i + 1 - order : i])][row[i]] += 1
    totals = {history: (counts.total(), len(counts)) for history, counts in successors.items()}

    losses, count = [0.0] * len(orders), 0
    for row in test:
        for i in range(1, len(row)):
            probability = 1 / vocabulary
            for order in orders:
                history = tuple(row[max(0, i + 1 - order) : i])
                if history in totals:
                    seen, kinds = totals[history]
                    probability = (successors[history][row[i]] + kinds * probability) / (seen + kinds)
                losses[order - 1] -= math.log(probability)
            count += 1
    return [loss / count for loss in losses]


def answers(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompts: Sequence[str]) -> list[str]:
    """Complete each prompt greedily up to the end-of-sequence token."""
    completions: list[str] = []
    for start in range(0, len(prompts), BATCH):
        batch = tokenizer(list(prompts[start : start + BATCH]), return_tensors="pt", padding=True)
        with torch.inference_mode():
            output = model.generate(**batch)
        completions += tokenizer.batch_decode(output[:, batch.input_ids.shape[1] :], skip_special_tokens=True)
    return completions


def exact_matches(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, documents: Iterable[Document], per_category: int
) -> dict[str, list[tuple[str, str, str]]]:
    """Ask `per_category` documents of each category: (prompt, right answer, model's answer)."""
    wanted: dict[str, list[Document]] = {category: [] for category in CATEGORIES}
    for document in documents:
        if len(wanted[document.category]) < per_category:
            wanted[document.category].append(document)
        if all(len(chosen) == per_category for chosen in wanted.values()):
            break
    results = {}
    for category, chosen in wanted.items():
        given = answers(model, tokenizer, [document.prompt for document in chosen])
        results[category] = [(one.prompt, one.answer, answer) for one, answer in zip(chosen, given, strict=True)]
    return results


def sample_rows(documents: Iterable[Document], tokenizer: PreTrainedTokenizerBase, count: int) -> list[list[int]]:
    """The first `count` documents as rows of token ids."""
    return [token_ids(document, tokenizer)[0] for document in islice(documents, count)]
