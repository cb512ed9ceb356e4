"""Generate with a LoRA adapter that servers of the swarm offer, and without it.

    python docs/examples/adapter.py --invite-file ./invite --adapter poet --prompt "The sea"

A server offers one with `potluck serve ... --adapter FOLDER`; its name is the folder's.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from transformers import AutoTokenizer

from potluck import AutoDistributedModelForCausalLM


def main() -> None:
    options = _options()
    for adapter in (None, options.adapter):
        with AutoDistributedModelForCausalLM.from_pretrained(
            options.model, swarm=options.invite_file.read_text(), adapter=adapter
        ) as model:
            tokenizer = AutoTokenizer.from_pretrained(options.model or model.blocks.client.swarm.model)
            ids = tokenizer(options.prompt, return_tensors="pt").input_ids
            text = tokenizer.decode(model.generate(ids, max_new_tokens=options.tokens, do_sample=False)[0])
            print(f"{adapter or 'no adapter'}: {text}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--invite-file", required=True, type=Path, help="a file with an invite")
    parser.add_argument("--model", help="hub name or folder of the checkpoint (default: the swarm's own model)")
    parser.add_argument("--adapter", required=True, help="its name, its hash, or name@hash")
    parser.add_argument("--prompt", default="Once upon a time")
    parser.add_argument("--tokens", type=int, default=32)
    return parser.parse_args()


if __name__ == "__main__":
    main()
