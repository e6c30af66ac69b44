package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// rules are files that both services read. Windows are so long that hardly any ends during a run.
var rules = map[string]string{
	"bench.yaml": "domain: bench\ndescriptors:\n  - key: client\n    rate_limit: {unit: hour, requests_per_unit: 100}\n",
	"shop.yaml": `
domain: shop
descriptors:
  - key: ip
    rate_limit: {unit: day, requests_per_unit: 20}
  - key: ip
    value: "3"
  - key: ip
    value: "4"
    rate_limit: {unlimited: true}
  - key: path
    value: /api/*
    rate_limit: {unit: week, requests_per_unit: 30, name: api}
    share_threshold: true
  - key: path
    rate_limit: {unit: hour, requests_per_unit: 40}
    detailed_metric: true
  - key: plan
    value: gold
    rate_limit: {unit: month, requests_per_unit: 200, name: gold, replaces: [{name: api}, {name: self}]}
    descriptors:
      - key: user
        rate_limit: {unit: year, requests_per_unit: 25}
      - key: user
        value: "1"
        rate_limit: {unit: year, requests_per_unit: 50}
        shadow_mode: true
  - key: banned
    rate_limit: {unit: day, requests_per_unit: 0, name: self}
  - key: a_b
    value: c
    rate_limit: {unit: day, requests_per_unit: 10}
  - key: quota
    rate_limit: {unit: day, requests_per_unit: 5}
    quota_mode: true
`,
}

