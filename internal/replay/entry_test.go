package replay

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/accesslog"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/virtual"
	"pgregory.net/rapid"
)

// requestText is what phases see of a request, in one text.
func requestText(r *request.Request) string {
	var b strings.Builder
	if r.Fault.Status != 0 {
		return fmt.Sprintf("fault %d", r.Fault.Status)
	}
	fmt.Fprintf(&b, "%q %q %q uri %q args %q %v host %q %d.%d keep %v body %d at %v/%v\n", r.Line, r.Method, r.Target, r.URI, r.Args, r.Args == nil, r.Host, r.Major, r.Minor, r.KeepAlive, r.BodyLength,
		r.Conn.Listener, r.Conn.LocalAddr)
	for _, h := range r.Headers {
		fmt.Fprintf(&b, "%q %d: %q\n", bytes.ToLower(h.Name), h.ID, h.Value)
	}
	return b.String()
}

// TestTheShortWayIsTheEdges: the request that is made of a record's parts is the one that the edge reads out of the head
// that the parts make.
func TestTheShortWayIsTheEdges(t *testing.T) {
	o := Options{Config: written(t, `merge_slashes on; server { listen 80; server_name a.example; } server { listen 81; server_name *.b.example; }`)}
	kept := Options{Config: written(t, `merge_slashes off; server { listen 80; }`)}
	target := rapid.OneOf(
		rapid.StringMatching(`(/[a-z0-9._-]{0,6}){1,5}(\?[a-z=&%/.#?]{0,12})?`),
		rapid.StringMatching(`/([/.%#?a\x80]|%2[fFeE]|%41|%00){0,12}`),
		rapid.SampledFrom([]string{"/", "*", "", "http://a.example/x?y", "/a b", "/\x01", "//", "/..", "/a/../b?", "/?#f", "/a#f?x", "/%zz"}),
	)
	value := rapid.OneOf(rapid.StringMatching(`[ -~]{0,20}`), rapid.SampledFrom([]string{"", " x", "x ", "a\tb", "a\x00b", "a\r\nb", "\x7f", "ü"}))
	host := rapid.OneOf(rapid.SampledFrom([]string{"a.example", "A.Example:80", "x.b.example.", "[::1]:80", "a..b", "", "a:x", "b/c", "a.example:"}), rapid.StringMatching(`[a-zA-Z0-9.:\[\]-]{0,12}`))
	maybe := func(t *rapid.T, g *rapid.Generator[string], name string) []byte {
		if rapid.Bool().Draw(t, name+" is there") {
			return []byte(g.Draw(t, name))
		}
		return nil
	}
	for _, opts := range []Options{o, kept} {
		r, err := Open(opts)
		if err != nil {
			t.Fatal(err)
		}
		gate := r.plan.configs[0].first
		r.plan.agent, r.plan.referer, r.plan.user = true, true, true
		rapid.Check(t, func(t *rapid.T) {
			rec := accesslog.Record{
				Stamp: base, Grain: 1, Duration: accesslog.Unknown, Addr: netip.MustParseAddr("192.0.2.1"), Status: 200,
				Method:   []byte(rapid.SampledFrom([]string{"GET", "POST", "PURGE", "get", "CONNECT", "TRACE", "", "M-SEARCH", "G T"}).Draw(t, "method")),
				URI:      []byte(target.Draw(t, "target")),
				Protocol: []byte(rapid.SampledFrom([]string{"HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/3.0", "HTTP/1.9"}).Draw(t, "protocol")),
				Host:     maybe(t, host, "host"), Agent: maybe(t, value, "agent"), Referer: maybe(t, value, "referer"), User: maybe(t, rapid.StringMatching(`[a-z:]{0,5}`), "user"),
			}
			for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"http_x_key", "cookie_a", "http_cookie", "content_length", "http_connection", "http_host", "http_te_x"}), 0, 4).Draw(t, "fields") {
				v := value.Draw(t, "value")
				if name == "content_length" {
					v = rapid.SampledFrom([]string{"5", "0", "x", "", "99999999999999999999"}).Draw(t, "length")
				}
				rec.Fields = append(rec.Fields, accesslog.Field{Name: name, Value: []byte(v)})
			}
			var e entry
			e.read(&rec, fieldNames{}, r.plan)
			if !e.parsed {
				return // the head itself is read
			}
			fill := filler{program: gate.Program, rules: &gate.Rules, same: true}
			var direct, whole visit
			direct.visit, whole.visit = virtual.Visit{}, virtual.Visit{}
			fill.fill(&direct, &e, base)
			fill.same = false
			fill.fill(&whole, &e, base)
			if got, want := requestText(&direct.visit.Request), requestText(&whole.visit.Request); got != want {
				t.Fatalf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Most requests go the short way: were they read as heads, nothing but time would tell.
func TestMostGoTheShortWay(t *testing.T) {
	r, err := Open(of(t, oneLimit))
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]bool{"/": true, "/a?b": true, "/a%20b": true, "//a/../b": true, "http://x/": false, "/\x01": false, "/%": false} {
		rec := get(0, "192.0.2.1", uri)
		var e entry
		if e.read(&rec, fieldNames{}, r.plan); e.parsed != want {
			t.Errorf("%s: got %v, want %v", uri, e.parsed, want)
		}
	}
}

// What no configuration asks for is not taken along, and what one asks for is.
func TestWhatIsAskedFor(t *testing.T) {
	rec := get(0, "192.0.2.1", "/")
	rec.Referer, rec.User = []byte("http://r/"), []byte("u")
	for http, want := range map[string]string{
		`server { }`: "Host", `limit_req_zone $http_user_agent zone=r:1m rate=1r/s; server { }`: "Host User-Agent",
		`map $http_referer $m { default 1; } server { if ($m) { return 403; } }`: "Host Referer", `limit_req_zone $remote_user zone=r:1m rate=1r/s; server { }`: "Host Authorization",
	} {
		r, err := Open(of(t, http))
		if err != nil {
			t.Fatal(err)
		}
		var e entry
		e.read(&rec, fieldNames{}, r.plan)
		var got []string
		for _, h := range e.headers {
			got = append(got, string(h.name.name))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", http, got, want)
		}
	}
}

func TestFieldNames(t *testing.T) {
	names := fieldNames{}
	for name, want := range map[string]string{
		"http_x_api_key": "1 x-api-key", "cookie_Session": "2 CookieSession=", "server_port": "3 ", "scheme": "4 ", "realip_remote_addr": "5 ", "proxy_protocol_addr": "6 ",
		"limit_conn_status": "7 ", "http_transfer_encoding": "0 ", "content_type": "1 content-type", "sent_http_x": "0 ", "http_ü": "0 ", "elb": "0 ",
	} {
		for range 2 {
			if f := names.of(name); fmt.Sprintf("%d %s%s", f.kind, f.name, f.prefix) != want {
				t.Errorf("%s: got %d %s, want %s", name, f.kind, f.name, want)
			}
		}
	}
}
