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
    """Run the gateway until standard input ends."""
    confine()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    _report(GatewayReport(step=sentence("Loading programs")))
    import potluck_gateway.answers.swarm_chat  # noqa: F401 (takes seconds, in which the daemon may be waiting for the engine)

    _report(GatewayReport(step=sentence("Starting the engine")))
    line = sys.stdin.buffer.readline()
    if not line:  # the daemon has ended, or wants no gateway any more
        return
    try:
        _serve(decode(GatewayOpening, line))
    except PotluckError as error:
        _report(GatewayReport(problem=error.whole))
        sys.exit(1)


class _Gateway:
    """The models of swarms, the keys that may use them, and the findings of audits."""

    def __init__(self, opening: GatewayOpening) -> None:
        from potluck_gateway.answers.drafting import DraftModels

        self._key_hashes = opening.key_hashes
        self._max_tokens = opening.settings.chat.max_tokens
        self._head_socket = opening.head_socket
        self._config = ClientConfig(
            record=partial(record_work, socket=Path(opening.socket)),
            on_waiting=self._report_joining,
            finds_nearby=opening.settings.serve.find_nearby,
            audits=opening.settings.gateway.audits,
            distrusted=frozenset(map(PersonId, opening.distrusted)),
            on_wrong=self._report_wrong,
        )
        self._loaded: list[Any] = []
        self._near: list[NearHead] = []
        self._drafting = DraftModels(
            reserve_bytes=opening.settings.yield_.reserve_mb << 20, is_allowed=opening.may_draft
        )
        self._drafting.start()
        self.models = OfferedModels(opening.swarms, self._load)

    def is_key(self, key: str) -> bool:
        """Return whether a text is a key that lets a request in."""
        return key_hash(key) in self._key_hashes

    def follow_daemon(self) -> None:
        """Apply the daemon's changes, and exit at once when it closes the input, whatever is being generated."""
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
        """Return what the loaded models' audits found."""
        found = [model.audits() for model in self._loaded]
        wrong = tuple(text for report in found for text in report.wrong)
        return AuditStatus(sum(report.audited for report in found), sum(report.undecided for report in found), wrong)

    def num_near(self) -> int:
        """Return how often this computer's engine computed the output head of a loaded model."""
        return sum(near.num_near for near in self._near)

    def report_answer(self, answered: AnsweredRequest) -> None:
        """Report an answer, for the counters of its key and its swarm."""
        _report(
            GatewayReport(
                asked=True,
                key_hash=key_hash(answered.key),
                tokens=answered.tokens,
                swarm=self.models.prefix_of(answered.model),
                timed_tokens=answered.timed_tokens,
                answer_s=answered.answer_s,
            )
        )

    def _report_wrong(self, text: str) -> None:
        people = tuple(person for model in self._loaded for person in model.audits().wrong_people)
        _report(GatewayReport(audits=self.audits(), found=verbatim(text), distrusted=people))

    def _report_joining(self, reason: TryAgainError | None) -> None:
        if reason is not None and not self._loaded:  # later, only a request for another model waits
            _report(GatewayReport(step=joining_text(reason), is_waiting=True))


def _serve(opening: GatewayOpening) -> None:
    """Serve until standard input ends. Raises PotluckError."""
    from potluck.blocks.accelerators import limit_threads
    from potluck_gateway.answers.completion import silence_transformers

    silence_transformers()
    limit_threads()
    gateway = _Gateway(opening)
    threading.Thread(target=gateway.follow_daemon, daemon=True).start()
    _report(GatewayReport(step=sentence("Loading the model's first and last parts")))
    gateway.models.load(None).result()
    server = GatewayServer(
        gateway.models,
        gateway.is_key,
        lambda: _report(GatewayReport(asked=True, audits=gateway.audits())),
        opening.settings.gateway,
        max_tokens=opening.settings.chat.max_tokens,
        num_near=gateway.num_near,
        on_answered=gateway.report_answer,
    )
    _report(GatewayReport(url=server.url))
    server.run()


def _report(report: GatewayReport) -> None:
    with _lock:
        os.write(1, encode(report) + b"\n")


if __name__ == "__main__":
    main()
