package decision

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/trust"
)

// FuzzQuestion asks with arbitrary fields, one a line. A stranger changes nothing. What a trusted peer makes of the request is
// what an edge reads off that request line and Host; fields of a family that is not read have no say.
func FuzzQuestion(f *testing.F) {
	f.Add("X-Original-URI: /a//b/../c?d#e\nX-Original-Method: PUT", uint8(0), false)
	f.Add("X-Forwarded-Uri: /%2e%2e/x\nX-Forwarded-Host: A.b:1\nX-Forwarded-Proto: https\nX-Forwarded-Method: POST", uint8(3), false)
	f.Add("X-Original-URL: https://H.example/x?y\nX-Original-URI: /x", uint8(2), true)
	f.Add("X-Original-URI: /a\nX-Forwarded-Uri: /b", uint8(0), false)
	f.Add("x-original-uri:\nx-forwarded-host: [::1]:80\nx-forwarded-uri: /", uint8(3), true)
	trusted := trust.NewNets([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, false)
	f.Fuzz(func(t *testing.T, lines string, from uint8, keepSlashes bool) {
		p := &Place{trusted: trusted, from: conf.DecisionSource(from % 5), keepSlashes: keepSlashes}
		stranger := questionOf(lines, "192.0.2.1:9")
		if !p.Ask(stranger) || describe(stranger) != "GET /asked /asked?q on own, GET /asked?q HTTP/1.1" {
			t.Fatalf("a stranger was believed: %s", describe(stranger))
		}
		r := questionOf(lines, "127.0.0.1:9")
		if !p.Ask(r) {
			if r.Response.Status != 400 {
				t.Fatalf("refused with %d, want 400", r.Response.Status)
			}
			return
		}
		checkFamily(t, p, lines, r)
		raw := []byte(string(r.Line) + "\r\nHost: " + hostOf(r) + "\r\n\r\n")
		var h h1.Request
		if done, err := h.Parse(raw, &h1.Rules{KeepSlashes: keepSlashes, FirstBuffer: 1 << 20, LargeBuffer: 1 << 20}); err != nil || !done {
			t.Fatalf("an edge would not take %q: %v", raw, err)
		}
		if !bytes.Equal(h.Path(raw), r.URI) || !bytes.Equal(h.Args(raw), r.Args) || !bytes.Equal(h.Target(raw), r.Target) ||
			!bytes.Equal(h.Method(raw), r.Method) || !bytes.Equal(h.Host(raw), r.Host) {
			t.Fatalf("got %s, an edge reads %s %s?%s on %s", describe(r), h.Method(raw), h.Path(raw), h.Args(raw), h.Host(raw))
		}
	})
}

// checkFamily checks that a family that is not read has changed nothing: without its fields all is the same.
func checkFamily(t *testing.T, p *Place, lines string, r *request.Request) {
	t.Helper()
	var kept []string
	for _, l := range strings.Split(lines, "\n") {
		name, _, _ := strings.Cut(strings.ToLower(l), ":")
		mine := p.from == conf.FromEither || p.from == conf.FromOriginal && (name == "x-original-uri" || name == "x-original-method") ||
			p.from == conf.FromIngress && (name == "x-original-url" || name == "x-original-method") ||
			p.from == conf.FromForwarded && strings.HasPrefix(name, "x-forwarded-")
		if mine {
			kept = append(kept, l)
		}
	}
	alone := questionOf(strings.Join(kept, "\n"), "127.0.0.1:9")
	if !p.Ask(alone) || describe(alone) != describe(r) {
		t.Fatalf("with fields that are not read: %s, without: %s", describe(r), describe(alone))
	}
}

// questionOf makes a request with fields as an edge would: names of tokens, values without blanks around them.
func questionOf(lines, peer string) *request.Request {
	r := &request.Request{Conn: &request.Conn{PeerAddr: netip.MustParseAddrPort(peer)}}
	r.Reset()
	r.Line, r.Method, r.Target = []byte("GET /asked?q HTTP/1.1"), []byte("GET"), []byte("/asked?q")
	r.URI, r.Args, r.Host, r.Major, r.Minor = []byte("/asked"), []byte("q"), []byte("own"), 1, 1
	r.Headers = []request.Header{{Name: []byte("Host"), Value: []byte("own"), ID: header.Host}}
	for _, l := range strings.Split(lines, "\n") {
		name, value, _ := strings.Cut(l, ":")
		value = strings.Trim(value, " ")
		if strings.EqualFold(name, "host") || !h1.GivenValue([]byte(value)) {
			continue
		}
		r.Headers = append(r.Headers, request.Header{Name: []byte(name), Value: []byte(value), ID: header.Lookup([]byte(name))})
	}
	return r
}

func hostOf(r *request.Request) string {
	v, _ := r.Get(header.Host)
	return string(v)
}

func describe(r *request.Request) string {
	scheme := [...]string{"", " over http", " over https"}[r.Over]
	return string(r.Method) + " " + string(r.URI) + " " + string(r.Target) + scheme + " on " + string(r.Host) + ", " + string(r.Line)
}
