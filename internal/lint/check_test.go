package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const zone10 = "limit_req_zone $binary_remote_addr zone=z:10m rate=10r/s;\n"

// A part of a configuration is read where it belongs, under the name that it was given by.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, c := range []struct{ name, text, part, want string }{
		{"site", "server {\n listen 80;\n location / { limit_req zone=elsewhere burst=1; }\n}\n", "http", ""},
		{"zones", zone10 + "limit_req_status 429;\n", "http", ""},
		{"place", "location / {\n return 200;\n}\n", "server", ""},
		{"own zone", zone10 + "server {\n limit_req zone=z;\n}\n", "http", "no-burst:3"},
		{"foreign", "fastcgi_param A b;\nmore_words x;\n", "server", "unknown-directive:2"},
		{"whole", "events {}\nhttp {\n}\n", "", ""},
		{"wrong", "server {\n limit_req zone=z burst=x;\n}\n", "http", "fault:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile("part.conf", []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			r := Check(Options{Path: "part.conf"})
			if got := found(r); r.Part != c.part || got != c.want {
				t.Errorf("part %q, found %q, want %q, %q", r.Part, got, c.part, c.want)
			}
			for _, f := range r.Findings {
				if f.File != "part.conf" {
					t.Errorf("file %q", f.File)
				}
			}
		})
	}
}

func TestAFileThatIsNotThere(t *testing.T) {
	r := Check(Options{Path: filepath.Join(t.TempDir(), "none.conf")})
	if len(r.Findings) != 1 || r.Findings[0].Rule != "fault" || !strings.Contains(r.Findings[0].Message, "No such file") {
		t.Errorf("got %+v", r.Findings)
	}
}

// What can be told of a limit without its zone is told, and nothing else.
func TestLimitsWhoseZoneIsElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ name, server, want, allows string }{
		{"nothing to say", "limit_req zone=z burst=20 delay=5;", "", "limit_req z: at once 6 and 15 wait; its rate is declared elsewhere"},
		{"no burst", "limit_req zone=z;", "", "limit_req z: at once 1; its rate is declared elsewhere"},
		{"nodelay of nothing", "limit_req zone=z nodelay;", "nodelay-without-burst:2", "limit_req z: at once 1; its rate is declared elsewhere"},
		{"delay of all", "limit_req zone=z burst=5 delay=9;", "delay-without-effect:2", "limit_req z: at once 6; its rate is declared elsewhere"},
		{"varying", "limit_req zone=z burst=$b;", "", "limit_req z: rate or burst vary: 1 + burst are let in at once, 1 + burst + rate*W in any time W"},
		{"places", "limit_conn z 70000;", "conn-beyond-nginx:2", "limit_conn z: at once 70000; in any time as many as finish"},
		{"few places", "listen 443 http2; limit_conn z 2;", "", "limit_conn z: at once 2; in any time as many as finish"},
		{"tokens", "limit_token zone=z cost=3;", "", "limit_token z: rate and capacity are declared elsewhere; a request costs 3"},
		{"count", "limit_count zone=z;", "", "limit_count z: limit and window are declared elsewhere"},
		{"returns", "location / { limit_req zone=z burst=5; return 204; }", "limit-behind-return:2", "limit_req z: at once 1 and 5 wait; its rate is declared elsewhere"},
		{"dry run", "limit_req zone=z burst=5; limit_req_dry_run on;", "dry-run:2", "limit_req z: at once 1 and 5 wait; its rate is declared elsewhere"},
		{"replaced", "limit_req zone=z burst=5; location / { limit_req zone=y burst=5; }", "limits-replaced:2", "limit_req z: at once 1 and 5 wait; its rate is declared elsewhere"},
		{"twice", "location /a { limit_req zone=z burst=5; } location /b { limit_req zone=z burst=5; }", "zone-shared:2", "limit_req z: at once 1 and 5 wait; its rate is declared elsewhere"},
		{"two beside each other", "limit_req zone=z burst=5; limit_req zone=y burst=5;", "", "limit_req z: at once 1 and 5 wait; its rate is declared elsewhere"},
		{"bandwidth", "limit_conn z 4; limit_rate 1m;", "", "limit_conn z: at once 4; in any time as many as finish"},
		{"success", "limit_req zone=z burst=5; error_page 503 =200 /x;", "", "limit_req z: at once 1 and 5 wait; its rate is declared elsewhere"},
		{"success of a known status", "limit_req zone=z burst=5; limit_req_status 429; error_page 429 =200 /x;", "refusal-as-success:2", "limit_req z: at once 1 and 5 wait; its rate is declared elsewhere"},
		{"two statuses, one maybe elsewhere", "limit_req zone=z burst=5; limit_req_status 429; limit_conn c 99;", "", "limit_req z: at once 1 and 5 wait; its rate is declared elsewhere"},
		{"quiet log", "limit_req zone=z burst=5; limit_req_log_level info;", "", "limit_req z: at once 1 and 5 wait; its rate is declared elsewhere"},
		{"more at once than the upstream takes", "limit_req zone=z burst=50 nodelay; location / { proxy_pass http://u; } } upstream u { server 127.0.0.1:1 max_conns=2;",
			"burst-over-max-conns:2", "limit_req z: at once 51; its rate is declared elsewhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile("part.conf", []byte("server {\n"+c.server+"\n}\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			r := Check(Options{Path: "part.conf"})
			if got := found(r); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
			if len(r.Limits) == 0 || r.Limits[0].Limit+": "+r.Limits[0].Text != c.allows {
				t.Errorf("allows %+v, want %q", r.Limits, c.allows)
			}
		})
	}
}

