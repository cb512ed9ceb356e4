# Every target sets up what it needs in .venv by itself; a second run starts in seconds.
#   PYTHON=/path/to/python   the interpreter to make .venv with (3.11 to 3.13; the first suitable one otherwise)
#   TORCH=torch==2.13.0      what to install before everything else; pip's own configuration says from where
#   PROMPT, FIGURE, TESTS, SCREEN   see the targets

export TORCH ?= torch==2.13.0
export PYTHON
# Hundreds of processes of the tests would compile the whole product again.
unexport PYTHONDONTWRITEBYTECODE
# Raw and through the environment only: a prompt may hold dollars, quotes, anything.
ifdef PROMPT
override export PROMPT := $(value PROMPT)
endif
SHELL := /bin/bash
VENV := .venv
PY := $(VENV)/bin/python
PYTEST := $(PY) -m pytest -q -rfEs
# Much of a test's time is waiting for other processes, so three files are tried at once whatever the number of cores.
# The folders whose files take longest come first.
SIDE_BY_SIDE := -n3 --dist=loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo test test-system check bench gpu soak screenshots manual translations installer clean programs

help: ## what each target does
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /|/' | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(VENV)/.engine ## a private swarm on this machine, generating; PROMPT="..." takes any prompt
	@$(PY) -m benchmarks.demo

# The slowest of these takes a minute on a busy machine; where one hangs, the rest of its file often does.
test: check programs ## checks, unit and integration tests; TESTS="tests/unit/cli -x" for a part, with -n0 one by one
	$(PYTEST) $(SIDE_BY_SIDE) --timeout=150 $(or $(TESTS),tests/e2e tests/integration tests/unit)

test-system: $(VENV)/.dev programs ## tests of the installed product: packages, services, faults
	$(PYTEST) $(SIDE_BY_SIDE) $(or $(TESTS),tests/faults tests/system)

check: $(VENV)/.dev ## style, types and which package may import which
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: $(VENV)/.dev programs ## measure all figures, or one: FIGURE=hop_first (at most five minutes each)
	@$(PY) -m benchmarks $(FIGURE)

gpu: ## tests and figures that need a GPU, installing nothing; PART="kernels speed" for some; OUT=folder for results
	@PYTHON=$${PYTHON:-$$(ls $(PY) 2>/dev/null || echo python3)} benchmarks/gpu/run $(if $(OUT),--out "$(OUT)") $(PART)

soak: $(VENV)/.dev programs ## long tests and all figures, or one figure, with full counts; writes benchmarks/results/
	$(if $(FIGURE),,$(PYTEST) -m soak tests)
	@$(PY) -m benchmarks --soak $(FIGURE)

screenshots: $(VENV)/.dev programs ## make the pictures of docs/screenshots/ from the real thing, or SCREEN="rules-dark"
	$(if $(SCREEN),,@$(PY) docs/killed.py)
	@PYTHONPATH=tests $(PY) docs/screenshots.py $(SCREEN)

manual: $(VENV)/.dev ## write the manual pages and docs/commands.md anew, from the commands themselves
	$(PY) -m installer.manual .

translations: $(VENV)/.dev ## collect texts for translators and compile what they wrote
	@$(PY) .ci/translations

installer: $(VENV)/.dev ## packages for people, into dist/; APT_KEY=KEY: with a signed apt repository
	@$(PY) -m installer $(if $(APT_KEY),--apt-key $(APT_KEY))

clean: ## remove the environment, caches and build outputs
	rm -rf $(VENV) .cache build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

# As root, or with CI=true, it installs the Debian packages that tests need; else it names them, and those tests skip.
programs: $(VENV)/.dev
	@$(PY) tests/programs.py

# The stamps are newer than what they were made from, so an unchanged pyproject.toml means nothing to do.
$(VENV)/.torch: .ci/venv Makefile
	@.ci/venv torch

$(VENV)/.engine: pyproject.toml $(VENV)/.torch
	@.ci/venv engine

$(VENV)/.dev: pyproject.toml $(VENV)/.torch
	@.ci/venv dev
