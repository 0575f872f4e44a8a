# Two commands: `make bench` measures, `make test` checks everything.
PYTHON ?= python3
VENV := .venv
BIN  := $(VENV)/bin
ENGINES ?= $(BIN)/python
UV   := VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv
PIP_COMPILE := $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --no-header
SOURCES := $(shell find impls/blockmark_impls/native -type f) CMakeLists.txt pyproject.toml

.PHONY: bench test corpus gate baseline lint types unit lock readme sample engines clean

bench: $(VENV)/.installed
	$(BIN)/blockmark run decode

test: $(VENV)/.native lint types unit

# The proof held against classes that are each wrong in one way, those in C++ too: minutes.
corpus: $(VENV)/.native
	$(BIN)/blockmark verify --corpus

# Counts that repeat to the last digit, against those that are stored. Skipped with a word
# where valgrind is missing or nothing is stored for this compiler.
gate: $(VENV)/.native
	$(BIN)/blockmark check --deterministic

# After a change that is meant to move them; commit what it writes.
baseline: $(VENV)/.native
	$(BIN)/blockmark check --store-counts results/baseline

lint: $(VENV)/.native $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.native $(VENV)/.dev
	$(BIN)/mypy

# A process for each processor, and the tests of a file in one of them; then those that compare
# times, one after the other.
unit: $(VENV)/.native $(VENV)/.dev
	$(BIN)/python -m pytest -m 'not alone' --numprocesses logical --maxprocesses 4 --dist loadfile
	$(BIN)/python -m pytest -m alone

# The table in README.md is what this command printed, never typed by hand.
readme: $(VENV)/.installed
	PATH="$(CURDIR)/$(BIN):$$PATH" blockmark report reports/decode/run.json --output reports/decode --splice README.md
	PATH="$(CURDIR)/$(BIN):$$PATH" blockmark report reports/step-rate/run.json --output reports/step-rate
	PATH="$(CURDIR)/$(BIN):$$PATH" blockmark claims --run reports/claims/run.json --sensitivity --splice docs/claims.md
	$(BIN)/python tests/simulation/gate_simulation.py --splice docs/gate.md
	$(BIN)/python tests/simulation/interval_simulation.py --splice METHODOLOGY.md
	PATH="$(CURDIR)/$(BIN):$$PATH" blockmark verify --coverage --splice docs/verify.md
	PATH="$(CURDIR)/$(BIN):$$PATH" blockmark report reports/engine-pool/run.json --output reports/engine-pool --splice README.md --ladder
	PATH="$(CURDIR)/$(BIN):$$PATH" blockmark report reports/engine-pool-fresh/run.json --output reports/engine-pool-fresh
	PATH="$(CURDIR)/$(BIN):$$PATH" blockmark report reports/engines/run.json --output reports/engines --splice docs/engines.md --ladder

# The engines' pools, managers and tables, and the ladders in README.md and docs/engines.md:
# some 25 minutes, of which most is the import of torch. ENGINES is a Python that has the engines
# and blockmark; see docs/engines.md.
engines: $(VENV)/.installed
	$(ENGINES) -m blockmark run engine-pool --report reports/engine-pool
	cp "$$(ls -d results/[0-9]* | tail -n 1)/run.json" reports/engine-pool/run.json
	$(ENGINES) -m blockmark run engine-pool-fresh --rounds 3 --report reports/engine-pool-fresh
	cp "$$(ls -d results/[0-9]* | tail -n 1)/run.json" reports/engine-pool-fresh/run.json
	$(ENGINES) -m blockmark run engines --report reports/engines
	cp "$$(ls -d results/[0-9]* | tail -n 1)/run.json" reports/engines/run.json
	$(MAKE) readme

# Measure again, and put the new numbers into the sample reports and README.md.
sample: $(VENV)/.installed
	$(BIN)/blockmark run decode --counters auto --report reports/decode
	cp "$$(ls -d results/[0-9]* | tail -n 1)/run.json" reports/decode/run.json
	$(BIN)/blockmark run step-rate --rounds 3 --report reports/step-rate
	cp "$$(ls -d results/[0-9]* | tail -n 1)/run.json" reports/step-rate/run.json
	$(BIN)/blockmark capacity --report reports/capacity
	cp "$$(ls -d results/[0-9]* | tail -n 1)/run.json" reports/capacity/run.json
	$(BIN)/blockmark contention --rounds 3 --report reports/contention
	cp "$$(ls -d results/[0-9]* | tail -n 1)/run.json" reports/contention/run.json
	$(BIN)/blockmark claims --sensitivity
	cp "$$(ls -d results/[0-9]* | tail -n 1)/run.json" reports/claims/run.json
	$(MAKE) readme

$(VENV)/.deps: requirements/bootstrap.lock requirements/build.lock requirements/run.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "blockmark needs Python >= 3.11; name one: make PYTHON=python3.x"; exit 1; }
	$(PYTHON) -m venv --without-pip --clear $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install -q --require-hashes -r requirements/bootstrap.lock
	$(UV) pip install -q --compile-bytecode --require-hashes -r requirements/build.lock -r requirements/run.lock
	touch $@

$(VENV)/.dev: $(VENV)/.deps requirements/dev.lock
	$(UV) pip install -q --compile-bytecode --require-hashes -r requirements/dev.lock
	touch $@

# No isolation: an isolated build dir changes its path each time, so nothing
# would ever be rebuilt incrementally.
$(VENV)/.installed: $(VENV)/.deps $(SOURCES)
	$(UV) pip install -q --no-build-isolation --no-deps -e .
	touch $@

# The same install, but a C++ error is an error: the tests must not pass on a
# silently missing core.
$(VENV)/.native: $(VENV)/.deps $(SOURCES)
	BLOCKMARK_REQUIRE_NATIVE=1 $(UV) pip install -q --no-build-isolation --no-deps -e .
	touch $@ $(VENV)/.installed

lock: $(VENV)/.deps
	$(PIP_COMPILE) requirements/bootstrap.in -o requirements/bootstrap.lock
	$(PIP_COMPILE) pyproject.toml -o requirements/run.lock
	$(PIP_COMPILE) requirements/build.in -c requirements/run.lock -o requirements/build.lock
	$(PIP_COMPILE) --group dev -c requirements/run.lock -c requirements/build.lock -o requirements/dev.lock

clean:
	rm -rf $(VENV) build dist
