"""Where hidden states travel packed, and what a session does with them."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from helpers.client_world import PATIENT, prompt, world
from helpers.misdeeds import Once, kill
from helpers.server_records import record_of
from transformers import PreTrainedModel

from potluck.client.calls import Calls
from potluck.client.config import ClientConfig
from potluck.client.packing import MAX_ERROR, NetworkPath, Payload, choose_packed_paths, is_worth_packing, may_pack
from potluck.client.session.hop import Hop
from potluck.errors import UsageError
from potluck.protocol.blocks import Span
from potluck.protocol.messages import BackwardRequest
from potluck.protocol.records import NumberFormat, ServerRecord
from potluck.routing.route import RouteHop
from potluck.wire.calls import CallRequest
from potluck.wire.packing import pack_exactly

GREEDY = {"max_new_tokens": 8, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
AUTO, ON, OFF = ClientConfig(), ClientConfig(packing="on"), ClientConfig(packing="off")
PACKED = replace(PATIENT, packing="on")
ERROR = {"packing_error": 0.008}
PROMPT = Payload(tokens=1000, hidden_size=4096, value_bytes=2)
SLOW, FAST = NetworkPath(100.0, 0.05), NetworkPath(10_000.0, 0.001)


def record(dtype: str = "bfloat16", error: float | None = 0.008) -> ServerRecord:
    return record_of("a", 0, 1, format=NumberFormat(dtype), packing_error=error)


# -- decisions ---------------------------------------------------------------------------------------------------------


def test_only_servers_of_sixteen_bits_pack_unless_the_user_says_so() -> None:
    half, single = record(), record("float32")
    assert may_pack(AUTO, 512, [half, half])
    assert not may_pack(AUTO, 512, [half, single])
    assert may_pack(ON, 512, [half, single])
    assert not may_pack(OFF, 512, [half])
    assert not may_pack(replace(ON, exact=True), 512, [half])
    assert not may_pack(ON, 500, [half])


@pytest.mark.parametrize("error", [None, 2 * MAX_ERROR])
def test_servers_that_cannot_pack_or_lose_much_by_it_are_sent_plain_values(error: float | None) -> None:
    assert not may_pack(ON, 512, [record(), record(error=error)])


@pytest.mark.parametrize(
    ("load", "way", "is_worth"),
    [
        (PROMPT, SLOW, True),
        (replace(PROMPT, tokens=1), SLOW, True),  # long messages will come
        (PROMPT, FAST, False),
        (PROMPT, NetworkPath(10.0, 0.001), True),  # even for single tokens
        (PROMPT, NetworkPath(100.0, 0.002), False),  # each token would come later
        (PROMPT, NetworkPath(10_000.0, 0.2), False),
        (replace(PROMPT, tokens=1, hidden_size=512), NetworkPath(1000.0, 0.1), False),
        (PROMPT, NetworkPath(0.0, 0.1), True),
    ],
)
def test_packing_pays_on_ways_that_are_slow_for_what_they_carry(
    load: Payload, way: NetworkPath, is_worth: bool
) -> None:
    assert is_worth_packing(load, way) == is_worth


def test_each_way_is_chosen_by_itself_and_both_its_ends_must_pack() -> None:
    servers = [record(), record(), record(error=None)]
    assert choose_packed_paths(AUTO, PROMPT, servers, [SLOW, SLOW, SLOW, SLOW]) == [True, True, False, False]
    assert choose_packed_paths(AUTO, PROMPT, servers[:2], [FAST, SLOW, FAST]) == [False, True, False]
    assert choose_packed_paths(ON, PROMPT, servers[:1], [FAST, FAST]) == [True, True]


def test_a_config_names_its_choices() -> None:
    for setting, choices in (("packing", "auto, on, off"), ("audits", "on, known, off")):
        with pytest.raises(UsageError, match=choices):
            ClientConfig(**{setting: "sometimes"})


# -- sessions ----------------------------------------------------------------------------------------------------------


def logits(model: Any, text: torch.Tensor) -> torch.Tensor:
    with model.session(max_length=100) as session, torch.inference_mode():
        return torch.cat([model(part, past_key_values=session.cache).logits for part in text.split(5, dim=1)], dim=1)


@pytest.fixture
def travelled(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each message to a server was packed."""
    found: list[bool] = []
    packed = Hop._packed

    def watch(hop: Hop, piece: torch.Tensor) -> torch.Tensor | None:
        data = packed(hop, piece)
        found.append(data is not None)
        return data

    monkeypatch.setattr(Hop, "_packed", watch)
    return found


