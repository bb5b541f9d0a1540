# Everything runs in a local environment, .venv, made on first use. Needed: Python >= 3.11, make and git. A C++ compiler
# is used when there is one.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto
NATIVE := $(wildcard src/counterpoise/native/*.* src/counterpoise/native/*/*)
unexport PYTHONDONTWRITEBYTECODE # the tests start many processes: what is compiled once is kept

.PHONY: demo test quick check lint types tests sanitize mutants docs bench format build clean

demo: $(VENV)/demo.stamp
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/counterpoise tour

test: check

check: lint types tests

# While working: lint and the fast identities, in less than a minute on two cores. The list is .ci/quick.txt.
quick: lint
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(JOBS) @.ci/quick.txt

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.stamp
	$(BIN)/mypy

tests: $(VENV)/test.stamp
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m slipcover --source src --skip-covered -m pytest -q -n $(JOBS) --dist worksteal

# The tests of the native code once more, with AddressSanitizer and UndefinedBehaviorSanitizer, where the compiler has them.
sanitize: $(VENV)/test.stamp
	@$(BIN)/pip install -q 'setuptools>=77' # builds outside of pip, where pyproject.toml's own is not installed
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 JOBS=$(JOBS) $(BIN)/python .ci/sanitize.py

# A sample of small changes of the source, and whether a test notices each: hours for all 300. MUTANTS="--only PATH --count 30"
mutants: $(VENV)/test.stamp
	$(BIN)/python .ci/mutants.py --jobs $(JOBS) $(MUTANTS)

docs: $(VENV)/test.stamp
	$(BIN)/mkdocs build
	@echo "site/index.html"

bench: $(VENV)/test.stamp
	$(BIN)/counterpoise bench
	$(BIN)/python benchmarks/plants.py

format: $(VENV)/test.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

build: $(VENV)/test.stamp
	$(BIN)/pip install -q build
	$(BIN)/python -m build

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "counterpoise needs Python 3.11 or newer; run: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }
	@$(BIN)/python -m pip install -q --upgrade pip

$(VENV)/demo.stamp: $(VENV)/bin/python pyproject.toml setup.py $(NATIVE)
	@echo "Installing counterpoise, MuJoCo and what its pages need into $(VENV) (90 MB to download) ..."
	@$(BIN)/pip install -q -e '.[sim,report]'
	@touch $@

$(VENV)/test.stamp: $(VENV)/bin/python pyproject.toml setup.py $(NATIVE)
	@echo "Installing counterpoise and its test tools into $(VENV) (420 MB to download; Pinocchio and MuJoCo are the oracles) ..."
	@$(BIN)/pip install -q -e '.[test]'
	@touch $@ $(VENV)/demo.stamp

clean:
	rm -rf $(VENV) build dist site src/*.egg-info src/counterpoise/_native*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
