"""Packed hidden states: how small they are, how close, that they decode to the same bits, and what is refused."""

import pytest
import torch
from torch import Tensor

from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import BackwardRequest, ForwardRequest, Pushed, StepReply, StepRequest
from potluck.wire.calls import RequestJoiner
from potluck.wire.errors import WireError
from potluck.wire.message import Limits
from potluck.wire.packing import (
    can_pack,
    pack,
    pack_exactly,
    pack_gradient,
    packed_bytes,
    relative_error,
    scaled,
    unpack,
)
from potluck.wire.sessions import decode_push, decode_step, decode_step_reply, digest_of
from potluck.wire.tensors import encode_parts, encode_tensors

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def with_outliers(hidden_size: int = 512, *, scale: float = 1.0, tokens: int = 6) -> Tensor:
    """[2, tokens, hidden_size] float32 with eight channels that are 300 times as large as the others."""
    generator = torch.Generator().manual_seed(hidden_size)
    hidden = torch.randn(2, tokens, hidden_size, generator=generator)
    hidden[..., torch.randperm(hidden_size, generator=generator)[:8]] *= 300
    return hidden * scale


def packed(hidden: Tensor) -> Tensor:
    return pack(hidden).data


def test_a_value_takes_less_than_eight_and_a_half_bits() -> None:
    assert packed(with_outliers(4096)).shape == (2, 6, packed_bytes(4096))
    assert 8 * packed_bytes(4096) / 4096 < 8.3


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1.3, 1.6, 20.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_stay_within_a_hundredth_whatever_their_size(scale: float, dtype: torch.dtype) -> None:
    assert 0.001 < relative_error(with_outliers(scale=scale).to(dtype)) < 0.01


def test_outliers_keep_their_digits_and_neighbours_keep_theirs() -> None:
    hidden = with_outliers()
    apart = (pack(hidden).values - hidden).abs()
    assert float((apart / hidden.abs())[hidden.abs() > 100].max()) < 2e-5
    assert float(apart[hidden.abs() < 5].max()) < 0.03


SAMPLES = {
    "outliers": with_outliers(),
    "small": with_outliers(64, scale=1e-7),
    "large": with_outliers(64, scale=100.0),
    "zeros": torch.zeros(2, 64),
    "negative zeros": -torch.zeros(2, 64),
    "few values": torch.eye(64)[:3] * -0.0625,
    "equal": torch.full((3, 128), -2.5),
    "largest": torch.full((3, 64), 2.0**15),
    "ties": torch.randint(-9, 9, (200, 64), generator=torch.Generator().manual_seed(0)).float(),
    "signs": torch.randn(200, 128, generator=torch.Generator().manual_seed(1)).sign() * 63.5,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SAMPLES)
def test_what_was_packed_once_is_packed_again_without_loss(name: str, dtype: torch.dtype) -> None:
    """So a replacement server and an auditor compute with the same bits, however these travel."""
    hidden = SAMPLES[name].clamp(-60_000, 60_000).to(dtype)
    values, data = pack(hidden)
    assert values.dtype is dtype
    assert torch.equal(unpack(data, hidden.shape[-1]).to(dtype), values)
    again = pack_exactly(values)
    assert torch.equal(unpack(again, hidden.shape[-1]).to(dtype), values)
    assert not (values.signbit() & (values == 0)).any()


def test_other_values_are_not_taken_for_packed_ones() -> None:
    assert pack_exactly(with_outliers()) is None
    assert pack_exactly(with_outliers().double()) is None


def test_decoding_is_a_matter_of_bits_alone() -> None:
    """A token by hand: exponent -1, outliers of 256 and more in places 0 to 15, then int8 3, -2 and a finer block."""
    upper = torch.arange(0x4380, 0x4390, dtype=torch.int16).view(torch.uint8)
    places = torch.arange(16, dtype=torch.int16).view(torch.uint8)
    exponents = torch.tensor([0x40], dtype=torch.uint8)  # the second block's is 4 less
    values = torch.zeros(64, dtype=torch.int8)
    values[0], values[16], values[17], values[32] = -1, 3, -2, 64
    token = torch.cat((torch.tensor([0xFF], dtype=torch.uint8), upper, places, exponents, values.view(torch.uint8)))
    found = unpack(token, 64)
    assert found[:3].tolist() == [256 + 0xFF00 * 2.0**-15, 258, 260]
    assert found[16:19].tolist() == [1.5, -1.0, 0.0]
    assert found[32].item() == 2.0


