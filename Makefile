# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# Thin targets over a virtual environment, pip, CTest and pytest. `make help` lists them.

PYTHON ?= python3
VENV ?= .venv
CUDA ?= AUTO
CUDA_ARCHITECTURES ?=
OFFLINE ?=
# Warnings are errors in CI; a newcomer's newer compiler may know warnings that ours does not.
WERROR ?= $(if $(CI),ON,OFF)
# Array libraries to install for the tests and examples that use them: torch, jax, cupy-cuda13x.
LIBRARIES ?=
# nvcc would link what an environment variable of this name holds.
unexport LIBRARIES

BUILD := build/cmake-$(shell echo $(CUDA) | tr A-Z a-z)
REPORTS := build/reports
PREFIX := build/prefix
LINT_VENV := .venv-lint
LINT_BUILD := build/lint
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
JOBS := $(shell nproc)
# Tests share cores well, but not the memory of a GPU.
PYTEST_JOBS ?= $(if $(shell command -v nvidia-smi),1,$(JOBS))
PRE_COMMIT := $(LINT_VENV)/bin/pre-commit

# Without a network: the machine's own packages, and no look at an index.
ifneq ($(OFFLINE),)
VENV_FLAGS := --system-site-packages
INSTALL := $(PIP) install --no-build-isolation --no-index --no-deps
else
INSTALL := $(PIP) install --no-build-isolation
endif

SHELL := /bin/bash
# $(call install_visibly,PACKAGE): pip shows either nothing of a build or all. This shows its steps,
# and the end of the output if it fails.
define install_visibly
mkdir -p build; echo '$(INSTALL) $(1)'; \
$(INSTALL) --verbose '$(1)' 2>&1 | tee build/install.log | \
  grep --line-buffered --only-matching -E "\[ *[0-9]+(/[0-9]+|%)\] .*|building '.*' extension|Downloading .*\)"; \
[ $${PIPESTATUS[0]} = 0 ] || { tail -n 100 build/install.log; exit 1; }
endef
# Of the build that setup.py makes, or of a new one.
CONFIGURE_TESTS = cmake -B $(BUILD) -DGPUKERN_CUDA=$(shell echo $(CUDA) | tr a-z A-Z) \
  -DGPUKERN_BUILD_TESTS=ON -DGPUKERN_BUILD_EXAMPLES=OFF
# The environment's tools (cmake, ninja) come first where it holds any.
export PATH := $(abspath $(BIN)):$(PATH)
# Unlike make, Ninja compiles a program while the library that it needs is not complete.
ifneq ($(shell PATH="$(abspath $(BIN)):$$PATH" command -v ninja),)
export CMAKE_GENERATOR ?= Ninja
endif
export GPUKERN_CUDA := $(CUDA)
export GPUKERN_WERROR := $(WERROR)
export VENV
export PRE_COMMIT_HOME := $(abspath $(LINT_VENV))/hooks
ifneq ($(CUDA_ARCHITECTURES),)
export CUDAARCHS := $(CUDA_ARCHITECTURES)
endif

BENCH_OUT ?= build/bench
BENCH_FLAGS ?=

.PHONY: help demo test examples wheels check-wheel bench bench-host bench-scale sanitize \
  sanitize-host sanitize-threads sanitize-addresses sanitize-python fuzz torture check-aarch64 docs \
  docs-links docs-requirements lint lint-build lint-tools analyze words format abi-check abi-renew \
  check-sdist release clean requirements

