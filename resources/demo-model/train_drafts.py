"""Train the block that drafts the demo model's next tokens: `python resources/demo-model/train_drafts.py --out DIR`.

Writes `mtp.safetensors` in the layout of DeepSeek-V3's multi-token prediction: a block of the model's own kind after
its last one, which sees the model's last hidden state and the next token, and predicts the token after that one. Fed
with its own outputs it predicts further ones; it is trained on `DEPTH` tokens in a row, as it is used.

Sources: DeepSeek-V3 (arXiv 2412.19437), section 2.2; its own outputs as inputs, as in EAGLE-3 (arXiv 2503.01840).
"""

import argparse
from pathlib import Path

import torch
from corpus import documents
from safetensors.torch import save_file
from torch import Tensor, nn
from train import Cycle, packed_rows, train
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM
from transformers.cache_utils import DynamicCache
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRMSNorm

FOLDER = Path(__file__).parent
DEPTH = 4  # tokens in a row, each weighing a little less in the loss than the one before
FALLOFF = 0.9
CYCLE = Cycle(400, scale=0.7)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write the file to")
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = AutoModelForCausalLM.from_pretrained(FOLDER).eval().requires_grad_(requires_grad=False)
    head = NextTokens(model.config)
    rows = packed_rows(documents(args.seed), AutoTokenizer.from_pretrained(FOLDER))
    args.out.mkdir(exist_ok=True, parents=True)
    prefix = f"model.layers.{model.config.num_hidden_layers}."
    train(head, rows, CYCLE, args.rows, lambda ids, weights: losses(model, head, ids, weights == 1.0))
    tensors = {prefix + name: tensor.contiguous() for name, tensor in head.state_dict().items()}
    save_file(tensors, args.out / "mtp.safetensors", metadata={"format": "pt"})


class NextTokens(LlamaDecoderLayer):
    """A block of the model, and what joins its two inputs; the names are those of the published layout."""

    def __init__(self, config: object) -> None:
        super().__init__(config, layer_idx=0)
        size, eps = config.hidden_size, config.rms_norm_eps
        self.enorm = LlamaRMSNorm(size, eps)
        self.hnorm = LlamaRMSNorm(size, eps)
        self.eh_proj = nn.Linear(2 * size, size, bias=False)
        self.shared_head = nn.Module()
        self.shared_head.norm = LlamaRMSNorm(size, eps)

    def joined(self, embeddings: Tensor, hidden: Tensor) -> Tensor:
        """Return the block's input. Shapes: all [rows, tokens, hidden_size]."""
        return self.eh_proj(torch.cat([self.enorm(embeddings), self.hnorm(hidden)], dim=-1))


def losses(model: LlamaForCausalLM, head: NextTokens, ids: Tensor, is_answer: Tensor) -> tuple[Tensor, str]:
    """Return the loss against what the model itself predicts in answers, and the share of its choices that were met.

    Place t is given the hidden state of token t and the token t + 1, and predicts the token t + 2. At depth d the
    hidden state comes from depth d - 1 at the place before; it sees the model's own ones up to place t - d only.
    """
    document = (ids == model.config.bos_token_id).cumsum(dim=1)
    same = document[:, None, :, None] == document[:, None, None, :]  # [rows, 1, tokens, tokens]
    with torch.inference_mode():
        hidden = model.model(input_ids=ids, attention_mask=same.tril(), use_cache=False).last_hidden_state
    hidden = hidden.clone()
    count = ids.shape[1] - 2  # places that predict something
    embeddings = model.get_input_embeddings()(ids[:, 1 : count + 1])
    same = same[:, :, :count, :count]
    # The document of the predicted token is that of the place, or nothing can be known.
    is_asked = is_answer[:, 2:] & (document[:, 2:] == document[:, :count])
    positions = torch.arange(count)[None]
    rotary = model.model.rotary_emb(embeddings, positions)
    distance = positions.T - positions  # place minus key, [tokens, tokens]
    cache, state = DynamicCache(), hidden[:, :count]
    total, right, weight = torch.zeros(()), [], 1.0
    for depth in range(DEPTH):
        seen = [same & (distance >= depth)]  # the model's states, then the diagonals of each depth
        seen += [same & (distance == depth - earlier) for earlier in range(1, depth + 1)]
        mask = torch.cat(seen, dim=-1)
        mask = torch.zeros(mask.shape).masked_fill_(~mask, torch.finfo(torch.float32).min)
        given = head.joined(embeddings, state)
        out = head(
            given,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            position_embeddings=rotary,
        )
        out = out[0] if isinstance(out, tuple) else out
        asked = is_asked.clone()
        asked[:, :depth] = False
        want = model.lm_head(hidden[:, 1 : count + 1][asked])  # [asked, vocabulary]
        got = model.lm_head(head.shared_head.norm(out[asked]))
        total = total + weight * nn.functional.cross_entropy(got, want.softmax(-1))
        right.append((got.argmax(-1) == want.argmax(-1)).float().mean().item())
        weight *= FALLOFF
        state = torch.cat([torch.zeros_like(out[:, :1]), out[:, :-1]], dim=1)
    return total, f"right {' '.join(f'{share:.2f}' for share in right)}  "


if __name__ == "__main__":
    main()
