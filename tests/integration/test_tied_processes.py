"""Commands that end with the process that started them; the tests of p2pd kill such a process."""

import subprocess

from potluck.processes import tied_to_parent


def test_a_tied_command_is_itself_the_child() -> None:
    with subprocess.Popen(tied_to_parent(["sh", "-c", 'echo $$ "$0"', "a b"]), stdout=subprocess.PIPE) as child:
        assert child.communicate()[0].decode() == f"{child.pid} a b\n"


def test_a_tied_command_does_not_run_below_another_parent() -> None:
    """As after the death of its own parent, which a kernel's signal would come too late for."""
    command = tied_to_parent(["echo", "started"])
    below = subprocess.run(["/bin/sh", "-c", '"$@"; true', "sh", *command], capture_output=True, check=True)
    assert (below.stdout, below.stderr) == (b"", b"")
