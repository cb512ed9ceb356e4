"""Prompt tuning through a swarm: teach a few soft tokens to make the model continue with a text of your choice.

    python docs/examples/prompt_tuning.py --invite-file ./invite --text "All work and no play makes Jack a dull boy."

Only the soft prompt is trained, here; the blocks stay as they are, at their servers. The loss is printed as it falls.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from transformers import AutoTokenizer

from potluck import AutoDistributedModelForCausalLM, PromptTuning


def main() -> None:
    options = _options()
    with AutoDistributedModelForCausalLM.from_pretrained(options.model, swarm=options.invite_file.read_text()) as model:
        ids = _token_ids(options, model)
        tuning = PromptTuning(model, options.prompt_tokens, deep=options.deep, seed=options.seed)
        optimizer = torch.optim.Adam(tuning.parameters(), lr=options.learning_rate)
        for step in range(options.steps):
            loss = tuning(ids, labels=ids).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"step {step + 1:3}  loss {loss.item():.4f}", flush=True)
        if options.save:
            torch.save(tuning.state_dict(), options.save)


def _token_ids(options: argparse.Namespace, model: torch.nn.Module) -> torch.Tensor:
    """The text as [1, tokens]; without a text some arbitrary tokens, for models that have no tokenizer."""
    if options.text is None:
        vocabulary = model.get_input_embeddings().num_embeddings
        return torch.randint(vocabulary, (1, 16), generator=torch.Generator().manual_seed(options.seed))
    tokenizer = AutoTokenizer.from_pretrained(options.model or model.blocks.client.swarm.model)
    return tokenizer(options.text, return_tensors="pt").input_ids


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--invite-file", required=True, type=Path, help="a file with an invite")
    parser.add_argument("--model", help="hub name or folder of the checkpoint (default: the swarm's own model)")
    parser.add_argument("--text", help="what the model should continue with (default: arbitrary tokens)")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--prompt-tokens", type=int, default=8)
    parser.add_argument("--deep", action="store_true", help="train additions inside every block as well")
    parser.add_argument("--learning-rate", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", metavar="FILE", help="where to write the trained prompt")
    return parser.parse_args()


if __name__ == "__main__":
    main()
