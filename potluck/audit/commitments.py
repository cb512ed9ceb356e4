"""Lets a server sign what it computed, window by window, so that others can be shown it later.

With the answer that completes a window of 32 tokens a server sends a signature of 64 bytes. What it signs, both sides
compute from the decoded values: for each row a chain of hashes over all inputs so far, a hash of the window's
outputs, and the sizes of the steps. Nothing can be added or left out afterwards, and nobody has to keep outputs for
anybody.

After a beam search reordered the rows, or after a rollback over more than `_KEPT_WINDOWS`, nothing more is signed.
Pure: bytes only, no clock, no tensors.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from potluck.audit.choices import WINDOW_TOKENS
from potluck.protocol.blocks import Span
from potluck.protocol.buffers import Buffer
from potluck.protocol.receipts import Sign
from potluck.protocol.records import NumberFormat

HASH_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
MAX_LEAVES: Final = 1024  # of one commitment: rows x windows
_KEPT_WINDOWS: Final = 2  # of values, for drafts that are rejected after a window was whole
_HEAD: Final = struct.Struct(">III")  # time, first window, number of windows
COMMITMENT_BYTES: Final = _HEAD.size + SIGNATURE_BYTES
_PURPOSE: Final = b"potluck commitment 1\0"


@dataclass(frozen=True, slots=True)
class Terms:
    """What all windows of a session have in common.

    Attributes:
        swarm: see `receipts.swarm_id`.
        weights: `span_digest` of the blocks.
        is_exact: the session shares no steps with others, and keeps keys and values as they are.
        packs: the outputs are rounded as `potluck.wire.packing` does. Inputs and outputs are signed as decoded.
    """

    swarm: bytes
    span: Span
    weights: str
    format: NumberFormat
    adapter: str = ""
    is_exact: bool = False
    packs: bool = False

    @property
    def digest(self) -> bytes:
        """Return a hash of all terms."""
        form = self.format
        texts = (self.weights, form.dtype, form.quantization, form.cache, self.adapter, str(self.is_exact))
        numbers = self.swarm.hex(), str(self.span.start), str(self.span.end)
        packing = ("packs",) if self.packs else ()  # older peers know none
        return _hash("\0".join((*numbers, *texts, *packing)).encode())


@dataclass(frozen=True, slots=True)
class Commitment:
    """A server's signature under some windows of all rows of a session.

    Attributes:
        at_s: Unix seconds.
    """

    at_s: int
    first: int
    windows: int
    signature: bytes

    def encode(self) -> bytes:
        """Return COMMITMENT_BYTES."""
        return _HEAD.pack(self.at_s, self.first, self.windows) + self.signature

    @classmethod
    def decode(cls, data: bytes) -> Commitment:
        """Read what `encode` made. Raises ValueError for another size."""
        if len(data) != COMMITMENT_BYTES:
            raise ValueError(f"a commitment has {COMMITMENT_BYTES} bytes, not {len(data)}")
        at_s, first, windows = _HEAD.unpack_from(data)
        return cls(at_s, first, windows, data[_HEAD.size :])

    def is_signed(self, terms: Terms, leaves: Sequence[bytes], key: bytes) -> bool:
        """Return whether the server with this public key signed these leaves."""
        body = _body(terms, self.at_s, self.first, self.windows, leaves)
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(self.signature, body)
        except (InvalidSignature, ValueError):
            return False
        return True


def commit(terms: Terms, first: int, windows: int, leaves: Sequence[bytes], at_s: int, sign: Sign) -> Commitment:
    """Sign windows as the server that computed them.

    Args:
        leaves: of the first window's rows, then of the next one's.
    """
    return Commitment(at_s, first, windows, sign(_body(terms, at_s, first, windows, leaves)))


@dataclass(frozen=True, slots=True)
class Values:
    """Hidden states of one step as they travel: [rows, tokens, hidden_size] in this dtype, as contiguous bytes."""

    dtype: str
    rows: int
    tokens: int
    data: Buffer

    def row(self, row: int, begin: int, end: int) -> memoryview:
        """Return the bytes of tokens [begin, end) of a row."""
        view = memoryview(self.data)
        token_bytes = len(view) // (self.rows * self.tokens)
        start = row * self.tokens * token_bytes
        return view[start + begin * token_bytes : start + end * token_bytes]


@dataclass(frozen=True, slots=True)
class _Step:
    start: int
    end: int
    skipped: int  # tokens at the beginning of the values that are this step's no more
    inputs: Values
    outputs: Values

    @property
    def num_unanswered(self) -> int:
        """Return how many of the first outputs were not answered."""
        return self.inputs.tokens - self.outputs.tokens


@dataclass(slots=True)
class WindowLog:
    """The steps of one session at one server, as either side sees them. Both sides note the same steps."""

    is_broken: bool = False  # nothing more is signed
    end: int = 0  # tokens of each row
    _steps: list[_Step] = field(default_factory=list)
    _chains: list[list[bytes]] = field(default_factory=list)  # by window: the rows' hashes of all inputs up to its end

    def stop(self) -> None:
        """Sign nothing more: rows were reordered, or the session has inputs besides hidden states."""
        self.is_broken = True
        self._steps.clear()

    def note(self, start: int, inputs: Values, outputs: Values) -> range:
        """Take notice of a step from token `start` on, and return the windows that are whole now.

        Of a step whose first outputs the client doesn't need, `outputs` are the last ones.
        They have to be passed to `leaves` before the next step, and the values must not change until then.
        """
        if start < self.end:
            self._roll_back(start)
        if start != self.end or any(step.inputs.rows != inputs.rows for step in self._steps[-1:]):
            self.stop()
        if self.is_broken:
            return range(0)
        if inputs.tokens:
            self.end = start + inputs.tokens
            self._steps.append(_Step(start, self.end, 0, inputs, outputs))
        return range(len(self._chains), self.end // WINDOW_TOKENS)

    def leaves(self, windows: range) -> tuple[range, list[bytes]]:
        """Return which whole windows can be signed, those with all outputs, and their hashes as `commit` takes them.

        Takes 1 ms for 2 MB.
        """
        found: list[bytes] = []
        first = windows.start
        for window in windows:
            before = self._chains[window - 1] if window else None
            rows, parts = range(self._steps[-1].inputs.rows), self._parts(window)
            chain = [
                _chained(
                    b"" if before is None else before[row],
                    [step.inputs.row(row, begin, end) for step, begin, end in parts],
                )
                for row in rows
            ]
            self._chains.append(chain)
            if any(begin < step.num_unanswered for step, begin, _ in parts):
                first, found = window + 1, []
            else:
                found += [_leaf_of(parts, row, chain[row]) for row in rows]
        self._forget()
        return range(first, windows.stop), found

    def _parts(self, window: int) -> list[tuple[_Step, int, int]]:
        """Return the steps of a window with the tokens [begin, end) of their values that belong to it."""
        first, last = window * WINDOW_TOKENS, (window + 1) * WINDOW_TOKENS
        found = []
        for step in self._steps:
            begin, end = max(step.start, first), min(step.end, last)
            if begin < end:
                found.append((step, begin - step.start + step.skipped, end - step.start + step.skipped))
        return found

    def _roll_back(self, start: int) -> None:
        whole = start // WINDOW_TOKENS
        kept_from = self._steps[0].start if self._steps else self.end
        if start % WINDOW_TOKENS and whole * WINDOW_TOKENS < kept_from:
            self.stop()
            return
        del self._chains[whole:]
        self._steps = [
            step if step.end <= start else _Step(step.start, start, step.skipped, step.inputs, step.outputs)
            for step in self._steps
            if step.start < start
        ]
        self.end = start

    def _forget(self) -> None:
        """Drop values that no rollback needs, and copy the rest of a long prompt out of it."""
        first = (len(self._chains) - _KEPT_WINDOWS) * WINDOW_TOKENS
        self._steps = [_kept(step, first) for step in self._steps if step.end > first]


def _leaf_of(parts: Sequence[tuple[_Step, int, int]], row: int, chain: bytes) -> bytes:
    outputs = []
    for step, begin, end in parts:
        outputs.append(step.outputs.row(row, begin - step.num_unanswered, end - step.num_unanswered))
    dtypes = parts[-1][0].inputs.dtype, parts[-1][0].outputs.dtype
    return leaf(chain, outputs, [end - begin for _, begin, end in parts], dtypes)


def leaf(chain: bytes, outputs: Sequence[Buffer], pieces: Sequence[int], dtypes: tuple[str, str]) -> bytes:
    """Return the hash of one row of one window.

    Args:
        chain: `chain_of` the row's inputs up to the window's end.
        outputs: the window's, in pieces of any size.
        pieces: tokens of each step within the window.
        dtypes: of inputs and outputs as they travelled.
    """
    shape = f"{','.join(map(str, pieces))} {' '.join(dtypes)}".encode()
    return _hash(b"leaf\0", chain, _hash(*outputs), shape)


def chain_of(inputs: Buffer, num_windows: int) -> bytes:
    """Return the hash of a row's inputs from its beginning on, which are `num_windows` whole windows."""
    view, chain = memoryview(inputs), b""
    size = len(view) // num_windows
    for window in range(num_windows):
        chain = _chained(chain, [view[window * size : (window + 1) * size]])
    return chain


