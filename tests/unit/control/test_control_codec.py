import pytest
from potluck_control.codec import CodecError, dumps, from_json, loads
from potluck_control.methods.settings import Change
from potluck_control.schema import (
    EngineStatus,
    HistoryParams,
    LoadStatus,
    PauseParams,
    ProbeState,
    ProbeStatus,
    Status,
    SwarmStatus,
)
from potluck_control.states import Reason, State

FULL = Status(
    state=State.YIELDED,
    reason=Reason.GAME,
    text="Game is running",
    since=1.5,
    version="1",
    until=2.0,
    engine=EngineStatus(pid=7, uptime_s=3.0, restarts=1, last_failure="x"),
    swarm=SwarmStatus("s", "m", 8, span=(2, 6), coverage=(0, 1, 2, 3, 1, 1, 0, 0), coverage_at=9.0, peer_id="12D3"),
    load=LoadStatus(cpu_percent=12.5, gpu_percent=None, memory_used_bytes=1 << 40),
    tokens_per_s=3.25,
    sessions=2,
    tokens_today=10,
    probes=(ProbeStatus("GameMode", ProbeState.SEEN, "supertux2"),),
    notices=("a", "b"),
)


def test_a_status_survives_the_way_through_json() -> None:
    assert from_json(Status, loads(dumps(FULL))) == FULL


def test_fields_of_a_newer_peer_are_ignored_and_missing_optional_ones_get_their_default() -> None:
    data = loads(b'{"state":"idle","reason":"none","text":"","since":1,"version":"9","new":{"a":[1]}}')
    assert from_json(Status, data) == Status(State.IDLE, Reason.NONE, "", 1.0, "9")


@pytest.mark.parametrize(
    "change",
    [
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
    ],
)
def test_a_field_of_a_wrong_type_is_refused_by_name(change: dict[str, object]) -> None:
    data = loads(dumps(FULL))
    with pytest.raises(CodecError, match=next(iter(change))):
        from_json(Status, data | change, "status")


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"a":NaN}', b"[Infinity]", b'{"a":1,"a":2}', b"\xff", b"[" * 100_000, b'{"a":1}x']
)
def test_text_that_is_not_strict_json_is_refused(text: bytes) -> None:
    with pytest.raises(CodecError):
        loads(text)


@pytest.mark.parametrize("number", [b"1e999", b"9" * 400])
def test_a_number_too_large_for_a_float_is_refused(number: bytes) -> None:
    with pytest.raises(CodecError):
        from_json(PauseParams, loads(b'{"seconds":' + number + b"}"))


def test_the_range_checks_of_a_class_become_refusals() -> None:
    with pytest.raises(CodecError, match="limit"):
        from_json(HistoryParams, {"limit": 0})


@pytest.mark.parametrize("value", [True, 3, 0.5, "text", ("a", "b"), (), None])
def test_a_setting_keeps_the_kind_of_its_value(value: object) -> None:
    read = from_json(Change, loads(dumps(Change("key", value))))
    assert (read.value, type(read.value)) == (value, type(value))


@pytest.mark.parametrize("value", [{}, [1], [["a"]], {"a": "b"}])
def test_a_value_that_is_no_setting_is_refused(value: object) -> None:
    with pytest.raises(CodecError, match="value"):
        from_json(Change, {"key": "key", "value": value})
