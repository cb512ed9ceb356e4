"""Runs the gateway's process: `python -m potluck_gateway`, started by the daemon."""

from __future__ import annotations

import logging
import os
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from potluck_control.api.schema import AuditStatus
from potluck_control.logs import RedactingFormatter
from potluck_control.processes.gateway_messages import (
    GatewayChange,
    GatewayOpening,
    GatewayReport,
    GatewaySwarm,
    key_hash,
)
from potluck_control.record_work import record_work

from potluck.client import ClientConfig
from potluck.client.config import joining_text
from potluck.errors import PotluckError
from potluck.p2p.joining import TryAgainError
from potluck.processes import confine
from potluck.protocol.blocks import PersonId
from potluck.protocol.codec import decode, encode
from potluck.sentences import sentence, verbatim
from potluck_gateway.answers.models import LoadedModel, OfferedModels
from potluck_gateway.server import AnsweredRequest, GatewayServer

if TYPE_CHECKING:  # it imports torch
    from potluck.client.ends import NearHead

_lock = threading.Lock()


def main() -> None:
    confine()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    _tell(GatewayReport(step=sentence("Loading programs")))
    import potluck_gateway.answers.swarm_chat  # noqa: F401 (takes seconds, in which the daemon may be waiting for the engine)

    _tell(GatewayReport(step=sentence("Starting the engine")))
    line = sys.stdin.buffer.readline()
    if not line:  # nobody wants it any more
        return
    try:
        _serve(decode(GatewayOpening, line))
    except PotluckError as error:
        _tell(GatewayReport(problem=error.whole))
        sys.exit(1)


class _Offer:
    """What is offered and to whom: the models of swarms, to programs with a key. Adds up what audits found."""

    def __init__(self, wanted: GatewayOpening) -> None:
        from potluck_gateway.answers.drafting import DraftModels

        self._key_hashes = wanted.key_hashes
        self._max_tokens = wanted.settings.chat.max_tokens
        self._head_socket = wanted.head_socket
        self._config = ClientConfig(
            record=partial(record_work, socket=Path(wanted.socket)),
            on_waiting=self._show_joining,
            finds_nearby=wanted.settings.serve.find_nearby,
            audits=wanted.settings.gateway.audits,
            distrusted=frozenset(map(PersonId, wanted.distrusted)),
            on_wrong=self._tell_wrong,
        )
        self._loaded: list[Any] = []
        self._near: list[NearHead] = []
        self._drafting = DraftModels(reserve_bytes=wanted.settings.yield_.reserve_mb << 20, is_allowed=wanted.may_draft)
        self._drafting.start()
        self.models = OfferedModels(wanted.swarms, self._load)

    def is_key(self, key: str) -> bool:
        return key_hash(key) in self._key_hashes

    def follow_daemon(self) -> None:
        """Hear of changes. Exit at once when the daemon closes the input: a generation may be waiting for servers."""
        for line in sys.stdin.buffer:
            change = decode(GatewayChange, line)
            if change.key_hashes is not None:
                self._key_hashes = change.key_hashes
            if change.swarms is not None:
                self.models.offer(change.swarms)
                self._drafting.offer(change.swarms)
            if change.may_draft is not None:
                self._drafting.allow(change.may_draft)
        os._exit(0)

    def _load(self, offered: GatewaySwarm) -> LoadedModel:
        """Return the model of a swarm. Raises PotluckError."""
        from torch.nn import Linear

        from potluck.checkpoint.source import open_checkpoint
        from potluck.client import AutoDistributedModelForCausalLM
        from potluck.client.ends import NearHead
        from potluck_gateway.answers.completion import TextTokenizer
        from potluck_gateway.answers.swarm_chat import SwarmChat

        swarm, checkpoint = offered.membership.swarm, offered.checkpoint
        text = TextTokenizer(open_checkpoint(checkpoint, revision=swarm.revision).folder)
        model = AutoDistributedModelForCausalLM.from_pretrained(
            checkpoint, swarm=offered.membership, config=self._config
        )
        self._loaded.append(model)
        near: list[NearHead] = []
        if self._head_socket and type(head := model.get_output_embeddings()) is Linear:
            near.append(NearHead(head, Path(self._head_socket), swarm.prefix))
        self._near += near
        self._drafting.add(model, offered)

        def close() -> None:
            self._drafting.remove(model)
            self._loaded.remove(model)
            for each in near:
                self._near.remove(each)
                each.close()
            model.close()

        return LoadedModel(SwarmChat(model, text, max_tokens=self._max_tokens), close)

    def audits(self) -> AuditStatus:
        found = [model.audits() for model in self._loaded]
        wrong = tuple(text for report in found for text in report.wrong)
        return AuditStatus(sum(report.audited for report in found), sum(report.undecided for report in found), wrong)

    def num_near(self) -> int:
        """Return how often this computer's engine computed the output head of a loaded model."""
        return sum(near.num_near for near in self._near)

    def tell_answer(self, answered: AnsweredRequest) -> None:
        _tell(
            GatewayReport(
                asked=True,
                key_hash=key_hash(answered.key),
                tokens=answered.tokens,
                swarm=self.models.prefix_of(answered.model),
                timed_tokens=answered.timed_tokens,
                answer_s=answered.answer_s,
            )
        )

    def _tell_wrong(self, text: str) -> None:
        people = tuple(person for model in self._loaded for person in model.audits().wrong_people)
        _tell(GatewayReport(audits=self.audits(), found=verbatim(text), distrusted=people))

    def _show_joining(self, reason: TryAgainError | None) -> None:
        if reason is not None and not self._loaded:  # afterwards only the request for another model waits
            _tell(GatewayReport(step=joining_text(reason), is_waiting=True))


def _serve(wanted: GatewayOpening) -> None:
    """Serve until standard input ends. Raises PotluckError."""
    from potluck.blocks.accelerators import limit_threads
    from potluck_gateway.answers.completion import quiet

    quiet()
    limit_threads()
    offer = _Offer(wanted)
    threading.Thread(target=offer.follow_daemon, daemon=True).start()
    _tell(GatewayReport(step=sentence("Loading the model's first and last parts")))
    offer.models.load(None).result()
    server = GatewayServer(
        offer.models,
        offer.is_key,
        lambda: _tell(GatewayReport(asked=True, audits=offer.audits())),
        wanted.settings.gateway,
        max_tokens=wanted.settings.chat.max_tokens,
        num_near=offer.num_near,
        on_answered=offer.tell_answer,
    )
    _tell(GatewayReport(url=server.url))
    server.run()


def _tell(told: GatewayReport) -> None:
    with _lock:
        os.write(1, encode(told) + b"\n")


if __name__ == "__main__":
    main()
