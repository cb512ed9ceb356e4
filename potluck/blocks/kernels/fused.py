"""Runs common blocks in few operations, for packed rows.

A block's own code takes some 45 operations, most of them over a few kilobytes. On a GPU their launches take most of a
decode step, even in a CUDA graph. Here a norm and the sum before it are one operation, and so are an activation with
its product, and everything that happens to new queries, keys and values (`block_operations.py`). The block's own
modules multiply the matrices, so adapters and quantised or sharded matrices work as usual. `whole_blocks.py` recognises
blocks by the same forms.

A block qualifies only if the code of its layer, attention, norms and rotation equals, word for word, code that is
rewritten here, and the trial compares results with the block's own. See docs/decisions/0011-cuda.md.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from torch import Tensor, nn

from potluck.checkpoint.families import CACHE_NAMES

ACTIVATIONS = {"SiLU": False, "SiLUActivation": False, "GELUTanh": True}
"""Classes of activations -> whether it is the GELU by tanh, else silu."""


@dataclass(frozen=True, slots=True)
class LayerForm:
    """The names of a layer's norms; None where it has none. A norm `after` comes before the sum."""

    before_attention: str | None
    after_attention: str | None
    before_mlp: str | None
    after_mlp: str | None


_PRE = LayerForm("input_layernorm", None, "post_attention_layernorm", None)
_POST = LayerForm(None, "post_attention_layernorm", None, "post_feedforward_layernorm")
_GEMMA = LayerForm(
    "input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"
)
_GLM = LayerForm("input_layernorm", "post_self_attn_layernorm", "post_attention_layernorm", "post_mlp_layernorm")


@dataclass(frozen=True, slots=True)
class NormForm:
    """The form of an RMS norm: it multiplies by its weight after rounding or before, and by the weight or one more."""

    rounds_first: bool = True
    plus_one: bool = False


@dataclass(frozen=True, slots=True)
class RouterForm:
    """The form of a mixture's router: its name in the mixture, and whether weights stay in float32."""

    name: str
    weighs_in_float32: bool


@dataclass(frozen=True, slots=True)
class _Family:
    """A family of transformers whose code is rewritten here; `norm` and `layer` say in which form."""

    prefix: str
    layer: LayerForm = _PRE
    norm: NormForm = NormForm()
    is_interleaved: bool = False
    norms_whole: bool = False  # queries and keys are normalised over all heads


_ROUNDS_LAST, _ONE_MORE = NormForm(rounds_first=False), NormForm(rounds_first=False, plus_one=True)
_FAMILIES = {
    "llama": _Family("Llama"),
    "mistral": _Family("Mistral"),
    "qwen2": _Family("Qwen2"),
    "qwen3": _Family("Qwen3"),
    "qwen3_moe": _Family("Qwen3Moe"),
    "mixtral": _Family("Mixtral"),
    "phi3": _Family("Phi3"),
    "smollm3": _Family("SmolLM3"),
    "granite": _Family("Granite"),
    "gemma": _Family("Gemma", norm=_ONE_MORE),
    "gemma2": _Family("Gemma2", _GEMMA, _ONE_MORE),
    "gemma3": _Family("Gemma3", _GEMMA, _ONE_MORE),
    "olmo2": _Family("Olmo2", _POST, _ROUNDS_LAST, norms_whole=True),
    "olmo3": _Family("Olmo3", _POST, _ROUNDS_LAST, norms_whole=True),
    "glm4": _Family("Glm4", _GLM, is_interleaved=True),
    "gpt_oss": _Family("GptOss", norm=_ROUNDS_LAST),
}
"""Modules in transformers of the code that is rewritten here."""


@dataclass(frozen=True, slots=True)
class AttentionForm:
    """The operations of an attention besides products.

    Attributes:
        norms_whole: queries and keys are normalised over all heads, if at all.
        is_interleaved: neighbours are rotated rather than halves.
        has_whole_tables: rotary tables have a number for each rotated dimension, not for each pair.
        has_cap: scores are squeezed.
    """

    norms_whole: bool
    is_interleaved: bool
    has_whole_tables: bool
    has_cap: bool


AddExperts = Callable[[Any, RouterForm, Tensor, Tensor], Tensor]
"""Returns hidden states plus a mixture's output for normed ones: (mixture, form of its router, normed, hidden)."""


