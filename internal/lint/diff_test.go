package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
)

func configOf(t *testing.T, name, http string) *conf.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("events {}\nhttp {\n"+http+"\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, errs := conf.Load(conf.Options{Path: path})
	if errs.Failed() {
		t.Fatal(errs.List()[0])
	}
	return cfg
}

const loginZone = "limit_req_zone $binary_remote_addr zone=login:10m rate=5r/s;\n"

// Each row is two configurations, without http around them, and what is said of them.
func TestDiff(t *testing.T) {
	server := func(body string) string { return "server { server_name a.example; " + body + " }\n" }
	one := func(limit string) string { return loginZone + server("location /login { "+limit+" }") }
	for _, c := range []struct{ name, was, is, want string }{
		{"rate and burst", one("limit_req zone=login burst=10 nodelay;"),
			strings.Replace(one("limit_req zone=login burst=20 nodelay;"), "5r/s", "10r/s", 1),
			"login: 5 r/s -> 10 r/s, burst 10 -> 20, at once 11 -> 21 (location /login of server a.example)"},
		{"the same rate in other words", one("limit_req zone=login;"), strings.Replace(one("limit_req zone=login;"), "5r/s", "300r/m", 1), ""},
		{"other lines alone", one("limit_req zone=login;"), one("limit_req zone=login; add_header A b; return 200;") + "# a comment", ""},
		{"from waiting to at once", one("limit_req zone=login burst=10;"), one("limit_req zone=login burst=10 nodelay;"),
			"login: at once 1 -> 11, waiting 10 -> 0 (location /login of server a.example)"},
		{"a first burst", one("limit_req zone=login;"), one("limit_req zone=login burst=4 nodelay;"),
			"login: burst 0 -> 4, at once 1 -> 5 (location /login of server a.example)"},
		{"a new limit", server("location /login { return 200; }"), one("limit_req zone=login burst=10 nodelay;"),
			"login: new limit_req in location /login of server a.example: 5 r/s, key $binary_remote_addr, size 10m, burst 10, at once 11"},
		{"a limit that went", one("limit_req zone=login;"), server("location /login { return 200; }"),
			"login: limit_req removed from location /login of server a.example; login: zone removed"},
		{"a zone that nothing uses", server(""), loginZone + server(""),
			"login: new zone of limit_req that no limit uses: 5 r/s, key $binary_remote_addr, size 10m"},
		{"a zone of two limits", loginZone + server("location /a { limit_req zone=login; } location /b { limit_req zone=login; }"),
			strings.Replace(loginZone, "10m", "20m", 1) + server("location /a { limit_req zone=login; } location /b { limit_req zone=login; }"),
			"login: size 10m -> 20m (in 2 places)"},
		{"another key", one("limit_req zone=login;"), strings.Replace(one("limit_req zone=login;"), "$binary_remote_addr", "$http_x_api_key", 1),
			"login: key $binary_remote_addr -> $http_x_api_key (location /login of server a.example)"},
		{"dry run above", one("limit_req zone=login;"), "limit_req_dry_run on;\n" + one("limit_req zone=login;"),
			"login: dry run off -> on (location /login of server a.example)"},
		{"a status above", one("limit_req zone=login;"), "limit_req_status 429;\n" + one("limit_req zone=login;"),
			"login: status 503 -> 429 (location /login of server a.example)"},
		{"a status below", loginZone + server("limit_req zone=login; location /x { return 200; }"),
			loginZone + server("limit_req zone=login; location /x { limit_req_status 429; return 200; }"),
			"limit_req_status in location /x of server a.example: 429"},
		{"hidden by another", loginZone + "limit_conn_zone $server_name zone=c:1m; limit_req_zone $server_name zone=all:1m rate=9r/s;\n" +
			server("limit_req zone=login; location /x { return 200; }"),
			loginZone + "limit_conn_zone $server_name zone=c:1m; limit_req_zone $server_name zone=all:1m rate=9r/s;\n" +
				server("limit_req zone=login; location /x { limit_req zone=all; return 200; }"),
			"login: no longer in force in location /x of server a.example, which has limits of its own; " +
				"all: new limit_req in location /x of server a.example: 9 r/s, at once 1"},
		{"trusted proxies", "set_real_ip_from 10.0.0.0/8;\n" + server(""), "set_real_ip_from 10.1.0.0/16; set_real_ip_from 192.0.2.1;\nreal_ip_header X-Forwarded-For;\n" + server(""),
			"real_ip_header in http: X-Forwarded-For; trusted proxies (set_real_ip_from) in http: + 10.1.0.0/16, + 192.0.2.1, - 10.0.0.0/8"},
		{"exempt", server("limit_exempt 10.0.0.0/8 192.0.2.0/24;"), server("limit_exempt 192.0.2.0/24 10.9.0.0/16;"),
			"limit_exempt in server a.example: + 10.9.0.0/16, - 10.0.0.0/8"},
		{"conn", "limit_conn_zone $server_name zone=c:1m;\n" + server("limit_conn c 10;"), "limit_conn_zone $server_name zone=c:1m;\n" + server("limit_conn c 20;"),
			"c: at once 10 -> 20 (server a.example)"},
		{"windows", "limit_count_zone $server_name zone=q:1m limit=100 window=1h;\n" + server("limit_count zone=q;"),
			"limit_count_zone $server_name zone=q:1m limit=100 window=1d algorithm=fixed timezone=UTC;\n" + server("limit_count zone=q cost=2;"),
			"q: 100 in 1h -> 100 in 24h (fixed) UTC, cost 1 -> 2 (server a.example)"},
		{"tokens", "limit_token_zone $server_name zone=t:1m rate=1r/s capacity=5;\n" + server("limit_token zone=t;"),
			"limit_token_zone $server_name zone=t:1m rate=1r/s capacity=9 overflow=reject;\n" + server("limit_token zone=t;"),
			"t: capacity 5 -> 9, overflow evict -> reject (server a.example)"},
		{"a store", "limit_store s redis://127.0.0.1;\nlimit_req_zone $server_name zone=r:1m rate=1r/s;\n" + server("limit_req zone=r;"),
			"limit_store s redis://127.0.0.1 timeout=20ms;\nlimit_req_zone $server_name zone=r:1m rate=1r/s store=s;\n" + server("limit_req zone=r fail=closed;"),
			"r: store s, without its store closed (server a.example); store s: timeout 20ms"},
		{"canary", one("limit_req zone=login canary=5%;"), one("limit_req zone=login;"), "login: canary 5% -> 100% (location /login of server a.example)"},
		{"a rollout", one("limit_req zone=login;"), "limit_rollout wide { zones login; steps 1% 100%; stop p99 > 500ms; webhook https://a.example/secret; }\n" + one("limit_req zone=login;"),
			"wide: new rollout: zones login, steps [1% 100%], interval 10m, window 1m, min requests 100, stop 1 p99 > 500ms, webhook at a.example"},
		{"a rollout's steps and webhook", "limit_rollout wide { zones login; steps 1% 100%; webhook https://a.example/secret; }\n" + one("limit_req zone=login;"),
			"limit_rollout wide { zones login; steps 5% 100%; webhook https://a.example/other; }\n" + one("limit_req zone=login;"),
			"rollout wide: steps [1% 100%] -> [5% 100%], webhook at a.example -> at a.example"},
		{"exempt by geo", "geo $office { default 0; 192.0.2.0/24 1; }\nmap $office $who { 0 $binary_remote_addr; 1 \"\"; }\nlimit_req_zone $who zone=g:1m rate=1r/s;\n" + server("limit_req zone=g;"),
			"geo $office { default 0; 192.0.2.0/24 1; 198.51.100.7 1; }\nmap $office $who { 0 $binary_remote_addr; 1 \"\"; }\nlimit_req_zone $who zone=g:1m rate=1r/s;\n" + server("limit_req zone=g;"),
			"table $office, which limits go by: + 198.51.100.7 1"},
		{"keys in a map are counted, not shown", "map $http_x_api_key $r { default 1r/s; secret1 5r/s; }\nlimit_req_zone $http_x_api_key zone=m:1m rate=$r;\n" + server("limit_req zone=m;"),
			"map $http_x_api_key $r { default 2r/s; secret2 5r/s; }\nlimit_req_zone $http_x_api_key zone=m:1m rate=$r;\n" + server("limit_req zone=m;"),
			"table $r, which limits go by: 1 rows added, 1 rows removed, 1 rows changed"},
		{"bytes", "limit_bandwidth_zone $server_name zone=b:1m rate=1m;\n" + server("limit_bandwidth zone=b; limit_rate 1m;"),
			"limit_bandwidth_zone $server_name zone=b:1m rate=2m;\n" + server("limit_bandwidth zone=b; limit_rate 2m;"),
			"bandwidth zone b: 1m -> 2m; limit_rate in server a.example: 1m -> 2m"},
		{"arithmetic", one("limit_req zone=login;"), "limit_arithmetic nginx;\n" + one("limit_req zone=login;"), "limit_arithmetic in http: nginx"},
		{"a map that no limit goes by", "map $uri $x { default 1; }\n" + server(""), "map $uri $x { default 2; }\n" + server(""), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var texts []string
			for _, ch := range Diff(configOf(t, "was", c.was), configOf(t, "is", c.is)) {
				texts = append(texts, ch.Text)
			}
			if got := strings.Join(texts, "; "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
