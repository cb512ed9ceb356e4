"""The image and compose files: no builder is needed to see that what they name exists and fits together."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import yaml
from helpers.documents import commands
from potluck_cli.daemon import parser
from potluck_cli.main import load, parser_of
from potluck_daemon.settings.schema import entries

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "resources" / "container"
TEXT = (FOLDER / "Containerfile").read_text()
NODE = (FOLDER / "node").read_text()
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
STEPS = [
    (line.split(" ", 1)[0], " ".join(line.split(" ", 1)[1].split()))
    for line in re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", TEXT)).splitlines()
    if line.strip()
]


def arguments(name: str) -> list[str]:
    return [rest for step, rest in STEPS if step == name]


def test_what_is_copied_is_all_that_the_package_is_made_of() -> None:
    copied = {
        source
        for rest in arguments("COPY")
        if not rest.startswith("--from")
        for source in rest.split()[:-1]
        if not source.startswith("--")
    }
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


def test_the_script_is_understood_by_a_plain_shell_and_names_commands_and_options_that_exist() -> None:
    subprocess.run(["sh", "-n", FOLDER / "node"], check=True)
    lines = re.findall(r"^[^#\n]*?\b(potluckd? [a-z-][^>|;&}\n]*)", NODE, re.M)
    for line in lines:
        program, *words = shlex.split(re.sub(r'"?\$(\([^)]*\)|\w+)"?', "WORD", line).strip().removesuffix('"'))
        if program == "potluckd":
            parser().parse_args(words)
            continue
        command = load(words[0])
        given = [word for word in words[1:] if word != "WORD"] or words[1:]
        options = {word.partition("=")[0] for word in given if word.startswith("--")}
        assert options <= {name for action in parser_of(words[0], command)._actions for name in action.option_strings}
    assert {line.split()[1] for line in lines} >= {"bootstrap", "swarm", "status", "join", "gateway", "--system"}


def test_every_service_has_a_part_of_its_own_and_settings_that_exist() -> None:
    known = {entry.variable for entry in entries()}
    for service in COMPOSE["services"].values():
        (part,) = service["command"]
        assert f"    {part})" in NODE
        named = {name for name in service["environment"] if name.startswith("POTLUCK_")}
        assert named <= known
        assert {name for name in service["environment"] if name not in named} <= {
            name for name in ("SWARM", "MODEL", "ANNOUNCE") if f"${name}" in NODE or f"${{{name}" in NODE
        }


def test_services_wait_for_the_meeting_point_restart_and_keep_what_they_are() -> None:
    services = COMPOSE["services"]
    for name, service in services.items():
        assert service["restart"] == "unless-stopped"
        assert service["init"]
        volumes = dict(reversed(place.split(":")[:2]) for place in service["volumes"])
        assert set(volumes.values()) <= set(COMPOSE["volumes"])
        assert volumes["/var/lib/potluck"] == name  # two services of one identity would be one member
        if name != "meeting-point":
            assert service["depends_on"]["meeting-point"]["condition"] == "service_healthy"
            assert "swarm:/swarm:ro" in service["volumes"]
    assert services["meeting-point"]["healthcheck"]["test"] == ["CMD", "test", "-s", "/swarm/invite"]
    assert "invite=/swarm/invite" in NODE


def test_friends_elsewhere_reach_the_port_that_the_meeting_point_listens_on() -> None:
    (port,) = COMPOSE["services"]["meeting-point"]["ports"]
    assert port.split(":") == ["31330", "31330"]
    assert "--port 31330" in NODE
    assert "/dns4/meeting-point/tcp/31330" in NODE


def test_no_secret_and_no_address_of_a_registry_is_written_down() -> None:
    text = (FOLDER / "compose.yaml").read_text() + NODE + TEXT
    assert not re.search(r"index-url|https?://|potluck2:|password|token", text)


def test_nothing_may_gain_rights() -> None:
    for service in COMPOSE["services"].values():
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not {"privileged", "network_mode", "pid"} & service.keys()


def test_its_settings_are_settings_and_its_port_the_one_that_is_open() -> None:
    (variables,) = arguments("ENV")
    named = dict(item.split("=", 1) for item in variables.split())
    assert {name for name in named if name.startswith("POTLUCK_")} <= {entry.variable for entry in entries()}
    assert named["POTLUCK_SERVE_LISTEN"].endswith("/tcp/" + arguments("EXPOSE")[0].removesuffix("/tcp"))


def test_the_page_names_files_services_and_commands_that_are_there() -> None:
    """docs/containers.md; docker itself is not asked."""
    said = commands("containers")
    for command in said:
        words = shlex.split(command)
        for option in ("-f", "--file"):
            if option in words:
                assert (ROOT / words[words.index(option) + 1]).exists(), command
        if "exec" in words:
            name, *inside = [word for word in words[words.index("exec") + 1 :] if word != "-it"]
            assert name in {"potluck", *COMPOSE["services"]}, command
            assert inside[0] == "cat" or load(inside[1]), command
    volumes = next(command for command in said if " run " in command)
    assert {place.split(":")[1] for place in re.findall(r"-v (\S+)", volumes)} == set(
        json.loads(arguments("VOLUME")[0])
    )
    variables = next(command for command in said if command.startswith("export"))
    assert {word.split("=")[0] for word in shlex.split(variables)[1:]} <= set(re.findall(r"\$\{(\w+)", str(COMPOSE)))
