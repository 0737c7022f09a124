# `make demo` and `make test` set everything up by themselves, from a bare clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One thread per test worker: two workers with two threads each are several times slower.
TEST_ENV := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test browser-test docs lint format clean
.DELETE_ON_ERROR:

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "smallloss needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)
	$(BIN)/smallloss clean digits --out runs/digits

test: lint
	$(TEST_ENV) $(BIN)/python -m pytest -n 2

# Opens a report in Chromium; skipped, with the reason, where chromium and chromium-driver are not installed.
browser-test: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	$(TEST_ENV) $(BIN)/python -m pytest -rs tests/browser

# The documentation as a site, build/site/index.html; a dead link or anything loaded from outside fails it.
docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs,browser]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python -m pytest -rs tests/browser/test_site.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf runs build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
