# SPDX-License-Identifier: Apache-2.0
# Two words: `make demo` and `make test`. Both install what they need first (Debian packages, with root or sudo) and
# build with CMake and Ninja; all else is in scripts/ and CMakeLists.txt.
PRESET ?= release

PREFIX ?= /usr/local

.PHONY: all build demo test bench install clean bootstrap
.DEFAULT_GOAL := build

bootstrap:
	@scripts/bootstrap

build: bootstrap
	@scripts/build $(PRESET)

# The main job on a real checkpoint, which is fetched from the Python registry (its licence terms apply).
demo: bootstrap
	@scripts/build release glia tiny_model example_rounding nrt_client
	@scripts/demo

# Every test program, script test and lint; ends in `N passed, N failed, N skipped`.
test: build
	@scripts/test

# Ratios against other libraries, measured side by side: minutes.
bench: build
	@bench/run

# glia, libnrt.so, headers, manual page and completion under PREFIX (and DESTDIR, when packages are made).
install: build
	@cmake --install build/$(PRESET) --prefix "$(PREFIX)"

# Keeps what was downloaded (build/models, build/venv); `rm -rf build` removes that too.
clean:
	rm -rf $(addprefix build/,release asan tsan fuzz coverage clang ci) build/test-results*.tsv
