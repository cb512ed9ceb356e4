"""The image file: no builder is needed to see that what it names exists and fits together."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

from potluck_daemon.cli.daemon import parser
from potluck_daemon.settings.places import system_places
from potluck_daemon.settings.schema import entries

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "resources" / "container" / "Containerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
STEPS = [
    (line.split(" ", 1)[0], " ".join(line.split(" ", 1)[1].split()))
    for line in re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", TEXT)).splitlines()
    if line.strip()
]


def arguments(name: str) -> list[str]:
    return [rest for step, rest in STEPS if step == name]


def test_every_step_is_one_that_builders_know() -> None:
    known = {"ARG", "FROM", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT"}
    assert {step for step, _ in STEPS} <= known
    assert STEPS[0][0] == "ARG"
    assert STEPS[1][0] == "FROM"


def test_what_is_copied_is_all_that_the_package_is_made_of() -> None:
    copied = {source for rest in arguments("COPY") if not rest.startswith("--from") for source in rest.split()[:-1]}
    assert all((ROOT / source).exists() for source in copied)
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        *wheel["packages"],
        *wheel["force-include"],
        *wheel["shared-data"],
        "pyproject.toml",
        PROJECT["project"]["readme"],
    }
    assert {path.split("/")[0] for path in needed} <= copied


def test_the_python_is_one_that_the_package_supports() -> None:
    assert re.search(r"^ARG PYTHON=3\.1[123]$", TEXT, re.M)


def test_it_runs_as_a_user_without_rights_that_may_write_where_it_must() -> None:
    assert arguments("USER") == ["potluck"]
    places = system_places()
    for folder in (places.state, places.cache, places.runtime, places.config):
        assert str(folder) in TEXT
    assert max(i for i, (step, _) in enumerate(STEPS) if step == "RUN") < [step for step, _ in STEPS].index("USER")


def test_the_program_takes_its_options_and_the_health_check_exists() -> None:
    (entry,) = arguments("ENTRYPOINT")
    words = shlex.split(entry.strip("[]").replace(",", ""))
    assert words[0] in PROJECT["project"]["scripts"]
    parser().parse_args(words[1:])
    (check,) = arguments("HEALTHCHECK")
    assert 'CMD ["potluck", "status"' in check


def test_its_settings_are_settings_and_its_port_the_one_that_is_open() -> None:
    (variables,) = arguments("ENV")
    named = dict(item.split("=", 1) for item in variables.split())
    assert {name for name in named if name.startswith("POTLUCK_")} <= {entry.variable for entry in entries()}
    assert named["POTLUCK_SERVE_LISTEN"].endswith("/tcp/" + arguments("EXPOSE")[0].removesuffix("/tcp"))


def test_no_package_index_is_named() -> None:
    assert not re.search(r"index-url|https?://", TEXT)
