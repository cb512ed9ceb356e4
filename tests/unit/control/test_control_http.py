import random

import pytest
from potluck_control.http_server import HttpError, parse_head
from potluck_daemon.control.server import MAX_BODY_BYTES, judge


def head(*lines: str) -> bytes:
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def rpc(*more: str, host: str = "potluckd.local", length: str = "2") -> bytes:
    return head(
        "POST /rpc HTTP/1.1", f"Host: {host}", "Content-Type: application/json", f"Content-Length: {length}", *more
    )


def test_a_proper_call_passes_as_large_as_the_limit() -> None:
    request = parse_head(rpc(length=str(MAX_BODY_BYTES)))
    assert (request.method, request.target, judge(request)) == ("POST", "/rpc", MAX_BODY_BYTES)
    assert request.keep_alive
    assert not parse_head(rpc("Connection: close")).keep_alive


HOST, JSON = "Host: potluckd.local", "Content-Type: application/json"
REFUSED = {
    400: (
        *(rpc(length=length) for length in ("9" * 13, "-1", "2, 2", "")),
        *(rpc("Content-Length: 2"), rpc(HOST), rpc(" folded: yes"), rpc("No colon"), rpc("Space : before colon")),
        *(rpc("Bare: line\nfeed"), rpc("Null: a\x00b"), rpc("Eight-Bit: \xff"), b"\r\n\r\n"),
        *(head("POST /rpc"), head("\x16\x03\x01 hello HTTP/1.1")),
    ),
    403: (
        rpc("Origin: http://evil.example"),
        rpc("Referer: http://potluckd.local/"),
        rpc("Sec-Fetch-Site: same-origin"),
    ),
    404: (
        *(head("GET / HTTP/1.1", HOST), head("POST /rpc?x=1 HTTP/1.1", HOST)),
        head("GET http://potluckd.local/events HTTP/1.1", HOST),
    ),
    405: (head("GET /rpc HTTP/1.1", HOST), head("POST /events HTTP/1.1", HOST, "Content-Length: 0")),
    411: (head("POST /rpc HTTP/1.1", HOST, JSON),),
    413: (
        *(rpc(length=str(MAX_BODY_BYTES + 1)), rpc(length="9" * 12)),
        head("GET /events HTTP/1.1", HOST, "Content-Length: 1"),
    ),
    415: (
        head("POST /rpc HTTP/1.1", HOST, "Content-Type: text/plain", "Content-Length: 2"),
        head("POST /rpc HTTP/1.1", HOST, "Content-Length: 2"),
    ),
    421: (
        *(rpc(host="evil.example"), rpc(host="potluckd.local:80")),
        head("POST /rpc HTTP/1.1", JSON, "Content-Length: 2"),
    ),
    431: (rpc(*(f"X-{i}: 1" for i in range(50))),),
    501: (rpc("Transfer-Encoding: chunked"), rpc("Expect: 100-continue")),
    505: (head("POST /rpc HTTP/1.0", HOST),),
}


def test_what_is_not_ours_is_refused() -> None:
    for bad, status in [(bad, status) for status, heads in REFUSED.items() for bad in heads]:
        with pytest.raises(HttpError) as caught:
            judge(parse_head(bad))
        assert caught.value.status == status


def test_damaged_heads_are_parsed_or_refused_but_never_crash() -> None:
    rng = random.Random(7)
    for _ in range(3000):
        damaged = bytearray(rpc())
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(damaged))
            damaged[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
        try:
            request = parse_head(bytes(damaged))
            length = judge(request)
        except HttpError:
            continue
        assert request.target in ("/rpc", "/events")
        assert 0 <= length <= MAX_BODY_BYTES