help:
	@echo "make demo      build gpukern into $(VENV) and run the demo"
	@echo "make test      build, then run the C++ and the Python tests"
	@echo "make examples  build and run the examples against the installed library"
	@echo "make wheels    build the sdist and manylinux_2_28 wheels into dist/, for each CPython of"
	@echo "               PYTHONS or of this machine; docs/releasing.md"
	@echo "make check-wheel  install and test the wheels of dist/, and its sdist"
	@echo "make bench     measure gpukern, its peers and the ceilings, the cost of a call, and"
	@echo "               programs (needs a GPU)"
	@echo "make bench-host  measure host arrays, on any machine"
	@echo "make bench-scale  measure tables over the GPUs of this machine (needs torch)"
	@echo "make sanitize  run the tests under compute-sanitizer (needs a GPU)"
	@echo "make sanitize-host  run the C++ tests of the CPU backend under ThreadSanitizer,"
	@echo "               AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make sanitize-python  run Python tests of broken arrays under these two, in the package and"
	@echo "               the library"
	@echo "make fuzz      run the C ABI on inputs that libFuzzer makes, FUZZ_SECONDS=60 for each test"
	@echo "               (needs Clang 17 or later: CLANGXX=clang++-19)"
	@echo "make torture   let each fallible call of the library fail in turn, on a fake GPU"
	@echo "               and on the GPU of this machine"
	@echo "make check-aarch64  cross-compile the CPU library for 64-bit ARM and run its C++ tests by"
	@echo "               emulation (needs Debian's g++-aarch64-linux-gnu, qemu-user, googletest)"
	@echo "make docs      build the documentation site into $(DOCS) (needs Doxygen)"
	@echo "make docs-links  check the links of the site to other sites (needs a network)"
	@echo "make lint      run all linters and format checks"
	@echo "make analyze   run clang's static analyzer on the C++ sources, which takes minutes"
	@echo "make words     list the words that sources and documents must not use"
	@echo "make format    format all sources"
	@echo "make abi-check  compare the ABI of the library with its baseline (needs abigail-tools)"
	@echo "make abi-renew  make the present ABI the baseline"
	@echo "make check-sdist  build and try an sdist, without a network and without CUDA"
	@echo "make release VERSION=1.2.3  check that the files name this version, and tag it"
	@echo "make clean     remove build/, dist/, .venv and $(LINT_VENV)"
	@echo
	@echo "CUDA=AUTO|ON|OFF        build the CUDA backend: AUTO takes an nvcc of this machine or one"
	@echo "                        from PyPI (now $(CUDA))"
	@echo "CUDA_ARCHITECTURES=90   compile for these GPUs; release: for all, as a wheel should"
	@echo "                        (default: this machine's; PTX for any without one)"
	@echo "LIBRARIES='jax torch'   install these for the tests and examples that use them"
	@echo "BENCH_OUT=$(BENCH_OUT)   where benchmarks write to"
	@echo "BENCH_FLAGS=--quick     flags of python -m benchmarks; this one takes six minutes, not 18"
	@echo "PYTHON=python3 VENV=.venv"
	@echo "OFFLINE=1               use the packages of this machine, download nothing"

demo: requirements
	@$(call install_visibly,.)
	$(BIN)/python -m gpukern demo

test: requirements
	@$(call install_visibly,.$(if $(OFFLINE),,[test]))
	$(if $(OFFLINE),,$(if $(LIBRARIES),$(PIP) install $(LIBRARIES)))
	$(CONFIGURE_TESTS)
	cmake --build $(BUILD) --parallel $(JOBS)
	@rm -rf $(REPORTS); mkdir -p $(REPORTS)
	@status=0; \
	export GPUKERN_TEST_TOOLKIT=$$(echo $(abspath $(VENV))/lib/python*/site-packages/nvidia/cu13); \
	export GPUKERN_TEST_FAKE_GPU=$(abspath $(BUILD))/tests/fake/libgpukern.so; \
	ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS) --no-tests=error \
	  --output-junit $(abspath $(REPORTS))/ctest.xml || status=1; \
	workers=; [ $(PYTEST_JOBS) = 1 ] || ! $(BIN)/python -c "import xdist" 2> /dev/null || \
	  workers="-n $(PYTEST_JOBS)"; \
	$(BIN)/python -m pytest -rs $$workers -m "not alone" --junitxml=$(REPORTS)/pytest.xml \
	  python_tests || status=1; \
	$(BIN)/python -m pytest -rs -m alone --junitxml=$(REPORTS)/pytest-alone.xml \
	  python_tests || status=1; \
	$(BIN)/python tools/report_tests.py GoogleTest=$(REPORTS)/ctest.xml \
	  pytest=$(REPORTS)/pytest.xml "pytest alone=$(REPORTS)/pytest-alone.xml" || status=1; \
	exit $$status

examples: requirements
	$(INSTALL) '.$(if $(OFFLINE),,[test])' $(if $(OFFLINE),,$(LIBRARIES))
	cmake --install $(BUILD) --prefix $(PREFIX) > /dev/null
	VENV=$(VENV) CUDA=$(CUDA) PREFIX=$(PREFIX) bash examples/check.sh

