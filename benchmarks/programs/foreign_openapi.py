"""Requests that schemathesis makes of OpenAI's specification: nothing fails, and our answers match it. For pytest."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks.programs.foreign_fixtures import RemoteOpenAIServer

hypothesis: Any = import_module("hypothesis")  # only the tests' own packages have it
schemathesis: Any = import_module("schemathesis")
openapi: Any = import_module("schemathesis.specs.openapi.checks")

_OURS: Any = {"model": "a-model", "stream": False, "encoding_format": "float"}  # the schema knows no base64
_PATHS = r"^/(chat/completions|completions|responses|embeddings|models|models/\{model\})$"
_CHECKS = [schemathesis.checks.not_a_server_error, openapi.response_schema_conformance]
_schema = schemathesis.openapi.from_path(Path(os.environ["POTLUCK_FOREIGN"], "openai-openapi", "openapi.json"))
_operations = [found.ok() for found in _schema.include(path_regex=_PATHS).get_all_operations()]


@pytest.mark.parametrize("operation", _operations, ids=lambda operation: operation.label)
def test_answers_match(operation: Any) -> None:
    url = RemoteOpenAIServer(_OURS["model"], ()).url_for("v1")

    def ask(case: Any) -> None:
        if isinstance(case.body, dict):
            case.body |= {name: _OURS[name] for name in {*_OURS} & {"model", *case.body}}
        case.validate_response(case.call(base_url=url), checks=_CHECKS)

    checks = list(hypothesis.HealthCheck)
    limits = hypothesis.settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=checks)
    limits(hypothesis.given(case=operation.as_strategy())(ask))()