// What limitgate does not have is not a fault of the configuration.
func TestLacksAreNoFaults(t *testing.T) {
	r := check(t, "", "events {}\nstream { server { listen 1; } }\nhttp { server { location ~ x { fastcgi_pass unix:/x; } } }\n")
	if len(r.Findings) != 0 || r.Lacks != 2 {
		t.Errorf("got %+v, %d lacks", r.Findings, r.Lacks)
	}
}

// What a rule finds in other forms than that of its own file.
func TestOtherForms(t *testing.T) {
	const v6 = "set_real_ip_from ::/0;\nreal_ip_header X-Forwarded-For;"
	for _, c := range []struct{ name, rule, http, server string }{
		{"IPv6", "trust-everybody", v6, ""},
		{"through a map", "key-forwarded", "map $http_x_forwarded_for $who { default $binary_remote_addr; ~. $http_x_forwarded_for; }\nlimit_req_zone $who zone=z:10m rate=10r/s;", "limit_req zone=z burst=9;"},
		{"braces", "key-forwarded", "limit_req_zone ${http_x_real_ip} zone=z:10m rate=10r/s;", "limit_req zone=z burst=9;"},
		{"user before authentication", "key-chosen", "limit_req_zone $remote_user zone=z:10m rate=10r/s;", "limit_req zone=z burst=9;"},
		{"arguments beside the address", "key-chosen", "limit_req_zone $binary_remote_addr$request_uri zone=z:10m rate=10r/s;", "limit_req zone=z burst=9;"},
		{"unix socket", "proxy-counted", zone10, "listen unix:/x;\nlimit_req zone=z burst=9;"},
		{"passed on", "proxy-counted", zone10, "proxy_set_header X-Forwarded-For $http_x_forwarded_for;\nlimit_req zone=z burst=9;"},
		{"scheme asked for", "proxy-counted", zone10, "if ($http_x_forwarded_proto = http) { return 301 /; }\nlimit_req zone=z burst=9;"},
		{"conn dropped", "limits-dropped", "limit_conn_zone $binary_remote_addr zone=a:10m;\nlimit_conn_zone $server_name zone=b:1m;\nlimit_conn a 9;", "limit_conn b 99;"},
		{"a whole server that returns", "limit-behind-return", zone10, "limit_req zone=z burst=9;\nreturn 301 https://x;"},
		{"rewritten to another place", "limit-behind-return", zone10, "location / { limit_req zone=z burst=9; rewrite ^ /new last; }"},
		{"redirected for good", "limit-behind-return", zone10, "location / { limit_req zone=z burst=9; rewrite ^/(.*)$ /new/$1 permanent; }"},
		{"redirected", "limit-behind-return", zone10, "location / { limit_req zone=z burst=9; rewrite ^/?(.*) /new redirect; }"},
		{"redirected by its scheme", "limit-behind-return", zone10, "location / { limit_req zone=z burst=9; rewrite .* https://x$uri; }"},
		{"a server that closes", "limit-behind-return", zone10, "return 444;\nlocation / { limit_req zone=z burst=9; proxy_pass http://127.0.0.1:1; }"},
		{"a server that redirects by rewrite", "limit-behind-return", zone10, "rewrite ^ https://x permanent;\nlocation / { limit_req zone=z burst=9; }"},
		{"inherited by places that only return", "limit-behind-return", zone10, "limit_req zone=z burst=9;\nlocation / { return 204; }\nlocation /x { return 404; }"},
		{"the path", "key-chosen", "limit_req_zone $binary_remote_addr$uri zone=z:10m rate=10r/s;", "limit_req zone=z burst=9;"},
		{"places of a server for everybody", "conn-below-http2", "limit_conn_zone $server_name zone=d:1m;", "listen 443 http2;\nlimit_conn d 20;"},
		{"error_page", "limit-behind-redirect", zone10, "location / { limit_req zone=z burst=9; error_page 502 /e/down; }\nlocation /e/ { internal; limit_req zone=z burst=9; }"},
		{"http2 on", "conn-below-http2", "limit_conn_zone $binary_remote_addr zone=a:10m;", "http2 on;\nlimit_conn a 9;"},
		{"an application of another protocol", "login-unlimited", "", "location ~ ^/wp-login\\.php$ { fastcgi_pass unix:/x; }"},
		{"token endpoint", "login-unlimited", "", "location = /oauth/token { proxy_pass http://127.0.0.1:1; }"},
		{"wait above a minute", "delay-over-timeout", "limit_req_zone $binary_remote_addr zone=z:10m rate=1r/m;", "limit_req zone=z burst=5;"},
		{"burst", "numbers-chosen", zone10, "limit_req zone=z burst=$http_x_burst;"},
		{"cost", "numbers-chosen", "limit_token_zone $binary_remote_addr zone=t:10m rate=1r/s capacity=9;", "limit_token zone=t cost=$arg_cost;"},
		{"window", "numbers-chosen", "limit_count_zone $binary_remote_addr zone=t:10m limit=9 window=$cookie_w;", "limit_count zone=t;"},
		{"capacity through a map", "numbers-chosen", "map $http_x_tier $cap { default 10; ~^big$ $http_x_cap; }\nlimit_token_zone $binary_remote_addr zone=t:10m rate=1r/s capacity=$cap;", "limit_token zone=t;"},
		{"bytes", "numbers-chosen", "limit_conn_zone $binary_remote_addr zone=a:10m;", "limit_conn a 99;\nlimit_rate $arg_speed;"},
		{"burst of a zone elsewhere", "numbers-chosen", "include nowhere.conf;", "limit_req zone=z burst=$arg_b;"},
		{"a 429 that no log shows", "refusals-unlogged", zone10 + "log_format l $uri;", "access_log logs/x l;\nlimit_req_status 429;\nlimit_req_log_level info;\nlimit_req zone=z burst=9;"},
		{"a 503 may be anything", "refusals-unlogged", zone10, "limit_req_log_level info;\nlimit_req zone=z burst=9;"},
		{"a budget below what one client has", "key-constant", zone10 + "limit_req_zone $server_name zone=s:1m rate=9r/s;", "limit_req zone=z burst=9;\nlimit_req zone=s burst=9;"},
		{"limited by the second", "key-constant", "limit_conn_zone $server_name zone=s:1m;\n" + zone10, "limit_conn s 500;\nlimit_req zone=z burst=9;"},
		{"two servers", "zone-shared", zone10 + "server { limit_req zone=z burst=9; }", "limit_req zone=z burst=9;"},
		{"a map that only turns addresses into themselves", "key-text-address", "map $remote_addr $k { default $remote_addr; 10.0.0.1 x; }\nlimit_req_zone $k zone=z:10m rate=10r/s;", "limit_req zone=z burst=9;"},
		{"passwords in one location", "auth-unlimited", zone10, "auth_basic x;\nlimit_req_status 429;\nlocation / { limit_req zone=z burst=9; }\nlocation /x { limit_conn_status 429; limit_rate 0; proxy_pass http://127.0.0.1:1; }"},
		{"conn_status alone", "status-mixed", zone10 + "limit_conn_zone $binary_remote_addr zone=a:10m;", "limit_conn_status 429;\nlimit_conn a 99;\nlimit_req zone=z burst=9;"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := check(t, "", "events {}\nhttp {\n"+c.http+"\nserver {\n"+c.server+"\n}\n}\n")
			if n := strings.Count(" "+found(r), " "+c.rule+":"); n != 1 {
				t.Errorf("found %q, want %s once", found(r), c.rule)
			}
		})
	}
}

