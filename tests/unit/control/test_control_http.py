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


@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (rpc(host="evil.example"), 421),
        (rpc(host="potluckd.local:80"), 421),
        (head("POST /rpc HTTP/1.1", "Content-Type: application/json", "Content-Length: 2"), 421),
        (rpc("Origin: http://evil.example"), 403),
        (rpc("Referer: http://potluckd.local/"), 403),
        (rpc("Sec-Fetch-Site: same-origin"), 403),
        (rpc(length=str(MAX_BODY_BYTES + 1)), 413),
        (rpc(length="9" * 12), 413),
        (rpc(length="9" * 13), 400),
        (rpc(length="-1"), 400),
        (rpc(length="2, 2"), 400),
        (rpc(length=""), 400),
        (rpc("Content-Length: 2"), 400),
        (rpc("Host: potluckd.local"), 400),
        (rpc("Transfer-Encoding: chunked"), 501),
        (rpc("Expect: 100-continue"), 501),
        (rpc(" folded: yes"), 400),
        (rpc("No colon"), 400),
        (rpc("Space : before colon"), 400),
        (rpc("Bare: line\nfeed"), 400),
        (rpc("Null: a\x00b"), 400),
        (rpc("Eight-Bit: \xff"), 400),
        (rpc(*(f"X-{i}: 1" for i in range(50))), 431),
        (head("POST /rpc HTTP/1.1", "Host: potluckd.local", "Content-Type: application/json"), 411),
        (head("POST /rpc HTTP/1.1", "Host: potluckd.local", "Content-Type: text/plain", "Content-Length: 2"), 415),
        (head("POST /rpc HTTP/1.1", "Host: potluckd.local", "Content-Length: 2"), 415),
        (head("GET /rpc HTTP/1.1", "Host: potluckd.local"), 405),
        (head("POST /events HTTP/1.1", "Host: potluckd.local", "Content-Length: 0"), 405),
        (head("GET /events HTTP/1.1", "Host: potluckd.local", "Content-Length: 1"), 413),
        (head("GET / HTTP/1.1", "Host: potluckd.local"), 404),
        (head("POST /rpc?x=1 HTTP/1.1", "Host: potluckd.local"), 404),
        (head("GET http://potluckd.local/events HTTP/1.1", "Host: potluckd.local"), 404),
        (head("POST /rpc HTTP/1.0", "Host: potluckd.local"), 505),
        (head("POST /rpc"), 400),
        (head("\x16\x03\x01 hello HTTP/1.1"), 400),
        (b"\r\n\r\n", 400),
    ],
)
def test_what_is_not_ours_is_refused(bad: bytes, status: int) -> None:
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
