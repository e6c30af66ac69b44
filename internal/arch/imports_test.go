package arch

import (
	"slices"
	"strings"
	"testing"
)

// imports is the table of DESIGN.md: for each package of ours, the packages of ours that it may import. A trailing /...
// covers everything below. The root imports nothing; nothing below a phase knows the pipeline; only edges import engines.
var imports = map[string][]string{
	".":                         {},
	"memzone":                   {".", "internal/pair"},
	"rediszone":                 {"."},
	"leasezone":                 {"."},
	"adaptive":                  {"."},
	"internal/overload":         {"."},
	"httplimit":                 {".", "adaptive", "internal/admit", "internal/limitfields", "internal/trust"},
	"zonetest":                  {".", "internal/racing", "internal/vectors"},
	"grpclimit":                 {".", "adaptive", "internal/admit", "internal/trust"},
	"sqllimit":                  {".", "internal/admit"},
	"internal/genshapes":        {},
	"retry":                     {".", "memzone"},
	"retry/grpcretry":           {"retry"},
	"guard":                     {".", "memzone"},
	"internal/heap":             {},
	"internal/racing":           {},
	"internal/pair":             {},
	"internal/printable":        {},
	"internal/vectors":          {},
	"internal/header":           {},
	"internal/h1":               {"internal/header"},
	"internal/h2":               {"internal/header"},
	"internal/h2link":           {"internal/h2"},
	"internal/proxyproto":       {},
	"internal/dns":              {"."},
	"internal/dns/dnstest":      {},
	"internal/password":         {},
	"internal/conf/syntax":      {},
	"internal/conf":             {".", "internal/conf/syntax", "internal/rollout"},
	"internal/admin":            {"internal/override", "internal/history", "internal/rollout"},
	"internal/top":              {"."},
	"internal/meter":            {".", "internal/top"},
	"internal/metrics":          {".", "internal/meter", "internal/printable"},
	"internal/selfwatch":        {"."},
	"internal/redact":           {"internal/conf/syntax"},
	"internal/history":          {},
	"internal/rollout":          {"."},
	"internal/webhook":          {},
	"internal/override":         {"."},
	"internal/store":            {"guard", "leasezone", "internal/conf", "internal/errorlog", "internal/meter", "rediszone"},
	"internal/conf/gendocs":     {"internal/conf"},
	"internal/admit":            {".", "adaptive"},
	"internal/limitfields":      {"."},
	"internal/errorlog":         {},
	"internal/errorlog/logconf": {"internal/conf", "internal/errorlog"},
	"internal/logfile":          {".", "internal/errorlog"},
	"internal/trust":            {"."},
	"internal/runconf":          {"."},
	"internal/tempfile":         {"internal/errorlog"},
	"internal/found":            {".", "adaptive"},
	"internal/span":             {"."},
	"internal/otlp/otlptest":    {},
	"internal/otlp":             {"internal/errorlog", "internal/printable", "internal/span"},
	"internal/request":          {".", "adaptive", "internal/found", "internal/header", "internal/errorlog", "internal/openssl", "internal/rollout", "internal/span", "internal/tempfile", "internal/trust"},
	"internal/vars":             {".", "internal/conf", "internal/conf/syntax", "internal/h1", "internal/header", "internal/openssl", "internal/request", "internal/errorlog", "internal/trust"},
	"internal/logformat":        {"internal/vars", "internal/request"},
	"internal/accesslog":        {"internal/conf", "internal/logformat", "internal/vars"},
	"internal/edge":             {"internal/errorlog", "internal/h1", "internal/request"},
	"internal/edge/h1":          {".", "internal/edge", "internal/request", "internal/h1", "internal/header", "internal/openssl", "internal/proxyproto", "internal/errorlog"},
	"internal/edge/h2":          {".", "internal/edge", "internal/request", "internal/h1", "internal/h2", "internal/header", "internal/errorlog"},
	"internal/phase":            {".", "internal/dns", "internal/found", "internal/conf", "internal/meter", "internal/override", "internal/rollout", "internal/span", "internal/vars", "internal/request", "internal/errorlog", "internal/logfile", "internal/tempfile", "internal/tlsconf", "internal/trust"},
	"internal/pipeline":         {".", "internal/conf", "internal/edge", "internal/errorlog", "internal/errorlog/logconf", "internal/h1", "internal/header", "internal/phase/...", "internal/request", "internal/tlsconf", "internal/vars", "internal/openssl"},
	"internal/daemon":           {".", "internal/dns", "internal/found", "internal/otlp", "internal/span", "internal/meter", "internal/metrics", "internal/redact", "internal/selfwatch", "internal/top", "leasezone", "guard", "internal/admin", "internal/override", "memzone", "internal/store", "internal/conf", "internal/conf/syntax", "internal/edge", "internal/edge/h1", "internal/errorlog", "internal/errorlog/logconf", "internal/logfile", "internal/pipeline", "internal/phase", "internal/request", "internal/tempfile", "internal/tlsconf", "internal/vars", "internal/history", "internal/lint", "internal/printable", "internal/edge/h2", "internal/rollout", "internal/webhook"},
	"internal/openssl":          {},
	"internal/tlsconf":          {".", "internal/conf", "internal/errorlog", "internal/openssl", "internal/request", "internal/vars"},
	"internal/virtual":          {".", "memzone", "internal/conf", "internal/edge", "internal/h1", "internal/heap", "internal/phase", "internal/phase/limit", "internal/pipeline", "internal/request", "internal/vars"},
	"internal/simulate":         {".", "internal/header", "internal/logformat", "internal/virtual"},
	"internal/replay":           {".", "internal/accesslog", "internal/conf", "internal/h1", "internal/heap", "internal/header", "internal/phase", "internal/pipeline", "internal/request", "internal/vars", "internal/virtual"},
	"internal/replay/show":      {"internal/printable", "internal/replay"},
	"internal/compat":           {".", "memzone", "internal/conf", "internal/conf/syntax", "internal/phase", "internal/pipeline", "internal/vars"},
	"internal/lint":             {".", "internal/conf", "internal/conf/syntax", "internal/printable", "internal/rollout"},
	"internal/lint/gendocs":     {"internal/lint"},
	"internal/rls/config":       {},
	"internal/rls/match":        {".", "internal/rls/config"},
	"internal/rls/tally":        {"."},
	"internal/rls/stats":        {},
	"internal/rls/settings":     {},
	"internal/rls/load":         {"internal/rls/config", "internal/rls/match"},
	"internal/rls/decide":       {".", "memzone", "internal/rls/config", "internal/rls/match", "internal/rls/stats", "internal/rls/tally"},
	"internal/rls/shared":       {".", "guard", "leasezone", "memzone", "rediszone", "internal/rls/config", "internal/rls/decide", "internal/rls/tally"},
	"internal/rls/serve":        {".", "internal/rls/config", "internal/rls/decide", "internal/rls/load", "internal/rls/match", "internal/rls/stats"},
	"internal/rls/simulate":     {".", "memzone", "internal/rls/config", "internal/rls/decide", "internal/rls/load", "internal/rls/match", "internal/rls/settings", "internal/rls/stats", "internal/rls/tally"},
	"internal/gatewaytest":      {},
	"internal/grpctest":         {},
	"internal/redistest":        {"internal/gatewaytest"},
	"cmd/limitgate":             {".", "memzone", "rediszone", "internal/admin", "internal/history", "internal/override", "internal/rollout", "internal/store", "internal/compat", "internal/conf", "internal/conf/syntax", "internal/daemon", "internal/errorlog", "internal/lint", "internal/logformat", "internal/printable", "internal/replay", "internal/replay/show", "internal/runconf", "internal/simulate", "internal/virtual", "internal/accesslog", "internal/rls/..."},
	"examples":                  {},
	"packaging":                 {},
	"examples/workers":          {},
	"examples/grpc/backend":     {},
	"conformance":               {"internal/gatewaytest"},
	"conformance/story":         {"internal/gatewaytest"},
	"internal/arch":             {},
}

