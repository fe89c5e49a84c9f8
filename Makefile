# `make demo` and `make test` need Python 3.11 or newer and nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
INSTALLED := $(VENV)/.installed
TIMES := $(VENV)/.times
TIMED := $(BIN)/python scripts/timed.py $(TIMES)
SITE_TOOLS := $(VENV)/.site-tools
BROWSER := $(VENV)/.browser
CORE := core explore findings model
THREADS := tests/threads tests/cpython tests/test_thread_examples.py
APART := tests/plugin $(THREADS)
ELSEWHERE := tests/plugin tests/test_other_systems.py tests/test_papers.py \
	tests/test_litmus.py $(THREADS) tests/analyses \
	$(addprefix tests/actors/test_,semantics.py findings.py abs_translation.py) \
	$(addprefix tests/networks/test_,controllers.py os_ken.py) \
	$(addprefix tests/workers/test_,budgets.py checkpoint.py command.py) \
	$(addprefix tests/tasks/test_,findings.py oracles.py refusals.py time.py)
IF_COMPILED := tests/test_papers.py tests/test_regressions.py tests/test_examples.py tests/test_litmus.py \
	tests/test_golden.py tests/test_compiled.py tests/plugin tests/threads

.DEFAULT_GOAL := help
.PHONY: help demo test fast coverage litmus bench speed compiled engines mutation docs outputs pictures editor format clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(RUNS): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed: make PYTHON=python3.12"; exit 1; }
	@echo "installing into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e .
	@touch $@

$(INSTALLED): $(RUNS)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
	@touch $@

$(SITE_TOOLS): $(INSTALLED)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[docs]'
	@touch $@

$(BROWSER): $(INSTALLED) scripts/browser.sh
	@BIN=$(BIN) sh scripts/browser.sh
	@touch $@

demo: $(RUNS)  ## find a bug, then prove that it is gone
	@BIN=$(BIN) sh scripts/demo.sh

test: $(SITE_TOOLS) $(BROWSER)  ## everything that CI checks
	@rm -f $(TIMES)
	@$(TIMED) style $(BIN)/ruff check --quiet
	@$(TIMED) format $(BIN)/ruff format --check --quiet
	@$(TIMED) types $(BIN)/mypy --no-error-summary
	@$(TIMED) layers $(BIN)/python scripts/layers.py
	@$(TIMED) tests $(BIN)/python scripts/run_tests.py tests src -- -m "not minutes"
	@TIMED="$(TIMED)" TESTS="$(ELSEWHERE)" sh scripts/other-pythons.sh
	@$(TIMED)

fast: $(INSTALLED)  ## the tests that take seconds
	@$(BIN)/python scripts/run_tests.py tests src -- -m "not slow and not minutes"

coverage: $(INSTALLED)  ## what the tests run of the core: 95 % at least (minutes; slows tests down four times)
	@$(BIN)/pytest -n 2 -m "not slow and not minutes" $(APART:%=--ignore=%) \
		$(CORE:%=--cov=treadle.%) --cov-report=term:skip-covered --cov-fail-under=95

litmus: $(INSTALLED)  ## all 8049 litmus tests (minutes)
	@$(BIN)/pytest tests/test_litmus.py tests/threads/test_litmus.py -m slow

bench: $(INSTALLED)  ## the paper's tables, ours beside theirs (minutes)
	@$(BIN)/treadle bench --paper jacm17

speed: $(INSTALLED)  ## executions per second, growth and memory (minutes)
	@$(BIN)/python benchmarks/speed.py
	@$(BIN)/python benchmarks/threads_speed.py

compiled:  ## the core and the scheduler compiled by mypyc: build, test, measure (needs a C compiler; minutes)
	@$(PYTHON) -m venv .venv-compiled
	@.venv-compiled/bin/python -m pip install -qq --disable-pip-version-check 'setuptools>=77' '.[dev]'
	@rm -rf build  # what an earlier list had compiled would be installed as well
	@TREADLE_COMPILE=1 .venv-compiled/bin/python -m pip install -qq --disable-pip-version-check \
		--no-build-isolation --no-deps --force-reinstall .
	@.venv-compiled/bin/python scripts/run_tests.py $(IF_COMPILED) -- -m "not slow and not minutes"
	@.venv-compiled/bin/python benchmarks/speed.py --quick
	@.venv-compiled/bin/python benchmarks/compiled_speed.py

engines:  ## Ray and Dask, each a local cluster of two workers (installs them; minutes)
	@$(PYTHON) -m venv .venv-engines
	@.venv-engines/bin/python -m pip install -qq --disable-pip-version-check -e '.[ray,dask,pytest]' hypothesis
	@PYTHONHASHSEED=0 RAY_AUTH_MODE=disabled .venv-engines/bin/pytest tests/engines -W default -p no:cacheprovider

mutation: $(INSTALLED)  ## remove each line that carries soundness: some test must fail
	@$(BIN)/python scripts/mutation.py

docs: $(SITE_TOOLS)  ## build the documentation's site into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html is ready; search needs a server: $(BIN)/python -m http.server -d site"

outputs: $(INSTALLED)  ## put what is really printed into the documentation
	@$(BIN)/python tests/test_docs.py

editor:  ## put CodeMirror into one file for `treadle web` again (needs npm)
	@cd scripts/editor && npm ci --silent --ignore-scripts && npm run --silent build

pictures: $(BROWSER)  ## take the documentation's pictures of pages again
	@$(BIN)/python scripts/pictures.py

format: $(INSTALLED)  ## format the code
	@$(BIN)/ruff format --quiet
	@$(BIN)/ruff check --fix --quiet

clean:  ## remove what the other targets made
	rm -rf $(VENV) .venv-3.* .venv-compiled .venv-engines build site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -prune -exec rm -rf {} +
