# The front door; CMakePresets.json has what each build is. `make help` lists the targets.

JOBS ?= $(shell nproc)
DESTDIR ?=
PREFIX ?= /usr/local
CTEST_FLAGS ?=
MAKEFLAGS += --no-print-directory
presets := release lab debug asan tsan clang
# What `make test` needs; a test of one build is registered in that build's tree.
test_presets := release lab debug asan tsan

.PHONY: all help $(presets) docs demo-deps test-deps python demo test test-long install clean

all: release

help:
	@echo 'make               build/release/libhakmem.so, libhakmem.a and bench/*'
	@echo 'make lab           the same in build/lab, with every gate read from the environment'
	@echo 'make debug         build/debug, invariants checked at run time'
	@echo 'make asan, tsan    build/asan and build/tsan, instrumented'
	@echo 'make clang         build/clang, the release build by the other compiler'
	@echo 'make demo          hakmem compare on a real program, with the allocators that are there'
	@echo 'make test          installs what is missing, builds, runs the CI subset of the tests'
	@echo 'make test-long     the tests that CI has no time for'
	@echo 'make docs          writes docs/options.md anew'
	@echo 'make install       into PREFIX ($(PREFIX)), below DESTDIR'
	@echo 'make clean         removes build/'

$(presets):
	@cmake --preset $@ --log-level=NOTICE
	@cmake --build --preset $@ -j $(JOBS)

docs:
	@cmake --preset release --log-level=NOTICE
	@cmake --build --preset release -j $(JOBS) --target docs

demo-deps:
	@tools/install-deps demo

test-deps:
	@tools/install-deps test

# The lab is Python; the libraries that it needs go into an environment of their own.
python:
	@tools/setup-python build/venv

# What is missing is installed first, whatever -j says.
demo: demo-deps
	@$(MAKE) python release
	@tools/demo

test: test-deps
	@$(MAKE) python $(test_presets)
	@tools/run-tests -j $(JOBS) -LE long $(CTEST_FLAGS)

test-long: test-deps
	@$(MAKE) python $(test_presets)
	@tools/run-tests -j $(JOBS) -L long $(CTEST_FLAGS)

install: release
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX) --strip

clean:
	@rm -rf build
