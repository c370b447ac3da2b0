# Everything that is done to this repository by hand or by CI. `make` lists it.

.DEFAULT_GOAL := help
SHELL := /bin/sh

GO ?= go
# RACE=0 tests without the race detector, which needs a C compiler.
RACE ?= 1
# PKG narrows the tests down: make test PKG=./event
PKG ?= ./...
# FLAGS are more flags for go test: make test FLAGS='-run TestNext'
FLAGS ?=
# FUZZTIME is how long each fuzz target runs.
FUZZTIME ?= 10s
# PROMPT is what make run says in a pipe.
PROMPT ?= Show me what you can do.

GOLANGCI_VERSION := v2.15.0
# TOOLS is where pinned tools are installed; it may be shared between checkouts.
TOOLS ?= $(CURDIR)/bin/tools
GOLANGCI := $(TOOLS)/golangci-lint@$(GOLANGCI_VERSION)/golangci-lint

ifeq ($(RACE),0)
race :=
need_cc :=
else
race := -race
need_cc := cc
endif

# On two cores with nothing compiled, half of the time of the tests is the compiler's. So all is
# compiled in two forms, and the tests that build the command build it in one of them: with the
# race detector, and without it but with the points and the bugs of test/instrument. Linking
# without tables for a debugger and of symbols takes half of the time. Without the folder's path in it,
# what was compiled for one clone is there for all. make lint vets.
quick := -ldflags=-s -vet=off
# The compiler writes no tables for a debugger either. SQLite and its C library, which are C in the words of Go, keep to memory of
# their own, where the race detector does not look: watching SQLite makes it four times slower and
# finds nothing.
# The largest package takes a third less of the processor where the compiler may have a third more
# memory, 2.2 GiB.
# These stand in GOFLAGS, so that the tests that build the command build it with them.
quick_go := -trimpath '-toolexec=env GOGC=400' '-gcflags=all=-dwarf=false' '-gcflags=modernc.org/sqlite/lib=-dwarf=false -race=false' \
	'-gcflags=modernc.org/libc/...=-dwarf=false -race=false' '-gcflags=modernc.org/memory=-dwarf=false -race=false'
# A program under the race detector waits for a second before it ends, in case that somebody is
# about to be caught: here seventy programs do, one after another, and most have nobody left.
# A property is drawn a quarter as often as rapid does by itself: the race detector makes each draw
# several times slower. make test-long draws them all.
test_env := GORACE='atexit_sleep_ms=20 $(GORACE)' RAPID_CHECKS=$(or $(RAPID_CHECKS),25)
plain := -tags=planted
# The points to die at and the bugs that must be found are in no production file: an overlay adds them.
# The go command passes over folders whose names begin with _, so it finds no packages in this one.
overlay = -overlay=$$($(GO) run ./test/instrument/overlay bin/_instrumented)
# The race detector watches what runs on several goroutines. It makes the processor work three to five
# times as much, so most of the time of the tests was spent on parsers, requests and recordings, in
# which it has nothing to find. Those packages are tested without it, with all of their cases, in the
# form in which the tests of processes build the command anyway. The contracts of models stay watched
# in ./models, ./examples/providers and the packages of test servers; make test-long watches all.
unwatched := ./test/kill ./test/e2e ./bench ./model/anthropic ./model/internal/schema ./model/openai ./model/bedrock ./model/gemini \
	./model/cassette ./bench/scenario ./test/corpora ./test/frozen ./test/wires ./internal/schemacheck ./embedding/bedrock ./embedding/gemini \
	./embedding/openai ./embedding/ollama ./event ./model/demo
# Single tests of watched packages that it would make too slow, and the bugs that must be found.
unwatched_tests := TestAnswersLikeMemory|TestSQLite|TestPlanted|TestALongConversationOpens|TestPagesOfLargeEvents|TestWhatAFinishedNodeKeeps|TestGraphsAndMapsAreLinear|TestALineOf64MiB
unwatched_in := ./test/sim ./journal/sqlite . ./server ./flow ./claude
# Where tests play few of their cases under the race detector. make test-long plays all of them without.
many_in := . ./bench/scenario ./journal/... ./model/... ./secret ./server/... ./service ./test/corpora ./test/sim ./test/tenants

# Packages begin in the order in which they are named: those that work longest first, because one of
# them at the end would have the other core wait.
first := ./cmd/braid . ./server ./journal/sqlite ./test/sim ./tool/mcptool ./service ./test/tenants ./internal/archtest
watched = $$($(GO) list ./... | grep -vxF $(patsubst ./%,-e '$(module)/%',$(unwatched)))
module := github.com/braidrun/braid

# Where there are two cores, three packages at once: one of them mostly waits.
jobs := $(if $(filter 2,$(shell getconf _NPROCESSORS_ONLN 2>/dev/null)),-p=3)
# The first three packages without the race detector mostly wait for processes that they have started.
waiting := $(if $(jobs),-p=5)

# Every flag here lets go test keep the result of a package that has not changed; -count=1 and
# -shuffle would not. So make test-long shuffles.
# One package may take 5 minutes.
gotest = TOOLS='$(TOOLS)' scripts/gotest $(quick) -timeout=5m $(jobs) $(FLAGS)

.PHONY: help
help: ## List what make can do
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
		while IFS='|' read -r target text; do printf '%-18s %s\n' "$$target" "$$text"; done

