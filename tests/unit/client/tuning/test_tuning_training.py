"""Gradients through the swarm are the local model's, also when servers are lost on the way."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import HASTY, PATIENT, QUICK, World, prompt, world
from helpers.misdeeds import Misdeed, Once, freeze, kill, refuse
from torch import Tensor
from transformers import PreTrainedModel

from potluck.client import PromptTuning
from potluck.errors import SwarmError, UsageError
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import BackwardRequest, ForwardRequest

CLOSE = {"rtol": 1e-4, "atol": 1e-6}
fail = refuse(Code.INTERNAL)


def loss_and_gradient(model: PreTrainedModel, ids: Tensor, **options: Tensor) -> tuple[Tensor, Tensor]:
    embeddings = model.get_input_embeddings()(ids).detach().requires_grad_()
    loss = model(inputs_embeds=embeddings, labels=ids, **options).loss
    (gradient,) = torch.autograd.grad(loss, embeddings)
    return loss.detach(), gradient


def assert_same_gradient(there: World, local: PreTrainedModel, ids: Tensor, **options: Tensor) -> None:
    got, want = loss_and_gradient(there.model, ids, **options), loss_and_gradient(local, ids, **options)
    torch.testing.assert_close(got[0], want[0], **CLOSE)
    torch.testing.assert_close(got[1], want[1], **CLOSE)


def test_large_batches_go_in_pieces_side_by_side(local: PreTrainedModel) -> None:
    with world("0:2", "2:4", config=replace(PATIENT, micro_batch_tokens=20)) as there:
        assert_same_gradient(there, local, prompt(batch=5, tokens=9))
        assert [request.hidden.shape[0] for request in there.servers[0].forwards] == [2, 2, 1]


def test_servers_hear_whether_a_backward_follows(local: PreTrainedModel) -> None:
    with world("0:2", "2:4") as there:
        with torch.no_grad():
            there.model(prompt(), use_cache=False)
        assert_same_gradient(there, local, prompt())
        assert [request.is_trained for request in there.servers[0].forwards] == [False, True]


def test_a_large_batch_is_cut_so_that_the_second_server_works_beside_the_first(local: PreTrainedModel) -> None:
    there_at: list[tuple[int, type]] = []
    with world("0:2", "2:4", config=replace(PATIENT, max_parallel_calls=1)) as there:
        for number, server in enumerate(there.servers):
            server.on_call = lambda _, request, number=number: there_at.append((number, type(request)))
        assert_same_gradient(there, local, prompt(batch=10, tokens=128))
    for kind, first in ((ForwardRequest, 0), (BackwardRequest, 1)):
        order = [number for number, each in there_at if each is kind]
        assert sorted(order) == [0] * 10 + [1] * 10
        assert order.index(1 - first) <= 4  # two in flight for each of the servers


def test_a_server_lost_amid_a_pipeline_is_replaced_and_counts_as_one_failure(local: PreTrainedModel) -> None:
    for stage in (ForwardRequest, BackwardRequest):
        with world("0:2", "2:4", "2:4", max_batch_tokens=300) as there:
            third = Once(kill, nth=3, when=lambda server, request, stage=stage: isinstance(request, stage))
            there.servers[1].on_call = there.servers[2].on_call = third
            assert_same_gradient(there, local, prompt(batch=8, tokens=130))
            bans = there.client.servers._bans._bans.values()
            assert [ban.failures for ban in bans if ban.failures] in ([], [1])  # the look at it may go on


def test_a_row_longer_than_some_servers_take_goes_to_one_that_takes_it(local: PreTrainedModel) -> None:
    with world("0:2", "2:4", "2:4", max_batch_tokens=8) as there:
        with pytest.raises(
            UsageError, match=r"9 tokens in one row .* layers 1-4 take 8 at most, as .* does for layers"
        ):
            loss_and_gradient(there.model, prompt(batch=2, tokens=9))
        large = [there.add_server(Span.parse(span), max_batch_tokens=10) for span in ("0:2", "2:4")]
        assert_same_gradient(there, local, prompt(batch=2, tokens=9))
        assert [len(server.backwards) for server in large] == [2, 2]
        assert not any(server.forwards for server in there.servers[:3])


def test_rows_padded_on_either_side_train_as_if_alone(local: PreTrainedModel) -> None:
    ids, mask = prompt(batch=3, tokens=8), torch.ones(3, 8, dtype=torch.int64)
    mask[0, 5:], mask[1, :2] = 0, 0
    with world("0:2", "2:4") as there:
        embeddings = there.model.get_input_embeddings()(ids).detach().requires_grad_()
        logits = there.model(inputs_embeds=embeddings, attention_mask=mask).logits
        (gradient,) = torch.autograd.grad((logits * mask[..., None]).square().sum(), embeddings)
    for row in range(3):
        real = mask[row].bool()
        alone = embeddings[row : row + 1, real].detach().requires_grad_()
        want = local(inputs_embeds=alone).logits
        torch.testing.assert_close(logits[row : row + 1, real], want, rtol=1e-4, atol=1e-5)
        (want_gradient,) = torch.autograd.grad(want.square().sum(), alone)
        torch.testing.assert_close(gradient[row : row + 1, real], want_gradient, rtol=1e-4, atol=1e-3)
        assert not gradient[row, ~real].any()


def test_labels_that_padding_would_have_to_predict_do_not_count(local: PreTrainedModel) -> None:
    ids, mask = prompt(batch=3, tokens=8), torch.ones(3, 8, dtype=torch.int64)
    mask[0, 5:], mask[1, :2] = 0, 0
    counted = ids.clone()
    counted[:, 1:][mask[:, :-1] == 0] = -100
    wanted = local(ids, attention_mask=mask, labels=counted).loss
    with world("0:4") as there:
        torch.testing.assert_close(there.model(ids, attention_mask=mask, labels=ids).loss, wanted, **CLOSE)
        torch.testing.assert_close(there.model(ids, mask, labels=ids).loss, wanted, **CLOSE)


@pytest.mark.parametrize("checkpoints", [False, True])
def test_training_a_model_without_anything_to_train_is_refused(checkpoints: bool) -> None:
    with world("0:4") as there:
        if checkpoints:  # gradients flow to the embeddings then, and end there
            there.model.gradient_checkpointing_enable()
        assert there.model(prompt(), labels=prompt()).loss > 0
        tuning = PromptTuning(there.model.train(), 2)
        assert tuning(prompt(), labels=prompt()).loss.requires_grad
        with pytest.raises(UsageError, match="nothing to train"):
            there.model(prompt(), labels=prompt())


@pytest.mark.parametrize(
    ("stage", "misdeed"),
    [(ForwardRequest, freeze), (BackwardRequest, fail)],  # killed ones: amid a pipeline
)
def test_a_server_lost_in_either_pass_is_replaced(local: PreTrainedModel, stage: type, misdeed: Misdeed) -> None:
    with world("0:1", "1:3", "1:3", "3:4", config=QUICK if misdeed is freeze else PATIENT) as there:
        lost = Once(misdeed, when=lambda server, request: isinstance(request, stage))
        there.servers[1].on_call = there.servers[2].on_call = lost
        assert_same_gradient(there, local, prompt(batch=2))
        assert lost.culprit is not None


def test_a_backward_that_a_server_refuses_is_not_asked_of_it_again() -> None:
    def too_long(server: BlockServer, request: object) -> None:
        if isinstance(request, BackwardRequest):
            raise RemoteError(Code.TOO_LONG, "too long")

    with world("0:4") as there:
        there.servers[0].on_call = too_long
        with pytest.raises(SwarmError, match="every server of layers 1-4 refuses this: too long"):
            loss_and_gradient(there.model, prompt())
        assert len(there.servers[0].backwards) == 1


def test_a_backward_that_nobody_can_do_ends_with_an_error() -> None:
    with world("0:2", "2:4", config=HASTY) as there:
        there.servers[1].on_call = Once(kill, when=lambda server, request: isinstance(request, BackwardRequest))
        with pytest.raises(SwarmError, match="layers 3-4"):
            loss_and_gradient(there.model, prompt())


def deep_forward(model: PreTrainedModel, tuning: PromptTuning, ids: Tensor, labels: Tensor) -> Tensor:
    """The local model with prompt tuning, by hooks on its layers."""
    tokens = tuning.prompt.shape[0]

    def add(index: int) -> Callable[..., object]:
        def hook(layer: object, args: tuple[Tensor, ...], kwargs: dict[str, object]) -> object:
            hidden = args[0].clone()
            hidden[:, :tokens] += tuning.deep_prompts[index]
            return (hidden, *args[1:]), kwargs

        return hook

    layers = model.model.layers
    handles = [layer.register_forward_pre_hook(add(i), with_kwargs=True) for i, layer in enumerate(layers)]
    text = model.get_input_embeddings()(ids)
    embeddings = torch.cat([tuning.prompt.expand(len(text), -1, -1), text], dim=1)
    labels = torch.cat([labels.new_full((len(text), tokens), -100), labels], dim=1)
    try:
        return model(inputs_embeds=embeddings, labels=labels).loss
    finally:
        for handle in handles:
            handle.remove()


def test_gradients_of_prompts_and_deep_prompts_equal_the_local_model(local: PreTrainedModel) -> None:
    ids = prompt(batch=3, tokens=6)
    with world("0:1", "1:4") as there:
        tuning = PromptTuning(there.model, 4, deep=True)
        torch.nn.init.normal_(tuning.deep_prompts, std=0.1, generator=torch.Generator().manual_seed(0))
        got = torch.autograd.grad(tuning(ids, labels=ids).loss, list(tuning.parameters()))
        want = torch.autograd.grad(deep_forward(local, tuning, ids, ids), list(tuning.parameters()))
        assert {name for name, _ in tuning.named_parameters()} == {"prompt", "deep_prompts"}
    torch.testing.assert_close(got, want, **CLOSE)


def test_deep_prompts_reach_the_sessions_and_their_replacements(local: PreTrainedModel) -> None:
    options = {"max_new_tokens": 6, "do_sample": False}
    with world("0:1", "1:4", "1:4") as there:
        tuning = PromptTuning(there.model, 4, deep=True)
        torch.nn.init.normal_(tuning.deep_prompts, std=0.3, generator=torch.Generator().manual_seed(0))
        want = tuning.generate(prompt(), **options)
        assert not torch.equal(want, local.generate(inputs_embeds=tuning._embed(prompt()), **options))
        there.servers[1].on_step = Once(kill, when=lambda server, request: len(server.steps) == 4)
        assert torch.equal(tuning.generate(prompt(), **options), want)


def test_deep_prompts_of_a_wrong_shape_are_refused() -> None:
    wrong = torch.zeros(3, 1, 2, 64)
    with world("0:4") as there, there.model.blocks.deep_prompts(wrong), pytest.raises(UsageError, match="of shape"):
        there.model(prompt())
