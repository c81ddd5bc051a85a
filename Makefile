# Everything is made inside this clone: .venv/ (Python), target/ (Rust), demo-output/ (the demo).
# Needs Python 3.11 or newer and cargo; tshark and tcptrace, where installed, serve as oracles in the tests.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
export CARGO_TARGET_DIR := $(CURDIR)/target
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
ifdef LOCKED
export PIP_CONSTRAINT := $(CURDIR)/.ci/constraints.txt
endif
SOURCES := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml $(wildcard Cargo.lock)

MINUTES ?= 60

# PGO=1: a build that is optimised for what scripts/train.py runs (needs `rustup component add llvm-tools`).
ifdef PGO
export MATURIN_PGO := $(PGO)
endif

# Tests of one file stay in one process: they share what the file's fixtures make.
PARALLEL := -n auto --dist loadfile $(if $(DURATIONS),--durations=$(DURATIONS))

.PHONY: help demo samples build test test-rust test-python check explore golden map lint format bench bench-rust \
  instructions fuzz docs fuzz-core man licences advisories sbom sdist wheel try-wheel release release-ready clean

help:
	@echo "make demo     build, analyse sample_traces/, write figures and a summary to demo-output/"
	@echo "make build    the package with its Rust core, into .venv/; PGO=1 builds it twice, and makes it faster"
	@echo "make test     cargo test, then pytest; the same cases every time"
	@echo "make check    the quick checks: style, cargo test, Python tests that need no subprocess, browser or kernel"
	@echo "make explore  new random cases for MINUTES=60; failing ones are kept and repeated by make test"
	@echo "make samples  measure sample_traces/fleet.toml anew, in remade-samples/ (root, tun, tcpdump)"
	@echo "make golden   rewrite tests/golden/ from the current output; read the difference before committing"
	@echo "make map      draw the diagram of the subpackages and list them in docs/architecture.md"
	@echo "make lint     ruff, mypy --strict, cargo fmt, cargo clippy"
	@echo "make format   let ruff and cargo format the code"
	@echo "make bench    packets per second and memory against tcptrace and tshark"
	@echo "make bench-rust    time decoding, tracking, text scanners and a serial line separately (criterion)"
	@echo "make instructions  compare instructions per packet with the recorded counts (valgrind)"
	@echo "make fuzz     give damaged files of every format to every command, for FUZZ_SECONDS (180)"
	@echo "make docs     build the documentation site in site/; a broken link is an error"
	@echo "make fuzz-core  run one target of rust/fuzz, TARGET=capture, for FUZZ_SECONDS (nightly compiler, cargo-fuzz)"
	@echo "make man      write the manual page and the shell completions that wheels install, in packaging/data/"
	@echo "make licences  check every dependency's licence against the allow-list; WRITE=1 rewrites the texts"
	@echo "make advisories  known vulnerabilities in dependencies of both languages (needs the network, or clones)"
	@echo "make sdist wheel try-wheel sbom  build and check packages in dist/; run the wheel in an empty environment"
	@echo "make release  all of that as a dry run; TAG=1 makes the tag that the hosted workflow publishes"
	@echo "make clean    remove everything that was built"

demo: build
	@$(BIN)/python scripts/demo.py sample_traces demo-output

samples: build
	$(BIN)/multitracer lab fleet sample_traces/fleet.toml -o remade-samples --jobs 4

BUILT := .venv/built$(if $(PGO),-for-speed)
build: $(BUILT)

test: test-rust test-python

# proptest draws from this seed, and tries what rust/core/proptest-regressions/ holds.
test-rust: .venv/tools
	PROPTEST_RNG_SEED=1 cargo test --quiet --package multitracer-core

test-python: build .venv/dev
	$(BIN)/python -m pytest $(PARALLEL)
	@test ! -d tests/found || CASES=kept $(BIN)/python -m pytest $(PARALLEL) -m hypothesis

# What to run before a commit.
check: build .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cargo fmt --all --check
	PROPTEST_RNG_SEED=1 cargo test --quiet --package multitracer-core
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow"

explore: build .venv/dev
	$(BIN)/python scripts/explore.py --minutes $(MINUTES)

