"""What no log may hold: what people write and read, what the model computes with, and what opens a door."""

import re
from collections.abc import Iterable

import torch
from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.answers.completion import TextTokenizer

_VALUES = re.compile(r"-?\d\.\d{3,}(e-\d+)?, -?\d\.\d{3,}")


def assert_discreet(log: str, texts: Iterable[str], secrets: Iterable[str]) -> None:
    """Look in a log for texts of the demo model, in words and in tokens, for secrets, for tensors and for addresses."""
    for text in texts:
        words, tokens = text.split(), TextTokenizer(resource(DEMO_MODEL)).encode(text)[0].tolist()
        assert len(words) > 5
        # The logs have words of their own that the model may say too, but no three of them in the same order.
        for start in range(len(words) - 2):
            assert " ".join(words[start : start + 3]) not in log
        for start in range(len(tokens) - 2):
            three = r"\D+".join(map(str, tokens[start : start + 3]))
            assert not re.search(rf"(?<!\d)[\[(]{three}", log)
    for secret in secrets:
        assert secret
        assert secret not in log
    assert _VALUES.search(str(torch.tensor([0.12345, -1.5431])))
    assert not _VALUES.search(log)
    assert "tensor(" not in log
    assert not re.search(r"/ip4/\d|127\.0\.0\.1", log)
