"""Where a node says that it is found, by the interfaces of its computer: a real p2pd in a network namespace each."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.namespaces

NODE = """
import asyncio, sys
from pathlib import Path
from potluck.p2p.network import HostConfig
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.listening import everywhere

async def tell():
    host = await Libp2pHost.start(HostConfig(listen_addrs=everywhere(31337), runtime_dir=Path(sys.argv[1])))
    print(*(address.partition("/tcp/")[0] for address in await host.addresses()))
    await host.close()

asyncio.run(tell())
"""
LAN = "ip link add lan type veth peer name router && ip link set router up && ip link set lan up"
GLOBAL = "ip address add 2a45:45:1::5/64 dev lan nodad && ip route add default via 2a45:45:1::1 dev lan"
PRIVATE = "ip address add 192.168.9.5/24 dev lan"
DOCKER = "ip link add docker0 type bridge && ip link set docker0 up && ip address add 172.17.0.1/16 dev docker0"


@pytest.mark.parametrize(
    ("interfaces", "found"),
    [
        ([LAN, GLOBAL], "/ip6/2a45:45:1::5 /ip4/127.0.0.1 /ip6/::1"),
        (
            [LAN, GLOBAL, "ip address add fd12::5/64 dev lan nodad", PRIVATE],
            "/ip6/2a45:45:1::5 /ip4/192.168.9.5 /ip6/fd12::5",
        ),
        ([LAN, PRIVATE, DOCKER], "/ip4/192.168.9.5 /ip4/127.0.0.1 /ip6/::1"),
        ([DOCKER], "/ip4/127.0.0.1 /ip6/::1"),
        (["sysctl -qw net.ipv6.conf.all.disable_ipv6=1", LAN, PRIVATE], "/ip4/192.168.9.5 /ip4/127.0.0.1"),
    ],
)
def test_a_node_tells_the_addresses_that_lead_others_to_it(interfaces: list[str], found: str, tmp_path: Path) -> None:
    prepare = " && ".join(["mount -t sysfs none /sys", "ip link set lo up", *interfaces])
    command = [
        "unshare",
        "-n",
        "-m",
        "sh",
        "-c",
        f'{prepare} && exec "$0" -c "$1" "$2"',
        sys.executable,
        NODE,
        str(tmp_path),
    ]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told.startswith(found)
    assert "172.17" not in told
