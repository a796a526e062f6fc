# One command for each thing a person wants; every one of them makes .venv first when it is missing or out of date.
#   make demo       the main job in a terminal, without an account
#   make test       lint, types, unit tests, and real editors with a real agent; CI runs it with all cases of each test
#   make help       the rest

ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif

ENVIRONMENT = "$$(sh scripts/find_python.sh)" scripts/environment.py
CHECKED := sidecar tests scripts benchmarks editor-extension/boot.py

# pyright's wrapper otherwise asks the package index for a newer one at every run
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# the tests start the sidecar hundreds of times: without byte code each start would compile it
unexport PYTHONDONTWRITEBYTECODE

# Tests run in one process more than there are cores to count on: the one with the browser's keeps a core busy, those of the others wait
# for other processes half of the time. Their folder has a short name: sockets live in it, and the path of a socket has
# about a hundred bytes.
JOBS ?= 3
define pytest
base=$$(mktemp -d "$${TMPDIR:-/tmp}/acp.XXXXXX") && trap 'rm -rf "$$base"' EXIT && \
$(BIN)/pytest --numprocesses $(JOBS) --dist worksteal --basetemp "$$base/t" $(1) $(PYTEST)
endef

# Tests with a marker of their own, one after the other; pytest's 5 is "none collected"
define by_hand
base=$$(mktemp -d "$${TMPDIR:-/tmp}/acp.XXXXXX") && trap 'rm -rf "$$base"' EXIT && \
$(BIN)/pytest -m $(1) --timeout=0 --basetemp "$$base/t" $(PYTEST); code=$$?; \
if [ $$code -eq 5 ]; then echo "there is no test marked $(1) yet"; else exit $$code; fi
endef

.DEFAULT_GOAL := help
.PHONY: help demo test fresh unit lint lint-typescript types format npm vsix release lock advisories version tools bench peers fuzz gauntlet agents clean env-run env-dev env-bench env-release run-tests hands

help:
	@echo "make demo       the main job in a terminal, without an account"
	@echo "make test       lint, types, unit tests, real editors with a real agent (installs them under .cache/tools)"
	@echo "                some cases of each test; CASES=all: all of them, as CI does (20 minutes on two idle cores)"
	@echo "                PART=browser: only the page and the VS Code workbench; PART=rest: all but these"
	@echo "make unit       only lint, types and unit tests"
	@echo "make vsix       the VS Code extension for every platform, into dist (TARGETS=linux-x64: for one)"
	@echo "make release    wheel, source, .vsix for every platform, SBOMs and SHA-256 sums, into dist; fails unless two builds are equal"
	@echo "make version    the version, checked in every file that names it (VERSION=0.2.0: set it there)"
	@echo "make lock       locked.txt: the hashes of what is installed, after a change of pyproject.toml or constraints.txt"
	@echo "make advisories known vulnerabilities in what is installed (needs the network)"
	@echo "make format     rewrite the code in the project's format"
	@echo "make bench      side by side with peers; prints ratios"
	@echo "make fuzz       the properties and state machines, many more examples, and 10,000 runs of writes in flight and of whole turns (SEED=n: one)"
	@echo "make hands      random people and agents in a real editor, and what became of what they typed (EDITOR=vscode RUNS=n; SEED=n: one; EDITOR=all: every editor)"
	@echo "make gauntlet   every security gate at full size, one line each; long runs"
	@echo "make agents     third-party agents, installed under .cache/tools; writes docs/agents.md, fails when a cell of it gets worse"
	@echo "make fresh      make demo and make test in a bare Debian container: without Node, with it, and not as root (FRESH_ARGS: see scripts/fresh.py)"
	@echo "make clean      remove what the tests left; keeps .venv and .cache (delete those by hand)"

demo: env-run
	@$(BIN)/acp-sidecar demo $(DEMO)

# CI runs the parts side by side
BY_HAND := not gauntlet and not agents
PARTS :=
PARTS_browser := -m "browser and $(BY_HAND)"
PARTS_rest := -m "not browser and $(BY_HAND)"
ifneq ($(filter-out browser rest,$(PART)),)
$(error PART is "browser" or "rest"; without it, "make test" is everything)
endif

# pyright has one core for half a minute: the tests begin beside it
test: env-dev npm tools
	@$(MAKE) --no-print-directory --jobs=2 $(if $(filter browser,$(PART)),,lint types) run-tests

# Some cases of each test, spread evenly: for the minutes between two commits (tests/support/spread.py). CI runs all of them
CASES ?= some

run-tests: env-dev
	@$(call pytest,--cases $(CASES) $(PARTS$(if $(PART),_$(PART))))

unit: env-dev npm lint types
	@$(call pytest,-m "not e2e and $(BY_HAND)")

fresh: env-dev
	@$(BIN)/python -m scripts.fresh $(FRESH_ARGS)

lint: env-dev npm
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/ruff check $(CHECKED)
	@$(MAKE) --no-print-directory lint-typescript

