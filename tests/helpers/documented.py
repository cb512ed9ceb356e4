"""Where each page for users is done by a test, and where each command that cannot be done there is proved instead."""

from __future__ import annotations

STORIES = {
    "without an engine": ("install",),
    "alone": ("first-hour",),
    "among friends": (
        *("friends", "alone-or-swarm", "python", "gateway", "earnings", "costs-and-privacy", "whose-prompts", "keys"),
        *("troubleshooting", "uninstall"),
    ),
}
"""In the order in which `tests/system/test_documented_pages.py` does them, each story in homes of its own."""

CONTAINER_PAGES = ("headless",)  # by tests/system/test_documented_server.py, under a real systemd as root

_PACKAGE = "tests/system/test_debian_package.py"  # installs and purges packages in a fresh Debian
_RUN_FILE = "tests/system/test_run_file.py"  # by an ordinary user of a fresh Debian
_ROLLBACK = "tests/unit/daemon/topics/test_topics_setup.py"  # with made environments
_SERVER_PACKAGE = "tests/system/test_server_package.py"  # the same for a server's, under systemd
_WHEEL = "tests/system/test_wheel.py"  # pip, in an environment of its own
_UPDATE = "tests/integration/test_updating.py"  # a publisher on loopback
_LOGIN = "tests/system/test_documented_server.py"  # a user's systemd
_COMPUTERS = "tests/integration/test_own_computers.py"  # three daemons on loopback
_FRIENDS = "docs/friends.md"  # the same command

ELSEWHERE: dict[str, dict[str, str]] = {
    "first-hour": {"potluck join": _FRIENDS},
    "friends": {"potluck members add-computer": _COMPUTERS, "potluck join --code": _COMPUTERS},
    "install": {
        "sudo apt install ./potluck_VERSION_amd64.deb": _PACKAGE,
        "sh potluck-VERSION.run": _RUN_FILE,
        "potluck join": _FRIENDS,
        "potluck setup --rollback": _ROLLBACK,
        "potluck autostart": _LOGIN,
        "potluck autostart --daemon on --app on": _LOGIN,
        "potluck autostart --daemon off --app off": _LOGIN,
        "potluck update --check": _UPDATE,
        "potluck update": _UPDATE,
        "potluck update --rollback": _UPDATE,
    },
    "headless": {
        "sudo apt install ./potluck-headless_VERSION_amd64.deb": _SERVER_PACKAGE,
        "sudo python3 -m venv /opt/potluck": _WHEEL,
        "sudo /opt/potluck/bin/pip install './potluck-VERSION-py3-none-any.whl[engine]'": _WHEEL,
        "sudo /opt/potluck/bin/pip install --upgrade './potluck-VERSION-py3-none-any.whl[engine]'": _WHEEL,
        "sudo apt purge potluck-headless": _SERVER_PACKAGE,
    },
    "uninstall": {
        "sudo apt purge potluck": _PACKAGE,
        "sudo apt purge potluck-headless": _SERVER_PACKAGE,
        "~/.local/lib/potluck/uninstall": _RUN_FILE,
        "potluck autostart --daemon off --app off": _LOGIN,
    },
}
"""What needs a package manager, a user's systemd, gigabytes or a publisher, by page; and who proves it."""
