"""Drafted tokens that leave before the ones before them are known change no token, whatever fails on the way."""

import asyncio
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from helpers.client_world import PATIENT, prompt
from helpers.ringed import WATCHFUL, Ringed, ringed
from helpers.stand_in import StandIn
from helpers.streamers import At
from potluck_engine.serving import session_stream
from potluck_engine.serving.pushing import Pusher
from transformers import PreTrainedModel

from potluck.client.cache import RemoteCache
from potluck.client.drafting import decoding, overlap
from potluck.client.drafting.payoff import DraftCost, StepTimes
from potluck.client.loop import CancelScope
from potluck.client.session.flight import Flight, Outputs, Window
from potluck.client.session.inference_session import InferenceSession
from potluck.errors import NetworkError, UsageError
from potluck.protocol.blocks import PersonId, Span
from potluck.protocol.codes import Code, RemoteError

pytestmark = pytest.mark.timeout(120)

DRAFTS = {"prompt_lookup_num_tokens": 32}
COMMON = {"max_new_tokens": 24, "eos_token_id": None, "pad_token_id": 0}
GREEDY = {**COMMON, "do_sample": False}
DRAWN = {**COMMON, "do_sample": True, "top_k": 20, "temperature": 0.9}
LADEN = {
    **GREEDY,
    "repetition_penalty": 1.3,
    "no_repeat_ngram_size": 2,
    "return_dict_in_generate": True,
    "output_scores": True,
}
ROUTES = [("0:4",), ("0:2", "2:4"), ("0:1", "1:2", "2:4")]
ROUTE = ROUTES[-1]
LATENCY_S = 0.004


@pytest.fixture(autouse=True)
def far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let drafts be worth it, and as long as they may be."""
    monkeypatch.setattr(StepTimes, "estimate", lambda _: DraftCost(1.0, 0.0, 0.001))
    monkeypatch.setattr(StepTimes, "longest", property(lambda _: 32))
    monkeypatch.setattr(overlap, "_LEAST_APART", 0.0)


class Engines:
    """What the sessions at all engines were asked for.

    Attributes:
        most: steps that were at one engine together.
        most_aloft: windows that had left the client before it heard of the first of them.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = self.dropped = self.most = self.most_aloft = self._aloft = 0
        self.sessions: dict[Span, session_stream.ServedSession] = {}  # the latest
        begin, drop, advance = (
            session_stream.ServedSession._begin,
            session_stream.ServedSession._drop,
            session_stream.ServedSession._advance,
        )

        def count_begun(session: session_stream.ServedSession, *args: Any) -> None:
            self.begun += 1
            self.sessions[session.memory.span] = session
            begin(session, *args)

        def count_dropped(session: session_stream.ServedSession, *args: Any) -> None:
            self.dropped += 1
            drop(session, *args)

        def count_waiting(session: session_stream.ServedSession) -> None:
            waiting = sum(not asked.is_dropped for asked in session.waiting)
            self.most = max(self.most, waiting + (session._running is not None))
            advance(session)

        send, heard = Flight.send, Flight.receive

        def count_sent(flight: Flight, window: Window) -> None:
            self._aloft += 1
            self.most_aloft = max(self.most_aloft, self._aloft)
            send(flight, window)

        async def count_heard(flight: Flight, timeout_s: float | None = None) -> list[Outputs]:
            outputs = await heard(flight, timeout_s)
            if outputs:
                self._aloft = 0
            return outputs

        monkeypatch.setattr(Flight, "send", count_sent)
        monkeypatch.setattr(Flight, "receive", count_heard)
        monkeypatch.setattr(session_stream.ServedSession, "_begin", count_begun)
        monkeypatch.setattr(session_stream.ServedSession, "_drop", count_dropped)
        monkeypatch.setattr(session_stream.ServedSession, "_advance", count_waiting)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    return Engines(monkeypatch)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each step take the engines longer than they report, so that steps wait there."""
    answered = session_stream.ServedSession._on_done

    def later(session: session_stream.ServedSession, *args: Any) -> None:
        asyncio.get_running_loop().call_later(0.01, answered, session, *args)

    monkeypatch.setattr(session_stream.ServedSession, "_on_done", later)


def told(made: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The tokens, and the scores if there are some."""
    if isinstance(made, torch.Tensor):
        return made, None
    return made.sequences, torch.stack(made.scores)


def written(model: Any, text: torch.Tensor, options: dict[str, Any], **more: Any) -> Any:
    torch.manual_seed(5)
    return model.generate(text, **options, **more)


