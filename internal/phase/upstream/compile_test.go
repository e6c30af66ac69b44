package upstream

import (
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/phase/phasetest"
)

func TestConfigurationFaults(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"host of proxy_pass", simple("http://nonesuch.invalid:81/x"), `host not found in upstream "nonesuch.invalid"`},
		{"host of a server", "upstream u { server nonesuch.invalid; }" + simple("http://u"), `host not found in upstream "nonesuch.invalid"`},
		{"port of a group", "upstream u { server 127.0.0.1; }" + simple("http://u:81"), `upstream "u" may not have port 81`},
		{"https, trusting nobody", simple("https://127.0.0.1", "proxy_ssl_verify on;"), "no proxy_ssl_trusted_certificate for proxy_ssl_verify"},
		{"perhaps https, trusting nobody", simple("$scheme://127.0.0.1", "proxy_ssl_verify on;"), "no proxy_ssl_trusted_certificate for proxy_ssl_verify"},
		{"http, trusting nobody", simple("http://127.0.0.1", "proxy_ssl_verify on;"), ""},
		{"a certificate without a key", simple("https://127.0.0.1", "proxy_ssl_certificate a.crt;"), `no "proxy_ssl_certificate_key" is defined for certificate "a.crt"`},
		{"no such suites", simple("https://127.0.0.1", "proxy_ssl_ciphers foo;"), `SSL_CTX_set_cipher_list("foo") failed (SSL: error:0A0000B9:SSL routines::no cipher match)`},
		{"port of a group over TLS", "upstream u { server 127.0.0.1; }" + simple("https://u:443"), `upstream "u" may not have port 443`},
		{"no scheme", simple("127.0.0.1"), "invalid URL prefix"},
		{"unknown variable", simple("http://$nonesuch"), `unknown "nonesuch" variable`},
		{"unknown variable in a header", simple("http://127.0.0.1", "proxy_set_header X $nonesuch;"), `unknown "nonesuch" variable`},
		{"unknown variable in a header of nobody", "server { proxy_set_header X $nonesuch; location / { } }", `unknown "nonesuch" variable`},
		{"path in an expression", "server { location ~ / { proxy_pass http://127.0.0.1/x; } }",
			`"proxy_pass" cannot have URI part in location given by regular expression, or inside named location, or inside "if" statement, or inside "limit_except" block`},
	} {
		t.Run(c.name, func(t *testing.T) {
			http, env := phasetest.Config(t, c.text)
			s := Open(env, http)
			defer s.Close()
			s.Compile(env, phasetest.Location(t, http, "/"))
			var got []string
			for _, e := range env.Errors.List() {
				got = append(got, e.Msg)
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestGroups(t *testing.T) {
	text := `upstream Mixed { server 127.0.0.1:1 weight=3 max_fails=2 fail_timeout=5s max_conns=7; server unix:/s down; server [::1]:2 backup; keepalive 9; keepalive_requests 5; keepalive_time 3s; keepalive_timeout 2s; }
		upstream plain { server 127.0.0.1; keepalive 1; } keepalive_timeout 7s; keepalive_requests 7;
		server { location / { proxy_pass http://mixed; } location /a { proxy_pass http://localhost:81; } location /b { proxy_pass http://LOCALHOST:81/x; }
		location /c { } }`
	http, env := phasetest.Config(t, text)
	s := Open(env, http)
	defer s.Close()
	phasetest.Good(t, env)
	g := s.groups["mixed"]
	if len(g.primary) != 2 || len(g.backup) != 1 || g.idle.max != 9 {
		t.Fatalf("got %+v", g)
	}
	if k := g.idle; k.requests != 5 || k.age != 3*time.Second || k.timeout != 2*time.Second {
		t.Errorf("kept connections: got %+v", k)
	}
	if k := s.groups["plain"].idle; k.requests != 1000 || k.age != time.Hour || k.timeout != time.Minute {
		t.Errorf("kept connections, with other times for clients: got %+v", k)
	}
	if p := g.primary[0]; p.weight != 3 || p.effective != 3 || p.maxFails != 2 || p.failTimeout != 5 || p.maxConns != 7 || string(p.name) != "127.0.0.1:1" {
		t.Errorf("first: got %+v", p)
	}
	if p := g.primary[1]; !p.down || string(p.name) != "unix:/s" {
		t.Errorf("second: got %+v", p)
	}
	if p := g.backup[0]; string(p.name) != "[::1]:2" {
		t.Errorf("backup: got %+v", p)
	}
	if h := s.Compile(env, phasetest.Location(t, http, "/")).(*Handler); h.target.group != g || string(h.target.host) != "mixed" {
		t.Errorf("a group is found in any case: got %+v", h.target)
	}
	a := s.Compile(env, phasetest.Location(t, http, "/a")).(*Handler)
	b := s.Compile(env, phasetest.Location(t, http, "/b")).(*Handler)
	if a.target.group != b.target.group {
		t.Error("one address in two places must be one group")
	}
	for _, p := range a.target.group.primary {
		if got := string(p.name); got != "127.0.0.1:81" && got != "[::1]:81" {
			t.Errorf("localhost: got %s", got)
		}
	}
	if got := s.Compile(env, phasetest.Location(t, http, "/c")); got != nil {
		t.Errorf("without proxy_pass: got %v, want nil", got)
	}
}
