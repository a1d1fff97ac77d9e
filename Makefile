# Rollcall: everything a contributor or a build machine runs. `make help` lists it.
#
# Needs Go (see go.mod) and a C compiler for the race detector; for the tests of
# foreign clients Node.js and npm, Python with venv, a JDK and Maven, MariaDB. The
# linters and runners are built from tools/go.mod into .tools, so that everyone
# runs the same versions.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

ROOT      := $(CURDIR)
BIN       := $(ROOT)/bin
TOOLS     := $(ROOT)/.tools
STAMP     := $(TOOLS)/.installed
MODULES   := . test examples/resty

NODE_DEPS   := test/node/node_modules/.package-lock.json
PYTHON_DEPS := test/python/.venv/.installed
JAVA_DEPS   := test/java/target/.built

# A foreign client mostly waits for a timeout: more tests at once than cores.
INTEROP := --format testname -- -count=1 -parallel 8 -timeout 20m ./...

# Tests that take minutes in full length. They mostly wait, so those of a package run
# at once; one package after the other, since the loads want the machine.
LONG := SB08|SB13|SB20|SB23|StaysRegistered|NotEvicted

FUZZTIME  ?= 60s
FUZZFLAGS ?=
SOAKTIME  ?= 10m
SOAKFLAGS ?=
BENCH     ?= .
BENCHTIME ?= 1s

GOTESTSUM := $(TOOLS)/gotestsum --format-hide-empty-pkg

.PHONY: help
help: ## show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-11s %s\n", $$1, $$2 }'

.PHONY: test
test: lint unit interop vuln ## everything a change must pass

.PHONY: build
build: ## bin/rollcall, one static binary
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $(BIN)/rollcall ./server/cmd/rollcall

.PHONY: lint
lint: $(STAMP) ## vet, golangci-lint, gofumpt and the rules no linter knows
	@for module in $(MODULES); do \
		echo "lint: module $$module"; \
		(cd $$module && go vet ./... && $(TOOLS)/golangci-lint run --allow-parallel-runners --config $(ROOT)/.golangci.yml ./...); \
	done
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs -r $(TOOLS)/gofumpt -l); \
	if [ -n "$$unformatted" ]; then echo "gofumpt would change:"; echo "$$unformatted"; exit 1; fi
	@tools/check-sleep.sh

.PHONY: format
format: $(STAMP) ## gofumpt over every Go file
	@git ls-files -co --exclude-standard '*.go' | xargs -r $(TOOLS)/gofumpt -w

.PHONY: unit
unit: $(STAMP) ## the root module's tests and the resty example's under the race detector
	$(GOTESTSUM) --format pkgname-and-test-fails -- -race -timeout 10m ./...
	@# what is promised about allocations, where the race detector adds its own
	$(GOTESTSUM) --format pkgname-and-test-fails -- -run Allocates ./loadbalance/...
	cd examples/resty && $(GOTESTSUM) --format pkgname-and-test-fails -- -race -timeout 5m ./...

.PHONY: interop
interop: $(STAMP) client-deps ## unmodified clients and several processes against the real binary
	cd test && $(GOTESTSUM) $(INTEROP)

.PHONY: docs
docs: $(STAMP) client-deps ## the documents that tests write: rules, configuration, clients, peers in docs/
	ROLLCALL_WRITE_DOCS=1 go test -count=1 ./docs/...
	cd test && ROLLCALL_WRITE_DOCS=1 $(GOTESTSUM) $(INTEROP)

.PHONY: examples
examples: $(STAMP) ## the examples alone, each built and run
	$(GOTESTSUM) --format testname -- -race -count=1 -timeout 5m ./examples/...
	cd examples/resty && $(GOTESTSUM) --format testname -- -race -count=1 -timeout 5m ./...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (60s each)
	@tools/fuzz.sh $(FUZZTIME) $(FUZZFLAGS)

.PHONY: soak
soak: soak-fleet soak-rows ## what takes minutes, one after the other: soak-fleet, soak-rows

.PHONY: soak-fleet
soak-fleet: build ## the binary under the beats of a fleet for SOAKTIME (10m)
	cd test && go run ./bench/soak -binary $(BIN)/rollcall -for $(SOAKTIME) $(SOAKFLAGS)

.PHONY: soak-rows
soak-rows: $(STAMP) client-deps ## tests that are shortened elsewhere, in full length (16m)
	cd test && ROLLCALL_FULL_LENGTH=1 $(GOTESTSUM) --format standard-verbose -- -count=1 -p 1 -parallel 32 -timeout 40m -run '$(LONG)' ./interop ./bench/soak

.PHONY: bench
bench: ## every benchmark matching BENCH, for BENCHTIME
	go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...

.PHONY: vuln
vuln: $(STAMP) ## known vulnerabilities in what the code calls
	@tools/vuln.sh $(TOOLS)/govulncheck $(MODULES)

.PHONY: client-deps
client-deps: ## the foreign clients of the languages that are installed
	@deps=(); \
	need() { if command -v "$$2" >/dev/null; then deps+=("$$1"); else echo "$$2 is not installed: the tests that need it are skipped"; fi; }; \
	need $(NODE_DEPS) npm; need $(PYTHON_DEPS) python3; need $(JAVA_DEPS) mvn; \
	if (($${#deps[@]})); then $(MAKE) --no-print-directory "$${deps[@]}"; fi

$(NODE_DEPS): test/node/package.json test/node/package-lock.json
	cd test/node && npm ci --no-audit --no-fund
	@touch $@

$(PYTHON_DEPS): test/python/requirements.txt
	python3 -m venv test/python/.venv
	test/python/.venv/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# Offline first: what is on the machine already takes no look at the repository.
$(JAVA_DEPS): test/java/pom.xml $(wildcard test/java/*/pom.xml test/java/*/src/*/*.java)
	cd test/java && { mvn -q -B -o package >/dev/null 2>&1 || mvn -q -B package; }
	@touch $@

$(STAMP): tools/go.mod tools/go.sum
	@mkdir -p $(TOOLS)
	cd tools && GOBIN=$(TOOLS) go install tool
	@touch $@

.PHONY: clean
clean: ## remove what the other targets made
	rm -rf $(BIN) $(TOOLS) test/node/node_modules test/python/.venv test/java/target test/java/*/target
