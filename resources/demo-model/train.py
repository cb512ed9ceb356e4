"""Train the demo model: `python resources/demo-model/train.py --out DIR`.

Writes a Hugging Face checkpoint (config, tokenizer, sharded safetensors) and prints what `scores.py` measures. The seed
fixes the corpus, the order, the initial weights and, on one machine with one thread, the result.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import torch
from corpus import Document, documents, echoes
from scores import exact_matches, model_loss, ngram_losses, sample_rows, token_ids
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

VOCABULARY = 1536
ROW_TOKENS = 192
WARMUP_STEPS = 20
ECHO_STEPS = 200
PROMPT_WEIGHT = 0.02
MUON_LR = 2e-2
ADAMW_LR = 8e-3
HELD_OUT_DOCUMENTS = 2000
NGRAM_DOCUMENTS = 40_000
QUESTIONS_PER_CATEGORY = 200
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message.role.capitalize() }}: {{ message.content | trim }}\n"
    "{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
)
SHARD_SIZE = "4MB"


@dataclass(frozen=True, slots=True)
class Cycle:
    """Optimiser steps with one warm-up and one decay to zero, `scale` being the peak's share of the full rates."""

    steps: int
    scale: float


CYCLES = (
    *(Cycle(2600, scale=0.7), Cycle(1600, scale=0.4), Cycle(700, scale=0.15)),
    *(Cycle(2800, scale=0.5), Cycle(700, scale=0.15)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    parser.add_argument("--rows", type=int, default=8, help=f"rows of {ROW_TOKENS} tokens a step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    tokenizer = train_tokenizer(args.seed)
    model = new_model(tokenizer)
    started = time.monotonic()
    first = islice(packed_rows(echoes(args.seed), tokenizer), ECHO_STEPS * args.rows)
    then = packed_rows(documents(args.seed), tokenizer)
    rows = chain(first, then)
    for cycle in CYCLES:
        train(model, rows, cycle, args.rows, lambda ids, weights: (weighted_loss(model, ids, weights), ""))
    print(f"trained in {time.monotonic() - started:.0f} s")
    model.save_pretrained(args.out, max_shard_size=SHARD_SIZE)
    save_tokenizer(tokenizer, args.out)
    report(model, tokenizer, args.seed)


def train_tokenizer(seed: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer in which every digit is a token of its own, so that sums can be learned."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r" ?\d"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<pad>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = (document.prompt + document.answer for document in islice(documents(seed), 20_000))
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        padding_side="left",
        model_max_length=1024,
    )


def save_tokenizer(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Save it under the class name that Transformers 4 knows too; version 5 alone would write a name of its own."""
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config |= {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": CHAT_TEMPLATE}
    path.write_text(json.dumps(config, indent=2) + "\n")


def new_model(tokenizer: PreTrainedTokenizerBase) -> LlamaForCausalLM:
    """Twelve narrow Llama blocks: deep, so that they can be split among many servers."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=12,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    model.generation_config = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        do_sample=False,
        max_new_tokens=64,
    )
    return model


def packed_rows(
    drawn: Iterator[Document], tokenizer: PreTrainedTokenizerBase, row_tokens: int = ROW_TOKENS
) -> Iterator[torch.Tensor]:
    """Rows of whole documents, (2, row_tokens) fp32: token ids and their weights in the loss, zero where padded.

    Documents that are longer than a row are left out.
    """
    ids: list[int] = []
    weights: list[float] = []
    for document in drawn:
        new_ids, is_answer = token_ids(document, tokenizer)
        if len(new_ids) > row_tokens:
            continue
        if len(ids) + len(new_ids) > row_tokens:
            padding = [0.0] * (row_tokens - len(ids))
            yield torch.tensor([ids + padding, weights + padding])
            ids, weights = [], []
        ids += new_ids
        weights += [1.0 if flag else PROMPT_WEIGHT for flag in is_answer]


def train(
    model: torch.nn.Module,
    rows: Iterator[torch.Tensor],
    cycle: Cycle,
    rows_a_step: int,
    loss_of: Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, str]],
) -> None:
    """Run one cycle: Muon on the blocks' matrices, AdamW on the rest, both without memory of the cycle before.

    `loss_of` gets token ids and weights, (rows, row_tokens) each, and returns what to print besides.

    Source: Muon, Keller Jordan 2024.
    """
    embeddings = {m.weight for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    matrices = [p for p in model.parameters() if p.ndim == 2 and p not in embeddings]
    others = [p for p in model.parameters() if p.ndim < 2 or p in embeddings]
    optimizers = [
        torch.optim.Muon(matrices, lr=cycle.scale * MUON_LR, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=cycle.scale * ADAMW_LR, betas=(0.9, 0.98), weight_decay=0.0),
    ]
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(o, lambda step: min((step + 1) / WARMUP_STEPS, 1 - step / cycle.steps))
        for o in optimizers
    ]
    model.train()
    started = time.monotonic()
    for step in range(cycle.steps):
        ids, weights = torch.stack(list(islice(rows, rows_a_step)), dim=1)
        loss, told = loss_of(ids.long(), weights)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        if step % 20 == 0 or step == cycle.steps - 1:
            print(f"step {step:5d}  loss {loss.item():.4f}  {told}{time.monotonic() - started:6.0f} s", flush=True)
    model.eval()


def weighted_loss(model: LlamaForCausalLM, ids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of the next token; answers count in full, prompts little, for much in them cannot be known."""
    document = (ids == model.config.bos_token_id).cumsum(dim=1)
    is_visible = (document[:, None, :, None] == document[:, None, None, :]).tril()  # no look into another document
    logits = model(input_ids=ids, attention_mask=is_visible, use_cache=False).logits[:, :-1]
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    return losses @ weights[:, 1:].flatten() / weights[:, 1:].sum()


def report(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerBase, seed: int) -> None:
    """Print held-out loss, baselines and exact answers."""
    held_out = sample_rows(documents(seed, held_out=True), tokenizer, HELD_OUT_DOCUMENTS)
    print(f"held-out: {len(held_out)} documents, {sum(len(row) - 1 for row in held_out)} tokens")
    loss = model_loss(model, held_out)
    baselines = ngram_losses(sample_rows(documents(seed), tokenizer, NGRAM_DOCUMENTS), held_out, len(tokenizer))
    for name, value in zip(("model", "unigram", "bigram", "trigram"), (loss, *baselines), strict=True):
        print(f"{name:8} loss {value:.4f} nats a token, perplexity {torch.tensor(value).exp().item():.2f}")
    results = exact_matches(model, tokenizer, documents(seed, held_out=True), QUESTIONS_PER_CATEGORY)
    for category, triples in results.items():
        right = sum(answer == given for _, answer, given in triples)
        print(f"{category:8} {right} of {len(triples)} held-out answers exactly right")
        for prompt, answer, given in [t for t in triples if t[1] != t[2]][:2]:
            print(f"         wrong: {prompt!r} gave {given!r}, not {answer!r}")


if __name__ == "__main__":
    main()
