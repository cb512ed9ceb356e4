"""What a mistyped command line brings: one line that says what was perhaps meant."""

from __future__ import annotations

import pytest
from potluck_cli.main import main


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("serve m --block 0:2", "did you mean --blocks?"),  # words are never guessed from their beginning
        ("sevre", "did you mean serve?"),
        ("confg list", "did you mean config?"),
        ("config lst", "did you mean list?"),
        ("serve m --blokcs 0:2", "did you mean --blocks?"),
        ("serve m --dtype=bfloat", "did you mean bfloat16?"),
        ("swarm create f m --bootstrp=x", "did you mean --bootstrap?"),
        ("serve --quixotic", "potluck serve --help explains it"),
        ("ledger", "potluck ledger --help explains it"),
        ("serve m --port x", "potluck serve --help explains it"),
    ],
)
def test_a_wrong_word_brings_advice_in_one_line(line: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("potluck: ")
    assert err.endswith(f"({hint})\n")