golden: build .venv/dev
	$(BIN)/python -m pytest tests/test_golden.py tests/report/test_notebooks.py --update-golden

map: build
	$(BIN)/python scripts/map.py

lint: build .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	for file in studies/published.py studies/*/findings.py; do \
	  MYPYPATH=studies $(BIN)/mypy --strict $$(dirname $$file)/*.py || exit 1; done
	@echo multitracer._core.__all__ > target/unstubbed
	$(BIN)/python -m mypy.stubtest multitracer._core --concise --allowlist target/unstubbed
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings

format: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cargo fmt --all

bench: build
	$(BIN)/python benchmarks/bench_analyze.py

bench-rust: .venv/tools
	cargo bench --quiet --package multitracer-core --bench parts

instructions: build
	$(BIN)/python benchmarks/instructions.py --check

fuzz: build
	$(BIN)/python scripts/fuzz.py --seconds $(or $(FUZZ_SECONDS),180)

docs: build .venv/dev
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d site/.doctrees docs site
	@echo "open site/index.html"

# The nightly compiler and cargo-fuzz; the corpus is kept in rust/fuzz/corpus/, what fails in rust/fuzz/artifacts/.
fuzz-core:
	mkdir -p rust/fuzz/corpus/$(or $(TARGET),capture)
	cd rust/fuzz && cargo +nightly fuzz run --fuzz-dir . $(or $(TARGET),capture) -- \
	  -max_total_time=$(or $(FUZZ_SECONDS),180) -timeout=20 -rss_limit_mb=3000

man: build
	$(BIN)/python scripts/man.py

licences: build .venv/dev
	$(BIN)/python scripts/licences.py $(if $(WRITE),--write)

# RUSTSEC and PYPA: clones of the databases, where the network does not reach the databases themselves.
ifneq ($(RUSTSEC)$(PYPA),)
advisories: build .venv/dev
	$(BIN)/python scripts/advisories.py $(if $(RUSTSEC),--rust "$(RUSTSEC)") $(if $(PYPA),--python "$(PYPA)")
else
advisories: build .venv/release
	@command -v cargo-audit >/dev/null || cargo install cargo-audit --locked
	cargo audit
	cargo audit --file rust/fuzz/Cargo.lock
	$(BIN)/python -m pip_audit --strict --requirement .ci/constraints.txt --no-deps --disable-pip
endif

sbom: build .venv/dev .venv/release
	$(BIN)/python scripts/sbom.py dist/multitracer.cdx.json
	cp THIRD-PARTY-LICENCES.txt dist/LICENCES.txt

sdist: .venv/release
	$(BIN)/python scripts/release.py sdist

wheel: .venv/release
	$(BIN)/python scripts/release.py wheel --target "$(TARGET)" --platform "$(PLATFORM)"

try-wheel: .venv/release
	$(BIN)/python scripts/release.py try

release: build .venv/dev .venv/release
	$(BIN)/python scripts/release.py $(if $(TAG),tag,all)

release-ready: .venv/release
	$(BIN)/python scripts/release.py ready --tag "$(TAG)"

clean:
	rm -rf .venv target site demo-output remade-samples dist build benchmarks/data multitracer/_core*.so
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# .venv/tools: what builds; .venv/built*: the package with what it needs, newer than its Rust sources;
# .venv/dev: what tests and checks, several times as large; .venv/release: what makes and checks packages.
.venv/tools: pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: needs Python 3.11 or newer; name one with make PYTHON=..."; exit 1; }
	@command -v cargo >/dev/null || { echo "make: needs cargo; see https://rustup.rs"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || \
	  { rm -rf .venv; echo "make: $(PYTHON) cannot make virtual environments (Debian: python3-venv)"; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet "maturin>=1.15,<2"
	@touch $@

.venv/dev: .venv/tools
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

.venv/release: .venv/tools
	$(BIN)/python -m pip install --quiet --group release
	@touch $@

$(BUILT): .venv/tools $(SOURCES)
	VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --release --quiet
	@$(BIN)/python -m compileall -q multitracer
	@touch $@
