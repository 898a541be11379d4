# Every target makes its own environment first; nothing needs to be installed by hand but
# Python 3.11 or later and make.

PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start many processes; modules that are compiled once start quicker.
export PYTHONDONTWRITEBYTECODE :=

# The longest first, so that no long group is left for the end.
GROUPS := test-staff-screens test-screens test-rest test-house test-cli test-sim test-api test-rules test-log check

.PHONY: run quick test calm versions tools $(GROUPS) built-screens check-screens format docs screens bench bench-screens soak faults mutants citations clauses pictures playthroughs contract generated clean

# Python for browsers, which the live odds page of the documentation loads.
PYODIDE := build/pyodide/.fetched

# The npm packages of the screens: a target of its own, so that groups at the same time do not both install them.
PACKAGES := screens/node_modules/.installed-from

run: .venv/installed
	$(BIN)/threedice serve --demo

# What to run while you work: under a minute once everything is installed.
quick: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src
	$(BIN)/pytest -q tests/rulebook tests/table tests/odds

# Five groups at a time keep two cores busy: tests of screens mostly wait. Each prints its output when it is done.
# The screens are built before, so that two groups do not both build them.
test: export THREEDICE_REQUIRE_ALL := 1
test: .venv/ready tools built-screens $(PYODIDE)
	$(MAKE) --no-print-directory --keep-going --jobs=5 --output-sync=target $(GROUPS)

# A house on what an operator gets from PyPI, with the newest and the lowest versions; no part of `make test`.
versions: .venv/installed
	$(BIN)/python -m tools.versions

# Run all tests, or TESTS, several times beside four busy loops, and say which runs failed: hours.
calm: RUNS ?= $(or $(THREEDICE_CALM_RUNS),10)
calm: .venv/ready
	$(BIN)/python -m tools.calm --runs $(RUNS) --tests '$(TESTS)'

# The programs that tests need besides Python: a PostgreSQL server, Chromium and nginx.
tools:
	tools/debian_packages.sh

RULES := tests/account tests/cases tests/dice_monitor tests/odds tests/mutation tests/oracle tests/playthroughs tests/properties tests/rulebook tests/table
HOUSE := tests/faults tests/house tests/identity
CLI := tests/cli tests/contract
STAFF_SCREENS := $(addprefix tests/screens/,test_accessibility.py test_buttons.py test_chinese.py test_chips.py test_create_table.py \
	test_dealer_page.py test_dealer_rounds.py test_dice_pages.py test_equipment.py test_one_terminal.py test_payments.py test_people.py test_pit.py test_staff_words.py test_voids.py)
