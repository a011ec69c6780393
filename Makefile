# `make demo` sets up what a user needs in .venv-demo, `make test` what a developer needs in .venv.
# Neither needs a compiler.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEMO   := .venv-demo
DEMO_READY := $(DEMO)/.ready
DOCS   := .venv-docs
DOCS_READY := $(DOCS)/.ready
PIP    := -m pip install --quiet --disable-pip-version-check

.PHONY: demo test lint types check quick docs bench fuzz browser java clean python

python:
	@$(PYTHON) -c 'import sys; sys.exit("liftgbp needs Python 3.11 or newer; run make PYTHON=python3.11") if sys.version_info < (3, 11) else None'

# pynauty, which the tests compare with, is compiled; without a compiler those tests are skipped.
$(READY): pyproject.toml | python
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -e '.[dev]'
	@$(BIN)/python $(PIP) -e '.[oracle]' >/dev/null 2>&1 || echo 'pynauty cannot be installed here; tests that compare with it are skipped'
	@touch $(READY)

# Pictures need Matplotlib. Byte code is left to the first run, which needs a small part of it.
$(DEMO_READY): pyproject.toml $(shell find src -name '*.py' -o -name '*.lark') | python
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python $(PIP) --no-compile '.[plot]'
	@touch $(DEMO_READY)

# An answer that is unconfirmed has exit code 6: no sample reaches a million objects.
demo: $(DEMO_READY)
	@echo
	@echo 'One rule: if x comes before y, and y before z, then x comes before z.'
	@echo 'A million objects, and nothing tells them apart. What do such relations look like?'
	@echo
	$(DEMO)/bin/liftgbp query example:transitive -n person=1000000 --blocks-plot demo.svg || test $$? -eq 6
	@echo
	@echo 'They fall into three layers, which no rule mentions: a quarter of the objects below, half of them'
	@echo 'in between, a quarter on top. So do nearly all partial orders (Kleitman and Rothschild 1975).'
	@echo 'The picture is demo.svg.'

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# Workers share the processors; threads of linear algebra on top would wait for each other.
check: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

# A minute's tests, of every room.
quick: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m 'not slow and not spark and not browser and not fuzz'

$(DOCS_READY): pyproject.toml | python
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python $(PIP) -e '.[docs]'
	@touch $(DOCS_READY)

# The site is build/site/index.html. The tests build it, too.
docs: $(DOCS_READY)
	$(DOCS)/bin/python -m sphinx -q -E -W -n -b html docs build/site

test: lint types check

bench: $(READY)
	$(BIN)/python -m benchmarks

# Hostile inputs, as long as MINUTES says.
MINUTES ?= 60
fuzz: $(READY)
	$(BIN)/python tests/fuzz/hunting.py --minutes $(MINUTES) --seed $$(date +%s) --jobs 2

# What the tests draw pictures with, on Debian. Without it, those tests are skipped.
browser:
	apt-get install --yes --no-install-recommends chromium fonts-dejavu-core

# What the engine Spark runs on, on Debian. Without it, its test is skipped.
java:
	apt-get install --yes --no-install-recommends default-jre-headless

clean:
	rm -rf $(VENV) $(DEMO) $(DOCS) demo.svg build .mypy_cache .pytest_cache .ruff_cache .hypothesis
