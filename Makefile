# Everything a person or a machine runs here. It needs Python 3.11 or newer, make and git.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet \
	-c constraints.txt --build-constraint constraints.txt

# Only torch is read from an index of your own choice: where the default index would bring a build
# for a GPU that is not there, set TORCH_ARGS='--index-url URL' to PyTorch's index of CPU builds.
TORCH_ARGS ?=
PYTEST_ARGS ?= -n 2

.DEFAULT_GOAL := help
.PHONY: help demo test lint format types check bench validate saving docs screenshots validate-vllm dist install clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/.core ## install the core (no torch, no dashboard) and bill a small log that we ship
	@$(BIN)/cachecast demo

test: .venv/.all ## install everything and run all tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: .venv/.all ## style, format and import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: .venv/.all ## mypy in strict mode, over our packages and the tests
	$(BIN)/mypy

check: lint types test ## all of the above

format: .venv/.all ## rewrite the files in our style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.all ## speed and peak memory (prints figures, never fails for being slow)
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

validate: .venv/.all ## is the prediction true here? calibrate, simulate, replay three times, compare
	$(BIN)/python replay/validate.py

# VLLM: a virtual environment with vLLM; one that is not there is made, with vLLM for the CPU (3.4 GB).
# SERVE: the command of another server instead, see the head of the script.
# LOG: a log of token ids, else a made one.
VLLM ?= .venv-vllm
validate-vllm: .venv/.all ## a real vLLM against the simulator: make validate-vllm [VLLM=venv] [LOG=file]
ifdef SERVE
	$(BIN)/python replay/validate_vllm.py --serve '$(SERVE)' $(VALIDATE_ARGS) $(LOG)
else
	@test -x '$(VLLM)/bin/vllm' || replay/install_vllm.sh '$(VLLM)' $(TORCH_ARGS)
	$(BIN)/python replay/validate_vllm.py --vllm '$(VLLM)' $(VALIDATE_ARGS) $(LOG)
endif

saving: .venv/.all ## TTFT of a long shared prefix, cold and warm: a table and saving.svg
	$(BIN)/python replay/saving.py --chart saving.svg

screenshots: .venv/.all ## every page of the dashboard into screenshots/, two widths, two themes (needs chromium)
	PYTHONPATH=tests $(BIN)/python docs/take_screenshots.py screenshots

docs: .venv/.all ## write docs/sql.md, docs/log-formats.md, the tables of docs/latency.md, the demo's log and its output anew
	$(BIN)/python -m cachecast.results.documentation > docs/sql.md
	$(BIN)/python -m cachecast_datasets.format_docs > docs/log-formats.md
	$(BIN)/python docs/fill_readme.py

dist: .venv/.all ## build the wheel and the sdist into dist/
	rm -rf dist
	$(BIN)/python -m hatchling build

install: .venv/.all ## everything that the other targets need, all extras included

clean: ## remove what make created
	rm -rf .venv .venv-vllm dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Stamps: a second call of make installs nothing.

.venv/.pip: constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cachecast needs Python 3.11 or newer, this is " + sys.version)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --upgrade -c constraints.txt pip
	@touch $@

.venv/.core: .venv/.pip pyproject.toml
	$(PIP) -e .
	@touch $@

# torch goes first and alone: with the exact version pip takes a CPU build that is at hand, while a
# range beside other packages could bring gigabytes for a GPU.
.venv/.all: .venv/.pip pyproject.toml
	$(PIP) $(TORCH_ARGS) "$$(grep '^torch==' constraints.txt)"
	$(PIP) -e '.[engine,endpoint,dashboard]' --group dev
	@touch $@ .venv/.core
