"""A member who invents servers, for `ghosts`, and the node by which others join. Both run in processes of their own."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from potluck.directory import Directory, record_checks
from potluck.directory.coding import encode_push
from potluck.directory.exchange import PUSH, Push
from potluck.directory.fields import heartbeat_to_fields, record_to_fields
from potluck.directory.seal import Kind, Sealed, seal
from potluck.membership.identity import Identity, peer_id_of
from potluck.p2p.config import HostConfig
from potluck.p2p.libp2p import Libp2pHost
from potluck.processes import exit_with_parent
from potluck.protocol.blocks import PeerId, PersonId, PersonOf
from potluck.protocol.codes import RemoteError
from potluck.protocol.invite import decode_invite
from potluck.protocol.membership import call_proof
from potluck.protocol.records import Heartbeat, ServerRecord, ServerState
from potluck.protocol.swarm import Swarm

NUM_GHOSTS = 20_000
_BATCH = 40  # padded announcements in one push
_STORES = 16  # at a time
_LIVES_S = 250.0


def write_names(path: Path) -> None:
    """Write down whose peers are the ghosts, which takes the place of certificates."""
    path.write_text(json.dumps([_ghost(number).peer_id for number in range(NUM_GHOSTS)]))


def read_names(path: Path) -> PersonOf:
    """Return whose peer is whose."""
    ghosts = frozenset(json.loads(path.read_text()))
    return lambda peer: PersonId("mallory" if peer in ghosts else peer)


class _Haunter:
    """A member whose servers exist only in the directory."""

    def __init__(self, swarm: Swarm, host: Libp2pHost, like: ServerRecord, targets: list[PeerId]) -> None:
        self.pushed = self.refused = self.stored = 0
        self._swarm = swarm
        self._host = host
        self._like = like
        self._targets = targets
        self._rng = random.Random(0)

    async def push(self) -> None:
        """Tell the servers of as many ghosts as they listen to."""
        while True:
            batch = [each for _ in range(_BATCH // 2) for each in self._announcements(self._rng.randrange(NUM_GHOSTS))]
            for target in self._targets:
                proof = call_proof(self._swarm, caller=self._host.peer_id, callee=target)
                try:
                    await self._host.call(target, PUSH, encode_push(Push(proof, tuple(batch))), timeout_s=10.0)
                    self.pushed += len(batch)
                except RemoteError:
                    self.refused += len(batch)
                    await asyncio.sleep(0.05)

    async def store(self) -> None:
        """Store as many ghosts as the DHT takes."""
        while True:
            chosen = [self._rng.randrange(NUM_GHOSTS) for _ in range(_STORES)]
            stores = [
                self._host.store(sealed.kind.key(self._swarm), sealed.peer_id, sealed.to_bytes(), expiration=_end())
                for number in chosen
                for sealed in self._announcements(number)
            ]
            self.stored += sum(await asyncio.gather(*stores))

    def _announcements(self, number: int) -> Iterator[Sealed]:
        identity, now = _ghost(number), time.time()
        names = tuple(f"{self._rng.getrandbits(400):0100x}" for _ in range(60))
        record = replace(self._like, peer_id=identity.peer_id, adapters=names, inference_tps=1e9, throughput_tps=1e9)
        beat = Heartbeat(identity.peer_id, ServerState.ONLINE, cache_tokens_left=1_000_000)
        for kind, fields in (
            (Kind.RECORD, record_to_fields(record)),
            (Kind.HEARTBEAT, heartbeat_to_fields(beat) | {"record": 0}),
        ):
            yield seal(self._swarm, identity, kind, fields, sequence=now, expiration=_end())


def _ghost(number: int) -> Identity:
    key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"ghost %d" % number).digest())
    return Identity(peer_id_of(key.public_key().public_bytes_raw()), key)


def _end() -> float:
    return float(round(time.time() + _LIVES_S))


async def _meet(invite: str, place: str, names: str) -> None:
    """Be the node by which others join."""
    swarm, person_of = decode_invite(invite), read_names(Path(names))
    checks = record_checks(swarm, time.time, person_of)
    host = await Libp2pHost.start(HostConfig(record_checks=checks, person_of=person_of, runtime_dir=Path(place)))
    print("listens", (await host.addresses())[0], flush=True)
    await host.wait_lost()


async def _haunt(invite: str, place: str) -> None:
    """Announce servers that do not exist, until standard input ends."""
    swarm = decode_invite(invite)
    config = HostConfig(bootstrap_peers=swarm.bootstrap_peers, runtime_dir=Path(place), start_timeout_s=60.0)
    host = await Libp2pHost.start(config)
    honest = (await Directory(host, swarm, host.identity).fetch(thorough=True)).servers
    haunter = _Haunter(swarm, host, honest[0].record, [server.peer_id for server in honest])
    work = [asyncio.create_task(haunter.push()), asyncio.create_task(haunter.store())]
    print("announced", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in work:
        task.cancel()
    await host.close()
    print("ended", json.dumps({"pushed": haunter.pushed, "refused": haunter.refused, "stored": haunter.stored}))


if __name__ == "__main__":
    exit_with_parent(os.getppid())
    match sys.argv[1:]:
        case ["meet", invite, place, names]:
            asyncio.run(_meet(invite, place, names))
        case ["haunt", invite, place]:
            asyncio.run(_haunt(invite, place))