# With tools that are pinned by their hashes, in a separate environment.
PYTHONS ?=
WHEEL_TOOLS := build/wheels/tools
wheels: $(WHEEL_TOOLS)/.created
	$(WHEEL_TOOLS)/bin/python tools/wheels/build.py $(PYTHONS)

check-wheel: $(WHEEL_TOOLS)/.created
	$(WHEEL_TOOLS)/bin/python tools/wheels/check.py $(PYTHONS)

$(WHEEL_TOOLS)/.created: tools/wheels/requirements.txt
	rm -rf $(WHEEL_TOOLS)
	$(PYTHON) -m venv $(WHEEL_TOOLS)
	$(WHEEL_TOOLS)/bin/python -m pip --disable-pip-version-check install --require-hashes -r $<
	@touch $@

# Builds the library and the peers that are written in CUDA C++; see benchmarks/README.md.
bench: requirements
	$(INSTALL) .
	cmake -B $(BUILD) -DGPUKERN_BUILD_BENCHMARKS=ON
	cmake --build $(BUILD) --target gpukern_bench --parallel $(JOBS)
	$(BIN)/python -m benchmarks --out $(BENCH_OUT) $(BENCH_FLAGS)
	$(BIN)/python -m benchmarks.call_cost --out $(BENCH_OUT)
	$(BIN)/python -m benchmarks.programs --out $(BENCH_OUT) $(filter --quick,$(BENCH_FLAGS))

# Needs the package only. Compares with the peers that are installed.
bench-host: requirements
	$(INSTALL) .
	$(BIN)/python -m benchmarks --suite host --out $(BENCH_OUT) $(BENCH_FLAGS)

# Gathers from tables over 2, 4 and more GPUs of this machine, or over GPUS of them. Needs torch.
bench-scale: requirements
	$(INSTALL) .
	$(BIN)/python -m benchmarks.scale $(if $(GPUS),--gpus $(GPUS)) --out $(BENCH_OUT) $(BENCH_FLAGS)

# On a GPU machine: the C++ tests under each tool of compute-sanitizer, but those that take
# gigabytes, those that a tool cannot follow, and death tests, whose processes it waits for.
# Racecheck is slow, and host arrays run the same kernels. Then the Python tests under memcheck, but
# those of new processes, which would wait for the tool, and of kernels that fault.
SANITIZE_BUILD := build/sanitize
SANITIZER_FLAGS := --require-cuda-init no --report-api-errors no --error-exitcode 1
NOT_SANITIZED := context_lost exit fork pinned release seed_programs
sanitize: requirements
	$(INSTALL) .$(if $(OFFLINE),,[test])
	for tool in memcheck initcheck synccheck racecheck; do \
	  filter='-*DeathTest.*'; [ $$tool != racecheck ] || filter="$$filter:*/cuda_host"; \
	  cmake -B $(SANITIZE_BUILD)-gpu -DGPUKERN_BUILD_TESTS=ON -DGPUKERN_TEST_BY_PROGRAM=ON \
	    "-DGPUKERN_TEST_LAUNCHER=compute-sanitizer --tool $$tool $(SANITIZER_FLAGS)" && \
	  cmake --build $(SANITIZE_BUILD)-gpu --parallel $(JOBS) && \
	  GTEST_FILTER="$$filter" ctest --test-dir $(SANITIZE_BUILD)-gpu --output-on-failure \
	    --no-tests=error -LE "fake_gpu|fuzz|narrow|plain|large|no_$$tool" || exit 1; \
	done
	GPUKERN_TEST_CASES=50 compute-sanitizer --target-processes application-only \
	  $(SANITIZER_FLAGS) $(BIN)/python -m pytest -m "gpu and not alone" -k "not at_exit" \
	  $(NOT_SANITIZED:%=--ignore=python_tests/test_%.py) python_tests

# The CPU backend, and pipelines on a fake GPU, without CUDA. Under ThreadSanitizer the tests of
# several callers, which it has to see synchronize; those that fork() skip there by themselves.
# AddressSanitizer and UndefinedBehaviorSanitizer check the library (cmake/GpukernAddress.cmake)
# under the test programs of `make test`.
sanitize-host: sanitize-threads sanitize-addresses

