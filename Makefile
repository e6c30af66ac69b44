# make quickstart   a limiting gateway with its own demo backend, in the foreground
# make test         everything that must hold, with what it needs installed first (root on Debian)
# make bench        the measured comparisons; slow, and only worth reading on a quiet machine

# What tests start for real. A program that is missing is installed when root on Debian, named otherwise. PostgreSQL's programs are in a
# folder of their own.
NEEDS := nginx chromium caddy haproxy wrk gcc strace openssl redis-server

.PHONY: package deb man k8s debian build quickstart test needs lint check stress sides outside routers postgres ghz conformance bench bench-gateway bench-limiters bench-middleware bench-grpc bench-redis bench-rls adaptive suite fuzz docs faults agreement story bench-replay shared

build:
	go build -o bin/limitgate ./cmd/limitgate

quickstart: build
	@mkdir -p bin/quickstart/logs
	@echo 'gateway   http://127.0.0.1:8080   5 requests a second for each client address, 5 more at once, then 429'
	@echo 'backend   http://127.0.0.1:8081   the demo backend behind it'
	@echo 'try       curl -s -o /dev/null -w "%{http_code} %header{retry-after}\n" "http://127.0.0.1:8080/?n=[1-20]"'
	@echo 'end       Ctrl-C'
	@exec bin/limitgate -p bin/quickstart/ -c $(CURDIR)/examples/quickstart.conf

# Two instances that share one limit through a redis-server of their own, in the foreground.
shared: build
	@command -v redis-server >/dev/null || { echo 'make shared needs a redis-server (Debian: apt-get install redis-server)'; exit 1; }
	@mkdir -p bin/shared/1/logs bin/shared/2/logs
	@sed 's/:6379/:6390/' examples/shared.conf > bin/shared/1/nginx.conf
	@sed 's/:6379/:6390/; s/:8080/:8081/; s/:9000/:9001/' examples/shared.conf > bin/shared/2/nginx.conf
	@echo 'instances http://127.0.0.1:8080 and :8081   10 requests a second for each client address, and 20 more at once, together'
	@echo 'try       curl -s -o /dev/null -w "%{http_code}\n" "http://127.0.0.1:808{0,1}/?n=[1-30]" | sort | uniq -c'
	@echo 'end       Ctrl-C'
	@trap 'kill $$pids 2>/dev/null' EXIT; trap exit INT TERM; \
	redis-server --port 6390 --bind 127.0.0.1 --save '' --dir bin/shared >bin/shared/redis.log & pids=$$!; \
	bin/limitgate -p bin/shared/1/ -c nginx.conf & pids="$$pids $$!"; bin/limitgate -p bin/shared/2/ -c nginx.conf & pids="$$pids $$!"; wait

test: needs lint check sides outside

needs:
	@missing=; for p in $(NEEDS); do PATH="$$PATH:/usr/sbin" command -v $$p >/dev/null || missing="$$missing $$p"; done; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$$missing postgresql"; \
	command -v ab >/dev/null || missing="$$missing apache2-utils"; \
	command -v h2load >/dev/null || missing="$$missing nghttp2-client"; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing$$missing"; apt-get update -q >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -qy $$missing >/dev/null; \
	else \
		echo "missing:$$missing (Debian: apt-get install$$missing); the tests that need them are skipped, loudly"; \
	fi

# What Go programs import.
LIBRARY := . ./memzone ./rediszone ./leasezone ./guard ./httplimit ./grpclimit ./sqllimit ./retry/... ./adaptive

lint:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	go vet ./...
	cd bench && go vet ./...
	go tool staticcheck ./...
	GOARCH=386 go vet . ./memzone ./zonetest ./internal/...
	GOARCH=arm64 go build ./...
	GOOS=darwin go vet . ./memzone ./zonetest
	GOOS=windows go vet . ./memzone ./zonetest
	GOOS=windows go build $(LIBRARY)

INPROCESS = $$(go list ./... | grep -v -e /conformance -e /examples)

# Packages with long tests of one goroutine, which the race detector skips (racing.Alone).
ALONE = $$(git grep -l 'racing[.]Alone(t)' -- '*_test.go' | grep -v ^memzone/ | xargs -n1 dirname | sort -u | sed 's,^,./,')

# Scripts of the command line that serve. Those that read and print have one goroutine, and start many processes, which the race detector
# makes slow.
SERVING := TestScripts/(daemon|run|signals|rlsserve|decision)$$

# Everything in one process, under the race detector and in random order; then the tests that count allocations and system
# calls, which the detector would spoil, those it would make long, and the zone with yields between any two of its steps.
check:
	go test -race -shuffle=on $$(go list ./... | grep -v -e /conformance -e /examples -e /cmd/limitgate)
	go test -race -run '$(SERVING)' ./cmd/limitgate
	go test ./cmd/limitgate
	go test -run 'Alloc|Garbage|Cost' $(INPROCESS)
	go test $(ALONE)
	go test -tags inject ./memzone
	go test -race -tags inject -run HotKeyIn ./memzone

# The zone with injected yields between any two steps on shared memory: minutes.
stress:
	go test -race -tags inject ./memzone

