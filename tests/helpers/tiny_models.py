"""Tiny random models of many families, written as sharded checkpoints."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from transformers import AutoModelForCausalLM, PreTrainedModel

NUM_BLOCKS = 6
_COMMON: dict[str, Any] = {
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": NUM_BLOCKS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_SLIDE = ["sliding_attention", "sliding_attention", "full_attention"]

FAMILIES: dict[str, Callable[[], Any]] = {
    "llama": lambda: hf.LlamaConfig(**_COMMON),
    "mistral_sliding": lambda: hf.MistralConfig(**_COMMON, sliding_window=8),
    "qwen3": lambda: hf.Qwen3Config(**_COMMON, head_dim=16),
    "qwen3_moe": lambda: hf.Qwen3MoeConfig(
        **_COMMON,
        head_dim=16,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=32,
        decoder_sparse_step=2,
        mlp_only_layers=[3],
    ),
    "mixtral": lambda: hf.MixtralConfig(**_COMMON, num_local_experts=4, num_experts_per_tok=2),
    "gemma3": lambda: hf.Gemma3TextConfig(
        **_COMMON, head_dim=16, sliding_window=8, query_pre_attn_scalar=16, layer_types=_SLIDE * 2
    ),
    "glm4": lambda: hf.Glm4Config(**_COMMON, head_dim=16),
    "phi3": lambda: hf.Phi3Config(**_COMMON, sliding_window=8),
    "olmo2": lambda: hf.Olmo2Config(**_COMMON),
    "gpt_oss": lambda: hf.GptOssConfig(
        **_COMMON, head_dim=16, num_local_experts=4, num_experts_per_tok=2, sliding_window=8
    ),
    "deepseek_v3": lambda: hf.DeepseekV3Config(
        **{**_COMMON, "num_key_value_heads": 4},
        moe_intermediate_size=32,
        n_routed_experts=4,
        n_shared_experts=1,
        num_experts_per_tok=2,
        n_group=2,
        topk_group=1,
        first_k_dense_replace=2,
        q_lora_rank=16,
        kv_lora_rank=16,
        qk_rope_head_dim=8,
        qk_nope_head_dim=8,
        v_head_dim=16,
    ),
    "bloom": lambda: hf.BloomConfig(vocab_size=128, hidden_size=64, n_layer=NUM_BLOCKS, n_head=4),
    "falcon_rope": lambda: hf.FalconConfig(
        vocab_size=128,
        hidden_size=64,
        num_hidden_layers=NUM_BLOCKS,
        num_attention_heads=4,
        new_decoder_architecture=True,
        num_kv_heads=2,
        alibi=False,
    ),
    "falcon_alibi": lambda: hf.FalconConfig(
        vocab_size=128,
        hidden_size=64,
        num_hidden_layers=NUM_BLOCKS,
        num_attention_heads=4,
        alibi=True,
        multi_query=True,
        new_decoder_architecture=False,
    ),
    "gpt2": lambda: hf.GPT2Config(vocab_size=128, n_embd=64, n_layer=NUM_BLOCKS, n_head=4, n_positions=256),
    "gptj": lambda: hf.GPTJConfig(  # its layers return tuples, and cannot run on the meta device
        vocab_size=128, n_embd=64, n_layer=NUM_BLOCKS, n_head=4, rotary_dim=8, n_positions=256
    ),
    "ctrl": lambda: hf.CTRLConfig(  # scales its embeddings in place
        vocab_size=128, n_embd=64, n_layer=NUM_BLOCKS, n_head=4, dff=96, n_positions=256
    ),
    "gemma2": lambda: hf.Gemma2Config(
        **_COMMON, head_dim=16, sliding_window=8, query_pre_attn_scalar=16, attn_logit_softcapping=5.0
    ),
    "llama4": lambda: hf.Llama4TextConfig(
        **_COMMON,
        head_dim=16,
        intermediate_size_mlp=96,
        num_local_experts=4,
        num_experts_per_tok=1,
        attention_chunk_size=8,
    ),
    "mpt": lambda: hf.MptConfig(vocab_size=128, d_model=64, n_layers=NUM_BLOCKS, n_heads=4, max_seq_len=256),
    "cohere2": lambda: hf.Cohere2Config(**_COMMON, sliding_window=8),
    "smollm3": lambda: hf.SmolLM3Config(**_COMMON),
    "qwen2": lambda: hf.Qwen2Config(**_COMMON),
    "granite": lambda: hf.GraniteConfig(**_COMMON, residual_multiplier=0.5, attention_multiplier=0.2),
    "olmo3": lambda: hf.Olmo3Config(**_COMMON, sliding_window=8, layer_types=_SLIDE * 2),
    "gemma": lambda: hf.GemmaConfig(**_COMMON, head_dim=16),
    "llama_longrope": lambda: hf.LlamaConfig(
        **_COMMON,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "short_factor": [1.0] * 8,
            "long_factor": [4.0] * 8,
            "original_max_position_embeddings": 32,
            "factor": 16.0,
        },
    ),
    "llama_dynamic": lambda: hf.LlamaConfig(
        **{**_COMMON, "max_position_embeddings": 32},
        rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0},
    ),
    "llama_tied": lambda: hf.LlamaConfig(**_COMMON, tie_word_embeddings=True),
    "qwen3_next": lambda: hf.Qwen3NextConfig(
        **_COMMON,
        head_dim=16,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=32,
        shared_expert_intermediate_size=32,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=16,
        linear_value_head_dim=16,
    ),
    "mamba": lambda: hf.MambaConfig(vocab_size=128, hidden_size=64, num_hidden_layers=NUM_BLOCKS, state_size=16),
    "bamba": lambda: hf.BambaConfig(
        **_COMMON, attn_layer_indices=[1, 3], mamba_n_heads=8, mamba_d_head=16, mamba_d_state=16, mamba_chunk_size=16
    ),
    "minimax": lambda: hf.MiniMaxConfig(
        **_COMMON, head_dim=16, num_local_experts=4, num_experts_per_tok=2, block_size=16
    ),
    "nemotron_h": lambda: hf.NemotronHConfig(  # its last span is an MLP, which has no cache
        **{key: value for key, value in _COMMON.items() if key != "num_hidden_layers"},
        layers_block_type=["linear_attention", "moe", "full_attention", "linear_attention", "full_attention", "mlp"],
        head_dim=16,
        mamba_num_heads=8,
        mamba_head_dim=16,
        ssm_state_size=16,
        n_groups=2,
        n_routed_experts=4,
        moe_intermediate_size=32,
        moe_shared_expert_intermediate_size=32,
    ),
}


def save_random(family: str, folder: Path, *, shard: str = "60KB", seed: int = 0) -> Path:
    """Write a random model of a family; weights are wide enough that a wrong mask or position changes the output."""
    return save_config(FAMILIES[family](), folder, shard=shard, seed=seed)


def save_config(config: Any, folder: Path, *, shard: str = "60KB", seed: int = 0) -> Path:
    """Write a random model of this configuration; see `save_random`."""
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.normal_(0, 0.2)
        else:
            parameter.data.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder, max_shard_size=shard)
    return folder


def save_llama(folder: Path, num_blocks: int, intermediate_size: int, *, dtype: torch.dtype, **more: Any) -> Path:
    """Write a random Llama whose blocks are large enough to see in the memory of a process."""
    torch.manual_seed(0)
    config = hf.LlamaConfig(
        **{"vocab_size": 256, "max_position_embeddings": 512, **more},
        hidden_size=512,
        intermediate_size=intermediate_size,
        num_hidden_layers=num_blocks,
        num_attention_heads=8,
        num_key_value_heads=8,
    )
    hf.LlamaForCausalLM(config).to(dtype).save_pretrained(folder, max_shard_size="50MB")
    return folder


def whole_model(folder: Path) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
