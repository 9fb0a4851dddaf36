# Two commands for newcomers: `make demo` and `make test`. Both create .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all test-lowest test-doors types dist fuzz mutants audit lint bench speed forrester paper paper-networks peers peers-environments models large trouble objectives calibrated decisions kinds faults problems test-torch figures docs clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp per set of extras: installed again when pyproject.toml changes.
$(VENV)/.%-installed: pyproject.toml | $(BIN)/python
	@echo "Installing calibrant with [$*] into $(VENV): a minute or so, without output"
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@

# One thread, as for the README's numbers: rounding depends on how many there are, and a search on it.
demo: $(VENV)/.demo-installed  ## tune a model on real data and write report.html
	OPENBLAS_NUM_THREADS=1 $(BIN)/calibrant demo

# A worker on each core; whoever is done early takes over what another has not begun.
WORKERS := -n auto --dist worksteal

test: $(VENV)/.test-installed  ## run the tests, but for those marked as slow
	$(BIN)/python -m pytest $(WORKERS) -m "not slow"

test-all: $(VENV)/.test-installed  ## run all tests, also the slow ones
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest $(WORKERS)

.venv-lowest/.installed: pyproject.toml tests/lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --editable '.[test]' --constraint tests/lowest.txt
	touch $@

# Warnings are not errors here: the versions that are not held down warn of the old ones.
test-lowest: .venv-lowest/.installed  ## the tests, with the lowest versions of all that is needed
	.venv-lowest/bin/python -m pytest $(WORKERS) -m "not slow" -W default

fuzz: $(VENV)/.test-installed  ## 10,000 damaged records, files, states, command lines and outputs, spaces and orders of events each (hours)
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest $(WORKERS) tests/cli/test_damaged_input.py \
		tests/studies/test_suggestions.py tests/studies/test_space.py tests/studies/test_any_order.py tests/studies/test_any_space.py

.venv-audit/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet --editable '.[test]' 'pip-audit>=2.7' 'detect-secrets>=1.5'
	touch $@

# Passwords that stand in examples and tests, and hashes of data: these are no secrets.
EXAMPLES := user:password@|s3cret|:pw@
audit: .venv-audit/.installed  ## known weaknesses of what is installed, and secrets in what is committed (needs a network)
	.venv-audit/bin/pip-audit --skip-editable
	git ls-files -z -- . ':!benchmarks/*/results' ':!*.svg' ':!*.png' ':!docs/*.jsonl' | xargs -0 \
		.venv-audit/bin/detect-secrets-hook --exclude-lines '$(EXAMPLES)' \
		--disable-plugin HexHighEntropyString --disable-plugin Base64HighEntropyString

mutants: $(VENV)/.test-installed  ## change the theorem's code and the step; list what no test notices (an hour)
	$(BIN)/python tools/mutants.py $(FILES)

lint: $(VENV)/.lint-installed  ## ruff, mypy --strict, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The rivals of the benchmark live in an environment of their own.
.venv-bench/.installed: pyproject.toml benchmarks/requirements.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --editable '.[demo]' --requirement benchmarks/requirements.txt
	touch $@

bench: .venv-bench/.installed  ## run what is missing of the stream benchmark, write its tables
	OMP_NUM_THREADS=1 .venv-bench/bin/python -W ignore -m benchmarks.streams.run
	.venv-bench/bin/python -m benchmarks.streams.tables

# torch first, in its pinned CPU build, so that nothing pulls a CUDA one.
.venv-speed/.installed: pyproject.toml benchmarks/speed/requirements.txt
	$(PYTHON) -m venv .venv-speed
	.venv-speed/bin/python -m pip install --quiet $$(grep '^torch' benchmarks/speed/requirements.txt)
	.venv-speed/bin/python -m pip install --quiet --editable . --requirement benchmarks/speed/requirements.txt
	touch $@

speed: .venv-speed/.installed  ## time an ask beside Optuna's GPSampler and BoTorch, write the table
	.venv-speed/bin/python -m benchmarks.speed.run
	.venv-speed/bin/python -m benchmarks.speed.tables

forrester: $(VENV)/.figures-installed  ## Forrester with the quantile bound: searches, picture, tables
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.forrester.run
	$(BIN)/python -m benchmarks.forrester.draw
	$(BIN)/python -m benchmarks.forrester.tables

paper: $(VENV)/.paper-installed  ## the paper's experiments, what is missing of them; page and pictures
	$(BIN)/python -m benchmarks.paper all --pictures

