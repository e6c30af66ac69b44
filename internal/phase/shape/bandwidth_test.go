package shape

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/memzone"
)

// shared makes each zone once, by name.
type shared map[string]limitgate.Zone

func (z shared) Zone(spec phase.ZoneSpec) (limitgate.Zone, error) {
	if z[spec.Name] == nil {
		c := memzone.Config{Bytes: spec.Bytes}
		if spec.Reject {
			c.Overflow = memzone.Reject
		}
		z[spec.Name] = memzone.New(c)
	}
	return z[spec.Name], nil
}

const tenThousand = "limit_bandwidth_zone $arg_k zone=b:1m rate=10000; limit_bandwidth_zone $arg_k zone=unused:1m rate=1000m; "

// shapers returns the shapers of locations of one configuration.
func shapers(t testing.TB, text string, patterns ...string) (list []*Handler) {
	t.Helper()
	http, env := phasetest.Config(t, text)
	zones := shared{}
	env.Zones = zones
	set := NewSet()
	http.Walk(func(s *conf.Scope) { set.Compile(env, s) })
	phasetest.Good(t, env)
	if len(zones) != len(http.Own("limit_bandwidth_zone")) {
		t.Errorf("got %d zones, want each that is declared", len(zones))
	}
	for _, p := range patterns {
		list = append(list, set.Compile(env, phasetest.Location(t, http, p)).(*Handler))
	}
	return list
}

// download sends a body of n bytes, in pieces of 4000, as the answer to a request with a key.
func download(t testing.TB, h *Handler, key string, n int, client *phasetest.Client) (*request.Request, error) {
	t.Helper()
	r := phasetest.Request(t, "GET /?k="+key+" HTTP/1.1\r\nHost: h\r\n\r\n", client, nil)
	for body := make([]byte, n); len(body) > 0; {
		piece := body[:min(len(body), 4000)]
		if err := h.SendBody(r, piece); err != nil {
			return r, err
		}
		body = body[len(piece):]
	}
	return r, nil
}

func TestBandwidth(t *testing.T) {
	for _, c := range []struct {
		name, directives string
		keys             []string
		bytes            int
		from, to         time.Duration // when each response may end
	}{
		// 25 pieces of 400 bytes each, and the first of all goes at once: the last goes after 99 of 40 ms. Whoever comes first has a
		// second piece in the queue before the others come, and so ends one round earlier.
		{"four of one key", "limit_bandwidth zone=b;", []string{"a", "a", "a", "a"}, 10_000, 3720 * time.Millisecond, 3960 * time.Millisecond},
		{"alone", "limit_bandwidth zone=b;", []string{"a"}, 10_000, 960 * time.Millisecond, 960 * time.Millisecond},
		{"of two keys", "limit_bandwidth zone=b;", []string{"a", "b"}, 10_000, 960 * time.Millisecond, 960 * time.Millisecond},
		{"without a key", "limit_bandwidth zone=b;", []string{"", ""}, 10_000, 0, 0},
		{"exempt", "limit_bandwidth zone=b; limit_exempt 0.0.0.0/0 ::/0;", []string{"a", "a"}, 10_000, 0, 0},
		{"off", "limit_bandwidth off;", []string{"a", "a"}, 10_000, 0, 0},
		{"inherited", "", []string{"a", "a"}, 10_000, 1880 * time.Millisecond, 1960 * time.Millisecond},
		{"limit_rate is slower", "limit_bandwidth zone=b; limit_rate 2000;", []string{"a", "a"}, 4000, 1900 * time.Millisecond, 2000 * time.Millisecond},
		{"limit_rate is faster", "limit_bandwidth zone=b; limit_rate 8000;", []string{"a", "a"}, 10_000, 1900 * time.Millisecond, 2000 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := shapers(t, tenThousand+"limit_bandwidth zone=b; server { location / { "+c.directives+" } }", "/")[0]
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				var wg sync.WaitGroup
				for _, key := range c.keys {
					wg.Go(func() {
						client := &phasetest.Client{}
						if _, err := download(t, h, key, c.bytes, client); err != nil {
							t.Error(err)
						}
						if took := time.Since(begun); took < c.from || took > c.to+time.Millisecond {
							t.Errorf("a response ends after %v, want %v to %v", took, c.from, c.to)
						}
						if n := len(client.Body()); n != c.bytes {
							t.Errorf("got %d bytes, want %d", n, c.bytes)
						}
					})
				}
				wg.Wait()
			})
		})
	}
}

