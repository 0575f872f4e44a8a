# Two commands: `make bench` measures, `make test` checks everything.
PYTHON ?= python3
VENV := .venv
BIN  := $(VENV)/bin
ENGINES ?= $(BIN)/python
UV   := VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv
PIP_COMPILE := $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --no-header
SOURCES := $(shell find impls/blockmark_impls/native -type f) CMakeLists.txt pyproject.toml

.PHONY: bench test corpus sanitize gate baseline stub lint types unit lock readme sample engines clean

bench: $(VENV)/.installed
	@echo "measuring: blockmark run decode, some 3 minutes on two idle cores; the report goes beside the run, into results/"
	$(BIN)/blockmark run decode

test: $(VENV)/.native lint types unit

# The proof held against classes that are each wrong in one way, those in C++ too: minutes.
corpus: $(VENV)/.native
	$(BIN)/blockmark verify --corpus

# The core with AddressSanitizer and UBSan, in an environment of its own: proofs, and the tests of
# the core. ThreadSanitizer watches the shared pools in tests/test_contention_native.py.
SANITIZED := build/sanitized
SITE = $$(ls -d $(SANITIZED)/venv/lib/python3*/site-packages)
sanitize: $(VENV)/.native $(VENV)/.dev
	$(PYTHON) -m venv --without-pip $(SANITIZED)/venv
	ls -d $(CURDIR)/$(VENV)/lib/python3*/site-packages > "$(SITE)/packages.pth"
	CXXFLAGS="-O0 -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined" \
	  BLOCKMARK_REQUIRE_NATIVE=1 VIRTUAL_ENV=$(CURDIR)/$(SANITIZED)/venv $(BIN)/uv pip install -q \
	  --no-build-isolation --no-deps --reinstall \
	  -C cmake.build-type=Debug -C build-dir=$(SANITIZED)/core .
	$(BIN)/python tests/native/sanitized.py $(SANITIZED)/venv/bin/python

# Counts that repeat to the last digit, against those that are stored. Skipped with a word
# where valgrind is missing or nothing is stored for this compiler.
gate: $(VENV)/.native
	$(BIN)/blockmark check --deterministic

# After a change that is meant to move them; commit what it writes.
baseline: $(VENV)/.native
	$(BIN)/blockmark check --store-counts results/baseline

# The core's types for mypy, as nanobind says them; commit it with a change of the bindings.
stub: $(VENV)/.native
	$(BIN)/python -m nanobind.stubgen -q --exclude-values -m blockmark_impls._native \
	  -p impls/blockmark_impls/native/stub.txt -o impls/blockmark_impls/_native.pyi

lint: $(VENV)/.native $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.native $(VENV)/.dev
	$(BIN)/mypy

# A process for each processor, and the tests of a file in one of them; then those that compare
# times, one after the other.
unit: $(VENV)/.native $(VENV)/.dev
	$(BIN)/python -m pytest -m 'not alone' --durations=15 --numprocesses logical --maxprocesses 4 --dist loadfile
	$(BIN)/python -m pytest -m alone --durations=5

# As a user types it, so that a document names the command that made its numbers.
BLOCKMARK := PATH="$(CURDIR)/$(BIN):$$PATH" blockmark

# reports/NAME anew from the run that lies in it. Older pictures go: some have other names today.
define report
	rm -f reports/$(1)/*.png reports/$(1)/*.svg
	$(BLOCKMARK) report reports/$(1)/run.json --output reports/$(1) $(2)

endef

# A run into reports/NAME: measured by the command, kept by its run.json.
define measure
	rm -rf build/sample
	$(2) --output build/sample
	mkdir -p reports/$(1)
	cp build/sample/0001/run.json reports/$(1)/run.json

endef

# Tables and pictures of README.md, docs/ and reports/ from the runs in reports/: what these
# commands print, never typed by hand.
readme: $(VENV)/.installed
	$(call report,decode,--splice docs/results.md)
	$(BLOCKMARK) report reports/decode/run.json --output reports/decode --splice README.md --brief
	$(call report,step-rate)
	$(if $(wildcard reports/scale-concurrency/run.json),$(call report,scale-concurrency))
	$(call report,capacity)
	$(call report,contention)
	$(BLOCKMARK) claims --run reports/claims/run.json --sensitivity --splice docs/claims.md
	$(BIN)/python tests/simulation/gate_simulation.py --splice docs/gate.md
	$(BIN)/python tests/simulation/interval_simulation.py --splice METHODOLOGY.md
	$(BLOCKMARK) verify --coverage --splice docs/verify.md
	$(BLOCKMARK) list reference --splice docs/reference.md
	$(call report,engine-pool,--splice docs/results.md --ladder)
	$(call report,engine-pool-fresh)
	$(call report,engines,--splice docs/engines.md --ladder)

# The engines' pools, managers and tables, and the ladders in docs/results.md and docs/engines.md:
# some 25 minutes, of which most is the import of torch. ENGINES is a Python that has the engines
# and blockmark; see docs/engines.md.
engines: $(VENV)/.installed
	$(call measure,engine-pool,$(ENGINES) -m blockmark run engine-pool)
	$(call measure,engine-pool-fresh,$(ENGINES) -m blockmark run engine-pool-fresh)
	$(call measure,engines,$(ENGINES) -m blockmark run engines)
	$(MAKE) readme

# Measure the samples in reports/ again, some 20 minutes, and put the new numbers into README.md and docs/.
sample: $(VENV)/.installed
	$(call measure,decode,$(BLOCKMARK) run decode --counters auto)
	$(call measure,step-rate,$(BLOCKMARK) run step-rate)
	$(call measure,scale-concurrency,$(BLOCKMARK) run scale-concurrency)
	$(call measure,capacity,$(BLOCKMARK) capacity)
	$(call measure,contention,$(BLOCKMARK) contention --rounds 5)
	$(call measure,claims,$(BLOCKMARK) claims --sensitivity)
	$(MAKE) readme

$(VENV)/.deps: requirements/bootstrap.lock requirements/build.lock requirements/run.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "blockmark needs Python >= 3.11; name one: make PYTHON=python3.x"; exit 1; }
	@echo "installing: an environment in $(VENV) and the locked packages, about a minute"
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
	@echo "compiling: the C++ core, one or two minutes where nothing of it is built yet"
	$(UV) pip install -q --no-build-isolation --no-deps -e .
	touch $@

# The same install, but a C++ error is an error: the tests must not pass on a
# silently missing core.
$(VENV)/.native: $(VENV)/.deps $(SOURCES)
	@echo "compiling: the C++ core, one or two minutes where nothing of it is built yet"
	BLOCKMARK_REQUIRE_NATIVE=1 $(UV) pip install -q --no-build-isolation --no-deps -e .
	touch $@ $(VENV)/.installed

lock: $(VENV)/.deps
	$(PIP_COMPILE) requirements/bootstrap.in -o requirements/bootstrap.lock
	$(PIP_COMPILE) pyproject.toml -o requirements/run.lock
	$(PIP_COMPILE) requirements/build.in -c requirements/run.lock -o requirements/build.lock
	$(PIP_COMPILE) --group dev -c requirements/run.lock -c requirements/build.lock -o requirements/dev.lock

clean:
	rm -rf $(VENV) build dist