class FusedBlock:
    """A layer in few operations, called like the layer itself, for packed rows without gradients.

    Args:
        operations: the module `block_operations`, which needs Triton.
        add_experts: `experts.add_experts`, which needs it, too.
    """

    def __init__(self, layer: Any, operations: Any, add_experts: AddExperts) -> None:
        self._layer = layer
        self._operations = operations
        self._add_experts = add_experts
        self._form = layer_form(layer)
        self._how = attention_form(layer.self_attn)
        self._share = float(getattr(layer, "residual_multiplier", 1.0))
        self._has_plain_mlp = has_plain_mlp(layer)
        is_bare = self._form.after_mlp is None and self._share == 1.0 and not self._has_plain_mlp
        self._router = router_form(layer.mlp) if is_bare else None
        self._is_gelu = self._has_plain_mlp and is_gelu(layer.mlp)

    def __call__(self, hidden: Tensor, *, position_embeddings: tuple[Tensor, Tensor], **others: Any) -> Tensor:
        """Shapes: hidden [1, tokens, hidden_size]; position_embeddings [1, tokens, rotated] each."""
        form = self._form
        normed = self._normed(form.before_attention, hidden)
        cache = next(others[name] for name in CACHE_NAMES if name in others)
        attended = self._attended(normed, position_embeddings, cache)
        attended = self._scaled(self._normed(form.after_attention, attended))
        if form.before_mlp is None:
            hidden = normed = hidden + attended
        else:
            hidden, normed = self._operations.add_and_norm(hidden, attended, getattr(self._layer, form.before_mlp))
        return self._fed_forward(normed, hidden)

    def _attended(self, normed: Tensor, tables: tuple[Tensor, Tensor], cache: Any) -> Tensor:
        attention, how, tokens = self._layer.self_attn, self._how, normed.shape[1]
        query, key, value = self._projected(normed)
        norms = (attention.q_norm, attention.k_norm) if hasattr(attention, "q_norm") else None
        if norms is not None and how.norms_whole:
            query, key = (
                self._operations.add_and_norm(part.contiguous(), None, norm)[1]
                for part, norm in zip((query, key), norms, strict=True)
            )
            norms = None
        rotated = tables[0].shape[-1] if how.has_whole_tables else 2 * tables[0].shape[-1]
        view = cache.view(attention.layer_idx)
        query = self._operations.rotate_and_keep(
            *(part.view(tokens, -1, attention.head_dim) for part in (query, key, value)),
            view.held,
            view.slots,
            tables=(tables[0][0], tables[1][0]),
            rotated=rotated if getattr(attention, "use_rope", True) else 0,
            is_interleaved=how.is_interleaved,
            norms=norms,
        )
        output = view.attend(
            query.transpose(0, 1)[None],
            attention.scaling,
            getattr(attention, "attn_logit_softcapping", None) if how.has_cap else None,
            getattr(attention, "sinks", None),
        )
        result: Tensor = attention.o_proj(output.reshape(1, tokens, -1))
        return result

    def _projected(self, normed: Tensor) -> tuple[Tensor, ...]:
        attention = self._layer.self_attn
        if hasattr(attention, "qkv_proj"):
            config = attention.config
            heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
            sizes = [count * attention.head_dim for count in (heads, kv_heads, kv_heads)]
            return attention.qkv_proj(normed).split(sizes, dim=-1)  # type: ignore[no-any-return]
        parts: tuple[Tensor, ...] = self._operations.project(
            normed, attention.q_proj, attention.k_proj, attention.v_proj
        )
        return parts

    def _normed(self, name: str | None, hidden: Tensor) -> Tensor:
        return hidden if name is None else self._operations.add_and_norm(hidden, None, getattr(self._layer, name))[1]

    def _scaled(self, hidden: Tensor) -> Tensor:
        return hidden if self._share == 1.0 else hidden * self._share

    def _fed_forward(self, normed: Tensor, hidden: Tensor) -> Tensor:
        """Return `hidden`, which may be overwritten, plus the feed-forward part of `normed`."""
        mlp, after = self._layer.mlp, self._form.after_mlp
        if self._router is not None:
            return self._add_experts(mlp, self._router, normed, hidden)
        if self._has_plain_mlp:
            active = self._activated(normed)
            if after is None and self._share == 1.0 and self._operations.add_product(hidden, active, mlp.down_proj):
                return hidden
            output = mlp.down_proj(active)
        else:
            made = mlp(normed)
            output = made[0] if isinstance(made, tuple) else made
        return hidden + self._scaled(self._normed(after, output))

    def _activated(self, normed: Tensor) -> Tensor:
        mlp = self._layer.mlp
        if hasattr(mlp, "gate_up_proj"):
            gate, up = mlp.gate_up_proj(normed).chunk(2, dim=-1)
        else:
            gate, up = self._operations.project(normed, mlp.gate_proj, mlp.up_proj)
        active: Tensor = self._operations.activate_times(gate, up, is_gelu=self._is_gelu)
        return active


def fused_layers(layers: Iterable[nn.Module], operations: Any, add_experts: AddExperts) -> list[Any]:
    """Return the layers, each one as a `FusedBlock` where it can be fused; all are called in the same way."""
    return [FusedBlock(layer, operations, add_experts) if can_be_fused(layer) else layer for layer in layers]