def test_rows_can_be_cut() -> None:
    hidden = with_outliers()
    assert torch.equal(unpack(packed(hidden)[1:, 2:4], 512), pack(hidden).values[1:, 2:4])
    assert torch.equal(packed(hidden[:1, 3:]), packed(hidden)[:1, 3:])


@pytest.mark.parametrize("far", [4e4, 1e31, float("inf"), float("nan")])
def test_values_beyond_what_packing_holds_stay_as_they_are(far: float) -> None:
    hidden = with_outliers(64)
    hidden[0, 0, :20] = far
    values, data = pack(hidden)
    assert values is hidden
    assert data is None


def test_sizes_without_whole_blocks_are_not_packed() -> None:
    assert [can_pack(size) for size in (0, 32, 64, 100, 4096, 1 << 16)] == [False, False, True, False, True, False]


LIMITS = Limits(hidden_size=64, num_blocks=4, max_batch_tokens=64, max_length=64, max_frame_bytes=1 << 20)


def test_calls_bring_the_values() -> None:
    values, data = pack(with_outliers(64))
    forward = ForwardRequest("m", Span(0, 2), values, packed=(data,))
    backward = BackwardRequest("m", Span(0, 2), values, values, packed=(data, data))
    for request, tensors in ((forward, 1), (backward, 2)):
        (frame,) = [b"".join(pieces) for pieces in encode_parts(request)]
        joiner = RequestJoiner(type(request), LIMITS)
        assert joiner.add(frame)
        assert torch.equal(joiner.request().hidden, values)
        assert len(frame) < 0.6 * tensors * values.nbytes  # of float32; 0.51 are tokens of this size


@pytest.mark.parametrize("dtype", DTYPES)
def test_steps_answers_and_pushes_bring_the_values(dtype: torch.dtype) -> None:
    values, data = pack(with_outliers(64).to(dtype))
    step = b"".join(encode_tensors(StepRequest(values, start_from_position=0, packed=(data,))))
    answer = b"".join(encode_tensors(StepReply(values, packed=(data,))))
    push = b"".join(encode_tensors(Pushed(0, values, (data,))))
    pushed = decode_push(push, limits=LIMITS)
    step_read = decode_step(step, limits=LIMITS, first=False).hidden
    for came in (pushed.hidden, step_read, decode_step_reply(answer, like=(2, 6, 64)).hidden):
        assert torch.equal(came, values)
    assert digest_of(pushed.hidden) == digest_of(values)  # what the client would send plain
    assert max(len(step), len(answer), len(push)) < 12 * 4 * 64  # what float32 takes


@pytest.mark.parametrize("fault", ["short", "order", "twice", "place", "exponent", "infinite", "nan", "codec", "size"])
def test_bad_packed_values_are_refused(fault: str) -> None:
    data = packed(with_outliers(64))
    places = data[0, 0, 33:65]
    match fault:
        case "place":
            places[-2:] = torch.tensor([64, 0], dtype=torch.uint8)
        case "order":
            places[:4] = places[[2, 3, 0, 1]]
        case "twice":
            places[2:4] = places[:2]
        case "exponent":
            data[1, 5, 0] = 10
        case "infinite":
            data[0, 0, 1:3] = torch.tensor([torch.inf], dtype=torch.bfloat16).view(torch.uint8)
        case "nan":
            data[0, 0, 1:3] = torch.tensor([torch.nan], dtype=torch.bfloat16).view(torch.uint8)
    if fault == "short":
        data = data[..., :-1]
    body = b"".join(encode_tensors(Pushed(0, with_outliers(64), (data,))))
    match fault:
        case "codec":
            body = body.replace(b"\x95\x00\x01\x93", b"\x95\x00\x02\x93")
        case "size":
            body = body.replace(b"\x93\x02\x06\x40", b"\x93\x02\x06\x3c")
    with pytest.raises(RemoteError) as refusal:
        decode_push(body, limits=LIMITS)
    assert refusal.value.code is Code.BAD_REQUEST