GATED := src/threedice/rulebook/*,src/threedice/table/*,src/threedice/account/*,src/threedice/odds/*,src/threedice/odds/sessions/*,src/threedice/dice_monitor/*

test-rules: .venv/ready
	$(BIN)/pytest $(RULES) --cov --cov-report=
	$(BIN)/coverage report --skip-covered --show-missing --fail-under=100 --include='$(GATED)'

test-house: .venv/ready
	$(BIN)/pytest $(HOUSE)

test-log: .venv/ready
	$(BIN)/pytest tests/log

test-api: .venv/ready
	$(BIN)/pytest tests/api

test-screens: .venv/ready $(PACKAGES)
	$(BIN)/python screens/build.py
	$(BIN)/pytest tests/screens $(addprefix --ignore=,$(STAFF_SCREENS))

test-staff-screens: .venv/ready $(PACKAGES)
	$(BIN)/python screens/build.py
	$(BIN)/pytest $(STAFF_SCREENS)

built-screens: .venv/ready $(PACKAGES)
	$(BIN)/python screens/build.py

test-sim: .venv/ready
	$(BIN)/pytest tests/sim

test-cli: .venv/ready
	$(BIN)/pytest $(CLI)

test-rest: .venv/ready $(PYODIDE)
	$(BIN)/pytest $(addprefix --ignore=,$(RULES) $(HOUSE) $(CLI) tests/log tests/api tests/screens tests/sim)

check: .venv/ready check-screens
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check-screens: .venv/ready $(PACKAGES)
	$(BIN)/python screens/build.py run check lint test

format: .venv/ready $(PACKAGES)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python screens/build.py run format

# The documentation site, in build/site; needs no network once the packages and Pyodide are fetched.
docs: export NO_MKDOCS_2_WARNING := 1
docs: .venv/ready $(PYODIDE)
	$(BIN)/python -m mkdocs build --strict

bench: .venv/ready
	$(BIN)/python benchmarks/odds.py
	$(BIN)/python benchmarks/table.py
	$(BIN)/python benchmarks/log.py
	$(BIN)/python benchmarks/long_log.py
	$(BIN)/python benchmarks/over_http.py
	$(BIN)/python benchmarks/query_flood.py
	$(BIN)/python benchmarks/fan_out.py
	$(BIN)/python benchmarks/rounds.py
	$(BIN)/python benchmarks/simulation.py
	$(BIN)/python benchmarks/environments.py

# Long tasks of the player's page while a result is shown, on a CPU slowed four times.
bench-screens: .venv/ready $(PACKAGES) tools
	$(BIN)/python screens/build.py
	$(BIN)/python benchmarks/long_tasks.py

screens: .venv/ready
	$(BIN)/python screens/api_types.py
	$(BIN)/python screens/build.py

citations: .venv/ready
	$(BIN)/pytest --collect-only --quiet --write-citations=src/threedice/rulebooks/citations.json > /dev/null

playthroughs: .venv/ready
	$(BIN)/python -m tests.playthroughs.regenerate

# Everything that follows from commands, events, operations and migrations: run it after adding one.
generated: .venv/ready
	$(BIN)/python screens/api_types.py
	$(BIN)/python -m tests.api.test_reference
	$(BIN)/python -m tests.api.test_authority
	$(BIN)/python -m tests.contract.record openapi log
	$(BIN)/python -m tests.db.test_definitions
	$(BIN)/python -m tests.db.test_stored_forms

# Write the recorded contract anew: only for an intended change of it.
contract: .venv/ready
	$(BIN)/python -m tests.contract.record

# Prove every clause that a rulebook calls modelled, and write the table of proofs: about a minute.
clauses: .venv/ready
	$(BIN)/python -m tests.mutation.clause_proof

soak: .venv/ready clauses
	$(BIN)/python -m tests.properties.random_runs --steps $${THREEDICE_STEPS:-10000000}
	$(BIN)/python -m tests.properties.count_campaign --trials 1000
	THREEDICE_DICE_HISTORIES=10000 $(BIN)/pytest -q tests/properties/test_affected_rounds.py
	$(BIN)/python -m tests.sim.soak
	$(BIN)/python benchmarks/dice_monitor.py
	$(BIN)/pytest -q -m long tests

faults: .venv/ready
	THREEDICE_BITS=8 $(BIN)/pytest -q tests/log/test_tampering_bits.py
	$(BIN)/python -m tests.faults.power_cuts --count $${THREEDICE_CUTS:-100000}
	$(BIN)/python -m tests.faults.io_faults
	$(BIN)/python -m tests.faults.kills --kills $${THREEDICE_KILLS:-1000} --postmaster $${THREEDICE_POSTMASTER:-100}

mutants: .venv/ready
	$(BIN)/python -m tests.mutation.mutants $(MUTANTS)

pictures: .venv/ready
	PYTHONPATH=. $(BIN)/python docs/screenshots.py

clean:
	rm -rf .venv build dist .coverage .mypy_cache .pytest_cache .ruff_cache

$(PACKAGES): screens/package-lock.json .venv/ready
	$(BIN)/python screens/build.py install

$(PYODIDE): tools/pyodide.py .venv/ready
	$(BIN)/python -m tools.pyodide
	touch $(PYODIDE)

# What is needed to run is installed first, so that `make run` does not wait for the tools.
.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv || { apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv .venv; }
	$(BIN)/python -m pip install --quiet --editable '.[house]'
	touch .venv/installed

.venv/ready: .venv/installed
	$(BIN)/python -m pip install --quiet --editable '.[dev,bench]'
	touch .venv/ready
