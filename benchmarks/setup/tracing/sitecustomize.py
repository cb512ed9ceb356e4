"""Traces each Python process that finds this folder by PYTHONPATH, the children of our own processes included."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.setup.traced import Trace

if "POTLUCK_TRACED_NUMBER" in os.environ:
    Trace(Path(os.environ["POTLUCK_TRACED_NUMBER"]), Path(os.environ["POTLUCK_TRACED_CALLS"])).begin()
