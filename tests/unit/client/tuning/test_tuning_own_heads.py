"""Heads for something else than text, values of tokens and classifiers: as a local model has them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from helpers.client_world import World, prompt, world
from helpers.golden import CHECKPOINT
from torch import Tensor
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedModel

from potluck import AutoDistributedModelForCausalLM, ValueHead
from potluck.checkpoint.source import open_checkpoint
from potluck.client.model import attach
from potluck.errors import UsageError


@pytest.fixture
def there() -> Iterator[World]:
    with world("0:2", "2:4") as made:
        yield made


def test_values_losses_and_gradients_equal_the_local_models(there: World, local: PreTrainedModel) -> None:
    ids = prompt(batch=2, tokens=8)
    head = ValueHead(there.model, dropout=0.0)
    assert [name for name, _ in head.named_parameters()] == ["summary.weight", "summary.bias"]
    embeddings = local.get_input_embeddings()(ids).detach().requires_grad_()

    def gradients(loss: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(loss + values.square().mean(), (*head.parameters(), embeddings))

    logits, loss, values = head(inputs_embeds=embeddings, labels=ids)
    assert loss is not None
    whole = local(inputs_embeds=embeddings, labels=ids, output_hidden_states=True)
    wanted = head.summary(whole.hidden_states[-1]).squeeze(-1)
    torch.testing.assert_close(values, wanted, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(logits, whole.logits, rtol=1e-4, atol=1e-4)
    for got, want in zip(gradients(loss, values), gradients(whole.loss, wanted), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_a_classifier_has_no_value_head(there: World) -> None:
    with pytest.raises(UsageError, match="generates"):
        ValueHead(attach(open_checkpoint(str(CHECKPOINT)), there.client, num_labels=2))


# -- classifiers -------------------------------------------------------------------------------------------------------


def classifier(there: World, folder: Path = CHECKPOINT, num_labels: int = 3) -> object:
    made = attach(open_checkpoint(str(folder)), there.client, torch.float32, num_labels=num_labels)
    made.config.pad_token_id = 0
    return made


def test_logits_and_gradients_of_the_head_equal_the_local_model(tmp_path: Path) -> None:
    ids, mask, labels = prompt(batch=3, tokens=8), torch.ones(3, 8, dtype=torch.int64), torch.tensor([2, 0, 1])
    ids[0, 5:], mask[0, 5:], ids[1, :2], mask[1, :2] = 0, 0, 0, 0

    def learn(model: object) -> tuple[Tensor, Tensor, Tensor]:
        output = model(ids, attention_mask=mask, labels=labels)  # type: ignore[operator]
        weight = model.score.weight  # type: ignore[attr-defined]
        return output.logits.detach(), output.loss.detach(), torch.autograd.grad(output.loss, weight)[0]

    with world("0:2", "2:4") as there:
        remote = classifier(there)
        assert [name for name, each in remote.named_parameters() if each.requires_grad] == ["score.weight"]  # type: ignore[attr-defined]
        assert 0.0 < float(remote.score.weight.detach().std()) < 1.0  # type: ignore[attr-defined]
        local = AutoModelForSequenceClassification.from_pretrained(
            CHECKPOINT, num_labels=3, pad_token_id=0, dtype=torch.float32
        ).eval()
        local.score.weight.data.copy_(remote.score.weight.detach())  # type: ignore[attr-defined]
        for got, want in zip(learn(remote), learn(local), strict=True):
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
        remote.save_pretrained(tmp_path)  # type: ignore[attr-defined]
        assert AutoConfig.from_pretrained(tmp_path).architectures == ["LlamaForSequenceClassification"]
        with pytest.raises(OSError, match="weights of the blocks, which only servers have"):
            AutoModelForSequenceClassification.from_pretrained(tmp_path)
        again = classifier(there, tmp_path)
        assert torch.equal(again.score.weight, local.score.weight)  # type: ignore[attr-defined]
        other = classifier(there, tmp_path, num_labels=5)
        assert other.score.weight.shape[0] == 5  # type: ignore[attr-defined]
        with pytest.raises(UsageError, match="generates no text"):
            remote.generate(ids)  # type: ignore[attr-defined]


def test_labels_are_for_classifiers() -> None:
    with pytest.raises(UsageError, match="num_labels is for classifiers"):
        AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm="nobody", num_labels=2)