// What nginx takes and limitgate does not is no error of the file, and a typing error stays one.
func TestOnlyNginx(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"location ~ ^/(?!x) { return 204; }", "not-in-limitgate:4"},
		{"location ~ ^/(x { return 204; }", "fault:4"},
		{"listen 443 quic;", "not-in-limitgate:4"},
		{"listen 443 quick;", "fault:4"},
		{"limit_rate 0; } limit_req_zone $uri zone=z:1m rate=2000000r/s; server {", "not-in-limitgate:4"},
		{"error_log memory:1m;", "not-in-limitgate:4"},
	} {
		if got := found(check(t, "", "events {}\nhttp {\nserver {\n"+c.line+"\n}\n}\n")); got != c.want {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
	}
}

// cut declares a zone by networks, as nginx can: a map keeps the first half of an IPv6 address.
const cut = `map $remote_addr $net { default $remote_addr; "~^((?:[0-9a-f]+:){4})" $1; }
limit_req_zone $net zone=z:10m rate=10r/s;
`

// A rule that has an exception for what is right has it.
func TestExceptions(t *testing.T) {
	for _, c := range []struct{ name, rule, http, server string }{
		{"known keys only", "key-chosen", "map $http_x_key $who { default \"\"; a alice; }\nlimit_req_zone $who zone=z:10m rate=10r/s;", "limit_req zone=z burst=9;"},
		{"turned away before", "key-chosen", "map $http_x_key $who { default \"\"; a alice; }\nlimit_req_zone $http_x_key zone=z:10m rate=10r/s;",
			"if ($who = \"\") { return 401; }\nlimit_req zone=z burst=9;"},
		{"guarded by address", "key-may-be-empty", "limit_req_zone $http_x_key zone=z:10m rate=10r/s;\nlimit_req_zone $binary_remote_addr zone=a:10m rate=10r/s;",
			"limit_req zone=z burst=9;\nlimit_req zone=a burst=9;"},
		{"an empty value has a stand-in", "key-may-be-empty", "map $http_x_key $k { default $http_x_key; \"\" $binary_remote_addr; }\nlimit_req_zone $k zone=z:10m rate=10r/s;",
			"limit_req zone=z burst=9;"},
		{"private networks", "trust-wide", "set_real_ip_from fc00::/7;\nreal_ip_header X-Forwarded-For;", ""},
		{"repeated", "limits-dropped", zone10 + "limit_req_zone $server_name zone=s:1m rate=10r/s;\nlimit_req zone=z burst=9;",
			"location / { limit_req zone=z burst=9; limit_req zone=s burst=9; }"},
		{"inherited", "limits-dropped", zone10 + "limit_req zone=z burst=9;", "location / { limit_conn_status 429; }"},
		{"limited by what it inherits", "login-unlimited", zone10, "limit_req zone=z burst=9;\nlocation /login { proxy_pass http://127.0.0.1:1; }"},
		{"a page that only redirects", "login-unlimited", "", "location /login { return 302 /; }"},
		{"used elsewhere too", "limit-never-binds", zone10 + "limit_req_zone $binary_remote_addr zone=l:10m rate=1r/s;",
			"limit_req zone=z burst=9;\nlocation /l { limit_req zone=z burst=9; limit_req zone=l burst=2; }"},
		{"some servers without a bound", "burst-over-max-conns", zone10 + "upstream u { server 127.0.0.1:1 max_conns=2; server 127.0.0.1:2; }",
			"location / { limit_req zone=z burst=50 nodelay; proxy_pass http://u; }"},
		{"what waits is not at once", "burst-over-max-conns", zone10 + "upstream u { server 127.0.0.1:1 max_conns=20; }",
			"location / { limit_req zone=z burst=50 delay=10; proxy_pass http://u; }"},
		{"a few at once", "burst-over-a-minute", "limit_req_zone $binary_remote_addr zone=z:10m rate=1r/m;", "limit_req zone=z burst=5 nodelay;"},
		{"trusted", "proxy-counted", zone10, "listen 80 proxy_protocol;\nset_real_ip_from 10.0.0.0/8;\nreal_ip_header proxy_protocol;\nlimit_req zone=z burst=9;"},
		{"reached from outside too", "limit-behind-redirect", zone10, "location / { limit_req zone=z burst=9; try_files $uri /app; }\nlocation /app { limit_req zone=z burst=9; }"},
		{"a health check beside what is limited", "limit-behind-return", zone10, "limit_req zone=z burst=9;\nlocation / { proxy_pass http://127.0.0.1:1; }\nlocation /up { return 204; }"},
		{"paths that no location has", "limit-behind-return", zone10, "limit_req zone=z burst=9;\nlocation /up { return 204; }"},
		{"some paths rewritten", "limit-behind-return", zone10, "location / { limit_req zone=z burst=9; rewrite ^/old/ /new last; rewrite ^/a$ /b redirect; }"},
		{"rewritten in place", "limit-behind-return", zone10, "location / { limit_req zone=z burst=9; rewrite ^ /new break; proxy_pass http://127.0.0.1:1; }"},
		{"rewritten before its location", "limit-behind-return", zone10, "rewrite ^ /new last;\nlocation / { limit_req zone=z burst=9; proxy_pass http://127.0.0.1:1; }"},
		{"known users go on", "limit-behind-return", zone10, "location / { limit_req zone=z burst=9; if ($http_x) { break; } return 403; }"},
		{"returns to some", "limit-behind-return", zone10, "location / { limit_req zone=z burst=9; if ($http_x) { return 403; } proxy_pass http://127.0.0.1:1; }"},
		{"one path", "key-chosen", "limit_req_zone $binary_remote_addr$uri zone=z:10m rate=10r/s;", "location = /login { limit_req zone=z burst=9; }"},
		{"places of each path", "conn-below-http2", "limit_conn_zone $uri zone=d:1m;", "listen 443 http2;\nlimit_conn d 20;"},
		{"nothing ran before", "limit-behind-redirect", zone10, "location / { try_files $uri @app; }\nlocation @app { limit_req zone=z burst=9; }"},
		{"logged by access_log", "refusals-unlogged", zone10 + "log_format l $limit_req_status;", "limit_req_log_level info;\nlimit_req zone=z burst=9;"},
		{"numbers that a map names", "numbers-chosen", "map $http_x_key $rate { default 1r/s; k1 100r/s; }\nmap $uri $cost { default 1; /search 10; }\n" +
			"limit_token_zone $binary_remote_addr zone=t:10m rate=$rate capacity=9;", "limit_token zone=t cost=$cost;"},
		{"logged by a 429", "refusals-unlogged", zone10, "limit_req_status 429;\nlimit_req_log_level info;\nlimit_req zone=z burst=9;"},
		{"logged by a 429 in a format", "refusals-unlogged", zone10 + "log_format l $status;", "access_log logs/x l;\nlimit_req_status 429;\nlimit_req_log_level info;\nlimit_req zone=z burst=9;"},
		{"an outer limit written again", "zone-shared", zone10 + "limit_req_zone $server_name zone=s:1m rate=10r/s;\nlimit_req zone=z burst=9;",
			"location /a { limit_req zone=z burst=5; }\nlocation /b { limit_req zone=z burst=9; limit_req zone=s burst=9; }"},
		{"503 of a limit that finds itself", "status-default", "limit_conn_zone app zone=a:10m;", "limit_conn a adaptive;"},
		{"503 beside 429 of a limit that finds itself", "status-mixed", zone10 + "limit_conn_zone app zone=a:10m;", "limit_req_status 429;\nlimit_conn a adaptive;\nlimit_req zone=z burst=9;"},
		{"503 that is meant", "status-mixed", zone10 + "limit_conn_zone $server_name zone=a:10m;", "limit_req_status 429;\nlimit_conn_status 503;\nlimit_conn a 99;\nlimit_req zone=z burst=9;"},
		{"cut by a map", "key-ipv6-whole", cut, "listen [::]:80;\nlimit_req zone=z burst=9;"},
		{"cut by a map, as text", "key-text-address", cut, "limit_req zone=z burst=9;"},
		{"a lid above clients", "key-constant", zone10 + "limit_req_zone $server_name zone=s:1m rate=99r/s;", "limit_req zone=z burst=9;\nlimit_req zone=s burst=9;"},
		{"a lid above networks", "key-constant", cut + "limit_req_zone $server_name zone=s:1m rate=99r/s;", "limit_req zone=z burst=9;\nlimit_req zone=s burst=9;"},
		{"a lid on places", "key-constant", "limit_conn_zone $server_name zone=s:1m;\nlimit_conn_zone $binary_remote_addr zone=a:10m;", "limit_conn s 500;\nlimit_conn a 40;"},
		{"passwords behind a limited location", "auth-unlimited", zone10, "auth_basic x;\nlocation / { limit_req zone=z burst=9; }\nlocation /x { return 404; }"},
		{"answers share a rate", "bandwidth-per-answer", "limit_bandwidth_zone $binary_remote_addr zone=b:10m rate=1m;", "limit_bandwidth zone=b;\nlimit_rate 500k;"},
		{"dry run of nothing", "dry-run", "", "limit_req_dry_run on;"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := check(t, "", "events {}\nhttp {\n"+c.http+"\nserver {\n"+c.server+"\n}\n}\n")
			for _, f := range r.Findings {
				if f.Rule == c.rule || f.Rule == "fault" {
					t.Errorf("%d: %s [%s]", f.Line, f.Message, f.Rule)
				}
			}
		})
	}
}

