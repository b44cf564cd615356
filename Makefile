# Two commands do everything on a fresh machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT := out
JOBS ?= 2

# Tests start hundreds of processes, each of which would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

# The labelled corpora: where BLOCKML_CORPORA says, else beside the checkout, else none.
CORPORA := $(or $(BLOCKML_CORPORA),$(realpath ../shared/corpora))
COMPARED := $(if $(CORPORA),$(addprefix $(CORPORA)/,wcxb l3s-gn1 cleaneval cleanportaleval),data/sites data/pages)

.PHONY: help docs sdist reproducible sanitized sanitize fuzz fuzz-sanitized fuzz-guided hostile mutation audit pythons test-pythons engines demo test lint format data model wheel oldest peers gate pin bench paper compare parameters templates default backends clean

help:
	@echo "make demo    train on data/, extract, predict in batch, compare, write the report (in $(OUT)/)"
	@echo "make test    run the tests, with one in eight of the slow ones; BLOCKML_EXHAUSTIVE=1 make test: all, as .ci/run does"
	@echo "make lint    ruff and mypy"
	@echo "make docs    build the documentation with warnings as errors, to $(OUT)/docs"
	@echo "make data    generate the pages in data/ again"
	@echo "make model   train the released models, or as a check on data/ without BLOCKML_CORPORA"
	@echo "make wheel   build the wheel and test it in an environment of its own"
	@echo "make reproducible  build the wheel twice, in two folders, and compare the bytes"
	@echo "make sanitize  run the tests of the C extension under gcc's address and undefined-behaviour sanitizers"
	@echo "make sdist   build the source archive, install from it, extract a page, and run all tests from it"
	@echo "make engines run the tests of Spark, datatrove, Ray, Hugging Face datasets, DuckDB and polars"
	@echo "make oldest  run the tests with the oldest dependencies that pyproject.toml allows, without the C extension and with it"
	@echo "make pythons compare outputs between the system's Python and every newer one on the path, or those in PYTHONS"
	@echo "make test-pythons run the tests with them"
	@echo "make gate    nothing is worse or dearer on data/ than pinned; make pin REASON=... pins what was measured"
	@echo "make compare every extractor, model and third-party tool on the labelled corpora, or on data/ without them"
	@echo "make fuzz    feed damaged pages, files and arguments of C functions for MINUTES=5 each; fuzz-sanitized: under gcc's sanitizers"
	@echo "make fuzz-guided  the same guided by coverage, by atheris and clang, for SECONDS=300 each"
	@echo "make hostile  hostile pages through blockml and other extractors, outputs and batches; fills research/robustness.md"
	@echo "make mutation  change metrics, decision and model loader in SAMPLE=14 places each, and list what no test notices"
	@echo "make audit   look for known vulnerabilities of the installed versions (asks the network)"
	@echo "make peers   test the adapters of third-party tools"
	@echo "make bench   cost of an extraction against lxml's parse, its growth; fills research/performance.md (needs BLOCKML_CORPORA)"
	@echo "make paper   the tables of the five papers on the labelled corpora, or as a check on data/"
	@echo "make templates  distances, clusterings, linked pages and the benefit of other pages of a site (needs BLOCKML_CORPORA)"
	@echo "make default  ablations of the default model: predictors, features, training pages, confidence (needs BLOCKML_CORPORA)"
	@echo "make backends  HTML parsers compared: speed, blocks, extractions (needs BLOCKML_CORPORA)"
	@echo "make parameters  effect of the parameters of untrained extractors (needs BLOCKML_CORPORA)"

