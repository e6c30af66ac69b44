package conf

import (
	"net/netip"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// words makes a directive of a name and its arguments.
func words(name string, args ...string) *Directive {
	d := &Directive{Name: name}
	for _, a := range args {
		d.Args = append(d.Args, Word{Text: a})
	}
	return d
}

// TestReaders reads good directives; the corpus holds the bad ones.
func TestReaders(t *testing.T) {
	read := func(value any, ok bool) any {
		if !ok {
			return "refused"
		}
		return value
	}
	var errs Errors
	for _, test := range []struct {
		name string
		got  any
		want any
	}{
		{"listen", read(ReadListen(words("listen", "127.0.0.1:81", "default_server", "backlog=5", "rcvbuf=1k", "so_keepalive=1m::3", "ipv6only=off", "reuseport"), &errs)),
			Listen{Endpoint: Endpoint{Text: "127.0.0.1:81", Host: "127.0.0.1", Addr: netip.MustParseAddr("127.0.0.1"), Port: 81, LastPort: 81},
				DefaultServer: true, Bind: true, Backlog: 5, RcvBuf: 1024, ReusePort: true,
				KeepAlive: KeepAlive{Set: true, On: true, Idle: time.Minute, Count: 3}}},
		{"listen plain", read(ReadListen(words("listen", "81", "proxy_protocol"), &errs)),
			Listen{Endpoint: Endpoint{Text: "81", Host: "*", Addr: netip.IPv4Unspecified(), Port: 81, LastPort: 81}, V6Only: true, ProxyProtocol: true}},
		{"limit_conn", read(ReadLimitConn(words("limit_conn", "a", "70000"), &errs)), LimitConn{Zone: "a", Limit: 70000}},
		{"limit_conn_zone", read(ReadLimitConnZone(words("limit_conn_zone", "$a", "zone=x:1m"), &errs)), LimitConnZone{Key: Word{Text: "$a"}, Zone: ZoneSize{"x", 1 << 20}}},
		{"error_log", read(ReadErrorLog(words("error_log", "x", "debug_http"), &errs)), ErrorLog{Dest: "x", Level: "debug"}},
		{"error_log syslog", read(ReadErrorLog(words("error_log", "syslog:server=unix:/s,tag=t,severity=warn,facility=local3,nohostname"), &errs)),
			ErrorLog{Dest: "syslog:server=unix:/s,tag=t,severity=warn,facility=local3,nohostname", Level: "error",
				Syslog: &Syslog{Server: Endpoint{Text: "unix:/s", Unix: "/s"}, Facility: "local3", Severity: "warn", Tag: "t", NoHostname: true}}},
		{"access_log off", read(ReadAccessLog(words("access_log", "off"), &errs)), AccessLog{Off: true, Path: "off", Format: "combined"}},
		{"access_log", read(ReadAccessLog(words("access_log", "x", "main", "gzip=9", "flush=1m", "if=$a"), &errs)),
			AccessLog{Path: "x", Format: "main", If: "$a", Buffer: 64 << 10, Flush: time.Minute, Gzip: 9}},
		{"log_format", read(ReadLogFormat(words("log_format", "a", "escape=json", "x", " y"), &errs)), LogFormat{Name: "a", Escape: "json", Text: "x y"}},
		{"return", read(ReadReturn(words("return", "200", "ok"), &errs)), Return{Code: 200, Text: "ok"}},
		{"return URL", read(ReadReturn(words("return", "$scheme://x"), &errs)), Return{Code: 302, Text: "$scheme://x"}},
		{"error_page", read(ReadErrorPage(words("error_page", "500", "502", "=", "@x"), &errs)), ErrorPage{Codes: []int{500, 502}, Change: true, Target: "@x"}},
		{"error_page code", read(ReadErrorPage(words("error_page", "404", "=200", "/x"), &errs)), ErrorPage{Codes: []int{404}, Change: true, Response: 200, Target: "/x"}},
		{"add_header", read(ReadAddHeader(words("add_header", "A", "b", "always"), &errs)), AddHeader{Name: "A", Value: "b", Always: true}},
		{"server", read(ReadUpstreamServer(words("server", "a:1", "weight=2", "max_conns=3", "max_fails=0", "fail_timeout=1m", "backup", "down"), &errs)),
			UpstreamServer{Endpoint: Endpoint{Text: "a:1", Host: "a", Port: 1, LastPort: 1}, Weight: 2, MaxConns: 3, FailTimeout: time.Minute, Backup: true, Down: true}},
		{"proxy_pass", read(ReadProxyPass(words("proxy_pass", "https://a:1/b"), &errs)),
			ProxyPass{Text: "https://a:1/b", TLS: true, Target: Endpoint{Text: "a:1/b", Host: "a", Port: 1, LastPort: 1}, Named: "a:1", URI: "/b"}},
		{"proxy_pass unix", read(ReadProxyPass(words("proxy_pass", "http://unix:/s:/b"), &errs)),
			ProxyPass{Text: "http://unix:/s:/b", Target: Endpoint{Text: "unix:/s:/b", Unix: "/s"}, Named: "unix:/s", URI: "/b"}},
		{"proxy_pass variable", read(ReadProxyPass(words("proxy_pass", "http://$a"), &errs)), ProxyPass{Text: "http://$a", Vars: true}},
		{"set_real_ip_from", read(ReadPeers(words("set_real_ip_from", "name"), &errs)), Network{Host: "name"}},
		{"deny", read(ReadRule(words("deny", "all"), &errs)), Network{All: true}},
		{"location", read(ReadPlace(words("location", "^~/x"), &errs)), Place{Modifier: NoRegexp, Pattern: "/x"}},
		{"location exact", read(ReadPlace(words("location", "=", "@x"), &errs)), Place{Modifier: Exact, Pattern: "@x"}},
		{"server_name", read(ReadServerNames(words("server_name", "A.b", "~^X$"), &errs)),
			[]ServerName{{Text: "a.b"}, {Text: "^X$", Regexp: regexp.MustCompile(`(?i:\AX\n?\z)`)}}},
	} {
		same := []cmp.Option{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmp.Comparer(func(a, b *regexp.Regexp) bool {
			return a == b || a != nil && b != nil && a.String() == b.String()
		})}
		if diff := cmp.Diff(test.want, test.got, same...); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	for _, err := range errs.List() {
		t.Error(err)
	}
}

func TestValues(t *testing.T) {
	var errs Errors
	on, ok := words("daemon", "ON").Flag(&errs)
	if !on || !ok {
		t.Errorf("flag: got %v %v", on, ok)
	}
	if n, ok := words("x", "a", "8k").Size(&errs, 1); n != 8192 || !ok {
		t.Errorf("size: got %d %v", n, ok)
	}
	if d, ok := words("x", "1m 30s").Duration(&errs, 0); d != 90*time.Second || !ok {
		t.Errorf("duration: got %v %v", d, ok)
	}
	if errs.Failed() {
		t.Errorf("got %v", errs.List())
	}
	words("x", "maybe").Flag(&errs)
	words("x").Size(&errs, 0)
	words("x", "1t").Offset(&errs, 0)
	words("x", "1t").Duration(&errs, 0)
	words("y", "1ms").Seconds(&errs, 0)
	words("x", "-1").Int(&errs, 0)
	var got []string
	for _, err := range errs.List() {
		got = append(got, err.Msg)
	}
	want := []string{`invalid value "maybe" in "x" directive, it must be "on" or "off"`, `"x" directive invalid value`,
		`"y" directive invalid value`, `"x" directive invalid number`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRegexpHelp(t *testing.T) {
	for text, want := range map[string]string{
		`(?<!a)b`:  "expressions are RE2: look-around such as (?<!…) is not available",
		`(a)\k<x>`: `expressions are RE2: back-references such as \k are not available`,
		`\\1(`:     "expressions are RE2",
		`a++`:      "expressions are RE2: ++ of PCRE is not available",
		`(?>a)`:    "expressions are RE2: (?> of PCRE is not available",
	} {
		_, fault, help := CompileRegexp(text, false)
		if fault == "" || help != want {
			t.Errorf("%s: got %q and %q, want %q", text, fault, help, want)
		}
	}
	if re, fault, _ := CompileRegexp(`^/(?<id>\d+)$`, true); fault != "" || re.SubexpIndex("id") != 1 {
		t.Errorf("named capture: %q", fault)
	}
}