def check(got: Any, want: Any) -> None:
    (tokens, scores), (other_tokens, other_scores) = told(got), told(want)
    assert torch.equal(tokens, other_tokens)
    if scores is not None:
        torch.testing.assert_close(scores, other_scores, rtol=1e-3, atol=1e-3)


def at_work(there: Ringed) -> list[str]:
    """The tasks of sessions that still run, and the threads that draft."""

    async def tasks() -> list[str]:
        found: list[Any] = [task.get_coro() for task in asyncio.all_tasks()]
        return [each.__qualname__ for each in found if each.__qualname__.startswith(("InferenceSession", "Hop."))]

    threads = [thread.name for thread in threading.enumerate() if thread.name == "potluck-drafts"]
    working: list[str] = there.client.run(tasks()) + threads
    return working


def wait_for_rest(there: Ringed) -> None:
    """Wait until nothing works for a text any more; a flight lands after its caller has its tokens."""
    until_s = time.monotonic() + 30
    while at_work(there) and time.monotonic() < until_s:
        time.sleep(0.01)
    assert at_work(there) == []


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(("route", "packing"), [(ROUTES[0], "off"), (ROUTES[1], "on"), (ROUTES[2], "off")])
@pytest.mark.parametrize("options", [GREEDY, DRAWN, LADEN], ids=["greedy", "drawn", "laden"])
def test_texts_are_those_of_plain_decoding_in_each_turn_of_a_session(
    options: dict[str, Any], route: tuple[str, ...], packing: str, share: float
) -> None:
    with ringed(*route, config=replace(PATIENT, packing=packing)) as there:
        there.network.latency_s = LATENCY_S
        with there.model.session(max_length=120) as session:
            text = prompt(tokens=9)
            for kept, new in ((60, 40), (17, 5), (0, 0)):  # tokens of the text that the next turn keeps, and adds
                with there.model.session(max_length=120) as plain:
                    want = written(there.model, text, options, session=plain)
                    position = plain.position
                there.model.draft_with(StandIn(told(want)[0][0].tolist(), share))
                check(written(there.model, text, options, session=session, **DRAFTS), want)
                assert session.position == position
                text = torch.cat([told(want)[0][:, :kept], prompt(tokens=new, seed=kept)], dim=1)
                session.rewind(min(kept, position))
        wait_for_rest(there)


@pytest.mark.usefixtures("slow")
def test_windows_are_on_their_way_together_and_void_ones_are_not_computed(
    local: PreTrainedModel, engines: Engines
) -> None:
    want = local.generate(prompt(), **GREEDY)
    with ringed(*ROUTE) as there:
        there.network.latency_s = LATENCY_S
        there.model.draft_with(StandIn(want[0].tolist(), 0.6))
        check(there.model.generate(prompt(), **GREEDY, **DRAFTS), want)
        wait_for_rest(there)
    assert engines.most >= 3
    assert engines.dropped, "engines computed what was void"


def fail() -> None:
    raise InterruptedError


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_streamer_that_raises_leaves_a_session_that_goes_on(local: PreTrainedModel, share: float) -> None:
    want = local.generate(prompt(), **GREEDY)
    with ringed(*ROUTE) as there, there.model.session(max_length=80) as session:
        there.network.latency_s = LATENCY_S
        there.model.draft_with(StandIn(want[0].tolist(), share))
        streamer = At(12, fail)
        with pytest.raises(InterruptedError):
            there.model.generate(prompt(), session=session, streamer=streamer, **GREEDY, **DRAFTS)
        assert session.position < len(streamer.tokens)
        assert streamer.tokens == want[0, : len(streamer.tokens)].tolist()
        so_far = torch.tensor([streamer.tokens])
        check(there.model.generate(so_far, session=session, **GREEDY, **DRAFTS), local.generate(so_far, **GREEDY))
        wait_for_rest(there)


