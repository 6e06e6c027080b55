PYTHON ?= python3
VENV   := .venv
OSCE   := $(VENV)/bin/osce

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

perf: $(VENV)/.core  ## measure our own speed (perf/README.md)
	$(VENV)/bin/python perf/builtin_roles.py

clean:  ## remove the virtual environment and the demo run
	rm -rf $(VENV) runs/demo

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.core
