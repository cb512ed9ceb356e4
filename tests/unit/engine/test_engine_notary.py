"""What a server signs: nothing that others could not repeat."""

from dataclasses import replace
from typing import Any, cast

import pytest
from potluck_engine.memory.session_memory import SessionMemory
from potluck_engine.span_state import SpanState

from potluck.membership.identity import Identity
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.messages import SessionOpening


class State:
    """As much of a served span as signing needs."""

    identity = Identity.generate()
    format = None

    class admission:  # noqa: N801 (stands for an attribute)
        @staticmethod
        def terms(*of: object) -> object:
            return of


@pytest.mark.parametrize("is_private", [False, True])
def test_a_session_with_a_private_adapter_is_not_signed(is_private: bool) -> None:
    memory = SessionMemory(client=PeerId("a"), person=PersonId("a"), span=Span(0, 2), rows=1, is_alone=True)
    if is_private:
        memory = replace(memory, private=cast("Any", object()))
    notes = SpanState.notes_of(cast("Any", State()), memory, SessionOpening("swarm", Span(0, 2), 64))
    assert (notes is None) == is_private
