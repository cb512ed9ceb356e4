"""Train the model that drafts for the demo model: `python resources/demo-model/train_draft_model.py --out DIR`.

Two blocks of the demo model's own shape under its embeddings: a quarter of its size, and few blocks, so that a token
takes little time. It learns what the demo model predicts in the demo's texts, and besides how documents and source
files of this repository go on, because the demo's texts alone tell nothing about prose. The six texts that the
benchmarks are about to let it guess (`UNSEEN`) are left out, with every line elsewhere that says the same.
"""

import argparse
import random
import re
from collections.abc import Iterator
from inspect import cleandoc
from itertools import islice
from pathlib import Path

import torch
from corpus import documents
from torch import Tensor, nn
from train import Cycle, packed_rows, train
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerBase

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
BLOCKS = 2
ROW_TOKENS = 512  # the benchmarks' texts have 480
ROWS = 4  # a step: the first of the demo's texts, the others of the repository's
UNSEEN = tuple(
    f"benchmarks/texts/{name}.txt" for name in ("security", "contributing", "costs", "figures", "hop", "generate")
)
DOCUMENTS = ("*.md", "docs/**/*.md", "benchmarks/results/*.md", "tests/**/*.md", "resources/**/*.md")
SOURCES = ("potluck/**/*.py", "daemon/**/*.py", "app/**/*.py", "benchmarks/**/*.py", "tests/**/*.py")
SHARES = (0.4, 0.35, 0.25)  # of documents, docstrings and whole source files in the repository's rows
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
SAME_WORDS = 8  # in a row: a line that shares so many with an unseen text is left out
CYCLES = (Cycle(1500, scale=0.7), Cycle(1500, scale=0.6), Cycle(700, scale=0.4))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = AutoModelForCausalLM.from_pretrained(FOLDER).eval().requires_grad_(requires_grad=False)
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    draft = shallow(model)
    demo = packed_rows(documents(args.seed), tokenizer, ROW_TOKENS)
    rows = mixed(demo, repository_rows(tokenizer, args.seed))
    for cycle in CYCLES:
        train(draft, rows, cycle, ROWS, lambda ids, weights: losses(model, draft, ids, weights))
    draft.save_pretrained(args.out)


def shallow(model: LlamaForCausalLM) -> LlamaForCausalLM:
    """Return the model's first blocks under its own head, to begin with."""
    config = model.config.__class__(**{**model.config.to_dict(), "num_hidden_layers": BLOCKS})
    draft = LlamaForCausalLM(config)
    wanted = draft.state_dict()
    draft.load_state_dict({name: value.clone() for name, value in model.state_dict().items() if name in wanted})
    draft.generation_config = model.generation_config
    return draft


def mixed(demo: Iterator[Tensor], repository: Iterator[Tensor]) -> Iterator[Tensor]:
    """Yield the rows of one step after another."""
    while True:
        yield next(demo)
        yield from islice(repository, ROWS - 1)


def repository_rows(tokenizer: PreTrainedTokenizerBase, seed: int) -> Iterator[Tensor]:
    """Yield rows from anywhere in the repository's files, [2, ROW_TOKENS] fp32: token ids and weights of one."""
    rng = random.Random(f"{seed} repository")
    sources = texts(SOURCES)
    kinds = [
        [tokenizer(text, add_special_tokens=False)["input_ids"] for text in kind]
        for kind in (texts(DOCUMENTS), ["\n\n".join(map(docstrings, sources))], sources)
    ]
    for kind in kinds:
        print(f"{len(kind)} texts, {sum(map(len, kind))} tokens", flush=True)
    while True:
        (kind,) = rng.choices(kinds, SHARES)
        (ids,) = rng.choices(kind, [len(each) for each in kind])
        start = rng.randrange(max(1, len(ids) - ROW_TOKENS + 2))
        row = [tokenizer.bos_token_id, *ids[start : start + ROW_TOKENS - 1]]
        padding = [0] * (ROW_TOKENS - len(row))
        yield torch.tensor([row + padding, [1.0] * len(row) + [0.0] * len(padding)])


def texts(patterns: tuple[str, ...]) -> list[str]:
    """Return the files without lines that an unseen text has in much the same words."""
    unseen = {words for name in UNSEEN for words in runs_of_words((ROOT / name).read_text())}
    paths = {path for pattern in patterns for path in ROOT.glob(pattern)} - {ROOT / name for name in UNSEEN}
    found = []
    for path in sorted(paths):
        lines = path.read_text().splitlines()
        found.append("\n".join(line for line in lines if not unseen & set(runs_of_words(line))))
    return found


def docstrings(source: str) -> str:
    return "\n\n".join(cleandoc(found[1]) for found in DOCSTRING.finditer(source))


def runs_of_words(text: str) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return (tuple(words[at : at + SAME_WORDS]) for at in range(len(words) - SAME_WORDS + 1))


def losses(model: LlamaForCausalLM, draft: LlamaForCausalLM, ids: Tensor, weights: Tensor) -> tuple[Tensor, str]:
    """Return the cross-entropy against what the model predicts in the first row, plus that of the others' next tokens.

    Shapes: ids and weights [rows, ROW_TOKENS].
    """
    document = (ids == model.config.bos_token_id).cumsum(dim=1)
    is_visible = (document[:, None, :, None] == document[:, None, None, :]).tril()
    logits = draft(input_ids=ids, attention_mask=is_visible, use_cache=False).logits[:, :-1]
    with torch.inference_mode():
        wanted = model(input_ids=ids[:1], attention_mask=is_visible[:1], use_cache=False).logits[0, :-1].softmax(-1)
    weights = weights[:, 1:]
    own = nn.functional.cross_entropy(logits[0], wanted.clone(), reduction="none") @ weights[0] / weights[0].sum()
    rest = nn.functional.cross_entropy(logits[1:].flatten(0, 1), ids[1:, 1:].flatten(), reduction="none")
    rest = rest @ weights[1:].flatten() / weights[1:].sum()
    return own + rest, f"demo {own.item():.3f} repository {rest.item():.3f}  "


if __name__ == "__main__":
    main()
