package virtual

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/request"
	"pgregory.net/rapid"
)

// guest is a visitor that keeps what became of it.
type guest struct {
	v     Visit
	told  []string
	ended int
}

func (m *guest) Visit() *Visit { return &m.v }

func (m *guest) Ended() error {
	text := fmt.Sprintf("lane %d: %d served %v", m.v.Lane, m.v.Request.Response.Status, m.v.Served()) + told(&m.v.Report)
	m.told, m.ended = append(m.told, text), m.ended+1
	return nil
}

// told is what limits said, in a text.
func told(p *request.Report) string {
	text := fmt.Sprintf(" %v rehearsed %v delay %v", p.Outcome, p.Rehearsed, p.Delay)
	for i := range p.Limits {
		l := &p.Limits[i]
		text += fmt.Sprintf(" %s %q %v %v in %d", l.Zone, l.Key, l.Decision, l.DryRun, p.Scope)
	}
	return text
}

func gateOf(t *testing.T, http string, lanes int) *Gate {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nginx.conf")
	if err := os.WriteFile(file, []byte("events { } http { "+http+" }"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := OpenLanes(Options{File: file}, lanes)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// fill makes a request of a path at an instant.
func (m *guest) fill(g *Gate, serial uint64, at int64, path string, client byte) {
	m.v.Reset(serial, at, netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, client}), 0))
	m.v.Read([]byte("GET "+path+" HTTP/1.1\r\nHost: h\r\nX-Key: k\r\n\r\n"), &g.Rules)
	m.v.Stay = 3e8
	g.Program.Arrive(&m.v.Request)
	g.Approach(&m.v)
}

const everyWay = `limit_req_zone $binary_remote_addr zone=a:1m rate=2r/s; limit_req_zone $uri zone=b:1m rate=3r/s; limit_conn_zone $binary_remote_addr zone=c:1m;
	limit_count_zone $http_x_key zone=w:1m limit=9 window=2s; limit_token_zone $binary_remote_addr zone=t:1m rate=2r/s capacity=3;
	server { server_name h; error_page 503 /busy; error_page 403 = @denied;
		location / { limit_req zone=a burst=3; } location /dry { limit_req zone=a; limit_req_dry_run on; } location /nodelay { limit_req zone=b burst=2 nodelay; }
		location /two { limit_req zone=a burst=2; limit_req zone=b burst=1; } location /conn { limit_req zone=b burst=4; limit_conn c 1; }
		location /count { limit_count zone=w; } location /token { limit_token zone=t; } location /return { return 404; } location /busy { limit_count zone=w; }
		location /deny { limit_req zone=a; deny all; } location @denied { limit_conn c 1; } location /try { limit_req zone=a; try_files $uri @denied; }
		location /vary { limit_req zone=a burst=$arg_b nodelay; } location /exempt { limit_exempt 192.0.2.3; limit_req zone=b; } }`

// TestLanesAreGatesOfTheirOwn: what several lanes make of requests that are approached ahead, decided on one after the other and
// put back, is what gates of one lane make of the same requests, of which each goes its whole way.
func TestLanesAreGatesOfTheirOwn(t *testing.T) {
	const lanes = 3
	paths := []string{"/", "/dry", "/nodelay", "/two", "/conn", "/count", "/token", "/return", "/deny", "/try", "/vary?b=2", "/vary?b=x", "/exempt", "/\x01"}
	rapid.Check(t, func(rt *rapid.T) {
		http := everyWay
		if rapid.Bool().Draw(rt, "without pages") {
			http = strings.Replace(http, "error_page 503 /busy; error_page 403 = @denied;", "", 1)
		}
		g := gateOf(t, http, lanes)
		var alone [lanes]*Gate
		for i := range alone {
			alone[i] = gateOf(t, http, 1)
		}
		at := int64(1e18)
		var all, ones []*guest
		for i := range rapid.IntRange(1, 60).Draw(rt, "requests") {
			at += rapid.Int64Range(0, 4e8).Draw(rt, "step")
			path, client := rapid.SampledFrom(paths).Draw(rt, "path"), rapid.SampledFrom([]byte{1, 2, 3}).Draw(rt, "client")
			m := &guest{}
			m.fill(g, uint64(i), at, path, client)
			var ticket Ticket
			plain := g.Ticket(&m.v, &ticket)
			if plain {
				g.Prepare(&ticket)
			}
			all = append(all, m)
			for lane := range lanes {
				when := at + int64(lane)*1e7
				one := &guest{}
				one.fill(alone[lane], uint64(i), when, path, client)
				one.v.sole.Limiter = nil // the whole way
				if _, err := alone[lane].Decide(one, 0); err != nil {
					rt.Fatal(err)
				}
				ones = append(ones, one)
				if plain {
					quick := &guest{}
					decided, err := g.Redeem(&ticket, when, lane, &quick.v.Report)
					if err != nil {
						rt.Fatal(err)
					}
					if decided {
						if got, want := told(&quick.v.Report), told(&one.v.Report); got != want {
							rt.Fatalf("ticket: got %s, want %s", got, want)
						}
						one.told, m.ended = nil, m.ended+1
						continue
					}
				}
				switch {
				case lane == 0:
				case m.ended < lane: // the gate keeps it
					m = &guest{}
					all = append(all, m)
					m.fill(g, uint64(i), when, path, client)
				case !m.v.Again(when):
					m.fill(g, uint64(i), when, path, client)
				}
				if _, err := g.Decide(m, lane); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if err := g.Drain(); err != nil {
			rt.Fatal(err)
		}
		for _, a := range alone {
			if err := a.Drain(); err != nil {
				rt.Fatal(err)
			}
		}
		counts := func(list []*guest, lane func(string) string) map[string]int {
			n := map[string]int{}
			for _, m := range list {
				for _, text := range m.told {
					n[lane(text)]++
				}
			}
			return n
		}
		for lane := range lanes {
			prefix := fmt.Sprintf("lane %d: ", lane)
			got := counts(all, func(s string) string { return s })
			want := map[string]int{}
			for i, m := range ones {
				if i%lanes == lane {
					for _, text := range m.told {
						want[prefix+text[len("lane 0: "):]]++
					}
				}
			}
			for text, n := range want {
				if got[text] != n {
					rt.Fatalf("%s\ngot %d times, want %d", text, got[text], n)
				}
			}
		}
	})
}

func TestTimely(t *testing.T) {
	for http, want := range map[string]bool{
		`server { }`: false, `map $msec $m { default 1; } server { set $x $m; }`: true, `limit_req_zone $request_id zone=z:1m rate=1r/s; server { limit_req zone=z; }`: true,
	} {
		if got := gateOf(t, http, 1).Timely(); got != want {
			t.Errorf("%s: got %v", http, got)
		}
	}
}