// Maps that make each other, which no start would accept, do not keep the check from ending.
func TestMapsInACircle(t *testing.T) {
	check(t, "", "events {}\nhttp {\nmap $a $b { default $a$b; x $a; }\nmap $b $a { default $b$a; }\nlimit_req_zone $a zone=z:10m rate=1r/s;\n}\n")
}

func TestJSON(t *testing.T) {
	r := check(t, "", "events {}\nhttp {\n"+zone10+"}\n")
	var out bytes.Buffer
	if err := WriteJSON(&out, []Report{r, r}, true); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got) != 2 {
		t.Fatalf("%v: %s", err, out.String())
	}
	for _, field := range []string{"rule", "severity", "file", "line", "message", "why", "mend"} {
		if v := got[0][field]; v == nil || v == "" {
			t.Errorf("no %s in %v", field, got[0])
		}
	}
	if len(got[0]) != 7 {
		t.Errorf("%d fields, want 7", len(got[0]))
	}
}

func TestSARIF(t *testing.T) {
	r := check(t, "", "events {}\nhttp {\n"+zone10+"}\n")
	var out bytes.Buffer
	if err := WriteSARIF(&out, "1", []Report{r}, false); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || len(log.Runs[0].Results) != 1 {
		t.Fatalf("got %+v", log)
	}
	res, rules := log.Runs[0].Results[0], log.Runs[0].Tool.Driver.Rules
	if res.Level != "warning" || rules[res.RuleIndex].ID != res.RuleID || res.RuleID != "zone-unused" || res.Locations[0].Physical.Region.StartLine != 3 {
		t.Errorf("got %+v", res)
	}
	if u := res.Locations[0].Physical.Artifact.URI; !strings.HasPrefix(u, "file:///") {
		t.Errorf("uri %q", u)
	}
}