.PHONY: run
run: build ## Start the server and talk to it; in a pipe, watch one whole scripted run
	@if [ -t 0 ] && [ -t 1 ]; then exec ./bin/braid serve --chat; fi; \
		exec ./bin/braid run --model demo:tour "$(PROMPT)"

# As the image is built: without cgo the command is the same with and without a C compiler, and without tables of
# symbols it is a third smaller. Both make it start sooner. Stack traces stay whole; for a debugger use go build.
.PHONY: build
build: ## Build the command into bin/braid
	@scripts/need go
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags=-s -o bin/braid ./cmd/braid

# The command without its tables of symbols may have this many bytes.
MOST_BYTES := 35000000

.PHONY: weight
weight: ## Fail when the stripped command is larger than 35 MB
	@scripts/need go
	@$(GO) build -trimpath '-ldflags=-s -w' -o bin/_weight ./cmd/braid
	@bytes=$$(wc -c <bin/_weight); rm -f bin/_weight; echo "the stripped command has $$bytes bytes, of $(MOST_BYTES)"; \
		[ "$$bytes" -le $(MOST_BYTES) ]

.PHONY: test
test: export GOFLAGS := $(GOFLAGS) $(quick_go)
test: ## Run the tests that need Go, make, git and a C compiler (RACE=0: no race detector)
	@scripts/need go git $(need_cc)
ifneq ($(PKG)$(race),./...-race)
	@$(if $(race),CGO_ENABLED=1 $(test_env) )$(gotest) $(race) $(PKG)
else
	@CGO_ENABLED=1 $(test_env) $(gotest) $(race) $(first) $(watched)
	@echo "without the race detector: what it has nothing to find in"
	@$(gotest) $(plain) $(overlay) $(waiting) $(unwatched)
endif
ifeq ($(PKG),./...)
	@echo "without the race detector: what it makes too slow, and bugs that must be found"
	@BRAID_SIM_FILES=90 $(gotest) $(plain) $(overlay) -run '^($(if $(race),$(unwatched_tests),TestPlanted))$$' $(if $(race),$(unwatched_in),./test/sim)
endif

.PHONY: test-long
test-long: ## Shuffle the tests, play all cases, cut 100,000 streams, kill the command 10,000 times and simulate 100,000 seeds, break all rows of docs/seeds.md: about an hour
	@scripts/need go $(need_cc)
	@TOOLS='$(TOOLS)' scripts/gotest $(race) -shuffle=on -timeout=15m $(jobs) ./...
	@RAPID_CHECKS=300 TOOLS='$(TOOLS)' scripts/gotest $(plain) $(overlay) -shuffle=on -timeout=15m $(jobs) $(many_in)
	@BRAID_CUTS=100000 $(GO) test -timeout=15m -v -run '^TestRandomCuts$$' ./server
	@$(MAKE) --no-print-directory weight
	@BRAID_KILLS=10000 BRAID_KILL_PROGRAM=../../cmd/braid $(GO) test -timeout=60m -v -run '^(TestKill|TestDeadlyTools)$$' ./test/kill
	@BRAID_SIM_SEEDS=100000 $(GO) test -timeout=60m -v -run 'TestMemory$$' ./test/sim
	@BRAID_MUTATIONS=all $(GO) test -timeout=60m -v -run '^TestMutations$$' ./test/mutation

.PHONY: test-peers
test-peers: ## Run the suites that need more: databases, npm, a browser
	@scripts/need go git
	@scripts/test-peers

.PHONY: bench
bench: ## Measure against a hand-written loop: the short form, under two minutes
	@scripts/need go
	@$(GO) run ./bench --short

.PHONY: bench-long
bench-long: ## Measure with enough passes to be quoted
	@scripts/need go
	@$(GO) run ./bench

.PHONY: features
features: ## Print what each provider can do, from its contract tests, and put it in docs/guide/models.md
	@scripts/need go
	@$(GO) run ./test/features -write docs/guide/models.md

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10s)
	@scripts/need go
	@scripts/fuzz $(FUZZTIME)

.PHONY: cover
cover: ## Measure test coverage into bin/cover.html
	@scripts/need go
	@mkdir -p bin
	@TOOLS='$(TOOLS)' scripts/gotest -timeout=5m -coverpkg=./... -coverprofile=bin/cover.out $(FLAGS) $(PKG)
	@$(GO) tool cover -html=bin/cover.out -o bin/cover.html
	@$(GO) tool cover -func=bin/cover.out | tail -n 1

.PHONY: fmt
fmt: $(GOLANGCI) ## Format the code
	@$(GOLANGCI) fmt

.PHONY: lint
lint: $(GOLANGCI) ## Check the code's style and its usual mistakes
	@$(GOLANGCI) run
	@$(GO) vet -trimpath $(plain) ./test/sim ./test/e2e

.PHONY: fix
fix: $(GOLANGCI) ## Mend what the linters can mend by themselves
	@$(GOLANGCI) run --fix

.PHONY: tidy-check
tidy-check: ## Fail when go.mod or go.sum are not what go mod tidy makes of them
	@scripts/need go
	@$(GO) mod tidy -diff
	@$(GO) mod verify

.PHONY: ci
ci: ## Do everything that CI does
	@.ci/run

.PHONY: clean
clean: ## Remove what was built
	@rm -rf bin

$(GOLANGCI):
	@scripts/need go
	@echo "installing golangci-lint $(GOLANGCI_VERSION) (about a minute)"
	@GOBIN='$(@D)' GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
