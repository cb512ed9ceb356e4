from pathlib import Path

import pytest
from potluck_control.places import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Where a daemon of this test has its files; only the folder of its settings is there."""
    made = Places(*(tmp_path / name for name in ("config", "state", "run", "cache")))
    made.config.mkdir()
    return made
