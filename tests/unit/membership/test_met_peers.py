from pathlib import Path

from potluck.membership.identity import Identity
from potluck.membership.joined import MAX_ADDRESSES, MAX_PEERS, MetPeers, merged

PEERS = [Identity.generate().peer_id for _ in range(MAX_PEERS + 2)]


def at(peer: int, port: int = 1) -> str:
    return f"/ip4/192.0.2.{peer}/tcp/{port}/p2p/{PEERS[peer]}"


def test_the_newest_come_first_and_a_peer_is_known_by_its_new_addresses() -> None:
    assert merged([at(1, 7)], [at(0), at(1)]) == (at(1, 7), at(0))


def test_few_addresses_of_few_peers_are_kept_and_nothing_that_is_no_address() -> None:
    many = [at(peer, port) for peer in range(MAX_PEERS + 2) for port in (1, 2, 3)]
    kept = merged(["nonsense", *many], ())
    assert len(kept) == MAX_PEERS * MAX_ADDRESSES
    assert kept[:2] == (at(0, 1), at(0, 2))


def test_what_was_met_is_found_again_until_the_swarm_is_left(tmp_path: Path) -> None:
    met = MetPeers(tmp_path / "met.json")
    met.remember("home", [at(0)])
    met.remember("work", [at(1)])
    met.remember("home", [at(2)])
    assert MetPeers(tmp_path / "met.json").load() == {"home": (at(2), at(0)), "work": (at(1),)}
    met.forget("home")
    assert met.load() == {"work": (at(1),)}


def test_a_damaged_file_is_repaired_from_its_copy_or_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "met.json"
    met = MetPeers(path)
    met.remember("home", [at(0)])
    path.write_bytes(b"")
    assert met.load() == {"home": (at(0),)}
    path.write_bytes(b"{}x")
    path.with_name("met.json.copy").write_bytes(b"")
    assert met.load() == {}
    met.remember("home", [at(1)])
    assert met.load() == {"home": (at(1),)}