# Whole processes side by side with the real nginx: their clocks are real, so the race detector stays out.
sides:
	go test -p 1 -parallel 4 -shuffle=on ./conformance ./conformance/story ./examples

# What is tested with modules that are no dependency of limitgate: httplimit under routers of others, sqllimit with a PostgreSQL through
# pgx, grpclimit before ghz. Each is a module of its own, whose go.mod follows the product's. Where its modules can't be fetched it is
# skipped, loudly, or fails where CI=true.
outside: routers postgres ghz k8s debian

OUTSIDE = @cd $(1) && if go list -mod=mod -deps -test ./... >/dev/null; then go vet -mod=mod ./... && go test -mod=mod -count=1 ./...; \
	elif [ "$$CI" = true ]; then echo "the modules of $(1) can't be fetched"; exit 1; else echo "SKIPPED: the modules of $(1) can't be fetched"; fi

routers:
	$(call OUTSIDE,examples/routers)

postgres:
	$(call OUTSIDE,sqllimit/postgres)

ghz:
	$(call OUTSIDE,bench/grpc)

# The manifests of Kubernetes, decoded strictly with its own types.
k8s:
	$(call OUTSIDE,packaging/k8s)

# The Debian package, built and looked into.
debian:
	$(call OUTSIDE,packaging/deb)

# What is installed: bin/package/limitgate_VERSION_ARCH.deb, for another processor with ARCH=arm64, and bin/package/man.
package: deb man

deb:
	sh packaging/deb/build.sh bin/package $(ARCH)

man: build
	@mkdir -p bin/package/man
	bin/limitgate man bin/package/man

# The real nginx, its clock set by the test, against simulate with nginx's arithmetic, on random configurations and schedules of
# limit_req, and of limit_conn with a backend that holds each request by that clock. A short form is part of test.
# make conformance [RUNS=500] [SEED=the one that was printed]
conformance: needs
	cd conformance && JUDGE_RUNS=$(or $(RUNS),500) JUDGE_SEED=$(SEED) go test -count=1 -run 'NginxJudges|ForgottenKeys|KeysBeyond'

# The limit that finds itself, before a simulated backend in virtual time: ten seeds of each kind, the worst of each figure printed.
adaptive:
	ADAPTIVE_SEEDS=$(or $(SEEDS),10) go test -count=1 -v -timeout 30m -run TestOverload ./adaptive

# The same beside failsafe-go, and then a real server on loopback.
bench-adaptive:
	cd bench && go test -count=1 -v ./adaptive && go run ./adaptive/real

# What faults of a store do to decisions, by the fallback of the limit: conformance/FAULTS.md. A part is in test.
faults: needs
	FAULTS=FAULTS.md go test -count=1 -run 'TestFaults|TestLeaseFailover|TestLeaseInCluster|TestFourInstances|TestField89' -v ./conformance

# The live gateway and a replay of its log: four configurations, 100,000 requests each; minutes, on a quiet machine.
agreement: build
	cd conformance && AGREEMENT=long LIMITGATE_BINARY=$(CURDIR)/bin/limitgate go test -count=1 -v -timeout 30m -run 'TestAgreement'

# The operator's story in full, 180 to 2,400 logins a second for some two minutes: docs/story.md is written anew. A short form is in test.
story: build
	GOGC=400 STORY=write LIMITGATE_BINARY=$(CURDIR)/bin/limitgate go test -count=1 -v -run 'TestStory$$' ./conformance/story

bench: bench-gateway bench-limiters bench-middleware bench-grpc bench-redis bench-rls bench-replay

# limitgate replay on a log of a million lines, beside a loop that only splits lines: make bench-replay [ARGS='-lines 1000000']
bench-replay: build
	cd bench && go run ./replay -limitgate ../bin/limitgate $(ARGS)

bench-gateway: build
	cd bench && go run ./gateway -limitgate ../bin/limitgate $(ARGS)

# BENCH='-rounds 20 -ms 100 -keys 1000' are flags of the comparison.
bench-limiters:
	cd bench && go run ./limiters $(BENCH)
	go test -run '^$$' -bench . -benchmem . ./memzone ./internal/h1 ./internal/top ./internal/meter ./internal/phase/limit

# ghz against a limited server of gRPC: a module of its own, because ghz brings many others.
bench-grpc:
	cd bench/grpc && go run -mod=mod . $(ARGS)

# Limits in Redis against those of others, and against redis-benchmark with the same script: a module of its own, because go-zero brings
# many others. It needs redis-server and redis-benchmark.
bench-redis:
	cd bench/redis && go run -mod=mod . $(ARGS)

# limitgate's rate limit service beside envoyproxy/ratelimit: answers, then speed
bench-rls:
	cd bench/rls && go run . $(ARGS)

bench-middleware:
	cd bench && go run ./middleware $(BENCH)

# nginx's own suite, where a copy is at hand: make suite SUITE=/path/to/nginx-tests [FILES="limit_req map"]
suite: build
	SUITE='$(SUITE)' conformance/suite.sh bin/limitgate $(FILES)

fuzz:
	@for p in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$p 2>/dev/null | grep '^Fuzz'); do \
		echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $${FUZZTIME:-20s} $$p || exit 1; done; done

docs:
	go generate ./internal/conf ./internal/lint
