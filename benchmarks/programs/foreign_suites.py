"""Other projects' tests before our gateway: `foreign_suites`.

They are llama.cpp's server tests, vLLM's tests of a server for OpenAI's and Anthropic's clients, and OpenAI's
specification by schemathesis. Their sources are checkouts in the folder that POTLUCK_FOREIGN names; what is absent is
cloned. `foreign_fixtures` puts the gateway where they start servers of their own, and `foreign_verdicts.toml` says what
is known of tests that don't pass.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks import ROOT
from benchmarks.figures import Measured, figure

_CACHE = ROOT / ".cache" / "foreign_suites"
_REPOSITORIES = ("ggml-org/llama.cpp", "vllm-project/vllm", "openai/openai-openapi")
_PACKAGES = (
    *("aiohttp", "anthropic", "fastapi", "filelock", "jsonschema", "prometheus-client", "pybase64"),
    *("pytest-asyncio", "pytest-timeout", "regex", "schemathesis", "wget"),
)
_LLAMA, _VLLM = "llama.cpp/tools/server/tests", "vllm"
_VLLM_TESTS = ("tests/entrypoints/openai", "tests/entrypoints/anthropic", "tests/tool_use")
_ASKS = r"RemoteOpenAIServer|client: "  # words in tests of vLLM's that ask a server
_PYTEST = (
    *(sys.executable, "-P", "-m", "pytest", "-q", "-p", "benchmarks.programs.foreign_fixtures", "-c", os.devnull),
    *("--rootdir=.", "-o", "asyncio_mode=auto", "--timeout=120", "--continue-on-collection-errors"),
)
_TIMEOUT_S = 3000.0
_NONE = ("", False)


@figure("foreign_suites", unit="tests", reach=5)
def real_differences(soak: bool) -> Measured:
    """Tests of llama.cpp's server, vLLM's server and OpenAI's specification that show a difference of ours.

    In soak the tests run, adapted by fixtures alone, from the folder `$POTLUCK_FOREIGN` or cloned into `.cache`;
    those that `foreign_verdicts.toml` counts out, each for a reason, do not count. Otherwise the known differences
    of that list are counted.
    """
    verdicts = _verdicts()
    if not soak:
        listed = [reason for _, reason, is_ours in verdicts if is_ours]
        return Measured(len(listed), {"listed": listed})
    outcomes = _run(verdicts)
    judged = {test: _verdict(test, verdicts) for test, outcome in outcomes.items() if outcome == "failed"}
    known = {test: reason for test, (reason, is_ours) in judged.items() if is_ours}
    new = [test for test, verdict in judged.items() if verdict == _NONE]
    detail = {"known": known, "new": new, **Counter(outcomes.values())}
    return Measured(len(known) + len(new), detail, holds="passed" in detail)


_Verdict = tuple[re.Pattern[str], str, bool]  # a pattern of tests, the reason, whether it is ours to mend


def _verdicts() -> list[_Verdict]:
    """Read the list. A pattern names a folder, a file or a test with all of its parameters; `*` is any text."""
    read = tomllib.loads(Path(__file__).with_name("foreign_verdicts.toml").read_text())
    return [
        (re.compile(re.escape(pattern).replace(r"\*", ".*") + r"(?!\w)"), reason, group == "difference")
        for group in ("difference", "elsewhere")
        for reason, patterns in read[group].items()
        for pattern in patterns
    ]


def _verdict(test: str, verdicts: list[_Verdict]) -> tuple[str, bool]:
    return next(((reason, is_ours) for pattern, reason, is_ours in verdicts if pattern.match(test)), _NONE)


def _run(verdicts: list[_Verdict]) -> dict[str, str]:
    """Return the outcome of each test: passed, failed or skipped. Raises CalledProcessError if a source is absent."""
    sources = Path(os.environ.get("POTLUCK_FOREIGN", _CACHE))
    sources.mkdir(parents=True, exist_ok=True)
    for repository in _REPOSITORIES:
        if not (sources / Path(repository).name).exists():
            command = ("git", "clone", "-q", "--depth=1", f"https://github.com/{repository}")
            subprocess.run(command, cwd=sources, check=True)
    packages = _CACHE / "packages"
    if not packages.exists():
        subprocess.run((sys.executable, "-m", "pip", "-qq", "install", "--target", packages, *_PACKAGES), check=True)
    places = [*(ROOT / part for part in (".", "daemon", "app")), packages]
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder, "outcomes")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, places)),
            "POTLUCK_FOREIGN": str(sources),
            "POTLUCK_FOREIGN_OUTCOMES": str(outcomes),
        }
        for root, files in (
            (sources / _LLAMA, _files(sources / _LLAMA, ("unit",), "", verdicts)),
            (sources / _VLLM, _files(sources / _VLLM, _VLLM_TESTS, _ASKS, verdicts)),
            (ROOT, iter(("benchmarks/programs/foreign_openapi.py",))),
        ):
            subprocess.run((*_PYTEST, *files), cwd=root, env=environment, timeout=_TIMEOUT_S)
        return dict(json.loads(line) for line in outcomes.read_text().splitlines())


def _files(root: Path, folders: tuple[str, ...], asks: str, verdicts: list[_Verdict]) -> Iterator[str]:
    """Yield the files with tests, without those that are wholly elsewhere."""
    for folder in folders:
        for path in sorted((root / folder).rglob("test_*.py")):
            name = str(path.relative_to(root))
            if re.search(asks, path.read_text()) and not _verdict(name, verdicts)[0]:
                yield name
