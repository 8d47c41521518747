# For work in the checkout. To use the program elsewhere, install it: see README.md.
# make run   creates .venv, installs what requirements.lock names, runs the first sweep
# make test  the same environment, the tests but the slow ones; make test-slow runs those;
#            ARGS="-k name" runs some of them, CHANGED=yes those that depend on what has changed
# Needs Python 3.11 with venv, and a network for the first installation.

PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
CODE   := orchestrator trainables sweeps benchmarks
SWEEP  ?= sweeps/products_loader.py
ARGS   ?=
# A worker a core and one, up to six: four fifths of the tests' time is CPU time, and a worker's start
# takes ten seconds of it.
SHARED := --numprocesses $(shell expr $$(nproc) + 1) --maxprocesses 6 --dist worksteal
SLOWEST := --durations 10 --durations-min 20
CACHE  := .pytest_cache

# With it set, every process of the tests would compile all their modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install run plan test test-slow coverage integrations notebooks docs screenshots check lint types layers format lock wheel clean

help:  ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(STAMP)  ## Create .venv with the pinned dependencies

run: $(STAMP)  ## Run a sweep: make run SWEEP=sweeps/mnist_parallel.py ARGS="--trials 8"
	$(BIN)/python -m orchestrator $(SWEEP) $(ARGS)

plan: $(STAMP)  ## Print what a sweep would run
	$(BIN)/python -m orchestrator $(SWEEP) --plan $(ARGS)

# Most tests share the cores; those that would see each other's load run alone, after them. pytest
# ends with 5 where ARGS leave it none, which may happen to one half. Each half has a cache of its
# own: where only tests of the other half have failed, --last-failed would run all of this one.
define pytest
	@shared=0; alone=0; files=; \
	if [ "$(CHANGED)" ]; then files=$$($(BIN)/python -m tests.changed); \
	    [ "$$files" ] || { echo "no test depends on what has changed"; exit 0; }; fi; \
	$(BIN)/python -m pytest -m "($(1)) and not alone" -o cache_dir=$(CACHE)/shared $(SHARED) $(SLOWEST) $(ARGS) $$files || shared=$$?; \
	$(BIN)/python -m pytest -m "($(1)) and alone" -o cache_dir=$(CACHE)/alone $(SLOWEST) $(ARGS) $$files || alone=$$?; \
	case $$shared,$$alone in 0,0|0,5|5,0) ;; *) exit 1 ;; esac
endef

test: $(STAMP)  ## All tests but the slow ones (SLOW=yes: these too; CHANGED=yes: those of what has changed)
	$(call pytest,not slow$(if $(SLOW), or slow))

test-slow: $(STAMP)  ## The others: real servers, clusters, whole sweeps
	$(call pytest,slow)

# Every test, slow ones included. The data lie outside of the checkout, which tests must leave as it is.
coverage: $(STAMP)  ## Coverage of lines by all tests
	@folder=$$(mktemp -d); export COVERAGE_FILE=$$folder/data COVERAGE_RCFILE=$(CURDIR)/pyproject.toml; \
	$(BIN)/python -m coverage run -m pytest -q -m "not alone" $(SHARED) $(ARGS); \
	$(BIN)/python -m coverage run -m pytest -q -m alone $(ARGS); \
	$(BIN)/python -m coverage combine --quiet $$folder; $(BIN)/python -m coverage report; \
	rm -rf $$folder

integrations: $(STAMP)  ## Tests with Lightning and transformers, which are added to .venv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements-integrations.in
	$(BIN)/python -m pytest tests/orchestrator/integrations tests/test_documents.py $(ARGS)

# The scripts run as they are; these are their pictures: .ipynb and .html, with all output in them
# but plotly.js, which has 4.8 MB: the pages share one, and Jupyter takes it from the network.
notebooks: $(STAMP)  ## Execute analysis/notebooks into docs/_build/notebooks
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements-notebooks.in
	mkdir -p docs/_build/notebooks
	for file in analysis/notebooks/[0-9]*.py; do \
	    name=docs/_build/notebooks/$$(basename $$file .py); \
	    PATH=$(CURDIR)/$(BIN):$$PATH PYTHONPATH=$(CURDIR) PLOTLY_RENDERER=notebook_connected \
	        $(BIN)/python -m jupytext --quiet --to ipynb --set-kernel python3 --execute \
	        --run-path $(CURDIR) --output $$name.ipynb $$file || exit 1; \
	    $(BIN)/python -m nbconvert --log-level ERROR --to html --HTMLExporter.mathjax_url= \
	        --HTMLExporter.require_js_url= $$name.ipynb || exit 1; \
	done
	cp $(VENV)/lib/python*/site-packages/plotly/package_data/plotly.min.js docs/_build/notebooks
	sed -i -E 's#<script [^>]*https://cdn.plot.ly[^>]*>#<script src="plotly.min.js">#; s#<script [^>]*(>import ")?https://[^<]*</script>##' \
	    docs/_build/notebooks/*.html

# Notebooks are the gallery: where there are none yet, `make notebooks` makes them, in minutes.
docs: $(STAMP)  ## The documents as a site, its links checked: docs/_build/site
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements-docs.in
	ls docs/_build/notebooks/*.html >/dev/null 2>&1 || $(MAKE) notebooks
	rm -rf docs/_build/pages && mkdir -p docs/_build/pages/notebooks
	git ls-files -z ':!tests' ':!.*' | xargs -0 cp --parents --target-directory docs/_build/pages
	cp docs/_build/notebooks/*.html docs/_build/notebooks/*.js docs/_build/pages/notebooks
	cd docs/_build/pages/notebooks && { echo "# Gallery"; echo; for file in *.html; do \
	    echo "- [$$(echo $${file%.html} | tr _ ' ')]($$file)"; done; } > index.md
	$(BIN)/python -m mkdocs build

screenshots: $(STAMP)  ## The pictures of README and docs, of a run of this code; needs Chromium
	$(BIN)/python -m benchmarks.pictures

check: lint types layers  ## Lint, formatting, types, layers

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy $(CODE)

layers: $(STAMP)
	$(BIN)/lint-imports

format: $(STAMP)  ## Mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(STAMP)  ## Resolve requirements.in into requirements.lock (Linux x86-64)
	$(BIN)/uv pip compile --quiet --python $(BIN)/python --upgrade --generate-hashes --no-emit-index-url --no-annotate \
	    --no-header --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
	    --output-file requirements.lock requirements.in

wheel: $(STAMP)  ## Build the distribution's wheel into dist/
	$(BIN)/uv build --wheel --quiet

clean:  ## Remove .venv and what the tools left behind; runs/ and data/ stay
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# pip installs uv alone, checked against the hashes of the lock; uv installs everything. All is compiled
# once: where Python may not write byte code, every process would compile torch and this project again.
# What another Python has left in it, in an installation that failed, is no part of this one.
$(STAMP): requirements.lock
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing. Debian, Ubuntu: apt install" \
	    "python3.11-venv. Elsewhere: uv python install 3.11, then" \
	    'make PYTHON="$$(uv python find 3.11)"'; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
	    -r $(VENV)/uv.lock
	$(BIN)/uv pip sync --quiet --require-hashes --compile-bytecode --python $(BIN)/python requirements.lock
	$(BIN)/python -m compileall -q $(CODE)
	touch $@
