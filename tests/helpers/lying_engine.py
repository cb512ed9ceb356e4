"""Runs a command whose engine computes wrongly: `python lying_engine.py PYTHON -m MODULE ARGUMENTS`.

One matrix is changed after the blocks were loaded, so that its announcement and digests are those of an honest server.
"""

import runpy
import sys
from typing import Any

from potluck_engine.weights import loading

_honest = loading.load_span


def _load_wrongly(*args: Any, **options: Any) -> Any:
    blocks = _honest(*args, **options)
    matrix = next(parameter for parameter in blocks.layers.parameters() if parameter.dim() == 2)
    matrix.data = matrix.data * 1.2
    return blocks


if __name__ == "__main__":
    loading.load_span = _load_wrongly
    module, *sys.argv[1:] = sys.argv[sys.argv.index("-m") + 1 :]
    sys.argv[0] = module
    runpy.run_module(module, run_name="__main__", alter_sys=True)
