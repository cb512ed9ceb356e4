"""Runs one surrounding in the namespaces of this process, and prints what is wrong there as a list in JSON."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

from benchmarks.faults.places.home import Home, all_surroundings, sh

name, folder, shared, serves = sys.argv[1:]
sh("ip", "link", "set", "lo", "up")
home = Home(folder, Path(shared))
try:
    all_surroundings()[name](home, serves == "serves")
    home.judge_logs()
except Exception:
    home.complain(f"the examination itself failed: {traceback.format_exc()}")
print(json.dumps(home.findings))
