# Every command sets up what it needs from uv.lock first. Arguments: make demo ARGS="--port 8000"
.PHONY: demo test test-sqlite test-postgresql test-browser check soak bench ready format messages docs pictures
PYTHON = .venv/bin/python
PYTEST = $(PYTHON) -m pytest
ARGS =

# A console with people, agents and a scripted model, ready to try.
demo: ready
	exec $(PYTHON) manage.py demo $(ARGS)

# Everything on SQLite; what touches the database again on PostgreSQL; the journeys in a browser. All at once.
test: ready
	@echo "Testing on SQLite, on PostgreSQL and in a browser, all at once. Each prints when it ends."
	@$(MAKE) --no-print-directory --jobs=3 --keep-going --output-sync=target test-sqlite test-postgresql test-browser
test-sqlite: ready
	$(PYTEST) --ignore=tests/e2e $(ARGS)
test-postgresql: ready
	$(PYTEST) --ignore=tests/e2e -p tests.harness.postgresql $(ARGS)
test-browser: ready
	scripts/browser
	$(PYTEST) tests/e2e $(ARGS)

# Everything that can be said about the code without running it.
check: ready
	scripts/check

# The long forms of the tests, with the full counts.
soak: ready
	$(PYTEST) -m soak --hypothesis-profile=soak $(ARGS)
	$(PYTEST) -m soak --hypothesis-profile=soak -p tests.harness.postgresql $(ARGS)

# One JSON object per figure. Another database: make bench ARGS="--database postgresql://..."
bench: ready
	$(PYTHON) manage.py bench --json $(ARGS)

# Bring code and templates into their form.
format: ready
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .
	find templates -name '*.html' -print0 | xargs -0 .venv/bin/djade --target-version 6.1

# What is generated and committed: compiled translations, docs, and the pictures in them.
messages: ready
	$(PYTHON) scripts/catalogues.py
docs: ready
	$(PYTHON) manage.py docs
pictures: ready
	scripts/browser
	PICTURES=docs/images $(PYTEST) tests/e2e -k picture

ready:
	@scripts/bootstrap
