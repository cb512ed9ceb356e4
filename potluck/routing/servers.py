"""Holds the servers of a swarm in columns, so that ten thousand of them are searched in milliseconds.

The columns are made once for each reading of the directory and searched many times. Equal variants of a block share an
integer code, so whether servers can replace each other is a comparison of integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer, NumberFormat, ServerRecord, ServerState
from potluck.routing.route import Variant

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_BLOCK = -1
_MAX_BLOCK_S = 10.0
_MAX_WAIT_S = 5.0
_FormKey = tuple[Span, str, NumberFormat, tuple[str, ...]]


class Forms:
    """Integers for what servers hold: a code for each variant of a block, a form for each span of variants.

    Most servers share their form with others and keep it from one reading to the next.
    """

    def __init__(self) -> None:
        self.variants: list[tuple[int, Variant]] = []  # code -> block and variant
        self._codes: dict[tuple[int, Variant], int] = {}
        self._forms: dict[_FormKey, int] = {}
        self._rows: list[tuple[int, list[int]]] = []  # form -> first block and codes
        self._table = np.empty((0, 0), np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    def form_of(self, record: ServerRecord) -> int:
        key = (record.span, record.revision, record.format, record.block_digests)
        form = self._forms.get(key)
        if form is None:
            form = self._forms[key] = len(self._rows)
            variants = [(block, Variant.of(record, block)) for block in record.span]
            self._rows.append((record.span.start, [self.code_of(*each) for each in variants]))
        return form

    def code_of(self, block: int, variant: Variant) -> int:
        code = self._codes.get((block, variant))
        if code is None:
            code = self._codes[block, variant] = len(self.variants)
            self.variants.append((block, variant))
        return code

    def table(self, num_blocks: int) -> Ints:
        """Return codes [forms, num_blocks]; NO_BLOCK where a form lacks the block."""
        if self._table.shape != (len(self._rows), num_blocks):
            table = np.full((len(self._rows), num_blocks), NO_BLOCK, np.int64)
            for form, (start, codes) in enumerate(self._rows):
                codes = codes[: max(num_blocks - start, 0)]
                table[form, start : start + len(codes)] = codes
            self._table = table
        return self._table


@dataclass(frozen=True, slots=True, eq=False)
class ServerColumns:
    """Columns with one value for each server, in the order of peer ids.

    Attributes:
        wait_s: time until a step that arrives now has begun and its bytes have passed the link.
        max_call: tokens of one call.
        block_s: time of a decode step through one block, with one more row than the server has now.
    """

    servers: tuple[LiveServer, ...]
    index: dict[PeerId, int]
    forms: Forms
    form: Ints
    start: Ints
    end: Ints
    is_online: NDArray[np.bool_]
    max_length: Ints
    max_call: Ints
    free_tokens: Ints
    wait_s: Floats
    block_s: Floats

    @classmethod
    def of(cls, servers: Iterable[LiveServer], previous: ServerColumns | None = None) -> ServerColumns:
        """Return the columns of `servers`; earlier columns of the same swarm save work."""
        ordered = tuple(sorted(servers, key=lambda server: server.peer_id))
        records, beats = [server.record for server in ordered], [server.heartbeat for server in ordered]
        forms = previous.forms if previous is not None and len(previous.forms) < 1000 + 4 * len(ordered) else Forms()
        step_s, forward_tps, network_tps, batch, queue_s, queued, seen_s, length = (
            np.array(
                [
                    (
                        1.0 / record.inference_tps if record.inference_tps > 0 else _MAX_BLOCK_S,
                        record.forward_tps or np.inf,
                        record.network_tps or np.inf,
                        beat.batch,
                        beat.queue_ms / 1000,
                        beat.queued_tokens,
                        beat.step_ms / 1000,
                        record.span.end - record.span.start,
                    )
                    for record, beat in zip(records, beats, strict=True)
                ],
                np.float64,
            )
            .reshape(-1, 8)
            .T
        )
        waits = np.maximum(queue_s, queued * length / forward_tps)
        block_s = np.maximum(step_s + batch / forward_tps, np.maximum(seen_s - queue_s, 0.0) / length)
        return cls(
            servers=ordered,
            index={record.peer_id: row for row, record in enumerate(records)},
            forms=forms,
            form=np.array([forms.form_of(record) for record in records], np.int64),
            start=np.array([record.span.start for record in records], np.int64),
            end=np.array([record.span.end for record in records], np.int64),
            is_online=np.array([beat.state is ServerState.ONLINE for beat in beats], np.bool_),
            max_length=np.array([record.max_length for record in records], np.int64),
            max_call=np.array([record.max_batch_tokens for record in records], np.int64),
            free_tokens=np.array([beat.cache_tokens_left for beat in beats], np.int64),
            wait_s=np.minimum(waits, _MAX_WAIT_S) + 1.0 / network_tps,
            block_s=np.minimum(block_s, _MAX_BLOCK_S),
        )