@pytest.fixture
def bursts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the caller get the outputs of several windows at once."""
    heard = Flight.receive

    async def wait_for_more(flight: Flight, timeout_s: float | None = None) -> list[Outputs]:
        first = await heard(flight, timeout_s)
        if first:
            await asyncio.sleep(10 * LATENCY_S)
        return [*first, *(await heard(flight, 0) if first and flight.outputs else ())]

    monkeypatch.setattr(Flight, "receive", wait_for_more)


@pytest.mark.usefixtures("bursts")
@pytest.mark.parametrize("at", [8, 10, 15])
def test_an_end_token_among_drafted_ones_ends_the_text(local: PreTrainedModel, at: int) -> None:
    """Also where outputs for what was drafted after it have come already."""
    want = local.generate(prompt(), **GREEDY)
    drafts, want = StandIn(want[0].tolist(), 1.0), want[:, : 7 + at + 1]
    options = {**GREEDY, "eos_token_id": int(want[0, -1])}
    with ringed(*ROUTES[1]) as there, there.model.session(max_length=80) as session:
        there.network.latency_s = LATENCY_S
        there.model.draft_with(drafts)
        check(there.model.generate(prompt(), session=session, **options, **DRAFTS), local.generate(prompt(), **options))
        assert session.position < local.generate(prompt(), **options).shape[1]
        wait_for_rest(there)


def test_a_text_that_begins_with_vectors_is_that_of_plain_decoding(local: PreTrainedModel) -> None:
    vectors = local.get_input_embeddings()(prompt()).detach()
    with ringed("0:4") as there:
        got = there.model.generate(inputs_embeds=vectors, **GREEDY, **DRAFTS)
    assert torch.equal(got, local.generate(inputs_embeds=vectors, **GREEDY))


def test_a_session_that_is_given_only_what_is_new_writes_what_it_writes_without_drafts(local: PreTrainedModel) -> None:
    first, more = prompt(), prompt(tokens=12, seed=3)
    whole = torch.ones(1, first.shape[1] + more.shape[1], dtype=torch.int64)
    with ringed(*ROUTE) as there:
        made = []
        for drafts in ({}, DRAFTS):
            with there.model.session(max_length=80) as session, torch.no_grad():
                there.model(first, past_key_values=session.cache)
                made.append(there.model.generate(more, attention_mask=whole, session=session, **GREEDY, **drafts))
    assert torch.equal(*made)


# -- whoever leaves ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["leaves", "Ctrl-C"])
def test_a_caller_that_leaves_in_flight_leaves_a_session_that_goes_on(local: PreTrainedModel, how: str) -> None:
    want, caller = local.generate(prompt(), **GREEDY), CancelScope()

    def interrupt() -> None:
        raise KeyboardInterrupt

    with ringed(*ROUTE) as there, there.model.session(max_length=80) as session:
        there.network.latency_s = LATENCY_S
        there.model.draft_with(StandIn(want[0].tolist(), 0.9))
        streamer = At(12, caller.cancel if how == "leaves" else interrupt)
        with caller.entered(), pytest.raises(BrokenPipeError if how == "leaves" else KeyboardInterrupt):
            there.model.generate(prompt(), session=session, streamer=streamer, **GREEDY, **DRAFTS)
        wait_for_rest(there)
        so_far = torch.tensor([streamer.tokens])
        check(there.model.generate(so_far, session=session, **GREEDY, **DRAFTS), local.generate(so_far, **GREEDY))


@pytest.mark.parametrize("what", ["session", "model"])
def test_what_is_closed_in_flight_ends_the_text(local: PreTrainedModel, what: str) -> None:
    want = local.generate(prompt(), **GREEDY)
    with ringed(*ROUTE) as there, there.model.session(max_length=80) as session:
        there.network.latency_s = LATENCY_S
        there.model.draft_with(StandIn(want[0].tolist(), 0.9))
        streamer = At(12, session.cache.close if what == "session" else there.model.close)
        with pytest.raises(UsageError if what == "session" else NetworkError, match="closed"):
            there.model.generate(prompt(), session=session, streamer=streamer, **GREEDY, **DRAFTS)
        assert "potluck-drafts" not in [thread.name for thread in threading.enumerate()]
        if what == "session":
            wait_for_rest(there)


# -- faults ------------------------------------------------------------------------------------------------------------


class Faults:
    """What befalls the server at one place of the route."""

    def __init__(self, engines: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
        self._engines = engines
        self._monkeypatch = monkeypatch

    async def strike(self, there: Ringed, kind: str, place: int) -> None:
        server = there.serving()[place]
        session = self._engines.sessions[server.serving.blocks.span]
        match kind:
            case "kill":
                server.host.kill()
            case "error":
                session._finish(RemoteError(Code.INTERNAL, "it failed"))
            case "silent end":
                session._finish()
            case "drain":
                server.serving.admission.leaving = True
            case "distrust":
                there.client.servers.distrust(PersonId(server.host.peer_id))
            case "drop":
                self._drop_next(session)
            case "lost push" | "other values":
                self._spoil_next(kind)

    def _drop_next(self, session: session_stream.ServedSession) -> None:
        begin, session_dropped = session_stream.ServedSession._begin, []

        def drop(each: session_stream.ServedSession, asked: Any, hidden: torch.Tensor) -> None:
            if each is session and not session_dropped:
                session_dropped.append(asked)
                each._drop(asked)
            else:
                begin(each, asked, hidden)

        self._monkeypatch.setattr(session_stream.ServedSession, "_begin", drop)

    def _spoil_next(self, kind: str) -> None:
        push, spoilt = Pusher.push, []

        def spoil(pusher: Pusher, number: int, output: torch.Tensor, packed: torch.Tensor | None) -> bool:
            if spoilt:
                return push(pusher, number, output, packed)
            spoilt.append(number)
            return kind == "lost push" or push(pusher, number, output + 1, packed)

        self._monkeypatch.setattr(Pusher, "push", spoil)


@pytest.fixture
def faults(engines: Engines, monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults(engines, monkeypatch)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("kind", "num_replaced"),
    [
        ("kill", 1),
        ("error", 1),
        ("silent end", 1),
        ("drain", 1),
        ("distrust", 1),
        ("drop", 1),
        ("lost push", 0),
        ("other values", 0),
    ],
)
def test_a_fault_in_flight_changes_no_token(
    local: PreTrainedModel, faults: Faults, engines: Engines, kind: str, num_replaced: int, place: int
) -> None:
    want = local.generate(prompt(), **GREEDY)
    with ringed(*ROUTE, ROUTE[place], config=WATCHFUL) as there, there.model.session(max_length=80) as session:
        there.network.latency_s = LATENCY_S
        there.model.draft_with(StandIn(want[0].tolist(), 0.9))
        strike = At(9, lambda: there.client.run(faults.strike(there, kind, place)))
        got = there.model.generate(prompt(), session=session, streamer=strike, **GREEDY, **DRAFTS)
        check(got, want)
        wait_for_rest(there)
        if kind == "drain":  # its understudy takes over once it has caught up
            got = torch.cat([got, prompt(tokens=3)], dim=1)
            check(there.model.generate(got, session=session, **GREEDY, **DRAFTS), local.generate(got, **GREEDY))
        assert len(there.replaced()) == num_replaced
        assert session.position == got.shape[1] - 1 + (GREEDY["max_new_tokens"] if kind == "drain" else 0)
    assert engines.most_aloft >= 2


@pytest.mark.parametrize(("share", "is_killed"), [(0.5, False), (1.0, False), (1.0, True)])
def test_a_session_that_must_grow_in_flight_gives_the_same_tokens(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch, share: float, is_killed: bool
) -> None:
    """Also where the window that has no room is the first one after a server's death."""

    def kill_at_the_end(session: InferenceSession, window: Window, *args: Any, **options: Any) -> None:
        leave(session, window, *args, **options)
        if is_killed and window.end >= 22 and not session.route.replaced:
            there.serving()[0].host.kill()

    leave = InferenceSession._leave
    monkeypatch.setattr(InferenceSession, "_leave", kill_at_the_end)
    options = {**GREEDY, "max_new_tokens": 60}
    want = local.generate(prompt(), **options)
    with ringed(*ROUTE, ROUTE[0], config=replace(PATIENT, max_wait_s=5.0)) as there:
        there.network.latency_s = LATENCY_S
        there.model.draft_with(StandIn(want[0].tolist(), share))
        with closing(RemoteCache(there.client, 24, may_grow=True)) as cache:
            there.model._routes = cache.routes
            check(there.model.generate(prompt(), past_key_values=cache, **options, **DRAFTS), want)
            assert cache.get_seq_length() == want.shape[1] - 1
            assert len(cache.routes[0].replaced) == is_killed
            wait_for_rest(there)


