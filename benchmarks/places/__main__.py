"""Runs one surrounding in the namespaces of this process, and prints what is wrong there as a list in JSON."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

from benchmarks.places.home import Home, sh
from benchmarks.places.surroundings import SURROUNDINGS

name, folder, shared, serves = sys.argv[1:]
sh("ip", "link", "set", "lo", "up")
home = Home(folder, Path(shared))
try:
    next(each for each in SURROUNDINGS if each.__name__ == name)(home, serves == "serves")
    home.judge_logs()
except Exception:
    home.complain(f"the examination itself failed: {traceback.format_exc()}")
print(json.dumps(home.findings))