# Half a minute, so only when a file has changed since it last passed. Without npm it is left out, as `npm` below says. (What it needs may
# be there all the same: tests of the extension bring a Node of their own.)
lint-typescript:
	@cd editor-extension && passed=node_modules/.lint-passed && if test ! -d node_modules/eslint || ! command -v node > /dev/null; then :; \
	elif test -e $$passed && test -z "$$(find src test *.mjs *.json -newer $$passed)"; then :; \
	else node node_modules/eslint/bin/eslint.js --max-warnings=0 . && touch $$passed; fi

# Most of a minute of a core, so only when what it reads has changed since it began to pass
types: env-dev
	@began=.venv/.types-began passed=.venv/.types-passed; \
	if test -e $$passed && test -z "$$(find sidecar pyproject.toml constraints.txt locked.txt -name __pycache__ -prune -o -newer $$passed -print)"; then :; \
	else touch $$began && $(BIN)/pyright && mv $$began $$passed; fi

format: env-dev
	$(BIN)/ruff format $(CHECKED)
	$(BIN)/ruff check --fix $(CHECKED)

# What the VS Code extension is made and tested with. Without npm that is left out, with CI=true it fails. Packages' own
# install scripts stay unrun: none is needed.
npm:
	@cd editor-extension && if test node_modules/.package-lock.json -nt package-lock.json; then :; \
	elif command -v npm > /dev/null; then npm ci --ignore-scripts --silent --no-audit --no-fund; \
	else echo "npm is not installed (Node 20 or newer brings it): the VS Code extension is not tested" >&2; test "$$CI" != true; fi

TARGETS ?= all
vsix: env-dev npm
	@$(BIN)/python scripts/build_vsix.py $(TARGETS)

# What is committed, built twice and compared; RELEASE=linux-x64: with the .vsix for one platform only
release: env-release npm
	@$(BIN)/python scripts/release.py $(RELEASE)

lock: env-dev
	@$(ENVIRONMENT) lock

# Known vulnerabilities of what locked.txt and package-lock.json name. Asks the registries; fails, too, when they do not answer for everything.
advisories: env-dev npm
	@$(BIN)/python -m scripts.advisories

version:
	@"$$(sh scripts/find_python.sh)" scripts/version.py $(VERSION)

# Neovim, Emacs, Helix, tmux, VS Code, chromium and fast-agent; a part that cannot be had is named here and by the test that skips (with CI=true: fails)
tools: env-dev
	@$(BIN)/python -m scripts.tools

bench: env-bench peers
	$(BIN)/python -m benchmarks $(BENCH)

# the peers in JavaScript; without npm, or when it fails, they are left out and the table says so
peers:
	@cd benchmarks/node && if test node_modules/.package-lock.json -nt package.json; then :; \
	elif command -v npm > /dev/null; then npm install --silent --no-audit --no-fund --no-package-lock || true; fi

# SEED=n tells one run of the writes' fuzzer step by step; its runs, and then those of whole turns, come last, and a line sums each up.
# A whole turn is told step by step by `python -m tests.turns --seed n`; the last of them are killed before and after each call of the journal
fuzz: env-dev
ifdef SEED
	@$(BIN)/python -m tests.inflight.fuzz --seed $(SEED) -v
else
	@$(call pytest,-m "not e2e and $(BY_HAND)" --hypothesis-profile=fuzz --timeout=0)
	@$(BIN)/python -m tests.inflight.fuzz --jobs $(JOBS)
	@$(BIN)/python -m tests.turns --jobs $(JOBS)
	@$(BIN)/python -m tests.turns --each-call --runs 60 --jobs $(JOBS)
endif

# RUNS is full size when it is not given; SEED=n plays one run again and tells it step by step, STEPS as it was then;
# HANDS="--jobs 3 --minutes 8 --first 500": editors side by side, a limit, another first seed
EDITOR := vscode
hands: env-dev npm tools
	@$(BIN)/python -m tests.hands $(EDITOR) $(if $(SEED),--seed $(SEED) -v) $(if $(RUNS),--runs $(RUNS)) $(if $(STEPS),--steps $(STEPS)) $(HANDS)

# GATES names some of them: make gauntlet GATES="flood no_orphans"; the others are in minutes, inflight in a quarter of an hour
gauntlet: env-dev tools
	@$(BIN)/python -m tests.gates $(GATES)
	@$(call by_hand,gauntlet)

# writes docs/agents.md, and fails when a cell of it gets worse; ONLY names some of them: make agents ONLY="opencode"
agents: env-dev tools
	@found=$$($(BIN)/python scripts/install_agents.py) && \
	export AGENTS=1 ACP_SIDECAR_AGENTS_PAGE=docs/agents.md ACP_SIDECAR_AGENTS="$(ONLY)" $$found && $(call by_hand,agents)

env-run env-dev env-bench env-release:
	@$(ENVIRONMENT) $(@:env-%=%)

clean:
	rm -rf .pytest_cache .ruff_cache .hypothesis dist build editor-extension/dist
	find sidecar tests scripts benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