sanitize-threads: requirements
	flags="-O1 -g1 -fsanitize=thread -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS"; \
	cmake -B $(SANITIZE_BUILD)-thread -DGPUKERN_CUDA=OFF -DGPUKERN_BUILD_TESTS=ON \
	  -DGPUKERN_TEST_BY_PROGRAM=ON -DCMAKE_BUILD_TYPE=None \
	  -DCMAKE_CXX_FLAGS="$$flags" -DCMAKE_C_FLAGS="$$flags"
	cmake --build $(SANITIZE_BUILD)-thread --target gpukern_tests_for_threads --parallel $(JOBS)
	TSAN_OPTIONS=halt_on_error=1 ctest --test-dir $(SANITIZE_BUILD)-thread --output-on-failure \
	  --parallel $(JOBS) --no-tests=error -L 'threads|fake_gpu.pipeline'

sanitize-addresses: requirements
	$(CONFIGURE_TESTS)
	cmake --build $(BUILD) --target gpukern_tests_for_addresses --parallel $(JOBS)
	ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS) --no-tests=error \
	  -C address -L address

# The Python package with AddressSanitizer and UndefinedBehaviorSanitizer, built in a copy of the
# tree, and its tests of arrays that break their protocols. Python itself keeps memory until it ends.
SANITIZED := $(abspath $(SANITIZE_BUILD)-python)
SANITIZED_TESTS ?= malformed_arrays broken_arrays dlpack resize
SANITIZED_CXX := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
sanitize-python: requirements
	$(if $(OFFLINE),,$(PIP) install --quiet pytest hypothesis ml_dtypes)
	mkdir -p $(SANITIZED)/tree
	find $(SANITIZED)/tree -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
	tar --exclude='./build' --exclude='./.*' -cf - . | tar -xf - -C $(SANITIZED)/tree
	GPUKERN_CUDA=OFF CXXFLAGS="$(SANITIZED_CXX)" LDFLAGS="-fsanitize=address,undefined" \
	  CMAKE_ARGS='-DCMAKE_BUILD_TYPE=None "-DCMAKE_CXX_FLAGS=$(SANITIZED_CXX)"' \
	  $(INSTALL) --no-deps --upgrade --target $(SANITIZED)/package $(SANITIZED)/tree
	nm -D $(SANITIZED)/package/gpukern/lib/libgpukern.so | grep --quiet __asan_init
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=8 \
	  UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc PYTHONPATH=$(SANITIZED)/package \
	  $(BIN)/python -m pytest --capture=sys $(SANITIZED_TESTS:%=python_tests/test_%.py)

# Inputs that reach new code are added to build/fuzz/corpus, one that fails is written to build/fuzz.
# Debian: clang-19, libclang-rt-19-dev.
CLANGXX ?= clang++
FUZZ_SECONDS ?= 60
FUZZ_BUILD := build/fuzz
fuzz: requirements
	flags="-O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"; \
	flags="$$flags -fno-omit-frame-pointer"; \
	cmake -B $(FUZZ_BUILD) -DGPUKERN_CUDA=OFF -DGPUKERN_BUILD_FUZZERS=ON -DCMAKE_BUILD_TYPE=None \
	  -DCMAKE_CXX_COMPILER=$(CLANGXX) -DCMAKE_CXX_FLAGS="$$flags"
	cmake --build $(FUZZ_BUILD) --target gpukern_fuzzers --parallel $(JOBS)
	for test in operations programs cache; do \
	  mkdir -p $(FUZZ_BUILD)/corpus/$$test; \
	  ASAN_OPTIONS=allocator_may_return_null=1 $(FUZZ_BUILD)/tests/fuzz/$${test}_fuzz \
	    -max_total_time=$(FUZZ_SECONDS) -max_len=512 -timeout=10 -verbosity=0 -print_final_stats=1 \
	    -artifact_prefix=$(FUZZ_BUILD)/$$test- \
	    $(FUZZ_BUILD)/corpus/$$test tests/fuzz/corpus/$$test || exit 1; \
	done

torture: requirements
	$(CONFIGURE_TESTS)
	cmake --build $(BUILD) --target torture --parallel $(JOBS)
	ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS) --no-tests=error -R torture

