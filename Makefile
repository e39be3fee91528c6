# Needs GNU make 3.81 and Python 3.11 or newer; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input
PYTHON_IS_NEW := import sys; sys.exit(sys.version_info < (3, 11))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
# The tests start a few hundred processes, which read bytecode instead of compiling every source.
unexport PYTHONDONTWRITEBYTECODE
CAMPAIGNS := graphs eager capture calls files cache
.PHONY: help install demo test test-all quick docs browser coverage lint typecheck bench compare release array-api clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(VENV)/.installed-examples ## set up .venv, and nothing else
	@echo "Ready: source $(BIN)/activate"

demo: $(VENV)/.installed-examples ## set up, then train a classifier of handwritten digits
	$(BIN)/python examples/digits.py

test: lint typecheck ## set up, then run every check: ruff, mypy, pytest
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m 'not long'

test-all: test ## the same, all combinations, and a thousand random programs of every campaign: about an hour
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m long
	set -e; for one in $(CAMPAIGNS); do $(BIN)/staticgraph fuzz $$one; done

quick: lint ## ruff, and the tests but for those marked slow, in under three minutes
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m 'not slow and not long'

docs: $(VENV)/.installed-docs ## build the documentation site in docs/_build
	$(BIN)/python -m sphinx --fail-on-warning --builder html docs docs/_build

browser: $(VENV)/.installed-test ## the page of `view` in a headless browser; fails where there is none
	STATICGRAPH_TEST_BROWSER=1 $(BIN)/python -m pytest tests/staticgraph/view

coverage: $(VENV)/.installed-coverage ## which lines of the compiler and of the tape the tests of `quick` run: at least 97 % of each
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m 'not slow and not long' --cov --cov-report=html:out/coverage --cov-fail-under=0
	$(BIN)/coverage report --include='*/compiler/*'
	$(BIN)/coverage report --include='*/dynamic/tape/*'

lint: $(VENV)/.installed-test ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

typecheck: $(VENV)/.installed-test ## check the types
	$(BIN)/mypy --num-workers 2

bench: $(VENV)/.installed-examples ## measure a training step; against JAX with JAX=/path/to/its/python
	$(BIN)/python benchmarks/mlp_small.py $(if $(JAX),--jax $(JAX))

compare: $(VENV)/.installed-compare ## measure all workloads, against the peers that are installed
	$(BIN)/staticgraph compare --markdown docs/results.md --plot docs/results.svg

release: $(VENV)/.installed-release ## build wheel and sdist into dist/, and try each in a clean environment
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python .ci/tried.py dist/*.whl dist/*.tar.gz

array-api: $(VENV)/.installed-array-api ## count the cases of the array API's public test suite, which is cloned
	$(BIN)/python benchmarks/array_api.py

clean: ## remove .venv, caches and build products
	rm -rf $(VENV) build dist .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp per extra: nothing is installed again until pyproject.toml changes, or the file of the
# short name, of which an editable installation has a copy. Modules are compiled to bytecode when they
# are first imported: most of SciPy and scikit-learn never is.
$(VENV)/.installed-%: pyproject.toml dynamic/__init__.py | $(BIN)/pip staticgraph/compiler staticgraph/dynamic
	@echo "Installing staticgraph[$*] into $(VENV); the first time takes some minutes ..."
	@$(PIP) install --no-compile --editable '.[$*]'
	@touch $@

# What a clone has, but no source distribution.
staticgraph/compiler staticgraph/dynamic:
	ln -s ../$(@F) $@

# pip comes last, so a set-up that was interrupted starts again. The newest takes half as long to
# install the rest as the one that comes with Python 3.11.
$(BIN)/pip:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "error: $(PYTHON) was not found; name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c '$(PYTHON_IS_NEW)' || { \
	  echo "error: Python 3.11 or newer is needed, but $(PYTHON) is" \
	    "$$($(PYTHON) --version 2>&1); name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv --clear $(VENV) || { \
	  echo "error: $(PYTHON) -m venv failed (on Debian: apt install python3-venv)" >&2; exit 1; }
	@$(PIP) install --no-compile --upgrade pip