// The pages in docs/rules are those of the table.
func TestPagesAreFresh(t *testing.T) {
	const folder = "../../docs/rules"
	files, err := filepath.Glob(folder + "/*.md")
	if err != nil || len(files) != len(Rules())+1 {
		t.Errorf("%d pages for %d rules and a list (%v): run go generate ./internal/lint", len(files), len(Rules()), err)
	}
	pages := map[string]string{"README": Index()}
	for _, r := range Rules() {
		bad, _ := arrows(t, filepath.Join("testdata", "bad", r.ID+".conf"))
		pages[r.ID] = r.Page(bad)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(folder, name+".md"))
		if err != nil || string(got) != want {
			t.Errorf("%s.md is not what the table says (%v): run go generate ./internal/lint", name, err)
		}
	}
}

// What limits allow stands in the output for programs where it is asked for, and nowhere else.
func TestLimitsForPrograms(t *testing.T) {
	r := check(t, "", "events {}\nhttp {\n"+zone10+"server {\nlimit_req zone=z burst=20 delay=5;\n}\n}\n")
	for _, asked := range []bool{false, true} {
		var asJSON, asSARIF bytes.Buffer
		if err := WriteJSON(&asJSON, []Report{r}, asked); err != nil {
			t.Fatal(err)
		}
		if err := WriteSARIF(&asSARIF, "1", []Report{r}, asked); err != nil {
			t.Fatal(err)
		}
		var findings []struct {
			Rule    string
			Figures map[string]any
		}
		var log sarifLog
		if err := errors.Join(json.Unmarshal(asJSON.Bytes(), &findings), json.Unmarshal(asSARIF.Bytes(), &log)); err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, f := range findings {
			if f.Rule == "allows" {
				told++
				if f.Figures["worst_60s"] != 621.0 || f.Figures["longest_delay_ms"] != 1500.0 {
					t.Errorf("figures %v", f.Figures)
				}
			}
		}
		for _, res := range log.Runs[0].Results {
			if res.RuleID != log.Runs[0].Tool.Driver.Rules[res.RuleIndex].ID {
				t.Errorf("rule %d is not %s", res.RuleIndex, res.RuleID)
			}
			if res.Properties != nil {
				told++
				if res.Level != "none" || res.Kind != "informational" || *res.Properties.AtOnce != 6 || *res.Properties.Waiting != 15 {
					t.Errorf("got %+v", res)
				}
			}
		}
		if want := map[bool]int{true: 2}[asked]; told != want {
			t.Errorf("asked %v: told %d times, want %d", asked, told, want)
		}
	}
}