def test_an_outlier_too_large_for_the_dtype_is_refused() -> None:
    values, data = pack(with_outliers(64, scale=1e3))
    body = b"".join(encode_tensors(Pushed(0, values, (data,))))
    with pytest.raises(RemoteError, match="infinity"):
        decode_push(body.replace(b"\x95\x00\x01\x93", b"\x95\x02\x01\x93"), limits=LIMITS)


def test_more_packed_values_than_a_message_may_have_are_not_unpacked() -> None:
    hidden = torch.ones(65, 1, 64)
    with pytest.raises(RemoteError, match="packed values") as refusal:
        decode_push(b"".join(encode_tensors(Pushed(0, hidden, (packed(hidden),)))), limits=LIMITS)
    assert refusal.value.code is Code.TOO_LONG


def test_hidden_states_of_no_tokens_are_not_packed() -> None:
    assert pack(torch.empty(1, 0, 64)).data is None
    with pytest.raises(WireError, match="no packed token"):
        unpack(torch.empty(1, 0, packed_bytes(64), dtype=torch.uint8), 64)


# -- gradients ---------------------------------------------------------------------------------------------------------


def gradient(dtype: torch.dtype = torch.float32) -> Tensor:
    """[3, 512]: values of any size, and blocks whose largest value is just below and at a power of two."""
    grad = with_outliers(tokens=3)[0] / 4096
    grad[1, ::32], grad[2, ::32] = 0.00781, -0.0078125
    return grad.to(dtype)


def largest_of_blocks(grad: Tensor) -> Tensor:
    """The largest value of each 32 without the eight outliers, as large as `grad`."""
    size = grad.shape[-1]
    rest = grad.scatter(-1, grad.abs().topk(8, dim=-1).indices, 0.0).abs().view(len(grad), -1, 32)
    return rest.amax(-1, keepdim=True).expand(-1, -1, 32).reshape(-1, size)


def test_a_gradient_is_right_on_the_average() -> None:
    grad, generator, times = scaled(gradient())[0], torch.Generator().manual_seed(1), 400
    unit = largest_of_blocks(grad) / 63
    mean = sum(pack_gradient(grad, generator).values for _ in range(times)) / times
    apart = (mean - grad) / unit  # a mean of 400 is off by a 40th of a unit at most, one in 1.7 million by 5
    assert float(apart.abs().max()) < 5 / 40
    assert float(apart.mean().abs()) < 0.005
    always = (pack(grad).values - grad) / unit
    assert float(always.abs().max()) > 0.2, "what rounds to the nearest does not"


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_value_of_a_gradient_is_near(dtype: torch.dtype) -> None:
    grad, _ = scaled(gradient(dtype))
    values, data = pack_gradient(grad, torch.Generator().manual_seed(2))
    assert torch.equal(unpack(data, 512).to(dtype), values)
    apart = (values.float() - grad.float()).abs()
    bound = torch.maximum(largest_of_blocks(grad.float()) / 63, grad.float().abs() * 2.0**-14)
    assert bool((apart <= bound).all())


def test_the_same_seed_rounds_the_same_way() -> None:
    grad, _ = scaled(gradient())
    one, same, other = (pack_gradient(grad, torch.Generator().manual_seed(seed)).values for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize(("dtype", "factor"), zip(DTYPES, [2.0**-10, 1.0, 2.0**10], strict=True))
def test_scaling_a_gradient_is_exact(dtype: torch.dtype, factor: float) -> None:
    grad = (torch.randn(2, 3, 64, generator=torch.Generator().manual_seed(3)) * factor).to(dtype)
    small, power = scaled(grad)
    assert 0.5 <= float(small.abs().max()) < 1
    assert torch.equal(torch.ldexp(small, torch.tensor(power)), grad)


@pytest.mark.parametrize("grad", [torch.zeros(2, 64), torch.full((2, 64), 1e-4), torch.full((2, 64), 1e5)])
def test_a_gradient_out_of_range_is_left_as_it_is(grad: Tensor) -> None:
    assert pack_gradient(grad, torch.Generator()).data is None
    assert pack_gradient(grad, torch.Generator()).values is grad
    assert torch.equal(scaled(torch.zeros(2, 64))[0], torch.zeros(2, 64))