def test_a_mistake_of_this_program_ends_the_text_with_its_error(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_later(session: InferenceSession, window: Window, *args: Any, **options: Any) -> None:
        if window.position > 12:
            raise ZeroDivisionError
        leave(session, window, *args, **options)

    leave = InferenceSession._leave
    monkeypatch.setattr(InferenceSession, "_leave", fail_later)
    with ringed(*ROUTE) as there, there.model.session(max_length=80) as session:
        there.network.latency_s = LATENCY_S
        there.model.draft_with(StandIn(local.generate(prompt(), **GREEDY)[0].tolist(), 0.9))
        with pytest.raises(ZeroDivisionError):
            there.model.generate(prompt(), session=session, **GREEDY, **DRAFTS)
        wait_for_rest(there)


# -- several texts -----------------------------------------------------------------------------------------------------


def test_texts_share_steps_as_long_as_there_are_two_and_the_one_that_is_left_flies_again(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "_CORES_OF_A_TEXT", 1 << 20)  # two texts are a crowd
    flights, steps = [0], [0]
    flying, step = RemoteCache.flying, decoding.Together._step

    @contextmanager
    def count_flights(cache: RemoteCache) -> Iterator[Flight]:
        flights[0] += 1
        with flying(cache) as flight:
            yield flight

    def count_steps(these: decoding.Together, texts: Sequence[Any]) -> None:
        steps[0] += len(texts) > 1
        step(these, texts)

    monkeypatch.setattr(RemoteCache, "flying", count_flights)
    monkeypatch.setattr(decoding.Together, "_step", count_steps)
    long = {**GREEDY, "max_new_tokens": 100}
    want, other = local.generate(prompt(), **long), local.generate(prompt(seed=1), **GREEDY)
    with ringed(*ROUTE) as there, ThreadPoolExecutor(1) as threads:
        there.network.latency_s = LATENCY_S

        def write(text: torch.Tensor, options: dict[str, Any], streamer: Any = None) -> torch.Tensor:
            with there.model.session(max_length=120, together=True) as session:
                made = there.model.generate(text, session=session, streamer=streamer, **options, **DRAFTS)
                assert session.position == made.shape[1] - 1
                return made

        there.model.draft_with(StandIns(StandIn(want[0].tolist(), 0.3), StandIn(other[0].tolist(), 0.9)))
        second: list[Future[torch.Tensor]] = []
        begin = At(10, lambda: second.append(threads.submit(write, prompt(seed=1), GREEDY)))
        check(write(prompt(), long, begin), want)
        check(second[0].result(60), other)
        wait_for_rest(there)
    assert steps[0] > 2, "they did not share steps"
    assert flights[0] == 2, "the long text did not fly before and after the other one"


class StandIns:
    """Drafts several texts, in the order in which they begin."""

    def __init__(self, *texts: StandIn) -> None:
        self._texts = list(texts)

    def text(self) -> StandIn:
        return self._texts.pop(0)


# -- anything ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(32))
def test_whatever_happens_to_texts_that_fly_they_are_those_of_plain_decoding(
    local: PreTrainedModel, faults: Faults, seed: int
) -> None:
    rng = random.Random(seed)
    route = rng.choice(ROUTES)
    spares = [span for span in route for _ in range(3)]
    with ringed(*route, *spares, config=WATCHFUL) as there:
        there.network.latency_s = rng.choice([0.0, 0.001, LATENCY_S])
        with closing(RemoteCache(there.client, rng.choice([16, 64, 200]), may_grow=True)) as cache:
            there.model._routes = cache.routes
            text = prompt(tokens=rng.randrange(5, 20), seed=seed)
            for turn in range(3):
                options = {**GREEDY, "max_new_tokens": rng.randrange(6, 24), "attention_mask": torch.ones_like(text)}
                want = local.generate(text, **options)
                drafts = StandIn(want[0].tolist(), rng.choice([0.0, 0.5, 0.8, 0.95]), seed, rng.choice([0.0, 0.001]))
                there.model.draft_with(drafts)
                kind, place = rng.choice(KINDS), rng.randrange(len(route))
                strike = At(rng.randrange(2, 12), partial(happen, there, faults, kind, place))
                try:
                    got = there.model.generate(text, past_key_values=cache, streamer=strike, **options, **DRAFTS)
                    check(got, want)
                except InterruptedError:
                    assert kind == "raise"
                    got = torch.tensor([strike.tokens])
                    check(got, want[:, : got.shape[1]])
                text = torch.cat([got, prompt(tokens=rng.randrange(1, 30), seed=turn)], dim=1)
                if rng.random() < 0.5:
                    kept = rng.randrange(1, cache.get_seq_length() + 1)
                    cache.crop(kept - cache.get_seq_length())
                    text = torch.cat([text[:, :kept], prompt(tokens=rng.randrange(1, 30), seed=turn)], dim=1)
            wait_for_rest(there)


KINDS = ["nothing", "raise", "kill", "error", "silent end", "drain", "distrust", "drop", "lost push", "other values"]


def happen(there: Ringed, faults: Faults, kind: str, place: int) -> None:
    if kind == "raise":
        fail()
    elif kind != "nothing":
        there.client.run(faults.strike(there, kind, place))
