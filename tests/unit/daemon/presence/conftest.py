from pathlib import Path

import pytest
from helpers.made_processes import MadeProcesses


@pytest.fixture
def made(tmp_path: Path) -> MadeProcesses:
    return MadeProcesses(tmp_path)