// aPhase is what every package below internal/phase may import.
var aPhase = []string{".", "adaptive", "internal/found", "internal/conf", "internal/conf/syntax", "internal/errorlog", "internal/errorlog/logconf", "internal/h1", "internal/header", "internal/limitfields", "internal/logfile", "internal/logformat", "internal/meter", "internal/openssl", "internal/override", "internal/password", "internal/phase", "internal/request", "internal/rollout", "internal/span", "internal/tempfile", "internal/tlsconf", "internal/trust", "internal/vars", "internal/h2", "internal/h2link", "internal/dns"}

func allowed(pkg string) ([]string, bool) {
	if strings.HasPrefix(pkg, "internal/phase/") {
		return aPhase, true
	}
	a, ok := imports[pkg]
	return a, ok
}

func covers(table []string, pkg string) bool {
	return slices.ContainsFunc(table, func(e string) bool {
		if below, ok := strings.CutSuffix(e, "/..."); ok {
			return pkg == below || strings.HasPrefix(pkg, below+"/")
		}
		return e == pkg
	})
}

func TestImportsFollowTheTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range tree(t) {
		seen[f.pkg] = true
		table, ok := allowed(f.pkg)
		if !ok {
			t.Errorf("%s: package %s is not in the table of imports", f.name, f.pkg)
			continue
		}
		if f.test {
			continue // tests may look wherever they need
		}
		for _, spec := range f.syntax.Imports {
			if p, is := ours(spec); is && !covers(table, p) {
				t.Errorf("%s imports %s: not in the table", f.name, p)
			}
		}
	}
	for pkg := range imports {
		if !seen[pkg] {
			t.Errorf("the table names %s, which does not exist", pkg)
		}
	}
}