def _chained(before: bytes, inputs: Sequence[Buffer]) -> bytes:
    return _hash(b"chain\0", before, *inputs)


def _kept(step: _Step, first: int) -> _Step:
    """Return a step without the tokens before `first`, with copies of the values, whose memory may be used again."""
    if step.start >= first and isinstance(step.outputs.data, bytes) and isinstance(step.inputs.data, bytes):
        return step
    start = max(step.start, first)
    begin, end = start - step.start + step.skipped, step.end - step.start + step.skipped
    answered = max(begin - step.num_unanswered, 0), max(end - step.num_unanswered, 0)
    return _Step(start, step.end, 0, _copy(step.inputs, begin, end), _copy(step.outputs, *answered))


def _copy(values: Values, begin: int, end: int) -> Values:
    data = b"".join(values.row(row, begin, end) for row in range(values.rows)) if begin < end else b""
    return Values(values.dtype, values.rows, end - begin, data)


def _body(terms: Terms, at_s: int, first: int, windows: int, leaves: Sequence[bytes]) -> bytes:
    return _PURPOSE + terms.digest + _HEAD.pack(at_s, first, windows) + _hash(*leaves)


def _hash(*parts: Buffer) -> bytes:
    found = hashlib.blake2b(digest_size=HASH_BYTES)
    for part in parts:
        found.update(part)
    return found.digest()
