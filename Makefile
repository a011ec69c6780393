# `make demo` and `make test` set up everything they need in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test lint types check bench clean

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("liftgbp needs Python 3.11 or newer; run make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(READY)

demo: $(READY)
	$(BIN)/liftgbp query models/friends-smokers.mln -n person=1000000 -q 'friends(x,y)' -q 'smokes(x)'

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

check: $(READY)
	$(BIN)/python -m pytest -n auto

test: lint types check

bench: $(READY)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
