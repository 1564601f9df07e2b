# Needs Python 3.10 or later and make. Everything else goes into .venv, which the first target makes.

PYTHON ?= python3
VENV := .venv
PACKAGE := $(VENV)/package
INSTALLED := $(VENV)/installed
BIN := $(VENV)/bin

.PHONY: help demo test test-full check docs experiments clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

demo: $(PACKAGE) ## multiply a real matrix by itself in six loop orders; into out/demo
	$(BIN)/python experiments/demo.py

test: $(INSTALLED) ## the tests, with a fifth or less of the examples of each property
	HYPOTHESIS_PROFILE=quick SAM_CFLAGS=-O0 $(BIN)/python -m pytest -n 2 --dist worksteal

test-full: $(INSTALLED) ## the tests, with all examples
	HYPOTHESIS_PROFILE=full $(BIN)/python -m pytest -n 2

check: $(INSTALLED) ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(INSTALLED) ## the pages and the reference of the Python interface as a site; into out/site
	$(BIN)/mkdocs build --strict

experiments: $(PACKAGE) ## the tables and figures; into out
	$(BIN)/python -m experiments

clean: ## remove the virtual environment and all that was made
	rm -rf $(VENV) out build *.egg-info .hypothesis .pytest_cache .mypy_cache .ruff_cache

$(PACKAGE): pyproject.toml
	@echo "installing the package and what it needs into $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --editable .
	@touch $@

$(INSTALLED): $(PACKAGE)
	@echo "installing what the tests need into $(VENV)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	@touch $@