// outsiders says which modules of others a package may import; the library half and the core of a request import none.
var outsiders = map[string][]string{
	"retry/grpcretry":        {"google.golang.org/grpc", "google.golang.org/genproto/googleapis/rpc"},
	"grpclimit":              {"google.golang.org/grpc", "google.golang.org/genproto/googleapis/rpc", "google.golang.org/protobuf"},
	"rediszone":              {"github.com/redis/rueidis"},
	"internal/edge/h2":       {"golang.org/x/net"},
	"internal/h2":            {"golang.org/x/net"},
	"internal/h2link":        {"golang.org/x/net"},
	"examples/grpc/backend":  {"google.golang.org/grpc"},
	"internal/grpctest":      {"google.golang.org/grpc", "google.golang.org/protobuf"},
	"internal/daemon":        {"golang.org/x/sys"},
	"internal/accesslog":     {"github.com/klauspost/compress"},
	"internal/rls/shared":    {"github.com/redis/rueidis"},
	"internal/rls/serve":     {"github.com/envoyproxy/go-control-plane", "google.golang.org/grpc", "google.golang.org/protobuf"},
	"internal/rls/config":    {"go.yaml.in/yaml/v3"},
	"internal/otlp/otlptest": {"go.opentelemetry.io/proto/otlp", "google.golang.org/grpc"},
	"internal/otlp":          {"google.golang.org/grpc", "google.golang.org/genproto/googleapis/rpc", "google.golang.org/protobuf"},
	"internal/password":      {"golang.org/x/crypto"},
	"internal/metrics":       {"github.com/prometheus/client_golang", "github.com/prometheus/common"},
	"cmd/limitgate":          {"github.com/spf13/cobra", "github.com/spf13/pflag"},
	"internal/dns":           {"golang.org/x/net"},
	"internal/dns/dnstest":   {"golang.org/x/net"},
}

func TestModulesOfOthersStayWhereTheyBelong(t *testing.T) {
	for _, f := range tree(t) {
		if f.test || f.pkg == "zonetest" {
			continue
		}
		for _, spec := range f.syntax.Imports {
			p, is := outside(spec)
			if !is {
				continue
			}
			if !slices.ContainsFunc(outsiders[f.pkg], func(m string) bool { return p == m || strings.HasPrefix(p, m+"/") }) {
				t.Errorf("%s imports %s: not in the table", f.name, p)
			}
		}
	}
}
