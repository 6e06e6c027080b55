PYTHON ?= python3
VENV   := .venv
OSCE   := $(VENV)/bin/osce
# Our peers have a place of their own: what they need does not go together with every extra of ours.
VENV_PERF := .venv-perf

.PHONY: help demo test check perf clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/.core  ## run the twelve starter cases without a key: table and report in runs/demo
	@rm -rf runs/demo
	$(OSCE) run craft-md --doctor builtin/interviewer --patient builtin/record --grader builtin/lexicon \
		--cases starter --trials 2 --out runs/demo

test: $(VENV)/.dev  ## run the tests
	$(VENV)/bin/python -m pytest

check: $(VENV)/.dev  ## ruff (lint and format) and mypy --strict
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy --strict

perf: $(VENV_PERF)/.installed  ## measure our own speed beside our peers', about 15 minutes (perf/README.md)
	$(VENV_PERF)/bin/python perf/builtin_roles.py
	$(VENV_PERF)/bin/python perf/peers.py
	$(VENV_PERF)/bin/python perf/curves.py
	$(VENV_PERF)/bin/python perf/kill.py --kills 30

clean:  ## remove the virtual environments and the demo run
	rm -rf $(VENV) $(VENV_PERF) runs/demo

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.core

$(VENV_PERF)/bin/python:
	$(PYTHON) -m venv $(VENV_PERF)

$(VENV_PERF)/.installed: pyproject.toml | $(VENV_PERF)/bin/python
	$(VENV_PERF)/bin/pip install --quiet --disable-pip-version-check --editable '.[perf]'
	@touch $@
