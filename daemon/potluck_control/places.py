"""Names the folders and files of a daemon: the platform's for a user, systemd's for the system service."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from potluck.errors import UsageError

_APP = "potluck"


@dataclass(frozen=True, slots=True)
class Places:
    """Folders of one daemon. Nothing is created here."""

    config: Path
    state: Path
    runtime: Path
    cache: Path
    is_system: bool = False

    def check(self) -> None:
        """Raise UsageError if a folder's name is not in UTF-8, because messages to the engine could not have it."""
        for folder in map(str, (self.config, self.state, self.runtime, self.cache)):
            if folder != folder.encode(errors="replace").decode():
                hint = "name others with XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_RUNTIME_DIR and XDG_CACHE_HOME"
                raise UsageError(f"the folder {folder} is not in UTF-8", hint=hint)

    @property
    def settings_file(self) -> Path:
        return self.config / "settings.toml"

    @property
    def swarms_file(self) -> Path:
        """The joined swarms. They lie in the state folder of a system service, which may write nowhere else."""
        return (self.state if self.is_system else self.config) / "swarms.json"

    @property
    def accepted_settings_file(self) -> Path:
        """The checked backup of the settings: the last file without a mistake."""
        return self.state / "settings.accepted.toml"

    @property
    def state_file(self) -> Path:
        return self.state / "state.json"

    @property
    def history_file(self) -> Path:
        return self.state / "history.jsonl"

    @property
    def identity_file(self) -> Path:
        """The key of this machine in its swarms, whose account the ledger keeps."""
        return self.state / "identity.key"

    @property
    def gateway_keys_file(self) -> Path:
        """The names and hashes of the keys with which programs use the gateway."""
        return self.state / "gateway_keys.json"

    @property
    def ledger_file(self) -> Path:
        return self.state / "ledger.sqlite"

    @property
    def receipts(self) -> Path:
        """The folder in which engines put receipts until they are in the ledger."""
        return self.state / "receipts"

    @property
    def contribution_file(self) -> Path:
        return self.state / "contribution.sqlite"

    @property
    def log_file(self) -> Path:
        return self.state / "potluckd.log"

    @property
    def engines(self) -> Path:
        """The folder of the engine's environments; it may be a link to another disk."""
        return self.state / "engines"

    @property
    def engine_manifest(self) -> Path:
        """The description of the environment in use."""
        return self.engines / "current" / "environment.json"

    @property
    def lock_file(self) -> Path:
        """The instance lock. Two sessions of one user share the state folder, but maybe not the runtime folder."""
        return self.state / "potluckd.lock"

    @property
    def socket(self) -> Path:
        """The control socket: in the state folder while there is no runtime folder, as after a user logged out."""
        can_be = self.is_system or any(os.access(path, os.W_OK) for path in (self.runtime, self.runtime.parent))
        return (self.runtime if can_be else self.state / "run") / "potluckd.sock"

    @property
    def nodes(self) -> Path:
        """The folder for the sockets of engines, which only their user may enter."""
        return self.socket.parent / "nodes"

    @property
    def head_socket(self) -> Path:
        """The socket at which the engine computes the output head for the gateway."""
        return self.nodes / "head.sock"


def user_places() -> Places:
    """Return the folders of the user who runs this process. Raises UsageError if nothing names the user's home."""
    try:
        state = platformdirs.user_state_path(_APP)
    except RuntimeError as error:  # happens in a container whose user has no passwd entry
        raise UsageError("the system knows no home folder of this user", hint="set HOME to a folder") from error
    return Places(
        config=platformdirs.user_config_path(_APP),
        state=state,
        runtime=_user_runtime(),
        cache=platformdirs.user_cache_path(_APP),
    )


def system_places() -> Places:
    """Return the folders of the system service, which systemd names in the environment."""
    return Places(
        config=_service_folder("CONFIGURATION_DIRECTORY", "/etc/potluck"),
        state=_service_folder("STATE_DIRECTORY", "/var/lib/potluck"),
        runtime=_service_folder("RUNTIME_DIRECTORY", "/run/potluck"),
        cache=_service_folder("CACHE_DIRECTORY", "/var/cache/potluck"),
        is_system=True,
    )


def find_places() -> Places:
    """Return the folders of the daemon that a command is about: this user's, or else the system's if there is one.

    Root and the service's own user find a system service by its folder even while the service is down.
    """
    own, system = user_places(), system_places()
    # `os.path` says no for a folder that this user may not look into; `Path` would raise.
    is_ours = os.path.exists(system.state) and os.geteuid() in (0, system.state.stat().st_uid)
    is_installed = is_ours or os.path.exists(system.socket)
    return system if is_installed and not os.path.exists(own.socket) else own


def find_socket() -> Path:
    """Return the socket of the daemon that `find_places` finds."""
    return find_places().socket


def _user_runtime() -> Path:
    """Return the desktop session's folder, even under `su` or `cron`, where XDG_RUNTIME_DIR is not set."""
    named = os.environ.get("XDG_RUNTIME_DIR")
    if named:
        return Path(named) / _APP
    return Path(f"/run/user/{os.getuid()}", _APP)


def _service_folder(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable, default).split(":")[0])