func TestFiguresAreTakenAwayByComment(t *testing.T) {
	r := check(t, "", "events {}\nhttp {\n"+zone10+"server {\nlimit_req zone=z burst=20; # limitgate-check: ignore allows\n}\n}\n")
	if len(r.Limits) != 0 || strings.Contains(found(r), "unknown-rule") {
		t.Errorf("got %+v, found %q", r.Limits, found(r))
	}
}

// A block of Lua is a directive that is lacking, whatever is in it, and what follows is read on.
func TestLuaIsLeftOut(t *testing.T) {
	r := check(t, "", "events {}\nhttp {\n"+zone10+`server {
location / {
access_by_lua_block { ngx.say("}") if x then local t = {} end -- it's }
}
limit_req zone=z nodelay;
}
}
}
`)
	if got, want := found(r), "unknown-directive:6 no-burst:8 nodelay-without-burst:8 status-default:8"; got != want || r.Lacks != 1 || len(r.Limits) != 1 {
		t.Errorf("found %q, want %q; %d lacks, %d limits", got, want, r.Lacks, len(r.Limits))
	}
}

// What is not printable comes to no terminal as it is.
func TestTextIsPrintable(t *testing.T) {
	var b bytes.Buffer
	r := check(t, "", "events {}\nhttp {\n"+zone10+"server { server_name a\x07b; limit_rek x; location /\x1b]0;x\x07 { limit_req zone=z; return 204; } } }\n")
	if err := WriteText(&b, r); err != nil || strings.ContainsAny(b.String(), "\x07\x1b") {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
