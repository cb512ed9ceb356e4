"""Stands in for wsl.exe: its messages as Windows 11 writes them (UTF-16, CR LF), and a Linux that remembers.

    python fake_wsl.py FOLDER ARGUMENTS...

FOLDER/world.json says what there is; FOLDER/calls.jsonl gets every call. Words after `--exec` are known by what is
typical of them; `potluck control` is the real one. Messages are those of WSL 2.4 to 2.6, as its users report them.
"""

import json
import os
import sys
from pathlib import Path

MISSING = (
    "The Windows Subsystem for Linux is not installed. You can install by running 'wsl.exe --install'.\r\n"
    "For more information please visit https://aka.ms/wslinstall\r\n"
)
NO_VIRTUALIZATION = (
    "WSL2 is not supported with your current machine configuration.\r\n"
    'Please enable the "Virtual Machine Platform" optional component and ensure virtualization is enabled in the BIOS.'
    '\r\nEnable "Virtual Machine Platform" by running: wsl.exe --install --no-distribution\r\n'
    "For information please visit https://aka.ms/enablevirtualization\r\n"
)
NO_DISTRIBUTION = (
    "Windows Subsystem for Linux has no installed distributions.\r\n"
    "You can resolve this by installing a distribution with the instructions below:\r\n\r\n"
    "Use 'wsl.exe --list --online' to list available distributions\r\nand 'wsl.exe --install <Distro>' to install.\r\n"
    "Error code: Wsl/WSL_E_DEFAULT_DISTRO_NOT_FOUND\r\n"
)
NOT_FOUND = "There is no distribution with the supplied name.\r\nError code: Wsl/Service/WSL_E_DISTRO_NOT_FOUND\r\n"
OFFLINE = (
    "Failed to fetch the list distribution from 'https://.../DistributionInfo.json'. The server name or address "
    "could not be resolved \r\nError code: Wsl/InstallDistro/WININET_E_NAME_NOT_RESOLVED\r\n"
)
VERSIONS = {  # the labels are in Windows' language
    "en": "WSL version: {}.0\r\nKernel version: 5.15.167.4-1\r\nWindows version: 10.0.26100.1\r\n",
    "de": "WSL-Version: {}.0\r\nKernelversion: 5.15.167.4-1\r\nWindows-Version: 10.0.26100.1\r\n",
    "zh": "WSL 版本： {}.0\r\n内核版本： 5.15.167.4-1\r\nWindows 版本: 10.0.26100.1\r\n",
}
USAGE = "Invalid command line option: --version\r\nUsage: wsl.exe [Argument] [Options...] [CommandLine]\r\n"


def main() -> int:
    folder, arguments = Path(sys.argv[1]), sys.argv[2:]
    with (folder / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps(arguments) + "\n")
    file = folder / "world.json"
    world = json.loads(file.read_text())
    code = call(world, arguments)
    file.write_text(json.dumps(world))
    return code


def call(world: dict, arguments: list[str]) -> int:
    if world["wsl"] == "missing":
        return say(MISSING, 50)
    match arguments:
        case ["--status"]:
            status = "Default Version: 2\r\n"
            return say(status + (NO_VIRTUALIZATION if world["wsl"] == "no virtualization" else ""))
        case ["--version"] if world["wsl"] == "inbox":
            return say(USAGE, -1)
        case ["--version"]:
            return say(VERSIONS[world["language"]].format(world["version"]))
        case ["--list", "--verbose"]:
            return list_all(world)
        case ["--install", "Debian", "--name", name, "--location", place, *_]:
            if world["is_offline"]:
                return say(OFFLINE, -1)
            world["distributions"][name] = {"place": place, "version": 2, "init": "init"}
            return say("Downloading: Debian GNU/Linux\r\nInstalling: Debian GNU/Linux\r\n")
        case ["--terminate", name]:
            linux = world["distributions"][name]
            linux["init"] = "systemd" if linux.get("configured") and world["has_systemd"] else "init"
            linux["service"] = ""
            return say("The operation completed successfully. \r\n")
        case ["--distribution", name, "--user", _, "--cd", "/", "--exec", *command]:
            if name not in world["distributions"]:
                return say(NOT_FOUND, -1)
            return execute(world, world["distributions"][name], command)
    return say(f"Invalid command line option: {arguments}\r\n", -1)


def list_all(world: dict) -> int:
    if not world["distributions"]:
        return say(NO_DISTRIBUTION, -1)
    rows = [f"  {name:<22} Stopped         {item['version']}" for name, item in world["distributions"].items()]
    return say("\r\n".join(["  NAME                   STATE           VERSION", "*" + rows[0][1:], *rows[1:]]) + "\r\n")


def execute(world: dict, linux: dict, command: list[str]) -> int:
    match command:
        case ["/usr/bin/potluck", *rest]:
            os.execv(sys.executable, [sys.executable, "-m", "potluck_cli.main", *rest, "--wait=0"])
        case ["systemctl", "enable", "--now", "potluckd.service"]:
            linux["service"] = "active"
        case ["/bin/sh", "-c", script] if "cat >/etc/wsl.conf" in script:
            linux["conf"] = sys.stdin.buffer.read().decode()
            linux["configured"] = "yes"
        case ["/bin/sh", "-c", script] if "apt-get" in script:
            received = sys.stdin.buffer.read()
            if world["is_offline"]:
                print("Err:1 http://deb.example.org/debian bookworm InRelease", file=sys.stderr)
                print("  Temporary failure resolving 'deb.example.org'", file=sys.stderr)
                return 100
            linux["package"] = received.decode().removeprefix("deb ")
        case ["/bin/sh", "-c", script] if "/proc/1/comm" in script:
            for key in ("configured", "init", "package", "service"):
                print(f"{key}={linux.get(key, '')}")
        case _:
            print(f"sh: not known here: {command}", file=sys.stderr)
            return 127
    return 0


def say(text: str, code: int = 0) -> int:
    sys.stdout.buffer.write(text.encode("utf-16-le"))
    return code % 256


if __name__ == "__main__":
    sys.exit(main())
