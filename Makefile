# Targets for people and for .ci/run. Each prints what it runs.
#
#	make build      the agents, into bin/
#	make test       everything that can fail; as root, installs what it needs, goes on
#	                after a failure and lists in the end what failed
#	make deps check cross unit race system   the parts of it
#	make test-fresh ./Install and make test on a bare Debian, as scripts/fresh makes one;
#	                test-fresh-ci is its shorter form
#	make fuzz       every fuzz target, FUZZTIME each
#	make bench      every benchmark program; compares with what is installed
#	make install    ./Install
#	make clean

FUZZTIME ?= 10s
BENCHFLAGS ?=

# sudo takes a path of its own; Go is searched where it usually is.
GO := $(firstword $(shell command -v go) /usr/local/go/bin/go)
# The system's tools come before others of the same name: PCP's python tools are for
# the system's python.
export PATH := $(dir $(GO)):/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin:$(PATH)
# Root may build in somebody else's checkout, of which git does not approve.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

GOTEST := go run github.com/pcp-rtime/rtime/scripts/gotest -count=1 -shuffle=on -timeout 20m

# Modules of their own below this one: what they depend on, nothing else does.
MODULES := arm/otel arm/armgrpc
in_modules = @set -e; for m in $(MODULES); do echo "cd $$m && $(1)"; (cd $$m && $(1)); done

.PHONY: build test deps check cross unit unit-here unit-modules race race-here race-modules system \
	test-fresh test-fresh-ci fresh-part fuzz bench install clean
.NOTPARALLEL:

build:
	@set -e; for d in pmdas/*/; do \
		name=$$(sed -n 's/^iam=//p' $$d/Install); \
		echo "go build -o bin/pmda$$name ./$$d"; \
		CGO_ENABLED=0 go build -trimpath -o bin/pmda$$name ./$$d; \
	done

test:
	@scripts/each deps check cross unit race system

deps:
	scripts/test-deps

check:
	scripts/lint

unit: unit-here unit-modules

unit-here:
	$(GOTEST) ./...

unit-modules:
	$(call in_modules,$(GOTEST) ./...)

race: race-here race-modules

# What lies in test/ runs programs that were built without the detector.
race-here:
	all=$$(go list ./...) && $(GOTEST) -race $$(echo "$$all" | grep -v /test/)

race-modules:
	$(call in_modules,$(GOTEST) -race ./...)

# Alone, and last: these tests change what the machine's own pmcd runs, and PCP's
# scripts kill every process with an agent's name.
system:
	$(GOTEST) -tags system ./test/install

test-fresh:
	scripts/fresh make test

# The shorter form of test-fresh, for .ci/run, which runs all tests on its own machine: every
# program that tests build, in C, C++ and Go, is compiled, and each package is tested that
# reads what PCP, our agents or a compiler have installed.
test-fresh-ci:
	scripts/fresh scripts/each deps fresh-part

fresh-part:
	go test -run '^$$' ./...
	$(call in_modules,go test -run '^$$' ./...)
	$(GOTEST) ./pcp ./pmns ./help ./pmda ./pmapi ./arm ./docs ./internal/version ./libbase ./libarm ./libSpmi \
		./python ./pmdas/arm/internal/collect ./examples/... ./test/...

# 32 bits, other byte order, weaker memory order: compiled, with the tests.
cross: cross-arm64 cross-386 cross-s390x

cross-%:
	GOOS=linux GOARCH=$* CGO_ENABLED=0 go build ./...
	GOOS=linux GOARCH=$* CGO_ENABLED=0 go vet ./...
	$(call in_modules,GOOS=linux GOARCH=$* CGO_ENABLED=0 go vet ./...)

fuzz:
	scripts/fuzz $(FUZZTIME)

bench:
	@set -e; for d in bench/*/; do echo "go run ./$$d $(BENCHFLAGS)"; go run ./$$d $(BENCHFLAGS); done

install:
	./Install

clean:
	rm -rf bin
	go clean -testcache