$(VENV)/.installed: pyproject.toml constraints.txt hatch_build.py $(wildcard blockml/_kernel/*.c blockml/_kernel/*.h)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[all]" --group dev
	@touch $@

demo: $(VENV)/.installed
	@mkdir -p $(OUT)
	@echo "== train on data/ and measure by cross-validation"
	$(BIN)/blockml train --dataset sites=data/sites --dataset pages=data/pages -o $(OUT)/demo.blockml --jobs $(JOBS)
	@echo "== extract one page with the model just trained"
	$(BIN)/blockml extract data/sites/harbour-courier/courier-article-03/page.html --model $(OUT)/demo.blockml
	@echo "== the same with the released model, as Markdown"
	$(BIN)/blockml extract data/sites/harbour-courier/courier-article-03/page.html --format markdown
	@echo "== extract all pages in batch"
	$(BIN)/blockml predict data/sites data/pages -o $(OUT)/predictions.jsonl --overwrite --jobs $(JOBS)
	@echo "== scores: the demo model has seen these pages, the released models have not"
	$(BIN)/blockml compare $(OUT)/demo.blockml default stacking plain dccb dsc lqf majority \
	  --dataset data/sites -o $(OUT)/demo-comparison --jobs $(JOBS)
	@echo "== learn a site, and extract a page of it without what the site repeats"
	$(BIN)/blockml templates detect data/sites/harbour-courier -o $(OUT)/courier.template
	$(BIN)/blockml extract data/sites/harbour-courier/courier-article-03/page.html --template $(OUT)/courier.template
	@echo "== cluster the pages by template"
	$(BIN)/blockml templates cluster data/sites --truth folder -o $(OUT)/clusters.html
	@echo "== explain the decision on each block"
	$(BIN)/blockml view data/sites/harbour-courier/courier-article-03/page.html -o $(OUT)/view.html
	@echo "== written: $(OUT)/demo.blockml, its card, $(OUT)/predictions.jsonl, $(OUT)/demo-comparison/report.html, $(OUT)/clusters.html, $(OUT)/view.html"

test: $(VENV)/.installed
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs $(OUT)/docs

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

data: $(VENV)/.installed
	$(BIN)/python -m tools.synthetic_sites -o data --seed 0

model: $(VENV)/.installed
	$(BIN)/python train.py --jobs $(JOBS)

wheel: $(VENV)/.installed
	@mkdir -p $(OUT)
	rm -rf dist $(OUT)/wheel-venv
	$(BIN)/python -m build --wheel --no-isolation --outdir dist
	$(PYTHON) -m venv $(OUT)/wheel-venv
	$(OUT)/wheel-venv/bin/python -m pip install --quiet --constraint constraints.txt dist/*.whl
	cd $(OUT) && wheel-venv/bin/blockml extract ../data/pages/short-article/page.html
	cd $(OUT) && wheel-venv/bin/blockml predict ../data/pages --quiet > wheel-predictions.jsonl
	cd $(OUT) && wheel-venv/bin/blockml model check default
	$(BIN)/python -m tools.synthetic_sites -o data --check

# Two wheels from two folders, at two times, are equal to the byte.
reproducible: $(VENV)/.installed
	rm -rf $(OUT)/reproducible && mkdir -p $(OUT)/reproducible/one $(OUT)/reproducible/another/folder
	for folder in one another/folder; do \
	  cp -r blockml models docs hatch_build.py pyproject.toml README.md LICENSE CITATION.cff $(OUT)/reproducible/$$folder/ && \
	  rm -f $(OUT)/reproducible/$$folder/blockml/_kernel/*.so && \
	  $(BIN)/python -m build --wheel --no-isolation --outdir $(OUT)/reproducible/$$folder/dist $(OUT)/reproducible/$$folder || exit 1; done
	cmp $(OUT)/reproducible/one/dist/*.whl $(OUT)/reproducible/another/folder/dist/*.whl
	sha256sum $(OUT)/reproducible/one/dist/*.whl $(OUT)/reproducible/another/folder/dist/*.whl

sdist: $(VENV)/.installed
	@mkdir -p $(OUT)
	rm -rf $(OUT)/sdist $(OUT)/sdist-venv
	$(BIN)/python -m build --sdist --no-isolation --outdir $(OUT)/sdist
	$(PYTHON) -m venv $(OUT)/sdist-venv
	$(OUT)/sdist-venv/bin/python -m pip install --quiet --constraint constraints.txt $(OUT)/sdist/*.tar.gz
	cd $(OUT) && sdist-venv/bin/python -c "import blockml._kernel as k; assert k.compiled, 'not compiled'"
	cd $(OUT) && sdist-venv/bin/blockml extract ../data/pages/short-article/page.html
	cd $(OUT)/sdist && tar -xzf *.tar.gz && $(MAKE) -C blockml_extract-*/ test

# The C extension under gcc's address and undefined-behaviour sanitizers, in a copy of its own.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g
SANITIZED_TESTS := tests/parsing tests/features tests/predictors tests/decision tests/model

sanitized: $(VENV)/.installed
	rm -rf $(OUT)/sanitized && mkdir -p $(OUT)/sanitized
	cp -r blockml tests tools models data docs research conftest.py hatch_build.py pyproject.toml $(OUT)/sanitized/
	rm -f $(OUT)/sanitized/blockml/_kernel/*.so
	cd $(OUT)/sanitized && ../../$(BIN)/python -c "from pathlib import Path; import hatch_build; \
	  hatch_build.compiled(Path('.').resolve(), flags=tuple('$(SANITIZE)'.split()))"

sanitize: sanitized
	cd $(OUT)/sanitized && CI=true ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc \
	  LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	  ../../$(BIN)/python -m pytest -q --exhaustive -p no:cacheprovider -n $(JOBS) -k "not without_memory" $(SANITIZED_TESTS)

MINUTES ?= 5

fuzz: $(VENV)/.installed
	$(BIN)/python -m research.fuzz --minutes $(MINUTES)

fuzz-sanitized: sanitized
	cd $(OUT)/sanitized && ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc \
	  LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	  ../../$(BIN)/python -m research.fuzz page model calls loaders --minutes $(MINUTES)

# With the coverage of the extension as guide, which needs clang. The address and undefined-behaviour sanitizers watch.
SECONDS ?= 300

fuzz-guided:
	rm -rf $(OUT)/guided && mkdir -p $(OUT)/guided
	cp -r blockml research models data hatch_build.py pyproject.toml $(OUT)/guided/
	rm -f $(OUT)/guided/blockml/_kernel/*.so
	$(PYTHON) -m venv --clear $(OUT)/guided-venv
	$(OUT)/guided-venv/bin/python -m pip install --quiet atheris numpy lxml webencodings selectolax hatchling setuptools markdown-it-py jinja2 nh3 joblib
	cd $(OUT)/guided && CC=clang LDSHARED="clang -shared" ../guided-venv/bin/python -c "from pathlib import Path; import hatch_build; \
	  hatch_build.compiled(Path('.').resolve(), flags=('-fsanitize=address,undefined,fuzzer-no-link', '-fno-sanitize-recover=undefined', '-g'))"
	cd $(OUT)/guided && for target in parsing features rendering trees model; do \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	  LD_PRELOAD="$$(../guided-venv/bin/python -c 'import atheris; print(atheris.path())')/asan_with_fuzzer.so" \
	  ../guided-venv/bin/python -m research.fuzz.guided $$target -max_total_time=$(SECONDS) || exit 1; done

hostile: $(VENV)/.peers
	$(BIN)/python -m research.benchmarks.hostile --report research/robustness.md
	$(BIN)/python -m research.benchmarks.hostile.outputs --backends lxml lexbor html5lib --report research/robustness.md
	$(BIN)/python -m research.benchmarks.hostile.crossed --report research/robustness.md
	$(BIN)/python -m research.benchmarks.hostile.batches --report research/robustness.md

# All places with SAMPLE=0, which takes hours.
SAMPLE ?= 14

mutation: $(VENV)/.installed
	$(BIN)/python -m research.mutation --sample $(SAMPLE)

audit:
	@mkdir -p $(OUT)
	$(PYTHON) -m venv --clear $(OUT)/audit-venv
	$(OUT)/audit-venv/bin/python -m pip install --quiet --upgrade pip pip-audit
	$(OUT)/audit-venv/bin/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip

# The system's Python, and every newer one on the path that runs. 3.11.2, which Debian 12 has, matches some regular
# expressions differently from later patch releases.
PYTHONS ?= $(wildcard /usr/bin/python3) $(foreach minor,2 3 4 5 6,$(shell python3.1$(minor) -c "" 2>/dev/null && command -v python3.1$(minor)))

# Outputs in every format must be the same in each; the wheel serves all of them.
pythons: $(VENV)/.installed
	@rm -rf $(OUT)/pythons && mkdir -p $(OUT)/pythons
	$(BIN)/python -m build --wheel --no-isolation --outdir $(OUT)/pythons
	$(BIN)/python -m research.benchmarks.pythons record $(OUT)/pythons/project.jsonl
	for python in $(PYTHONS); do \
	  name=$(OUT)/pythons/$$($$python -c "import platform; print(platform.python_version())") && \
	  $$python -m venv $$name && \
	  $$name/bin/python -m pip install --quiet --constraint constraints.txt $(OUT)/pythons/*.whl && \
	  $$name/bin/python research/benchmarks/pythons.py record $$name.jsonl || exit 1; \
	done
	$(BIN)/python -m research.benchmarks.pythons compare $(OUT)/pythons/*.jsonl

test-pythons:
	@mkdir -p $(OUT)
	@[ -n "$(strip $(PYTHONS))" ] || { echo "no other Python on the path: name some in PYTHONS" >&2; exit 1; }
	for python in $(PYTHONS); do \
	  $$python -c "" || exit 1; \
	  name=$(OUT)/$$($$python -c "import platform; print(platform.python_version())")-venv; $$python -m venv --clear $$name && \
	  $$name/bin/python -m pip install --quiet --upgrade pip && \
	  $$name/bin/python -m pip install --quiet --constraint constraints.txt --editable ".[all]" --group test && \
	  $$name/bin/python -m pytest --exhaustive -n $(JOBS) --dist worksteal -q || exit 1; \
	done

# The adapters of batches, in an environment of their own, since the engines' pins exclude each other's now and then.
$(OUT)/engines-venv/.installed: pyproject.toml
	@mkdir -p $(OUT)
	$(PYTHON) -m venv --clear $(OUT)/engines-venv
	$(OUT)/engines-venv/bin/python -m pip install --quiet --upgrade pip
	$(OUT)/engines-venv/bin/python -m pip install --quiet --editable ".[spark,datatrove,ray,frames]" duckdb datasets scrapy langchain-core llama-index-core haystack-ai --group test --group frames
	@touch $@

engines: $(OUT)/engines-venv/.installed
	$(OUT)/engines-venv/bin/python -m pytest -q --exhaustive tests/batch/engines tests/datasets/test_tables.py

# The oldest dependencies, without the extension and with it. PURE limits the tests without it, OLDEST those with it.
PURE ?=
OLDEST ?=

$(OUT)/oldest-venv/.installed: pyproject.toml constraints-oldest.txt
	@mkdir -p $(OUT)
	$(PYTHON) -m venv --clear $(OUT)/oldest-venv
	$(OUT)/oldest-venv/bin/python -m pip install --quiet --upgrade pip
	BLOCKML_PURE=1 $(OUT)/oldest-venv/bin/python -m pip install --quiet --constraint constraints-oldest.txt --editable ".[all]" --group test
	$(OUT)/oldest-venv/bin/python -m pip install --quiet hatchling setuptools
	@touch $@

oldest: $(OUT)/oldest-venv/.installed
	BLOCKML_PURE=1 $(OUT)/oldest-venv/bin/python -m pytest --exhaustive -n $(JOBS) --dist worksteal -q $(PURE)
	$(OUT)/oldest-venv/bin/python -c "from pathlib import Path; import hatch_build; hatch_build.compiled(Path('.').resolve())"
	$(OUT)/oldest-venv/bin/python -m pytest --exhaustive -n $(JOBS) --dist worksteal -q $(OLDEST)

$(VENV)/.peers: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[compare,compare-more]"
	@touch $@

peers: $(VENV)/.peers
	$(BIN)/python -m pytest -q tests/evaluation/comparison/test_systems.py tests/test_coming_from.py

gate: $(VENV)/.installed
	$(BIN)/python research/benchmarks/gate.py --jobs $(JOBS)
	$(BIN)/python research/benchmarks/cost_gate.py --jobs $(JOBS)

pin: $(VENV)/.installed
	$(BIN)/python research/benchmarks/gate.py --pin --jobs $(JOBS)
	$(BIN)/python research/benchmarks/cost_gate.py --pin --reason "$(REASON)" --jobs $(JOBS)

compare: $(VENV)/.peers
	$(BIN)/blockml compare all peers $(addprefix --dataset ,$(COMPARED)) -o $(OUT)/comparison --jobs $(JOBS)

templates: $(VENV)/.installed
	$(BIN)/python -m research.benchmarks.templates --jobs $(JOBS)
	$(BIN)/python research/benchmarks/site_pages.py --jobs $(JOBS)

default: $(VENV)/.installed
	$(BIN)/python -m research.benchmarks.default --jobs $(JOBS)

backends: $(VENV)/.installed
	$(BIN)/python research/benchmarks/backends.py

parameters: $(VENV)/.installed
	$(BIN)/python research/benchmarks/parameters.py --jobs $(JOBS)

bench: $(VENV)/.peers
	@mkdir -p $(OUT)
	$(BIN)/python -m research.benchmarks.speed -o $(OUT)/speed.json
	$(BIN)/python -m research.benchmarks.speed.document $(OUT)/speed.json research/performance.md

paper: $(VENV)/.installed
	$(BIN)/python -m research.benchmarks.papers --jobs $(JOBS) $(if $(CORPORA),--corpora $(CORPORA))

clean:
	rm -rf $(OUT) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
