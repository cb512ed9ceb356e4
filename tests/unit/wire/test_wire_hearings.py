"""What accusers send: it arrives as it was, and nothing else gets through."""

import random
import time
from dataclasses import replace

import pytest
import torch

from potluck.audit import WINDOW_TOKENS
from potluck.audit.commitments import Terms, WindowLog, commit
from potluck.audit.evidence import Evidence
from potluck.membership.identity import Identity
from potluck.protocol.blocks import Span
from potluck.protocol.codes import RemoteError
from potluck.protocol.records import NumberFormat
from potluck.wire.hearings import HearingJoiner, HearingRequest, encode_hearing
from potluck.wire.limits import Limits
from potluck.wire.tensors import travelling

HIDDEN, TOKENS = 8, 64
LIMITS = Limits(hidden_size=HIDDEN, num_blocks=4, max_batch_tokens=256, max_length=512, max_frame_bytes=1 << 20)
TERMS = Terms(bytes(16), Span(0, 2), "0" * 16, NumberFormat("float32"), "adapter", is_exact=True, packs=True)
SERVER = Identity.generate()


def request() -> HearingRequest:
    inputs, outputs = torch.randn(2, 1, TOKENS, HIDDEN, generator=torch.Generator().manual_seed(0))
    log = WindowLog()
    windows, leaves = log.leaves(log.note(0, travelling(inputs), travelling(outputs)))
    made = commit(TERMS, windows.start, len(windows), leaves, int(time.time()), SERVER.sign)
    claimed = outputs[:, WINDOW_TOKENS:].contiguous()
    values = travelling(inputs), travelling(claimed)
    evidence = Evidence(TERMS, made, tuple(leaves), 1, 0, 1, (WINDOW_TOKENS,), *values)
    return HearingRequest("swarm", b"charge", evidence, inputs, claimed)


def read(body: bytes) -> HearingRequest:
    joiner = HearingJoiner(LIMITS)
    joiner.add(body)
    return joiner.request()


def written(what: HearingRequest) -> bytes:
    return b"".join(bytes(piece) for frame in encode_hearing(what) for piece in frame)


def test_evidence_arrives_whole_and_sound() -> None:
    sent, came = request(), read(written(request()))
    assert (came.prefix, came.charge, came.evidence.terms) == (sent.prefix, sent.charge, TERMS)
    assert torch.equal(came.outputs, sent.outputs)
    assert came.evidence.digest == sent.evidence.digest
    assert came.evidence.is_sound(SERVER.public_key)
    assert not came.evidence.is_sound(Identity.generate().public_key)


@pytest.mark.parametrize("changed", ["inputs", "outputs", "terms"])
def test_changed_values_and_terms_are_not_what_the_server_signed(changed: str) -> None:
    sent = request()
    if changed == "terms":  # so that a juror does not know that outputs were rounded
        sent = replace(sent, evidence=replace(sent.evidence, terms=replace(TERMS, packs=False)))
    else:
        getattr(sent, changed)[0, 0, 0] += 1.0
    assert not read(written(sent)).evidence.is_sound(SERVER.public_key)


def test_a_window_that_its_inputs_do_not_reach_is_refused() -> None:
    sent = request()
    with pytest.raises(RemoteError):
        read(written(replace(sent, evidence=replace(sent.evidence, window=1 << 19))))


def test_damaged_bytes_are_refused_and_nothing_else_happens() -> None:
    body, rng = written(request()), random.Random(0)
    for _ in range(300):
        damaged = bytearray(body[: rng.randrange(len(body))] if rng.random() < 0.3 else body)
        for _ in range(rng.randrange(1, 4)):
            if damaged:
                damaged[rng.randrange(min(len(damaged), 600))] = rng.randrange(256)
        try:
            came = read(bytes(damaged))
        except RemoteError:
            continue
        came.evidence.is_sound(SERVER.public_key)