# Each system beside calibrant has an environment of its own; torch goes first where it is needed.
PEERS = $(basename $(notdir $(wildcard benchmarks/peers/environments/*.txt)))

.venv-peers/%/.installed: benchmarks/peers/environments/%.txt pyproject.toml
	$(PYTHON) -m venv .venv-peers/$*
	for torch in $$(grep -o '^torch==[0-9.]*' $<); do .venv-peers/$*/bin/python -m pip install --quiet $$torch; done
	.venv-peers/$*/bin/python -m pip install --quiet --requirement $<
	touch $@

peers-environments: $(PEERS:%=.venv-peers/%/.installed)

peers: peers-environments  ## calibrant beside other systems: what is missing of it, and its page (hours)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.peers.run
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.peers.variants
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.peers.shown
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.peers.prior judge
	.venv-peers/own/bin/python -m benchmarks.peers.prior tables
	.venv-peers/own/bin/python -m benchmarks.peers.regret
	.venv-peers/own/bin/python -m benchmarks.peers.tables

# torch goes first, pinned: nothing that follows may choose another build of it.
.venv-torch/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-torch
	.venv-torch/bin/python -m pip install --quiet torch==2.13.0
	.venv-torch/bin/python -m pip install --quiet --editable '.[test,torch,botorch,ax]' 'ray[tune]>=2.60' 'dask[distributed]>=2025.1' 'optuna-integration[sklearn]>=5.0'
	touch $@

paper-networks: .venv-torch/.installed  ## its networks, on a GPU where torch finds one: hours without
	.venv-torch/bin/python -m benchmarks.paper cifar10 svhn

models: .venv-torch/.installed  ## families of models, raw and calibrated: what is missing of it, and its page (hours)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-torch/bin/python -m benchmarks.models.run
	.venv-torch/bin/python -m benchmarks.models.tables

trouble: .venv-peers/own/.installed  ## failures, pruning, penalties, several objectives: what is missing, and its page (two hours)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.trouble.run
	.venv-peers/own/bin/python -m benchmarks.trouble.tables

objectives: .venv-peers/own/.installed .venv-torch/.installed  ## several objectives, by hypervolume: what is missing, and its page (hours)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.objectives.choices
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.objectives.run
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-torch/bin/python -m benchmarks.objectives.rivals
	.venv-peers/own/bin/python -m benchmarks.objectives.tables

calibrated: .venv-peers/own/.installed  ## ways to calibrate, on two controls and on tasks: what is missing, and its page (hours)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.calibrated.run
	.venv-peers/own/bin/python -m benchmarks.calibrated.tables

decisions: .venv-peers/own/.installed .venv-torch/.installed  ## forecasts, recommendations, outlook, stopping, pruning, feasibility: what is missing, and its page (hours)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.decisions.searches judge
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.decisions.pruning
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.decisions.pruning_live
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.decisions.suggestions
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.decisions.beating run
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.decisions.proposals
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.decisions.choosing
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.decisions.recommend
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.decisions.recommend --again
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-torch/bin/python -m benchmarks.decisions.recommend_rivals
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.decisions.feasibility
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-torch/bin/python -m benchmarks.decisions.feasibility_rivals
	.venv-peers/own/bin/python -m benchmarks.decisions.tables

kinds: .venv-peers/own/.installed  ## noise, workers, dimensions, long and mixed searches: what is missing of it, and its page (hours)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.kinds.run
	.venv-peers/own/bin/python -m benchmarks.kinds.tables

problems: .venv-peers/own/.installed  ## candidates and constraints between inputs: what is missing, and its page (half an hour)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.problems.run
	.venv-peers/own/bin/python -m benchmarks.problems.tables

large: $(VENV)/.test-installed  ## searches with thousands of outcomes: what is missing, and its page (an hour)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.large.run
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.large.stored
	$(BIN)/python -m benchmarks.large.tables

faults: $(VENV)/.test-installed .venv-peers/own/.installed  ## workers killed, databases stopped: what is missing, and its page (half an hour)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.faults.run
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.faults.asks
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.faults.fits
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/own/bin/python -m benchmarks.faults.regret
	.venv-peers/own/bin/python -m benchmarks.faults.tables

TORCH_TESTS := $(patsubst %,tests/bridges/test_%.py,ax botorch dask frameworks networks ray search_cv) \
	tests/benchmarks/test_paper_cnn.py tests/test_docstrings.py

test-torch: .venv-torch/.installed  ## the tests that need torch, BoTorch, Ax, Ray, Dask or OptunaSearchCV
	.venv-torch/bin/python -m pytest $(WORKERS) $(TORCH_TESTS)

# What users come in through, each with its own dependencies; none of them needs torch.
.venv-doors/.installed: pyproject.toml tests/doors/requirements.txt
	$(PYTHON) -m venv .venv-doors
	.venv-doors/bin/python -m pip install --quiet --editable . --requirement tests/doors/requirements.txt
	touch $@

test-doors: .venv-doors/.installed  ## Hydra, OptunaHub, MLflow, Weights & Biases, gest-api, and the release
	.venv-doors/bin/python -m pytest $(WORKERS) tests/doors tests/test_docstrings.py

# From the wheel, as others see the types; pyright looks in the environment that is on the PATH.
types:  ## the types that others see: pyright --verifytypes on the installed wheel
	rm -rf .venv-types && $(PYTHON) -m venv .venv-types
	.venv-types/bin/python -m pip install --quiet . 'pyright[nodejs]>=1.1.400'
	.venv-types/bin/python tools/verify_types.py

.venv-dist/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet 'build>=1.2' 'hatchling>=1.27' 'twine>=6.1' 'check-wheel-contents>=0.6.1'
	touch $@

# The time of the last commit, so that the same commit gives the same bytes.
dist: .venv-dist/.installed  ## sdist and wheel into dist/, checked
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) .venv-dist/bin/python -m build --no-isolation --outdir dist
	.venv-dist/bin/twine check --strict dist/*
	.venv-dist/bin/check-wheel-contents dist/*.whl
	sha256sum dist/* 2>/dev/null || shasum -a 256 dist/*

# The notice is about a later MkDocs; warnings of this one are errors.
docs: $(VENV)/.docs-installed  ## build the documentation site into site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

figures: $(VENV)/.figures-installed  ## redraw the pictures of README and docs (needs Chrome or Chromium)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/draw.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.forrester.animate

clean:
	rm -rf $(VENV) .venv-bench .venv-speed .venv-peers .venv-torch .venv-lowest .venv-audit .venv-doors .venv-types .venv-dist dist build site report.html
