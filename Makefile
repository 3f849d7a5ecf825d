# SPDX-License-Identifier: Apache-2.0
#
# The front door. `make demo` on a bare Debian 12 installs what is missing, builds, and runs an
# example on two ranks; `make test` proves the tree. `make help` lists the rest. Only deps, demo, test,
# torch and bench install packages; the others say which are missing.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

JOBS         ?= $(shell nproc)
# Tests at a time: many of them wait for deadlines, not for a processor.
TEST_JOBS    ?= $(shell expr 5 '*' $(JOBS) / 2)
PREFIX       ?= /usr/local
FUZZ_SECONDS ?= 20
RUNS         ?= 30
# The Python whose torch `make torch` builds for: Debian's has one after contrib/deps.sh --torch.
TORCH_PYTHON ?= /usr/bin/python3
# gcc 12's ThreadSanitizer knows the memory map of kernels with at most 28 random bits.
TSAN_RUN = $(shell [ "$$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)" -le 28 ] || \
             ! setarch -R true 2>/dev/null || echo setarch -R)

CTEST = ctest -j $(TEST_JOBS) --preset
# In the environment: names of tests that sanitizers leave out, as one regular expression, with its dollars.
LEAVE_OUT = $${SANITIZED_WITHOUT:+-E "$$SANITIZED_WITHOUT"}
# Sanitizers take several times as long: fewer random calls and cases.
FEWER = TERN_TEST_CALLS=2000 TERN_TEST_CASES=15 MUTANTS=500
FORMATTED = git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp'

.DEFAULT_GOAL := build
.SECONDARY:
.PHONY: help deps demo build test torch asan tsan fuzz soak bench tidy format install uninstall clean

help:
	@echo 'demo       install what is missing, build, run an example on two ranks'
	@echo 'deps       install, through apt, what the build needs'
	@echo 'build      configure and build build/release'
	@echo 'test       build and run all tests'
	@echo 'torch      build/torch/tern_torch, the backend for PyTorch (TORCH_PYTHON=$(TORCH_PYTHON))'
	@echo 'asan       the tests under AddressSanitizer and UndefinedBehaviorSanitizer'
	@echo 'tsan       the tests that start threads, under ThreadSanitizer'
	@echo 'fuzz       each fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS) seconds'
	@echo 'soak       RUNS=$(RUNS) whole suites of the last commit, in every setting (SETTINGS: which)'
	@echo 'bench      measure, beside the peers'
	@echo 'tidy       repository rules, clang-format and clang-tidy on what changed'
	@echo 'format     clang-format every C and C++ file'
	@echo 'install    install to PREFIX=$(PREFIX)'
	@echo 'uninstall  take away what install has put into PREFIX=$(PREFIX)'
	@echo 'clean      remove build/'

deps:
	@contrib/deps.sh

# Configured once; afterwards ninja itself notices changed lists and globs.
build/%/build.ninja: CMakePresets.json
	@contrib/deps.sh --check $(if $(findstring fuzz,$*),--tools)
	@mkdir -p $(@D)
	@echo 'configuring build/$*'
	@cmake --preset $* >$(@D)/configure.log 2>&1 || { cat $(@D)/configure.log; exit 1; }
	@grep -A2 '^CMake Warning' $(@D)/configure.log || true

# On a terminal ninja's own line of progress; elsewhere a line now and then.
build-%: build/%/build.ninja
	@if [ -t 1 ]; then cmake --build --preset $* -j $(JOBS); else \
	    NINJA_STATUS='[%f/%t] ' cmake --build --preset $* -j $(JOBS) | awk -f contrib/progress.awk; fi

build: build-release

demo: deps
	@$(MAKE) --no-print-directory build-release
	build/release/bin/tern run -n 2 build/release/bin/tp_ffn

# Calls drawn at random once: what each pair of their dimensions needs. More with TERN_TEST_SCALE=N.
test: deps
	@$(MAKE) --no-print-directory build-release
	@$(CTEST) release

torch:
	@contrib/deps.sh --torch
	@$(MAKE) --no-print-directory build-release
	@$(TORCH_PYTHON) contrib/torch/build.py

asan: build-asan
	@$(FEWER) $(CTEST) asan $(LEAVE_OUT)

tsan: build-tsan
	@$(FEWER) $(TSAN_RUN) $(CTEST) tsan $(LEAVE_OUT)

fuzz: build-fuzz
	@FUZZ_SECONDS=$(FUZZ_SECONDS) $(CTEST) fuzz

soak:
	@contrib/soak.sh $(RUNS)

bench:
	@contrib/deps.sh --bench
	@$(MAKE) --no-print-directory build-release
	@python3 bench/run.py --output bench/RESULTS.md

tidy: build/release/build.ninja
	@python3 contrib/tidy.py --changed

format:
	@$(FORMATTED) | xargs -r -d '\n' clang-format -i

install: build-release
	@contrib/install.sh build/release '$(PREFIX)'

uninstall:
	@contrib/install.sh --uninstall '$(PREFIX)'

clean:
	@rm -rf build
