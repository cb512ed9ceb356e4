"""Runs the gateway's process: `python -m potluck_gateway`, started by the daemon."""

from __future__ import annotations

import logging
import os
import sys
import threading
from functools import partial
from pathlib import Path

from potluck_control.gateway_messages import GatewayKeyHashes, GatewayOpening, GatewayReport, key_hash
from potluck_control.record_work import record_work
from potluck_control.redaction import RedactingFormatter
from potluck_control.schema import AuditStatus

from potluck.errors import PotluckError
from potluck.p2p.joining import TryAgainError
from potluck.processes import confine
from potluck.protocol.blocks import PersonId
from potluck.protocol.codec import decode, encode
from potluck.sentences import NOTHING, sentence, verbatim
from potluck_gateway.server import GatewayServer

_lock = threading.Lock()


def main() -> None:
    confine()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    _tell(GatewayReport(step=sentence("Importing")))
    import potluck_gateway.answers.model  # noqa: F401 (takes seconds, in which the daemon may be waiting for the engine)

    _tell(GatewayReport(step=sentence("Starting the engine")))
    line = sys.stdin.buffer.readline()
    if not line:  # nobody wants it any more
        return
    wanted = decode(GatewayOpening, line)
    keys = _Keys(wanted)
    threading.Thread(target=_follow_daemon, args=(keys,), daemon=True).start()
    try:
        _serve(wanted, keys)
    except PotluckError as error:
        _tell(GatewayReport(problem=error.whole))
        sys.exit(1)


class _Keys:
    """The keys that let a request in: those of programs, and the token."""

    def __init__(self, wanted: GatewayOpening) -> None:
        self._token_hash = key_hash(wanted.token)
        self.replace(wanted.key_hashes)

    def replace(self, hashes: tuple[str, ...]) -> None:
        self._hashes = frozenset((self._token_hash, *hashes))

    def has(self, key: str) -> bool:
        return key_hash(key) in self._hashes


def _serve(wanted: GatewayOpening, keys: _Keys) -> None:
    """Serve until standard input ends. Raises PotluckError."""
    from potluck.blocks.accelerators import limit_threads
    from potluck.checkpoint.source import open_checkpoint
    from potluck.client import AutoDistributedModelForCausalLM, ClientConfig
    from potluck.client.config import joining_text
    from potluck_gateway.answers.completion import Text, quiet
    from potluck_gateway.answers.model import SwarmChat

    quiet()
    limit_threads()
    swarm, settings = wanted.membership.swarm, wanted.settings
    port = wanted.port or settings.gateway.port
    _tell(GatewayReport(step=sentence("Loading embeddings and head")))
    text = Text(open_checkpoint(wanted.checkpoint, revision=swarm.revision).folder)

    def show_joining(reason: TryAgainError | None) -> None:
        if reason is not None:
            _tell(GatewayReport(step=joining_text(reason), is_waiting=True))

    def found() -> AuditStatus:
        report = model.audits()
        return AuditStatus(report.audited, report.undecided, tuple(report.wrong))

    config = ClientConfig(
        record=partial(record_work, socket=Path(wanted.socket)),
        on_waiting=show_joining,
        finds_nearby=settings.serve.find_nearby,
        audits=settings.gateway.audits,
        distrusted=frozenset(map(PersonId, wanted.distrusted)),
        on_wrong=lambda text: _tell(
            GatewayReport(audits=found(), found=verbatim(text), distrusted=tuple(model.audits().wrong_people))
        ),
    )
    with AutoDistributedModelForCausalLM.from_pretrained(
        wanted.checkpoint, swarm=wanted.membership, config=config
    ) as model:
        chat = SwarmChat(swarm.model, model, text)
        server = GatewayServer(
            chat,
            keys.has,
            lambda: _tell(GatewayReport(asked=True, audits=found())),
            max_tokens=settings.chat.max_tokens,
            at_once=settings.gateway.at_once,
            port=port,
            on_answered=lambda key, tokens: _tell(GatewayReport(asked=True, key_hash=key_hash(key), tokens=tokens)),
        )
        notice = NOTHING
        if port not in (0, server.port):
            notice = sentence("port {number} is taken (gateway.port): this address is for now", number=port)
        _tell(GatewayReport(url=server.url, notice=notice))
        server.run()


def _tell(told: GatewayReport) -> None:
    with _lock:
        os.write(1, encode(told) + b"\n")


def _follow_daemon(keys: _Keys) -> None:
    """Hear of changed keys. Exit at once when the daemon closes the input: a generation may be waiting for servers."""
    for line in sys.stdin.buffer:
        keys.replace(decode(GatewayKeyHashes, line).hashes)
    os._exit(0)


if __name__ == "__main__":
    main()
