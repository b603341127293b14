# make run climbs the matmul ladder; make test checks everything. Both set up .venv first, once.

VENV := .venv
PEERS := .venv-bench
LOWEST := .venv-lowest
GPU_BENCHES := $(wildcard bench/*_h200.py)
BENCHES := $(filter-out bench/common.py $(GPU_BENCHES),$(wildcard bench/*.py))
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
WORKERS ?= 2

# Tests that take over 20 s of processor time, or are many of a kind, are counted as skipped, unless SLOW=1 asks for them.
# They run last, and on a machine where they take longer than SLOW_MINUTES the rest of them are counted as not reached.
SLOW ?=
SLOW_MINUTES ?= 60
PYTEST := python -m pytest $(if $(SLOW),--slow --slow-minutes $(SLOW_MINUTES))

# What says soonest that a version does not fit: the command line, compilers, devices, the judge, the server's API.
LOWEST_TESTS := tests/test_cli.py tests/commands tests/compiler tests/device tests/judge/test_verdict.py \
	tests/judge/test_verify.py tests/judge/test_sandbox.py tests/virtual/language/test_constructs.py \
	tests/virtual/runtime/schedule/test_fibers.py tests/virtual/python_kernels/test_numba_kernels.py tests/models \
	tests/train/test_digits.py tests/serve/http tests/serve/engine/test_grammar.py tests/testing
LOWEST_PIP := $(LOWEST)/bin/python -m pip --disable-pip-version-check install --quiet

# torch's CPU build: Linux's build on PyPI brings gigabytes of CUDA libraries, of other versions than ours.
TORCH := $(shell sed -n 's/^torch==//p' constraints.txt)
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

.PHONY: help run setup stack test test-lowest lint bench gpu-bench gpu-test clean
.DEFAULT_GOAL := help

help:
	@echo "make run       set up, then climb the matrix-multiply ladder (virtual GPU where there is no other)"
	@echo "make test      set up, then ruff, mypy and the tests (WORKERS=$(WORKERS)); SLOW=1 runs the slow ones, too"
	@echo "make test-lowest  the tests that versions decide, with the lowest ones that pyproject.toml allows, in $(LOWEST)"
	@echo "make setup     only the virtual environment, in $(VENV)"
	@echo "make stack     that, with PyTorch: for gridstride train, generate, chat, serve, load"
	@echo "make lint      ruff and mypy"
	@echo "make bench     every benchmark that needs no GPU; results go to bench/results"
	@echo "make gpu-test  the tests that need an NVIDIA GPU"
	@echo "make gpu-bench the benchmarks that need one"
	@echo "make clean     remove $(VENV), $(PEERS), $(LOWEST) and what the tools cached"

run: $(VENV)/.core
	@$(BIN)/gridstride climb matmul

setup: $(VENV)/.core

stack: $(VENV)/.stack

test: lint
	$(BIN)/$(PYTEST) -n $(WORKERS) --dist worksteal

test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/$(PYTEST) -n $(WORKERS) $(LOWEST_TESTS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.test $(PEERS)/.installed
	@for script in $(BENCHES); do echo "== $$script" >&2; $(BIN)/python "$$script" || exit 1; done

gpu-bench: $(VENV)/.test
	@for script in $(GPU_BENCHES); do echo "== $$script" >&2; $(BIN)/python "$$script" || exit 1; done

gpu-test: $(VENV)/.test
	$(BIN)/python -m pytest -m gpu -rs --slow

clean:
	rm -rf $(VENV) $(PEERS) $(LOWEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Stamps: what they depend on says when to install again.
$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing gridstride into $(VENV)" >&2
	@$(PIP) --editable .
	@touch $@

# Where the CPU build is at hand (a mirror, a folder of wheels) it is taken from there, else from PyTorch's own index; where
# there is none (macOS), the plain build is one for processors.
$(VENV)/.torch: constraints.txt | $(VENV)/.core
	@echo "installing PyTorch $(TORCH) into $(VENV)" >&2
	@$(PIP) torch==$(TORCH)+cpu 2>/dev/null \
		|| $(PIP) torch==$(TORCH)+cpu --extra-index-url $(TORCH_INDEX) 2>/dev/null \
		|| $(PIP) torch==$(TORCH)
	@touch $@

$(VENV)/.stack: $(VENV)/.core $(VENV)/.torch
	@echo "installing what training and serving need into $(VENV)" >&2
	@$(PIP) --editable '.[train,serve]'
	@touch $@

$(VENV)/.test: $(VENV)/.core $(VENV)/.torch
	@echo "installing the test tools into $(VENV)" >&2
	@$(PIP) --editable '.[test]'
	@touch $@

# What the benchmarks compare with has an environment of its own, as its needs and ours do not mix. A peer that cannot be
# installed is named here and in its row of the table; the next `make bench` tries again.
$(PEERS)/.installed: bench/peers/requirements.txt | $(BIN)/python
	@echo "installing what the benchmarks compare with into $(PEERS)" >&2
	@test -x $(PEERS)/bin/python || $(BIN)/python -m venv $(PEERS)
	@failed=; while read -r peer; do \
		$(PEERS)/bin/python -m pip --disable-pip-version-check install --quiet "$$peer" || failed="$$failed $$peer"; \
	done < $<; \
	if [ -n "$$failed" ]; then echo "could not install:$$failed; the rows that need it will say so" >&2; else touch $@; fi

# The lowest versions have an environment of their own, too. PyTorch stays at the version that set-up installs.
$(LOWEST)/.installed: pyproject.toml constraints.txt tests/lowest_versions.py | $(BIN)/python
	@echo "installing the lowest versions that pyproject.toml allows into $(LOWEST)" >&2
	@test -x $(LOWEST)/bin/python || $(BIN)/python -m venv $(LOWEST)
	@$(BIN)/python tests/lowest_versions.py > $(LOWEST)/requirements.txt
	@$(LOWEST_PIP) torch==$(TORCH)+cpu 2>/dev/null \
		|| $(LOWEST_PIP) torch==$(TORCH)+cpu --extra-index-url $(TORCH_INDEX) 2>/dev/null \
		|| $(LOWEST_PIP) torch==$(TORCH)
	@$(LOWEST_PIP) --requirement $(LOWEST)/requirements.txt --editable .
	@touch $@

# The first Python of 3.11 or later that can make virtual environments; PYTHON=... chooses one.
$(BIN)/python:
	@old=; bare=; \
	for python in $(PYTHON) python3 python3.12 python3.13 python3.11 python3.14; do \
		"$$python" -c '' 2>/dev/null || continue; \
		"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { old="$$old $$python"; continue; }; \
		"$$python" -c 'import ensurepip, venv' 2>/dev/null || { bare="$$bare $$python"; continue; }; \
		echo "making $(VENV) with $$python" >&2; \
		rm -rf $(VENV); "$$python" -m venv $(VENV) && exit 0; \
		rm -rf $(VENV); exit 1; \
	done; \
	if [ -n "$$bare" ]; then \
		echo "error: no virtual environment can be made:$$bare lacks venv or ensurepip." >&2; \
		echo "  Debian, Ubuntu: sudo apt-get install python3-venv; then run make again." >&2; \
	elif [ -n "$$old" ]; then \
		echo "error: Python 3.11 or later is needed; found only older ones:$$old." >&2; \
		echo "  Install one (python.org, your package manager, or 'uv python install 3.12')," >&2; \
		echo "  then run make again, with PYTHON=/path/to/python3.12 if it is not on PATH." >&2; \
	else \
		echo "error: no Python found. Install 3.11 or later (Debian: sudo apt-get install python3 python3-venv)," >&2; \
		echo "  then run make again, with PYTHON=/path/to/python3 if it is not on PATH." >&2; \
	fi; \
	exit 1
