# SPDX-License-Identifier: Apache-2.0
# Everyday commands. `make` alone lists them; each is a script in tools/ or a CMake preset.
.DEFAULT_GOAL := help
.PHONY: help setup build demo check test bench docs wheel format lint clean
JOBS ?= $(shell nproc)
# Programs that tools/setup --user has brought, before others.
export PATH := $(CURDIR)/.venv/toolchain:$(PATH)

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## install what is missing: apt packages, and Python packages into .venv
	@bash tools/setup

build: ## build the release preset into build/release
	@bash tools/setup
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS)

demo: ## run the planetary ring on two ranks and report where its time went
	@bash tools/demo

check: ## what your changes could have broken, for at most five minutes
	@python3 tools/check

test: ## every test: whole build, sanitizer builds, Python, rules of the project
	@python3 tools/test

wheel: ## build the Python package, with all sources in it, into build/wheel
	@bash tools/wheel

bench: ## build and list the benchmarks; run one with: make bench NAME=...
	@bash tools/bench $(NAME)

docs: ## build the documentation site into build/site; open build/site/index.html
	@bash tools/docs

format: ## format all C++ and Python files
	@bash tools/format

lint: ## clang-tidy on the files changed since the last commit; all with: make lint ALL=1
	@bash tools/lint $(if $(ALL),--all)

clean: ## remove the build trees and the environment
	rm -rf build .venv