// writeRules writes them, and gives the RUNTIME_ROOT.
func writeRules(dir string) (string, error) {
	root := filepath.Join(dir, "root")
	if err := os.MkdirAll(filepath.Join(root, "config"), 0o755); err != nil {
		return "", err
	}
	for name, text := range rules {
		if err := os.WriteFile(filepath.Join(root, "config", name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return root, nil
}

func descriptor(pairs ...string) *common.RateLimitDescriptor {
	d := &common.RateLimitDescriptor{}
	for i := 0; i < len(pairs); i += 2 {
		d.Entries = append(d.Entries, &common.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return d
}

func request(domain string, pairs ...string) *pb.RateLimitRequest {
	return &pb.RateLimitRequest{Domain: domain, Descriptors: []*common.RateLimitDescriptor{descriptor(pairs...)}}
}

// draw draws a request of the corpus.
func draw(r *rand.Rand) *pb.RateLimitRequest {
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	q := &pb.RateLimitRequest{Domain: "shop"}
	switch r.IntN(50) {
	case 0:
		q.Domain = "nowhere"
	case 1:
		q.Domain = ""
	}
	for range r.IntN(4) + min(r.IntN(40), 1) {
		var d *common.RateLimitDescriptor
		switch r.IntN(9) {
		case 0, 1:
			d = descriptor("ip", one("1", "2", "3", "4", ""))
		case 2:
			d = descriptor("path", one("/api/a", "/api/b", "/home", "/"))
		case 3:
			d = descriptor("plan", one("gold", "silver"))
		case 4:
			d = descriptor("plan", "gold", "user", one("1", "2", "3"))
		case 5:
			d = descriptor(one("banned", "unknown"), one("x", "y"))
		case 6:
			d = descriptor(one("a", "a_b", "a_b_c"), one("b_c", "c", "x"))
		case 7:
			d = descriptor("quota", one("p", "q"))
		case 8:
			d = descriptor("ip", "1", "deeper", "x")
		}
		switch r.IntN(12) {
		case 0:
			d.HitsAddend = wrapperspb.UInt64(uint64(r.IntN(4)))
		case 1:
			d.Limit = &common.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: uint32(r.IntN(30)), Unit: typev3.RateLimitUnit_DAY}
		}
		q.Descriptors = append(q.Descriptors, d)
	}
	if r.IntN(6) == 0 {
		q.HitsAddend = uint32(r.IntN(5))
	}
	return q
}

// compare asks both services the same corpus, one request after the other, and prints what differs.
func (b *bench) compare(dir, peer, ours, root, redis string) error {
	for _, mode := range [][]string{nil, {"SHADOW_MODE=true"}, {"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT=true", "LOCAL_CACHE_SIZE_IN_BYTES=1000000"}} {
		env := append([]string{"LIMIT_RESPONSE_HEADERS_ENABLED=true"}, mode...)
		prefix := fmt.Sprintf("c%d", len(mode)+len(strings.Join(mode, "")))
		p, err := startService(dir, peer, root, redis, append(env, "CACHE_KEY_PREFIX="+prefix+"p_"), nil)
		if err != nil {
			return err
		}
		o, err := startService(dir, ours, root, redis, append(env, "CACHE_KEY_PREFIX="+prefix+"o_"), []string{"rls"})
		if err != nil {
			p.stop()
			return err
		}
		err = b.same(p, o, mode)
		p.stop()
		o.stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// same compares the answers of two services.
func (b *bench) same(peer, ours *process, mode []string) error {
	pc, err := dial(peer)
	if err != nil {
		return err
	}
	defer pc.Close()
	oc, err := dial(ours)
	if err != nil {
		return err
	}
	defer oc.Close()
	r := rand.New(rand.NewPCG(7, 7))
	named, unnamed, over := map[string]int{}, 0, 0
	for i := range b.requests {
		q := draw(r)
		want, err1 := pb.NewRateLimitServiceClient(pc).ShouldRateLimit(context.Background(), q)
		got, err2 := pb.NewRateLimitServiceClient(oc).ShouldRateLimit(context.Background(), q)
		if got.GetOverallCode() == pb.RateLimitResponse_OVER_LIMIT {
			over++
		}
		for _, d := range differences(q, want, got, err1, err2) {
			if d.name != "" {
				named[d.name]++
				continue
			}
			if unnamed++; unnamed <= 10 {
				fmt.Printf("request %d, %v\n  %s\n", i, q, d.text)
			}
		}
	}
	fmt.Printf("answers %v: %d requests, %d over the limit, %d differ", mode, b.requests, over, unnamed)
	var names []string
	for n, times := range named {
		names = append(names, fmt.Sprintf("; named: %s (%d)", n, times))
	}
	sort.Strings(names)
	fmt.Println(strings.Join(names, ""))
	if unnamed > 0 {
		return fmt.Errorf("%d answers differ", unnamed)
	}
	return nil
}

// difference is one, with its name where it is wanted.
type difference struct{ name, text string }

// differences compares two answers. Seconds until a reset may have gone on by one from the first to the second.
func differences(q *pb.RateLimitRequest, want, got *pb.RateLimitResponse, err1, err2 error) (list []difference) {
	if err1 != nil || err2 != nil {
		if (err1 == nil) != (err2 == nil) {
			list = append(list, difference{"", fmt.Sprintf("want error %v, got %v", err1, err2)})
		}
		return list
	}
	quota := false
	for i, s := range want.GetStatuses() {
		g := got.GetStatuses()[i]
		isQuota := q.GetDescriptors()[i].GetEntries()[0].GetKey() == "quota"
		quota = quota || isQuota
		same := s.GetCode() == g.GetCode() && s.GetLimitRemaining() == g.GetLimitRemaining() && s.GetCurrentLimit().String() == g.GetCurrentLimit().String()
		drift := s.GetDurationUntilReset().GetSeconds() - g.GetDurationUntilReset().GetSeconds()
		switch {
		case isQuota && (!same || (s.GetDurationUntilReset() == nil) != (g.GetDurationUntilReset() == nil)):
			list = append(list, difference{"a spent quota tells OVER_LIMIT and its reset, as newer versions of envoyproxy/ratelimit do", ""})
		case !same || drift < 0 || drift > 1:
			list = append(list, difference{"", fmt.Sprintf("status %d: want %v, got %v", i, s, g)})
		}
	}
	if want.GetOverallCode() != got.GetOverallCode() {
		name := ""
		if quota {
			name = "a request of which all quotas are spent is refused, as newer versions of envoyproxy/ratelimit do"
		}
		list = append(list, difference{name, fmt.Sprintf("want %v, got %v", want.GetOverallCode(), got.GetOverallCode())})
	}
	return append(list, headerDifferences(want, got, quota)...)
}

// headerDifferences compares the headers of two answers.
func headerDifferences(want, got *pb.RateLimitResponse, quota bool) (list []difference) {
	w, g := map[string]string{}, map[string]string{}
	for _, h := range want.GetResponseHeadersToAdd() {
		w[h.GetKey()] = h.GetValue()
	}
	for _, h := range got.GetResponseHeadersToAdd() {
		g[h.GetKey()] = h.GetValue()
	}
	if _, has := g["Retry-After"]; has {
		delete(g, "Retry-After")
		list = append(list, difference{"Retry-After on OVER_LIMIT", ""})
	}
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining"} {
		if w[name] != g[name] && !quota {
			list = append(list, difference{"", fmt.Sprintf("%s: want %q, got %q", name, w[name], g[name])})
		}
	}
	return list
}
