"""Set-up of typical computers, against a dated listing of the index; and the check itself."""

import json

from potluck_daemon.environment.hardware import Hardware
from potluck_daemon.environment.plan import requirements_of

from benchmarks.installing.machines import LISTING, MACHINES, installable, missing

FILES = json.loads(LISTING.read_text())["files"]


def test_set_up_ends_with_packages_that_can_be_had_on_every_typical_computer() -> None:
    measured = installable(soak=False)
    assert [name for name, kind in measured.detail["machines"].items() if kind == "nothing"] == []
    assert measured.value == len(MACHINES) == 20


def test_files_for_another_python_or_processor_or_an_older_c_library_do_not_count() -> None:
    text = requirements_of("cu130").read_text()
    assert missing(text, FILES, Hardware(glibc=(2, 36), python=(3, 12))) == []
    assert "torch==2.13.0" in missing(text, FILES, Hardware(glibc=(2, 36), python=(3, 10)))
    assert "torch==2.13.0" in missing(text, FILES, Hardware(glibc=(2, 17), python=(3, 12)))
    assert "torch==2.13.0" in missing(text, FILES, Hardware(glibc=(2, 36), architecture="riscv64", python=(3, 12)))
    assert missing("nothing-like-it==1.0 \\\n", FILES, Hardware(glibc=(2, 36))) == ["nothing-like-it==1.0"]
    assert missing("nothing==1.0 ; sys_platform == 'win32' \\\n", FILES, Hardware(glibc=(2, 36))) == []
