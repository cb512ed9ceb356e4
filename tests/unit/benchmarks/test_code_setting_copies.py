"""The figure `setting_copies` sees copies of a setting, and none where there is none."""

import ast

import pytest

from benchmarks.code.house import product_trees
from benchmarks.code.setting_copies import places

DECLARED = ["potluck_control.settings", "potluck_engine"]
COPIES = {
    "a message that the setting is copied into": (
        "class Order(Struct):\n    kind: str\n\ndef order(settings):\n    return Order(kind=settings.serve.dtype)",
        ["potluck_daemon.planted"],
    ),
    "the same by position": (
        "class Order(Struct):\n    kind: str\n\ndef order(serve):\n    return Order(serve.dtype)",
        ["potluck_daemon.planted"],
    ),
    "a message of another module": (
        "def begin(serve):\n    return Throttle(serve.dtype)",
        ["potluck_control.processes.engine_messages", "potluck_daemon.planted"],
    ),
    "a launch with it": (
        "def begin(args):\n    return LaunchSpec(dtype=args.dtype or 'x')",
        ["potluck_control.processes.launch_spec", "potluck_daemon.planted"],
    ),
    "an option beside a launch": (
        "def begin(parser):\n    parser.add_argument('--dtype')\n    return LaunchSpec()",
        ["potluck_daemon.planted"],
    ),
    "a field of the launch": ("class LaunchSpec:\n    dtype: str = ''", ["potluck_daemon.planted"]),
    "a use of it": ("def is_exact(serve):\n    return serve.dtype == 'float32'", []),
    "a value for the library": ("def open(serve):\n    return ClientConfig(dtype=serve.dtype)", []),
}


def test_a_setting_of_the_engine_is_named_where_it_is_declared_and_where_it_is_read() -> None:
    found = places(product_trees())
    assert found["serve.dtype"] == DECLARED
    assert max(map(len, found.values())) == 2


@pytest.mark.parametrize("planted", COPIES)
def test_a_planted_copy_is_seen(planted: str) -> None:
    code, more = COPIES[planted]
    found = places(product_trees() | {"potluck_daemon.planted": ast.parse(code)})
    assert found["serve.dtype"] == sorted([*DECLARED, *more])