def can_be_fused(layer: nn.Module) -> bool:
    """Return whether the code of the layer, its attention, norms and rotation equals code that is rewritten here."""
    attention, mlp, known = getattr(layer, "self_attn", None), getattr(layer, "mlp", None), _known()
    if attention is None or mlp is None:
        return False
    form = known.get(code_of(type(layer).forward))
    home = import_module(type(attention).__module__)
    if form is None or code_of(type(attention).forward) not in known:
        return False
    if _rotation_code(home) not in known:
        return False
    names = (form.before_attention, form.after_attention, form.before_mlp, form.after_mlp)
    norms = [getattr(layer, name, None) for name in names if name is not None]
    norms += [getattr(attention, name) for name in ("q_norm", "k_norm") if hasattr(attention, name)]
    if not all(norm is not None and code_of(type(norm).forward) in known for norm in norms):
        return False
    return not has_plain_mlp(layer) or type(_activation(mlp)).__name__ in ACTIVATIONS


def layer_form(layer: Any) -> LayerForm:
    """Return the names of the norms of a layer that can be fused."""
    form: LayerForm = _known()[code_of(type(layer).forward)]
    return form


def attention_form(attention: Any) -> AttentionForm:
    """Return the form of the attention of a layer that can be fused."""
    known, home, code = _known(), import_module(type(attention).__module__), code_of(type(attention).forward)
    return AttentionForm(
        norms_whole=known[code],
        is_interleaved=known[_rotation_code(home)],
        has_whole_tables="_apply_rotary_emb" not in vars(home),  # gpt-oss has only the first half
        has_cap="softcap=self.attn_logit_softcapping" in code,
    )


def has_plain_mlp(layer: Any) -> bool:
    """Return whether a layer's feed-forward part is known and has no experts."""
    return code_of(type(layer.mlp).forward) in _known()


def router_form(mixture: Any) -> RouterForm | None:
    """Return the form of a mixture's router, or None if it or the mixture does anything that is not rewritten here."""
    form: RouterForm | None = _mixtures().get(code_of(type(mixture).forward))
    router = None if form is None else getattr(mixture, form.name, None)
    if router is None or is_hooked(router):
        return None
    return form if code_of(type(router).forward) in _mixtures() else None


def is_hooked(module: nn.Module) -> bool:
    """Return whether a module does more than its class, or something else."""
    return bool(module._forward_hooks or module._forward_pre_hooks) or "forward" in vars(module)


def is_gelu(mlp: Any) -> bool:
    """Return whether a plain feed-forward part activates by gelu by tanh, else by silu."""
    return ACTIVATIONS[type(_activation(mlp)).__name__]


@cache
def norm_form(forward: Callable[..., Any]) -> NormForm:
    """Return the form of norms that compute by this function, whose code is known."""
    form: NormForm = _known().get(code_of(forward), NormForm())
    return form


@cache
def code_of(function: Callable[..., Any]) -> str:
    """Return a function's source without types, comments, docstrings and decorators."""
    function = inspect.unwrap(function)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list, definition.returns = [], None
    for argument in (*definition.args.args, *definition.args.kwonlyargs):
        argument.annotation = None
    if definition.args.kwarg is not None:
        definition.args.kwarg.annotation = None
    if ast.get_docstring(definition) is not None:
        del definition.body[0]
    return ast.unparse(definition)


def _rotation_code(home: Any) -> str:
    parts = [getattr(home, name, None) for name in ("apply_rotary_pos_emb", "rotate_half", "_apply_rotary_emb")]
    return "".join(code_of(part) for part in parts if part is not None)


def _activation(mlp: Any) -> Any:
    return mlp.activation_fn if hasattr(mlp, "activation_fn") else mlp.act_fn


@cache
def _known() -> dict[str, Any]:
    """Return code that is rewritten here -> its form, which for feed-forward parts is None."""
    known: dict[str, Any] = {}
    for name, family in _FAMILIES.items():
        home = _home(name)
        known[code_of(getattr(home, f"{family.prefix}DecoderLayer").forward)] = family.layer
        known[code_of(getattr(home, f"{family.prefix}Attention").forward)] = family.norms_whole
        known[code_of(getattr(home, f"{family.prefix}RMSNorm").forward)] = family.norm
        known[_rotation_code(home)] = family.is_interleaved
    for name in ("llama", "phi3", "glm4", "gemma2"):  # feed-forward parts without experts
        known[code_of(getattr(_home(name), f"{_FAMILIES[name].prefix}MLP").forward)] = None
    return known


@cache
def _mixtures() -> dict[str, RouterForm]:
    """Return the code of mixtures of experts and of their routers that is rewritten here -> its form."""
    known: dict[str, RouterForm] = {}
    for name, mixture, router, form in (
        ("qwen3_moe", "Qwen3MoeSparseMoeBlock", "Qwen3MoeTopKRouter", RouterForm("gate", weighs_in_float32=False)),
        ("mixtral", "MixtralSparseMoeBlock", "MixtralTopKRouter", RouterForm("gate", weighs_in_float32=True)),
        ("gpt_oss", "GptOssMLP", "GptOssTopKRouter", RouterForm("router", weighs_in_float32=False)),
    ):
        known |= {code_of(getattr(_home(name), kind).forward): form for kind in (mixture, router)}
    return known


def _home(name: str) -> Any:
    return import_module(f"transformers.models.{name}.modeling_{name}")
