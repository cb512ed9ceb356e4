"""The image and compose files name settings that exist, no secret, and no more rights than services need.

That they build and serve is shown by tests/system/test_container.py.
"""

import re
from pathlib import Path

import yaml
from potluck_control.settings import entries

FOLDER = Path(__file__).parents[2] / "resources" / "container"
TEXT = (FOLDER / "Containerfile").read_text()
NODE = (FOLDER / "node").read_text()
SERVICES = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
KNOWN = {entry.variable for entry in entries()}


def test_settings_of_the_image_and_its_services_exist() -> None:
    named = set(re.findall(r"\bPOTLUCK_\w+(?==)", TEXT))
    for service in SERVICES.values():
        named |= {name for name in service["environment"] if name.startswith("POTLUCK_")}
        others = service["environment"].keys() - named
        assert all(re.search(rf"\$\{{?{name}\b", NODE) for name in others)
    assert named
    assert named <= KNOWN


def test_the_port_that_it_listens_on_is_the_one_that_is_open() -> None:
    (port,) = re.findall(r"^EXPOSE (\d+)/tcp", TEXT, re.MULTILINE)
    assert re.search(rf"POTLUCK_SERVE_LISTEN=\S+/tcp/{port}\b", TEXT)
    assert SERVICES["meeting-point"]["ports"] == ["31330:31330"]
    assert "--port 31330" in NODE


def test_no_secret_and_no_address_of_a_registry_is_written_down() -> None:
    text = (FOLDER / "compose.yaml").read_text() + NODE + TEXT
    assert not re.search(r"index-url|https?://|potluck4:|password|token", text)


def test_every_service_has_an_identity_of_its_own_and_none_may_gain_rights() -> None:
    for name, service in SERVICES.items():
        volumes = dict(reversed(place.split(":")[:2]) for place in service["volumes"])
        assert volumes["/var/lib/potluck"] == name  # two services of one identity would be one member
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not {"privileged", "network_mode", "pid"} & service.keys()
