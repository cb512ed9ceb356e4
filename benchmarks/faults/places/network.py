"""Computers whose network is odd, or that have none."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from pathlib import Path

from benchmarks.faults.places.home import (
    CREATE,
    HUB_S,
    Home,
    sh,
    surrounding,
    wait_said,
)
from potluck.membership.invite import decode_invite


@surrounding
def socks_proxy(home: Home, serves: bool) -> None:
    _ask_hub(home, serves, proxy="socks5h://127.0.0.1:9")


@surrounding
def broken_proxies(home: Home, serves: bool) -> None:
    for proxy in ("http://127.0.0.1:9", "proxy:eight", "ftp://127.0.0.1"):
        _ask_hub(home, serves, proxy=proxy)


@surrounding
def bad_certificates(home: Home, serves: bool) -> None:
    """No certificates at all, and then a company's proxy that signs everything itself."""
    key, certificate = f"{home.folder}/key.pem", f"{home.folder}/certificate.pem"
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=proxy")
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    command = ["openssl", "s_server", "-accept", "4443", "-key", key, "-cert", certificate, "-www"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        assert server.stdout is not None
        while b"ACCEPT" not in server.stdout.readline():
            pass
        home.environment["HF_ENDPOINT"] = "https://127.0.0.1:4443"
        _ask_hub(home, serves)
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_DIR"):
            home.environment[name] = f"{home.folder}/none"
        _ask_hub(home, serves)
        server.kill()


@surrounding
def ipv6_only(home: Home, serves: bool) -> None:
    sh("ip", "address", "add", "2001:db8::7/64", "dev", "lo", "nodad")
    sh("ip", "address", "del", "127.0.0.1/8", "dev", "lo")
    _serve_at(home, "2001:db8::7")


@surrounding
def no_ipv6(home: Home, serves: bool) -> None:
    for name in ("all", "default", "lo"):
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
    sh("ip", "address", "add", "192.0.2.7/24", "dev", "lo")
    _serve_at(home, "192.0.2.7")


@surrounding
def no_network(home: Home, serves: bool) -> None:
    """Take the loopback device down, and leave no resolver and no tables of names."""
    sh("ip", "link", "set", "lo", "down")
    empty = Path(home.folder, "empty")
    empty.touch()
    for name in ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols"):
        if Path(name).exists():
            sh("mount", "--bind", str(empty), name)
    home.day(works=None)


@surrounding
def taken_ports(home: Home, serves: bool) -> None:
    with contextlib.ExitStack() as stack:
        for port in (31337, 8737, 9100):
            stack.enter_context(socket.create_server(("0.0.0.0", port)))
        home.write_settings('version = 2\n[serve]\nlisten = ["/ip4/0.0.0.0/tcp/31337"]\n[metrics]\nport = 9100\n')
        home.start("start --demo", works=True)
        if "31337" not in (told := wait_said(home, "31337")):
            home.complain(f"nothing says that the engine's port is taken: {told}")
        if "9100" not in (told := wait_said(home, "9100")):
            home.complain(f"nothing says that the metrics' port is taken: {told}")
        home.stop()


def _ask_hub(home: Home, serves: bool, proxy: str = "") -> None:
    """Serve and ask as usual, and run the commands that need the internet."""
    if proxy:
        names = ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY")
        home.environment |= {each: proxy for name in names for each in (name, name.lower())}
    if serves and home.serve():
        home.generate()
    else:
        home.start(works=True)
    home.run(CREATE, works=False, within_s=HUB_S)
    home.run(("config", "set", "updates.url", "https://127.0.0.1:4443/newest.json"))
    home.run(("config", "set", "updates.key", "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="))
    home.run("update", works=False)
    home.look()
    home.stop()


def _serve_at(home: Home, address: str) -> None:
    if home.serve():
        home.generate()
        invite = home.run("swarm invite", works=True).out.split()[0]
        peers = decode_invite(invite).swarm.bootstrap_peers
        if not any(address in peer for peer in peers):
            home.complain(f"the invite has {peers}, and not the only address {address}")
        home.look()
    home.stop()
