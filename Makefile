# SPDX-License-Identifier: GPL-3.0-or-later
# The commands of this repository. `make help` lists them.
#
# PYTHON chooses the interpreter that makes .venv: Python 3.11 or 3.13, for which bpy exists. Without it .venv keeps the one it
# has, and a new .venv takes the first that fits. .venv is made again only when another Python is asked for.

PYTHON ?= $(shell for python in .venv/bin/python python3 python3.11 python3.13 python; do \
	if $$python -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 13)))' 2>/dev/null; \
	then echo $$python; exit; fi; done; echo python3)

RUN := .venv/bin/python
# Compiled kernels outlive a run; they are kept out of the source tree.
export NUMBA_CACHE_DIR := $(CURDIR)/build/numba
# The tests start some 300 processes, and each would compile all sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help environment demo test quick long kernels lint docs exceptions lock bench bench-rivals bench-problems ablation figures extension extension-this extension-platform wheels clean distclean
.DEFAULT_GOAL := help

help:
	@echo "make demo            install the extension in an isolated Blender, bake a card house beside Bullet, measure it, draw it"
	@echo "make quick           the tests that take about a minute together; most of what breaks, breaks here"
	@echo "make test            lint, types and all tests but the long ones, in as many processes as there are processors"
	@echo "make long            the tests that take more than ten seconds each, or repeat others at other values; before a release"
	@echo "make lint            ruff and basedpyright only"
	@echo "make docs            the manual as pages, in manual/; manual/index.html is the front page"
	@echo "make kernels         compile the kernels that are not compiled yet, in several processes"
	@echo "make bench           all benchmarks but the three below, one after the other (python -m tests.bench --list); writes build/bench; hours"
	@echo "make bench-rivals    Stiction beside Box3D, Rapier, PhysX, Jolt, Bullet and MuJoCo, which it installs into build/rivals"
	@echo "make bench-problems  contact problems solved by Siconos, Pinocchio, Clarabel, quadprog and daqp beside Stiction; installs into build/problems"
	@echo "make figures         write the tables of README.md and docs/measured.md from docs/measured/*.csv"
	@echo "make ablation        what each mechanism of the solver pays, switched off in turn; goes on where it was stopped; hours"
	@echo "make extension       dist/stiction-VERSION-PLATFORM-PYTHON.zip for every platform and Python"
	@echo "make extension-this  only the zip for this machine and this Python, with all kernels compiled"
	@echo "make wheels          the wheel of compiled kernels for this machine and this Python, into dist/wheels"
	@echo "make extension-platform  the zips for Blender's extensions platform: no compiled kernels, one for all Pythons"
	@echo "make exceptions      write the list of exceptions from lint rules anew, once it is shorter"
	@echo "make lock            resolve and write the last group of .ci/requirements-*.txt, after a version above it was changed"
	@echo "make environment     .venv with the exact versions of .ci/requirements-*.txt"
	@echo "make clean           remove what the commands made, except .venv; distclean removes that too"
	@echo
	@echo "PYTHON=python3.13 chooses another interpreter (3.11 or 3.13); now: $(PYTHON)"

environment:
	@$(PYTHON) .ci/environment.py

exceptions: environment
	$(RUN) .ci/exceptions.py --write

# Each lock file is written by the Python that it is for.
PYTHONS ?= python3.11 python3.13
lock:
	@for python in $(PYTHONS); do $$python .ci/lock.py || exit 1; done

# Installs a third of the packages of `environment`, and compiles the kernels that the card house needs.
demo:
	@$(PYTHON) .ci/environment.py --run
	$(RUN) .ci/demo.py

# Whole files of tests go to the processes, for many files share what is slow to make; those that take longest go first.
# A process that crashes ends the run: by file, pytest-xdist waits for ever for what the crashed one had still to do.
PYTEST := $(RUN) -m pytest -q --numprocesses auto --maxprocesses 8 --max-worker-restart 0 --dist loadfile --no-loadscope-reorder

# What is checked and what is compiled wait for nothing of each other.
test: environment
	$(MAKE) --no-print-directory -j2 lint kernels
	$(PYTEST) -m "not long"

# TESTS='tests/addon tests/packaging' are these alone, here and in `make long`.
quick: environment
	$(PYTEST) -m "not slow and not long" $(TESTS)

long: environment kernels
	$(PYTEST) -m long $(TESTS)

kernels: environment
	$(RUN) -m solver_core.compile_all $(NUMBA_CACHE_DIR)

# Types are those of numpy 1.26, which Python 3.11 has here: the stubs of numpy 2 take other types for the same arrays.
lint: environment
	$(RUN) -m ruff check .
	$(RUN) .ci/exceptions.py
	@if $(RUN) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; \
	then echo $(RUN) -m basedpyright --level error; $(RUN) -m basedpyright --level error; \
	else echo "lint: types are checked with Python 3.11 only"; fi

docs: environment
	$(RUN) .ci/pages.py

# Every benchmark runs; the status is 1 if one failed, and the last lines name it. BENCHMARKS='captured pivot' are these alone.
bench: environment
	$(RUN) -m tests.bench $(BENCHMARKS)

bench-rivals: environment
	$(RUN) -m tests.bench.rivals.race --thresholds

bench-problems: environment
	$(RUN) -m tests.bench.problems.compare

# What a benchmark wrote to build/bench is copied to docs/measured/ first.
figures: environment
	$(RUN) -m tests.bench.tables

# MECHANISMS='"penalties that fall" sweeps' are these alone.
ablation: environment
	$(RUN) -m tests.bench.ablation $(if $(MECHANISMS),--mechanisms $(MECHANISMS))

extension: environment
	$(RUN) .ci/extension.py

extension-this: environment
	$(RUN) .ci/extension.py --this

wheels: environment
	$(RUN) .ci/wheels.py

# PUBLISHER='--website https://... --maintainer "Name <mail>" --with-kernels'; the last has it carry the wheels of `make wheels`.
extension-platform: environment
	$(RUN) .ci/extension.py --for-platform $(PUBLISHER)

clean:
	rm -rf build dist manual .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv
