"""A founder pauses: an invite that names nobody but him still leads a third person to the friend who serves."""

from __future__ import annotations

import socket
import subprocess
import sys

from helpers.daemon_process import DaemonProcess
from potluck_control import schema
from potluck_control.states import State

_SETTINGS = '[serve]\nlisten = ["/ip4/127.0.0.1/tcp/{port}"]\nthreads = 1\n'
_WHOLE = (0, 12)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_an_invite_leads_in_while_its_founder_is_paused_and_he_comes_back() -> None:
    with (
        DaemonProcess(_SETTINGS.format(port=free_port())) as founder,
        DaemonProcess(_SETTINGS.format(port=0)) as friend,
        DaemonProcess() as third,  # its places only: no daemon runs there
    ):
        founder.client.call(schema.CREATE)
        founder.wait_state(State.SERVING)
        invite = founder.client.call(schema.INVITE, schema.InviteParams(people=2)).invite
        friend.client.call(schema.JOIN, schema.JoinParams(invite))
        friend.wait_for(lambda status: status.swarm is not None and status.swarm.span == _WHOLE)
        founder.client.call(schema.PAUSE, schema.PauseParams(None))
        founder.wait_for(lambda status: status.state is State.PAUSED and status.engine.pid is None)
        file = third.folder / "invite"
        file.write_text(invite)
        arguments = ("generate", "2 3 4 5", "--invite-file", str(file), "--max-new-tokens", "4")
        text = subprocess.run(
            [sys.executable, "-m", "potluck_cli.main", *arguments],
            env=third.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        assert text.returncode == 0, text.stderr
        assert founder.status().state is State.PAUSED
        founder.client.call(schema.RESUME)
        founder.wait_state(State.SERVING)
        assert not [process for process in founder.processes() if "--standby" in process.cmdline()]