# The emulator cannot start a program anew, as death tests do, and misnames the cores of threads.
AARCH64 := build/aarch64
check-aarch64:
	cmake -S . -B $(AARCH64) -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/aarch64-linux-gnu.cmake \
	  -DGPUKERN_CUDA=OFF -DGPUKERN_BUILD_TESTS=ON
	cmake --build $(AARCH64) --parallel $(JOBS)
	GTEST_FILTER='-*DeathTest.*' ctest --test-dir $(AARCH64) --output-on-failure \
	  --parallel $(JOBS) --no-tests=error -LE 'alone|fake_gpu|large|narrow|plain' \
	  -E 'HelpersStartUpToTheLimit|BurstsOfShortCallsGetAHelper|HelperCoresTest'

# Warnings are errors, and so is a link within the site that leads nowhere.
DOCS := build/docs
DOCS_WORK := build/docs-work
SPHINX = $(BIN)/python -m sphinx --fail-on-warning --quiet -c docs -d $(DOCS_WORK)/doctrees
docs: docs-requirements
	rm -rf $(DOCS)
	$(SPHINX) -b html . $(DOCS)
	$(BIN)/python tools/check_site.py $(DOCS)
	@echo "gpukern: the start page is $(DOCS)/index.html"

docs-links: docs-requirements
	$(SPHINX) -b linkcheck . $(DOCS_WORK)/links

docs-requirements: requirements
	@command -v doxygen > /dev/null || { \
	  echo "gpukern: the site needs Doxygen; on Debian and Ubuntu: apt-get install doxygen" >&2; \
	  exit 1; }
	$(INSTALL) .
ifeq ($(OFFLINE),)
	$(PIP) install --require-hashes -r docs/requirements.txt
endif
	@rm -rf $(DOCS_WORK); mkdir -p $(DOCS_WORK)
	doxygen docs/Doxyfile

# The environments of the hooks, which lint installs otherwise.
lint-tools: $(PRE_COMMIT)
	$(PRE_COMMIT) install-hooks

lint-build:
	@cmake -B $(LINT_BUILD) -DGPUKERN_CUDA=OFF -DGPUKERN_BUILD_TESTS=ON \
	  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON > /dev/null

analyze: $(PRE_COMMIT) lint-build
	$(PRE_COMMIT) run --all-files --hook-stage manual clang-analyzer

lint: $(PRE_COMMIT) lint-build
	$(PRE_COMMIT) run --all-files --show-diff-on-failure
	@$(PYTHON) tools/check_commit.py --history

words:
	$(PYTHON) tools/check_words.py --report

# These two change files and then report that they did.
format: $(PRE_COMMIT)
	-$(PRE_COMMIT) run clang-format --all-files
	-$(PRE_COMMIT) run ruff-format --all-files

# docs/releasing.md describes these.
abi-check:
	$(PYTHON) tools/check_abi.py

abi-renew:
	$(PYTHON) tools/check_abi.py --renew

check-sdist:
	PYTHON=$(PYTHON) bash tools/check_sdist.sh

release:
	@$(PYTHON) tools/tag_release.py "$(VERSION)"

clean:
	rm -rf build dist .venv $(LINT_VENV) cython/*.egg-info

# pip is asked only when what the build needs has changed: a tool that it has installed is needed no
# more.
requirements: $(VENV)/.created
ifeq ($(OFFLINE),)
	@new=$(VENV)/requirements.$$$$; trap "rm -f $$new" EXIT; \
	$(BIN)/python build_backend/gpukern_toolchain.py > $$new || exit 1; \
	if ! cmp --silent $$new $(VENV)/requirements.txt; then \
	  $(PIP) install -r $$new && \
	    $(BIN)/python build_backend/gpukern_toolchain.py > $(VENV)/requirements.txt; \
	fi
endif

$(VENV)/.created:
	@command -v "$(PYTHON)" > /dev/null || { \
	  echo "gpukern: PYTHON must be a Python interpreter, got $(PYTHON)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV_FLAGS) $(VENV) || { \
	  echo "gpukern: $(PYTHON) cannot make a virtual environment;" \
	       "on Debian and Ubuntu: apt-get install python3-venv python3-dev" >&2; exit 1; }
ifneq ($(OFFLINE),)
# Where PYTHON is itself in a virtual environment, --system-site-packages does not reach that one.
	@$(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/offline.pth
endif
	@touch $@

$(PRE_COMMIT): .pre-commit-config.yaml
	$(PYTHON) -m venv $(LINT_VENV)
	$(LINT_VENV)/bin/python -m pip --disable-pip-version-check install --quiet pre-commit==4.7.0
	@touch $@
