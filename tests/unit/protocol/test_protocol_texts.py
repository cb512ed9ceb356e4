"""No text of another node controls a terminal, wherever it is read, and none that a command prints."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import potluck_cli
import pytest
from helpers.server_records import record_of
from potluck_cli import terminal
from potluck_cli.main import describe

from potluck.directory.fields import read_record, record_values
from potluck.petals.envelopes import read_text
from potluck.petals.records import _text as petals_text
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.swarm import is_model_name, new_swarm
from potluck.protocol.values import Name, is_printable, printable
from potluck.wire.errors import WireError, decode_refusal, encode_refusal

SWARM = new_swarm("home", "m", 8)
HOSTILE = ["\x1b[2J", "\x9b2J", "one\rtwo", "\u202egnp.exe", "\u2066x", "a\nb", "\x07", "\ud800"]
READERS: dict[str, Callable[[str], object]] = {
    "a field of a record": lambda value: read_record(
        PeerId("a"), record_values(record_of("a", 0, 4, public_name=value), SWARM), SWARM
    ),
    "a field of a Petals message": lambda value: read_text(
        value.encode(errors="surrogatepass"), 0, len(value.encode(errors="surrogatepass")), max_bytes=100
    ),
    "a field of a Petals record": petals_text,
}


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_text_that_does_not_show_as_it_is_is_refused(read: Callable[[str], object], hostile: str) -> None:
    with pytest.raises((WireError, ValueError)):
        read(f"a {hostile}")
    assert read("a plain name, ünïcode too")
    assert not is_model_name(hostile)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(f"a{hostile}", Name)


@pytest.mark.parametrize("hostile", HOSTILE[:-1], ids=ascii)
def test_a_refusal_is_one_printable_line_in_both_directions_and_in_every_encoding(hostile: str) -> None:
    plain = encode_refusal(RemoteError(Code.BUSY, "x" * len(f"{hostile} come back".encode())))
    for body in (
        re.sub(b"x+", f"{hostile} come back".encode(), plain),
        encode_refusal(RemoteError(Code.BUSY, f"{hostile} later")),
        f"{hostile} as text".encode(),
    ):
        error = decode_refusal(body, may_be_plain_text=True)
        assert is_printable(error.message, 500), error.message
        assert describe(error).isprintable()


def test_what_is_printed_keeps_lines_colours_and_joined_letters_and_nothing_else() -> None:
    out = io.StringIO()
    screen = terminal.Terminal(out)
    screen.write("\x1b[1mbold\x1b[0m\tname \u202eeman\x1b[2J\x1b]0;title\x07\n")
    assert out.getvalue() == "\x1b[1mbold\x1b[0m\tname eman[2J]0;title\n"
    out = io.StringIO()
    terminal.say("\x1b[1mfrom a model", "👩\u200d🚀", "می\u200cخواهم\r", file=out)
    assert out.getvalue() == "[1mfrom a model 👩\u200d🚀 می\u200cخواهم\n"


def test_commands_print_through_the_one_function_that_leaves_out_what_controls_a_terminal() -> None:
    folder = Path(potluck_cli.__file__).parent
    prints = re.compile(r"(?<![\w.])print\(|sys\.std(out|err)\.write\(")
    found = {
        path.name: line.strip()
        for path in folder.rglob("*.py")
        for line in path.read_text().splitlines()
        if prints.search(line)
    }
    del found["terminal.py"], found["interfaces.py"]  # the function itself, and a file of ours
    assert not found


def test_a_long_text_is_cut() -> None:
    assert printable("x" * 1000, 10) == "x" * 10