// A client that leaves gives nothing back: those behind it wait for its piece all the same.
func TestBandwidthOfOneWhoLeaves(t *testing.T) {
	h := shapers(t, tenThousand+"server { location / { limit_bandwidth zone=b; } }", "/")[0]
	now := limitgate.Time(time.Hour)
	h.now = func() limitgate.Time { return now }
	leaves := &phasetest.Client{Slept: func(time.Duration) bool { return false }}
	if _, err := download(t, h, "a", 800, leaves); err != ErrLeft || len(leaves.Body()) != 400 || leaves.Flushed() != 1 {
		t.Errorf("got %v, %d bytes and %d flushes, want ErrLeft after 400 bytes that went out", err, len(leaves.Body()), leaves.Flushed())
	}
	var waited time.Duration
	stays := &phasetest.Client{Slept: func(d time.Duration) bool { waited, now = waited+d, now.Add(d); return true }}
	if _, err := download(t, h, "a", 400, stays); err != nil || waited != 80*time.Millisecond {
		t.Errorf("the next: got %v after %v, want it sent after 80ms", err, waited)
	}
}

func TestBandwidthBurst(t *testing.T) {
	h := shapers(t, "limit_bandwidth_zone $arg_k zone=b:1m rate=10000 burst=4000; server { location / { limit_bandwidth zone=b; } }", "/")[0]
	now := limitgate.Time(time.Hour)
	h.now = func() limitgate.Time { return now }
	var waited time.Duration
	client := &phasetest.Client{Slept: func(d time.Duration) bool { waited, now = waited+d, now.Add(d); return true }}
	if _, err := download(t, h, "a", 4400, client); err != nil || waited != 0 {
		t.Errorf("burst and a piece: got %v after %v, want them at once", err, waited)
	}
	if _, err := download(t, h, "a", 10_000, client); err != nil || waited != time.Second {
		t.Errorf("the next second: got %v after %v, want 1s", err, waited)
	}
}

// With overflow=reject an answer of a key that finds no room waits for it.
func TestBandwidthWithoutRoom(t *testing.T) {
	h := shapers(t, "limit_bandwidth_zone $arg_k zone=b:32k rate=1 overflow=reject; server { location / { limit_bandwidth zone=b; } }", "/")[0]
	now := limitgate.Time(time.Hour)
	h.now = func() limitgate.Time { return now }
	for i := range 20_000 {
		if _, err := h.share.limiter.TakeAt(t.Context(), now, string([]byte{'k', byte(i), byte(i >> 8)}), 100); err != nil {
			t.Fatal(err)
		}
	}
	var log phasetest.Log
	waits := 0
	client := &phasetest.Client{Slept: func(d time.Duration) bool { waits, now = waits+1, now.Add(d); return true }}
	r := phasetest.Request(t, "GET /?k=new HTTP/1.1\r\nHost: h\r\n\r\n", client, nil)
	r.Settings = &request.Settings{ErrorLog: errorlog.New(errorlog.Sink{Writer: &log, Level: errorlog.Info})}
	if err := h.SendBody(r, []byte("x")); err != nil || now < limitgate.Time(time.Hour+99*time.Second) || waits > 2600 {
		t.Errorf("got %v after %d waits at %v, want it sent when the others have drained, 100 s later", err, waits, time.Duration(now))
	}
	if got, want := log.Messages(), "crit: could not allocate node in limit_bandwidth zone \"b\"\n"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
}

func TestBandwidthMakesNoGarbage(t *testing.T) {
	h := shapers(t, "limit_bandwidth_zone $arg_k$binary_remote_addr zone=b:1m rate=1m; server { location / { limit_bandwidth zone=b; } }", "/")[0]
	now := limitgate.Time(time.Hour)
	h.now = func() limitgate.Time { return now }
	client := &phasetest.Client{Slept: func(d time.Duration) bool { now = now.Add(d); return true }}
	r := ask(t, client)
	conn, line, addr, stream, body := r.Conn, r.Line, r.ClientAddr, r.Stream, make([]byte, 1<<20)
	if n := testing.AllocsPerRun(10, func() {
		r.Reset()
		r.Conn, r.Line, r.ClientAddr, r.Stream = conn, line, addr, stream
		client.Recycle()
		if err := h.SendBody(r, body); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("got %v allocations for a body, want 0", n)
	}
}
