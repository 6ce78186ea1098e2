# `make help` lists the targets; `make check` and `make test` are exactly what CI runs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Twice the cores: most of the longer tests wait for processes, clocks and servers.
TEST_WORKERS ?= $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')

.DEFAULT_GOAL := help
.PHONY: help install run test test-debian test-large browser pooler pictures check format bench lock schema clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

install: $(READY) ## Make .venv with Rota and all that running, testing and benchmarking need

$(READY): pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"Rota needs Python 3.11 or newer, got {v.major}.{v.minor}. Try: make PYTHON=python3.12 install")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

run: install ## Show Rota at work: a throw-away server with sample schedules, firing live
	$(BIN)/rota demo

# Each worker, and each program that tests start, would compile all modules again.
test: export PYTHONDONTWRITEBYTECODE =
test: install browser pooler ## Run every test
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal

test-debian: install ## Run the tests of the database and the API on Debian's own PostgreSQL, jit and all
	$(BIN)/python -m tests.debian -n $(TEST_WORKERS) --dist worksteal tests/db tests/api

test-large: install ## Run the tests that take the promised numbers: 50,000 at one instant, 1,000,000 of one tenant
	$(BIN)/python -m pytest -m large tests/failures

browser: install ## See to it that there is a Chromium for the tests of the dashboard
	@$(BIN)/python -m tests.browser.chromium

pooler: install ## See to it that there is a PgBouncer for the tests of connection poolers
	@$(BIN)/python -m tests.process.pgbouncer

pictures: install browser ## Take the pictures of the dashboard in docs/images anew
	$(BIN)/python -m tests.browser.pictures

check: install ## Format, lint, types, import layers, freshness of schema.sql
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m rota.db.schema

format: install ## Put the code in shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install ## Run the benchmarks beside peers; writes bench/RESULTS.md
	$(BIN)/python -m bench

schema: install ## Write schema.sql anew, from all migrations
	$(BIN)/python -m rota.db.schema --write

lock: install ## Pin every dependency again: names, versions and hashes, no addresses
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --extra dev --no-emit-package rota pyproject.toml --output-file requirements.lock

clean: ## Remove what was built
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
