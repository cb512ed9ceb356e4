"""Small models that are known to draft well for large families. `potluck.checkpoint.drafts` checks each pair anyway.

All of them can be downloaded without asking their owners; those of Llama and Gemma are copies by Unsloth of models that
Meta and Google give on request, under the same licences (Llama 3.2 and Gemma; the others: Apache 2.0 and MIT).
A family without a small model of the same tokenizer is not listed (Mixtral, gpt-oss: their smallest relatives would
take longer on a processor than the way does).

Sources: the model cards. Qwen: https://huggingface.co/Qwen/Qwen3-0.6B, which vLLM's page on draft models takes for
Qwen3 (https://docs.vllm.ai/en/latest/features/speculative_decoding/draft_model/). Llama:
https://huggingface.co/unsloth/Llama-3.2-1B-Instruct. Gemma: https://huggingface.co/unsloth/gemma-3-1b-it. Models made
to draft, with transplanted vocabularies: https://huggingface.co/jukofyork (DeepSeek, GLM-4.5) and
https://huggingface.co/alamios/Mistral-Small-3.1-DRAFT-0.5B.
"""

from __future__ import annotations

import re

NO_DRAFT = "none"
"""What a founder names to have no drafting model."""

DRAFT_PAIRS = {
    r"Qwen3-(235B|32B|30B|14B|8B)": "Qwen/Qwen3-0.6B",
    r"Qwen3-Coder-(480B|30B)": "Qwen/Qwen3-0.6B",
    r"Qwen2\.5-(72B|32B|14B)": "Qwen/Qwen2.5-0.5B-Instruct",
    r"Qwen2\.5-Coder-(32B|14B)": "Qwen/Qwen2.5-Coder-0.5B-Instruct",
    r"(Meta-)?Llama-3\.[13]-(405B|70B|8B)": "unsloth/Llama-3.2-1B-Instruct",
    r"gemma-3-(27b|12b)": "unsloth/gemma-3-1b-it",
    r"DeepSeek-R1-Distill-Qwen-(32B|14B)": "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
    r"DeepSeek-R1(?!-(Distill|0528|DRAFT))": "jukofyork/DeepSeek-R1-DRAFT-0.5B-v1.0",
    r"DeepSeek-V3-0324(?!-DRAFT)": "jukofyork/DeepSeek-V3-0324-DRAFT-0.5B-v1.0",
    r"GLM-4\.5(?!V|-DRAFT)": "jukofyork/GLM-4.5-DRAFT-0.6B-v3.0",
    r"Mistral-Small-3\.1-24B": "alamios/Mistral-Small-3.1-DRAFT-0.5B",
}
"""Beginning of a model's name, without its owner -> a small model on the hub."""


def known_draft(model: str) -> str:
    """Return the hub name of a small model that drafts for `model`, a hub name or a folder's; empty: none is known."""
    name = model.rpartition("/")[2]
    found = (draft for begin, draft in DRAFT_PAIRS.items() if re.match(rf"{begin}(?![a-z0-9])", name, re.IGNORECASE))
    return next(found, "")
