import pytest
from potluck_control.api import schema
from potluck_control.methods.settings import Change
from potluck_control.states import Reason, State

from potluck.protocol.codec import CodecError, decode, encode
from potluck.sentences import NOTHING, Sentence, sentence, verbatim

FULL = schema.Status(
    state=State.YIELDED,
    reason=Reason.GAME,
    text=sentence("{who} is running", who="Game"),
    since=1.5,
    version="1",
    until=2.0,
    engine=schema.EngineStatus(pid=7, uptime_s=3.0, restarts=1, last_failure=verbatim("x")),
    swarm=schema.SwarmStatus(
        "s", "m", 8, span=(2, 6), coverage=(0, 1, 2, 3, 1, 1, 0, 0), coverage_at=9.0, peer_id="12D3"
    ),
    load=schema.LoadStatus(cpu_percent=12.5, gpu_percent=None, memory_used_bytes=1 << 40),
    tokens_per_s=3.25,
    sessions=2,
    tokens_today=10,
    probes=(schema.ProbeStatus(verbatim("GameMode"), schema.ProbeState.SEEN, verbatim("supertux2")),),
    notices=(verbatim("a"), verbatim("b")),
)


def test_a_status_survives_the_way_through_json() -> None:
    assert decode(schema.Status, encode(FULL)) == FULL


def test_what_a_newer_peer_says_is_read_as_far_as_it_is_known_and_what_is_missing_has_its_default() -> None:
    probe = {"name": {"text": "Ears"}, "state": "deaf", "detail": {"text": "loud", "new": 1}}
    newer = {"state": "dancing", "reason": "music", "text": {}, "since": 1, "version": "9", "probes": [probe]}
    read = decode(schema.Status, encode(newer | {"new": {"a": [1]}}))
    probes = (schema.ProbeStatus(Sentence(text="Ears"), schema.ProbeState.UNKNOWN, Sentence(text="loud")),)
    assert read == schema.Status(State.UNKNOWN, Reason.UNKNOWN, NOTHING, 1.0, "9", probes=probes)


def test_a_field_of_a_wrong_type_is_refused_by_name() -> None:
    for change in (
        {"state": 5},
        {"since": "1"},
        {"since": True},
        {"since": None},
        {"sessions": 1.5},
        {"sessions": True},
        {"text": 5},
        {"probes": {}},
        {"probes": ["x"]},
        {"notices": [1]},
        {"engine": None},
        {"swarm": {"name": "s", "model": "m", "num_blocks": 8, "span": [1]}},
        {"load": []},
    ):
        data = decode(object, encode(FULL))
        with pytest.raises(CodecError, match=next(iter(change))):
            decode(schema.Status, encode(data | change))


def test_text_that_is_not_strict_json_is_refused() -> None:
    for text in (b"", b"{", b'{"a":NaN}', b"[Infinity]", b"\xff", b"[" * 100_000, b'{"a":1}x'):
        with pytest.raises(CodecError):
            decode(object, text)


def test_a_number_too_large_for_a_float_is_refused() -> None:
    for number in (b"1e999", b"9" * 400):
        with pytest.raises(CodecError):
            decode(schema.PauseParams, b'{"seconds":' + number + b"}")


def test_the_range_checks_of_a_class_become_refusals() -> None:
    with pytest.raises(CodecError, match="limit"):
        decode(schema.HistoryParams, encode({"limit": 0}))


def test_a_setting_keeps_the_kind_of_its_value() -> None:
    for value in (True, 3, 0.5, "text", ("a", "b"), (), None):
        read = decode(Change, encode(Change("key", value)))
        assert (read.value, type(read.value)) == (value, type(value))


def test_a_value_that_is_no_setting_is_refused() -> None:
    for value in ({}, [1], [["a"]], {"a": "b"}):
        with pytest.raises(CodecError, match="value"):
            decode(Change, encode({"key": "key", "value": value}))