def test_every_way_is_packed_and_the_logits_are_close(local: PreTrainedModel, travelled: list[bool]) -> None:
    text = prompt(batch=2, tokens=20)
    with world("0:1", "1:2", "2:4", config=PACKED, **ERROR) as there:
        seen = logits(there.model, text)
        assert all(pack_exactly(step.hidden) is not None for server in there.servers for step in server.steps)
        assert all(server.steps[0].opening.packs for server in there.servers)
    assert all(travelled)
    with torch.inference_mode():
        want = local(text).logits
    assert 0 < float((seen - want).norm() / want.norm()) < 0.05


@pytest.mark.parametrize(("victim", "spans", "is_older"), [(0, ("0:1", "1:2"), True), (1, ("2:3", "3:4"), False)])
def test_a_replacement_computes_with_the_same_numbers(victim: int, spans: tuple[str, ...], is_older: bool) -> None:
    """Also one that knows nothing of packing: it gets the decoded values, and the client rounds what it answers."""
    text = prompt(tokens=40)
    with world("0:2", "2:4", config=PACKED, **ERROR) as there:
        want = there.model.generate(text, **GREEDY)
        inputs = torch.cat([step.hidden for step in there.servers[victim].steps], dim=1)

    with world("0:2", "2:4", config=PACKED, **ERROR) as there:
        there.servers[victim].on_step = Once(kill, nth=5)
        options = {} if is_older else ERROR
        others = [there.add_server(Span.parse(span), inference_tps=1.0, **options) for span in spans]
        assert torch.equal(there.model.generate(text, **GREEDY), want)
        assert torch.equal(torch.cat([step.hidden for step in others[0].steps], dim=1), inputs)


# -- calls without a session -------------------------------------------------------------------------------------------


def gradient_of(model: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    embeddings = model.get_input_embeddings()(ids).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(model(inputs_embeds=embeddings, labels=ids).loss, embeddings)
    return gradient


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[CallRequest]:
    """Return the requests of all calls without a session."""
    found: list[CallRequest] = []
    compute = Calls.compute

    def watch(calls: Calls, part: RouteHop, request: CallRequest, *others: Any) -> Any:
        found.append(request)
        return compute(calls, part, request, *others)

    monkeypatch.setattr(Calls, "compute", watch)
    return found


def test_hidden_states_and_gradients_travel_packed_both_ways_and_are_close(
    local: PreTrainedModel, called: list[CallRequest]
) -> None:
    ids = prompt(batch=2, tokens=20)
    with world("0:1", "1:2", "2:4", config=PACKED, **ERROR) as there:
        got = gradient_of(there.model, ids)
        for server in there.servers:
            (forward,), (backward,) = server.forwards, server.backwards
            assert forward.packs
            assert backward.packs
            assert torch.equal(forward.hidden, backward.hidden), "or the server would compute the forward again"
            assert 0.5 <= float(backward.grad.abs().max()) <= 1
    assert len(called) == 6
    assert all(request.packed for request in called)
    assert all(len(request.packed) == 2 for request in called if isinstance(request, BackwardRequest))
    want = gradient_of(local, ids)
    assert 0 < float((got - want).norm() / want.norm()) < 0.1  # small tokens, rounded ten times


@pytest.mark.parametrize(
    ("config", "options"),
    [
        (PACKED, {}),  # a server of an older version
        (replace(PACKED, packing="auto"), ERROR),  # float32
    ],
)
def test_who_must_not_round_is_sent_plain_values(
    config: ClientConfig, options: Any, local: PreTrainedModel, called: list[CallRequest]
) -> None:
    ids = prompt(batch=2, tokens=20)
    with world("0:2", "2:4", config=config, **options) as there:
        torch.testing.assert_close(gradient_of(there.model, ids), gradient_of(local, ids), rtol=1e-4, atol=1e-6)
    assert called
    assert not any(request.packs or request.packed for request in called)


def test_an_auditor_gets_packed_what_the_session_sent_packed(
    called: list[CallRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.client.audits.auditing.audit_chance", lambda *_: 1.0)
    with world("0:4", "0:4", config=PACKED, **ERROR) as there:
        there.model.generate(prompt(tokens=40), **GREEDY)
        there.client.run(there.client.audits._background.wait())
        assert there.model.audits().audited >= 1  # the last tokens, too, if the auditor is done with the window before
        assert not there.model.audits().wrong
    assert called
    for audit in called:
        assert audit.packed
        assert not audit.packs, "its answer is compared as it was computed"
