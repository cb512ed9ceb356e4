"""Values for each token are those of the local model's last hidden states, and what peft cannot do is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from helpers.client_world import World, prompt, world
from helpers.golden import CHECKPOINT
from torch import Tensor
from transformers import PreTrainedModel

from potluck import ValueHead
from potluck.checkpoint import open_checkpoint
from potluck.client.model import attach
from potluck.errors import UsageError


@pytest.fixture
def there() -> Iterator[World]:
    with world("0:2", "2:4") as made:
        yield made


def test_values_losses_and_gradients_equal_the_local_models(there: World, local: PreTrainedModel) -> None:
    ids, mask = prompt(batch=3, tokens=8), torch.ones(3, 8, dtype=torch.int64)
    mask[0, 5:], mask[1, :2] = 0, 0
    head = ValueHead(there.model, dropout=0.0)
    assert [name for name, _ in head.named_parameters()] == ["summary.weight", "summary.bias"]
    embeddings = local.get_input_embeddings()(ids).detach().requires_grad_()

    def gradients(loss: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        total = loss + (values * mask).square().mean()
        return torch.autograd.grad(total, (*head.parameters(), embeddings))

    logits, loss, values = head(inputs_embeds=embeddings, attention_mask=mask, labels=ids)
    whole = local(inputs_embeds=embeddings, attention_mask=mask, labels=ids, output_hidden_states=True)
    wanted = head.summary(whole.hidden_states[-1]).squeeze(-1)
    real = mask.bool()
    assert loss is not None
    assert values.shape == (3, 8)
    torch.testing.assert_close(values[real], wanted[real], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(logits[real], whole.logits[real], rtol=1e-4, atol=1e-4)

    ids, mask = prompt(batch=2, tokens=8), torch.ones(2, 8, dtype=torch.int64)
    embeddings = local.get_input_embeddings()(ids).detach().requires_grad_()
    _, loss, values = head(inputs_embeds=embeddings, labels=ids)
    assert loss is not None
    whole = local(inputs_embeds=embeddings, labels=ids, output_hidden_states=True)
    wanted = head.summary(whole.hidden_states[-1]).squeeze(-1)
    for got, want in zip(gradients(loss, values), gradients(whole.loss, wanted), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_a_classifier_has_no_value_head(there: World) -> None:
    with pytest.raises(UsageError, match="generates"):
        ValueHead(attach(open_checkpoint(str(CHECKPOINT)), there.client, num_labels=2))
