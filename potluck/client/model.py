"""Loads Hugging Face causal models whose blocks are in a swarm.

The model has the family's own class, one module in place of its layers and a few methods of `SwarmModel`. `generate()`
and the rest of transformers work on it unchanged.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from potluck.blocks.cache.session_cache import rolls_back
from potluck.checkpoint.ends import load_ends
from potluck.checkpoint.families import cache_name, can_audit, has_experts
from potluck.checkpoint.remote_layers import RemoteLayers
from potluck.checkpoint.source import Checkpoint, open_checkpoint
from potluck.client.cache import RemoteCache
from potluck.client.config import ClientConfig
from potluck.client.drafting.choosing import Chosen
from potluck.client.drafting.decoding import Together, speculate
from potluck.client.drafting.draft_model import DraftModel
from potluck.client.drafting.drafter import Drafter, Drafting
from potluck.client.drafting.head import Head, HeadText, load_head
from potluck.client.drafting.payoff import MAX_DRAFT, StepTimes
from potluck.client.ends import Ends
from potluck.client.remote import RemoteBlocks, refuse_copies
from potluck.client.session.reports import AuditReport, OnWait, RouteReport
from potluck.client.swarm_client import SwarmClient
from potluck.client.tuning.own_adapters import linear_places
from potluck.errors import CheckpointError, UsageError
from potluck.membership.joined import JoinedSwarms
from potluck.membership.membership import Membership
from potluck.protocol.blocks import Span
from potluck.protocol.swarm import LOCAL_REVISION, Swarm

_LOCAL = "for local models"
_OF_PETALS = "an option of Petals"
_MEMBERS = "every member's servers are used; admit and remove members with `potluck members`"
_REFUSED = {  # options of `from_pretrained` -> their origin, and the reason why they are refused
    "device_map": (_LOCAL, "the blocks are at the servers, and the ends are loaded on the processor"),
    "attn_implementation": (_LOCAL, "each server chooses its own attention"),
    "trust_remote_code": (_LOCAL, "Potluck never runs code that comes with a checkpoint"),
    "quantization_config": (_LOCAL, "give quantization= to demand a format of every server"),
    "cache_dir": (_LOCAL, "set HF_HOME or HF_HUB_CACHE before Python starts"),
    "load_in_8bit": (_LOCAL, 'give quantization="int8" to demand it of every server'),
    "load_in_4bit": (_LOCAL, 'give quantization="int4" to demand it of every server'),
    "output_loading_info": (_LOCAL, "the blocks are loaded by the servers, and missing ends raise an error"),
    "tuning_mode": (_OF_PETALS, "make PromptTuning(model, prompt_tokens, deep=...) of the loaded model"),
    "pre_seq_len": (_OF_PETALS, "give it to PromptTuning(model, prompt_tokens)"),
    "initial_peers": (_OF_PETALS, "give an invite as swarm="),
    "active_adapter": (_OF_PETALS, "give adapter="),
    "allowed_servers": (_OF_PETALS, _MEMBERS),
    "blocked_servers": (_OF_PETALS, _MEMBERS),
}

_NO_BLOCKS = "weights of the blocks, which only servers have.safetensors"  # Transformers looks for this file in vain

_this_thread = threading.local()  # `made`: by the generation that runs now. Tasks would keep a context variable
_HELPERS = ("synced_gpus", "inputs_tensor", "assistant_model", "assistant_tokenizer", "tokenizer")  # drafting uses them


class _AutoDistributedModel:
    """Loads the two ends of a model here and finds its blocks in a swarm."""

    _is_classifier = False

    def __init__(self) -> None:
        raise UsageError("this class is not instantiated", hint=f"call {type(self).__name__}.from_pretrained()")

    @classmethod
    def from_pretrained(
        cls,
        model: str | None = None,
        *,
        swarm: str | Membership | None = None,
        dtype: torch.dtype | str | None = None,
        torch_dtype: torch.dtype | str | None = None,
        token: str | None = None,
        revision: str | None = None,
        adapter: str | None = None,
        quantization: str | None = None,
        compute_dtype: torch.dtype | None = None,
        max_wait_s: float | None = None,
        config: ClientConfig | None = None,
        num_labels: int | None = None,
        **refused: Any,
    ) -> Any:
        """Load a model. Close it after use, or use it as a context manager.

        Downloads show the hub's progress bars, which `transformers.utils.logging.disable_progress_bar()` switches off.

        Args:
            model: a hub name or a folder with the checkpoint; None takes the swarm's own model.
            swarm: the name of a swarm that this user joined, an invite, which is accepted once, or a membership; None
                takes the only swarm that this user joined.
            dtype: of the ends and of what is sent, also by name; None and "auto" take the checkpoint's.
            torch_dtype: the older name of `dtype`.
            token: for gated models of the hub.
            revision: of the checkpoint; None takes the swarm's.
            adapter: a LoRA adapter that the servers have, by its name, its hash, or both as name@hash.
            quantization: demanded of every server: "none", "int8", "int4"; None takes what most servers have.
            compute_dtype: demanded of every server; None takes what most servers have.
            max_wait_s: how long a generation waits for blocks that nobody serves; None takes `ClientConfig.max_wait_s`.
            num_labels: of a classifier; None takes the configuration's.
            refused: options of transformers for local models, and of Petals. They are refused with a reason, unless
                they are None, False or "auto", or `device_map="cpu"`.

        Raises:
            UsageError: a damaged invite, a checkpoint that is not the swarm's model, or an option for local models.
            CheckpointError: the ends cannot be loaded.
            NetworkError: nobody of the swarm answers.
        """
        _refuse_options(refused)
        if torch.get_default_device().type == "meta":
            raise UsageError(
                "the ends of a model cannot be loaded on meta", hint="call from_pretrained() outside of torch.device()"
            )
        if num_labels is not None and not cls._is_classifier:
            raise UsageError("num_labels is for classifiers", hint="use AutoDistributedModelForSequenceClassification")
        ends_dtype = _dtype(dtype, torch_dtype)
        membership = swarm if isinstance(swarm, Membership) else JoinedSwarms().find(swarm)
        joined = membership.swarm
        revision = revision or (None if joined.revision == LOCAL_REVISION else joined.revision)
        if model is not None and Path(model).is_dir():  # a swarm's model names no folder
            model = str(Path(model).absolute())
        checkpoint = open_checkpoint(model or joined.model, revision=revision, token=token, progress=True)
        _check_fits(checkpoint, joined)
        config = config or ClientConfig()
        demanding = replace(
            config,
            adapter=adapter or config.adapter,
            quantization=quantization or config.quantization,
            compute_dtype=str(compute_dtype).removeprefix("torch.") if compute_dtype else config.compute_dtype,
            max_wait_s=config.max_wait_s if max_wait_s is None else max_wait_s,
            audits=config.audits if can_audit(checkpoint.text_config) else "off",
        )
        client = SwarmClient(
            membership,
            demanding,
            block_parameters=checkpoint.block_parameters(),
            has_experts=has_experts(checkpoint.text_config),
        )
        client.start()
        try:
            labels = num_labels or checkpoint.text_config.num_labels if cls._is_classifier else None
            return attach(checkpoint, client, ends_dtype, num_labels=labels)
        except BaseException:
            client.close()
            raise


class AutoDistributedModelForCausalLM(_AutoDistributedModel):
    """Loads models that generate text."""


class AutoDistributedModelForSequenceClassification(_AutoDistributedModel):
    """Loads models with a head that classifies sequences, which is here and is trained.

    Batches need `model.config.pad_token_id`, by which the last token of each row is found.
    """

    _is_classifier = True


class Session:
    """One conversation over several calls, which `model.session()` opens."""

    def __init__(self, cache: RemoteCache) -> None:
        self.cache = cache

    @property
    def position(self) -> int:
        """Return the tokens of a row that the servers have, including padding."""
        return self.cache.get_seq_length()

    def rewind(self, position: int) -> None:
        """Forget everything after the first `position` tokens."""
        if not 0 <= position <= self.position:
            raise UsageError(f"cannot go back to token {position} of {self.position}")
        self.cache.crop(position - self.position)

    def route(self) -> tuple[RouteReport, ...]:
        """Report the servers, once for each group of rows with equal padding."""
        return tuple(deepcopy(self.cache.routes))


class SwarmModel:
    """The methods that a swarm adds to a transformers model, mixed into the family's own class."""

    _client: SwarmClient
    _routes: list[RouteReport]
    _step_times: StepTimes
    _checkpoint: Checkpoint
    _cache_name: str  # names the argument for the cache
    _together: Together
    _ends: Ends
    _drafts: Drafting | None = None

    @property
    def blocks(self) -> RemoteBlocks:
        """Return the module in place of the layers."""
        return next(module for module in self.modules() if isinstance(module, RemoteBlocks))  # type: ignore[attr-defined]

    def generate(self, *args: Any, session: Session | None = None, **kwargs: Any) -> Any:
        """Call transformers' `generate`. With `session`, pass the whole text; only its new tokens are sent."""
        if not self.can_generate():  # type: ignore[attr-defined]
            raise UsageError("a classifier generates no text", hint="use AutoDistributedModelForCausalLM")
        if session is not None:
            kwargs[self._cache_name] = session.cache
        made, _this_thread.made = getattr(_this_thread, "made", None), None
        try:
            return super().generate(*args, **kwargs)  # type: ignore[misc]
        except BaseException:  # the traceback references the cache, and keeping it would keep servers busy
            if _this_thread.made is not None:
                _this_thread.made.close()
            raise
        finally:
            _this_thread.made = made

    def save_pretrained(self, save_directory: Any, *args: Any, **kwargs: Any) -> None:
        """Save the ends, if any of them trains, for `from_pretrained` of the class that loaded this model.

        Transformers' own classes refuse the folder, because it has no weights for the blocks.
        """
        has_adapter = self._hf_peft_config_loaded  # type: ignore[attr-defined]  # which is then all that is saved
        if not (has_adapter or any(each.requires_grad for each in self.parameters())):  # type: ignore[attr-defined]
            raise UsageError(
                "the weights of the blocks are at the servers and cannot be saved here",
                hint=f"they are in the checkpoint {self._checkpoint.name}; save what you trained with peft's "
                "save_pretrained() or torch.save()",
            )
        super().save_pretrained(save_directory, *args, **kwargs)  # type: ignore[misc]
        file = Path(save_directory, "config.json")
        if file.is_file():
            file.write_text(json.dumps(json.loads(file.read_text()) | {"transformers_weights": _NO_BLOCKS}, indent=2))

    def set_attn_implementation(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise UsageError, because servers choose their own attention."""
        raise UsageError(
            "set_attn_implementation() is for local models: each server chooses its own attention", hint="leave it out"
        )

    @contextmanager
    def session(
        self,
        *,
        max_length: int,
        exact: bool | None = None,
        max_wait_s: float | None = None,
        together: bool = False,
        sharing: str = "",
    ) -> Iterator[Session]:
        """Open a session over several calls, of at most `max_length` tokens per row.

        Args:
            exact: servers never run it together with other sessions. That is slower, and the results equal those of an
                idle server to the last bit. None takes `ClientConfig.exact`.
            max_wait_s: how long to wait for blocks that nobody serves; None takes the model's.
            together: decode drafting generations of several threads in common steps of the model's ends. That is
                faster from two threads on, and any of them then calls the others' processors and streamers.
            sharing: servers share beginnings only among sessions with the same text here.
        """
        config = self._config_with(exact, max_wait_s)
        with closing(self._cache(max_length, config=config, is_together=together, sharing=sharing)) as made:
            yield Session(made)

    inference_session = session  # its name in Petals

    def new_cache(
        self, max_length: int, *, exact: bool | None = None, max_wait_s: float | None = None, sharing: str = ""
    ) -> RemoteCache:
        """Return a cache for `past_key_values=` (Mamba: `cache_params=`); its sessions end with it or its `close()`.

        Args: as for `session`.
        """
        return self._cache(max_length, config=self._config_with(exact, max_wait_s), sharing=sharing)

    def longest_session(self) -> int:
        """Return the tokens of the longest session that servers announce for all blocks; 0: not all are served."""
        return self._client.servers.longest(Span(0, self._client.swarm.num_blocks))

    def tell_waits(self, on_wait: OnWait) -> None:
        """Call `on_wait` with the blocks that a generation waits for, and with none when it goes on."""
        self._client.servers.outages.on_wait = on_wait

    def draft_with(self, model: Drafting | None) -> None:
        """Let a small model draft, too, from the next text on; None: no model."""
        self._drafts = model

    def last_route(self) -> tuple[RouteReport, ...]:
        """Report the servers of the latest session, once for each group of rows with equal padding."""
        return tuple(deepcopy(self._routes))

    def audits(self) -> AuditReport:
        """Report what other servers recomputed for this model, and which servers returned wrong results."""
        return deepcopy(self._client.audits.report)

    def close(self) -> None:
        """Leave the swarm. Idempotent; also called when the model is forgotten or the interpreter exits."""
        self._client.close()

    def __enter__(self) -> SwarmModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: object) -> Any:
        refuse_copies()

    def _cache(self, max_length: int, **options: Any) -> RemoteCache:
        """Return a cache whose servers `last_route` reports."""
        made = RemoteCache(self._client, max_length, **options)
        self._routes = made.routes
        return made

    def _config_with(self, exact: bool | None, max_wait_s: float | None) -> ClientConfig:
        config = self._client.config
        return replace(
            config,
            exact=config.exact if exact is None else exact,
            max_wait_s=config.max_wait_s if max_wait_s is None else max_wait_s,
        )

    def _prepare_cache_for_generation(
        self,
        generation_config: Any,
        model_kwargs: dict[str, Any],
        generation_mode: Any,
        batch_size: int,
        max_cache_length: int,
    ) -> None:
        """Put a cache into `model_kwargs`; `generate` calls this before its first step."""
        given = model_kwargs.get(self._cache_name)
        if given is not None:
            super()._prepare_cache_for_generation(  # type: ignore[misc]
                generation_config, model_kwargs, generation_mode, batch_size, max_cache_length
            )
            _check_continues(given, model_kwargs.get("attention_mask"), generation_config)
        elif generation_config.cache_implementation is not None:
            raise UsageError(
                f"cache_implementation={generation_config.cache_implementation!r} is for local models",
                hint="leave it out: the servers hold the cache",
            )
        elif generation_config.use_cache is not False:
            # Helpers may look further ahead than the last token.
            made = model_kwargs[self._cache_name] = self._cache(max_cache_length + 1, may_grow=True)
            _this_thread.made = made

    def _assisted_decoding(
        self,
        input_ids: Tensor,
        logits_processor: Any,
        stopping_criteria: Any,
        generation_config: Any,
        streamer: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Generate with drafts; `generate` calls this for `prompt_lookup_num_tokens` and `assistant_model`."""
        if generation_config.assistant_early_exit is not None:
            raise UsageError(
                "assistant_early_exit drafts with the first blocks, which are at servers",
                hint="leave it out, and give prompt_lookup_num_tokens or assistant_model",
            )
        helpers = {name: kwargs.pop(name, None) for name in _HELPERS}
        given = (input_ids, logits_processor, stopping_criteria, generation_config)
        cache = kwargs.get(self._cache_name)
        draws_from_both = generation_config.assistant_ensemble_weight is not None
        drafter = None
        if isinstance(cache, RemoteCache) and not draws_from_both:
            if cache.is_exact or not rolls_back(self._checkpoint.text_config):  # sessions would go back slowly
                return self._sample(*given, streamer=streamer, **kwargs)  # type: ignore[attr-defined]
            drafter = self._drafter(input_ids, generation_config, helpers)
        if drafter is None:
            return super()._assisted_decoding(*given, streamer=streamer, **helpers, **kwargs)  # type: ignore[misc]
        return speculate(self, drafter, Chosen(*given, streamer), kwargs)

    def _drafter(self, ids: Tensor, config: Any, helpers: dict[str, Any]) -> Drafter | None:
        """Return the drafter of a text; None for several rows, and for ways of drafting that a swarm can't support."""
        looks_up = config.prompt_lookup_num_tokens is not None
        if ids.shape[0] > 1 or not (looks_up or helpers["assistant_model"]) or helpers["assistant_tokenizer"]:
            return None
        if not looks_up:
            vocabulary = self.config.get_text_config(decoder=True).vocab_size  # type: ignore[attr-defined]
            small = DraftModel.of(helpers["assistant_model"], vocabulary=vocabulary)
            return Drafter(self._step_times, MAX_DRAFT, small=small.text())
        drafts = None if self._drafts is None else self._drafts.text()
        return Drafter(self._step_times, config.prompt_lookup_num_tokens, head=self._own_head(), small=drafts)

    @cached_property
    def _head(self) -> Head | None:
        return load_head(self._checkpoint, self.dtype)  # type: ignore[attr-defined]

    def _own_head(self) -> HeadText | None:
        """Return the checkpoint's own head for further tokens, ready for a text; None if there is none."""
        norm = getattr(_around(self, self.blocks)[0], "norm", None)  # type: ignore[arg-type]
        return None if self._head is None or norm is None else HeadText(self._head, self, norm)


def attach(
    checkpoint: Checkpoint, client: SwarmClient, dtype: torch.dtype | None = None, *, num_labels: int | None = None
) -> Any:
    """Return the model of `checkpoint` with its blocks at the servers that `client` finds; options as `load_ends`."""
    blocks = RemoteBlocks(client)
    model = load_ends(checkpoint, blocks, dtype=dtype, num_labels=num_labels)
    model.__class__ = _swarm_class(model.__class__)
    model._client, model._routes, model._step_times = client, [], StepTimes()
    model._checkpoint = checkpoint
    model.eval()
    decoder, layers = _around(model, blocks)
    blocks.places = linear_places(layers.shown)
    decoder.register_forward_pre_hook(blocks.prepare_inputs, with_kwargs=True, prepend=True)
    model.register_forward_pre_hook(blocks.mask_labels, with_kwargs=True)
    model._cache_name = cache_name(decoder)
    model._ends = Ends(weakref.proxy(model), decoder, model._cache_name)
    model._together = Together(model._ends, client)
    weakref.finalize(model, client.close)
    return model


def _refuse_options(given: dict[str, Any]) -> None:
    """Raise UsageError for options that have no effect here, and TypeError for those that transformers lacks, too."""
    for name, value in given.items():
        if name not in _REFUSED:
            raise TypeError(f"from_pretrained() got an unexpected keyword argument {name!r}")
        is_cpu = name == "device_map" and isinstance(value, str | torch.device) and str(value) == "cpu"
        if not (value is None or value is False or value == "auto" or is_cpu):
            whose, why = _REFUSED[name]
            raise UsageError(f"{name} is {whose}: {why}", hint="leave it out")


def _dtype(dtype: torch.dtype | str | None, older: torch.dtype | str | None) -> torch.dtype | None:
    """Return the type that `dtype` or its older name ask for; None for the checkpoint's."""
    if dtype is not None and older is not None:
        raise UsageError("dtype and torch_dtype were both given", hint="give only dtype")
    wanted = older if dtype is None else dtype
    if wanted is None or wanted == "auto":
        return None
    found = getattr(torch, wanted.removeprefix("torch."), None) if isinstance(wanted, str) else wanted
    if not isinstance(found, torch.dtype) or not found.is_floating_point:
        raise UsageError(f"{wanted!r} is no floating-point type", hint='give for example torch.bfloat16 or "auto"')
    return found


@cache
def _swarm_class(family_class: Any) -> type:
    """Return a class with the family's own name, by which pipelines and saved configurations know it."""
    return type(family_class.__name__, (SwarmModel, family_class), {})


def _around(model: nn.Module, blocks: RemoteBlocks) -> tuple[nn.Module, RemoteLayers]:
    """Return the family's decoder, which gets the mask and the cache, and its layers, which contain `blocks`."""
    for module in model.modules():
        for child in module.children():
            if isinstance(child, RemoteLayers) and child.stack.blocks is blocks:
                return module, child
    raise CheckpointError(f"cannot find the blocks of {type(model).__name__}")


def _check_fits(checkpoint: Checkpoint, swarm: Swarm) -> None:
    if checkpoint.num_blocks != swarm.num_blocks:
        raise UsageError(
            f"{checkpoint.name} has {checkpoint.num_blocks} blocks, the swarm {swarm.name!r} serves a model of "
            f"{swarm.num_blocks}",
            hint=f"leave the model out, or name a copy of {swarm.model}",
        )


def _check_continues(cache: Any, mask: Tensor | None, generation_config: Any) -> None:
    """Refuse text without new tokens, because transformers finds new tokens by their number."""
    length = generation_config._mask_length if mask is None else mask.shape[1]
    seen = cache.get_seq_length()
    if length <= seen:
        raise UsageError(
            f"this session has seen {seen} tokens and was given {length}",
            hint="give the whole text so far, not only its end; or go back with session.rewind()",
        )
