"""Runs the gateway's process: `python -m potluck_gateway`, started by the daemon."""

from __future__ import annotations

import hmac
import logging
import os
import sys
import threading
from pathlib import Path

from potluck_control.codec import dumps, from_json, loads
from potluck_control.daemon_credit import DaemonPurse
from potluck_control.gateway_messages import GatewayOpening, GatewayReport
from potluck_control.redaction import RedactingFormatter

from potluck.errors import PotluckError
from potluck.processes import confine
from potluck_gateway.server import GatewayServer

_lock = threading.Lock()


def main() -> None:
    confine()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    wanted = from_json(GatewayOpening, loads(sys.stdin.buffer.readline()))
    threading.Thread(target=_end_with_daemon, daemon=True).start()
    try:
        _serve(wanted)
    except PotluckError as error:
        _tell(GatewayReport(problem=f"{error.message} ({error.hint})" if error.hint else error.message))
        sys.exit(1)


def _serve(wanted: GatewayOpening) -> None:
    """Serve until standard input ends. Raises PotluckError."""
    _tell(GatewayReport(step="Importing"))
    from potluck.checkpoint import open_checkpoint
    from potluck.client import AutoDistributedModelForCausalLM, ClientConfig
    from potluck.client.config import joining_text
    from potluck_gateway.completion import Text, quiet
    from potluck_gateway.model import SwarmChat

    quiet()
    swarm = wanted.membership.swarm
    _tell(GatewayReport(step="Loading embeddings and head"))
    text = Text(open_checkpoint(wanted.checkpoint, revision=swarm.revision).folder)
    purse = DaemonPurse(Path(wanted.socket))

    def show_joining(reason: str) -> None:
        if reason:
            _tell(GatewayReport(step=joining_text(reason)))

    config = ClientConfig(purse=purse, on_waiting=show_joining, finds_nearby=wanted.find_nearby)
    with AutoDistributedModelForCausalLM.from_pretrained(
        wanted.checkpoint, swarm=wanted.membership, config=config
    ) as model:
        chat = SwarmChat(swarm.model, model, text)
        token = wanted.token.encode()
        server = GatewayServer(
            chat,
            lambda key: hmac.compare_digest(key.encode(), token),
            lambda: _tell(GatewayReport(asked=True)),
            max_tokens=wanted.max_tokens,
        )
        _tell(GatewayReport(url=server.url))
        server.run()


def _tell(told: GatewayReport) -> None:
    with _lock:
        os.write(1, dumps(told) + b"\n")


def _end_with_daemon() -> None:
    """Exit at once when the daemon closes the input, because a generation may be waiting for servers."""
    while os.read(0, 1 << 16):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
