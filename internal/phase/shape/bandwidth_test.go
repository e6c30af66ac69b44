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
		// 25 pieces of 400 bytes each, and the first two of all go at once: the last goes after 98 of 40 ms. Whoever comes first has two
		// pieces more in the queue before the others come, and so ends two rounds earlier.
		{"four of one key", "limit_bandwidth zone=b;", []string{"a", "a", "a", "a"}, 10_000, 3560 * time.Millisecond, 3920 * time.Millisecond},
		{"alone", "limit_bandwidth zone=b;", []string{"a"}, 10_000, 920 * time.Millisecond, 920 * time.Millisecond},
		{"of two keys", "limit_bandwidth zone=b;", []string{"a", "b"}, 10_000, 920 * time.Millisecond, 920 * time.Millisecond},
		{"without a key", "limit_bandwidth zone=b;", []string{"", ""}, 10_000, 0, 0},
		{"exempt", "limit_bandwidth zone=b; limit_exempt 0.0.0.0/0 ::/0;", []string{"a", "a"}, 10_000, 0, 0},
		{"off", "limit_bandwidth off;", []string{"a", "a"}, 10_000, 0, 0},
		{"inherited", "", []string{"a", "a"}, 10_000, 1800 * time.Millisecond, 1920 * time.Millisecond},
		{"limit_rate is slower", "limit_bandwidth zone=b; limit_rate 2000;", []string{"a", "a"}, 4000, 1900 * time.Millisecond, 2000 * time.Millisecond},
		{"limit_rate is faster", "limit_bandwidth zone=b; limit_rate 8000;", []string{"a", "a"}, 10_000, 1850 * time.Millisecond, 2000 * time.Millisecond},
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
	if _, err := download(t, h, "a", 1200, leaves); err != ErrLeft || len(leaves.Body()) != 800 || leaves.Flushed() != 1 {
		t.Errorf("got %v, %d bytes and %d flushes, want ErrLeft after 800 bytes that went out", err, len(leaves.Body()), leaves.Flushed())
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
	if _, err := download(t, h, "a", 4800, client); err != nil || waited != 0 {
		t.Errorf("burst and two pieces: got %v after %v, want them at once", err, waited)
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
		if _, _, err := h.share.zone.Do(t.Context(), now, &h.share.limit, string([]byte{'k', byte(i), byte(i >> 8)}), 100, limitgate.Take); err != nil {
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

// late is a client whose bytes wait for timers that go off late, as those of a busy machine do.
func late(now *limitgate.Time, by time.Duration) *phasetest.Client {
	return &phasetest.Client{Slept: func(d time.Duration) bool { *now = now.Add(d + by); return true }}
}

// The rate is reached however small the pieces are that a body comes in, and however late a sender wakes.
func TestBandwidthIsReached(t *testing.T) {
	for _, c := range []struct {
		name   string
		length int64
		piece  int
	}{
		{"a file", 10_000_000, 32 << 10}, {"an upstream's answer", 10_000_000, 4096}, {"of unknown length", -1, 4096}, {"in crumbs", -1, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := shapers(t, "limit_bandwidth_zone $arg_k zone=b:1m rate=10m; server { location / { limit_bandwidth zone=b; } }", "/")[0]
			begun := limitgate.Time(time.Hour)
			now := begun
			h.now = func() limitgate.Time { return now }
			sleeps := 0
			client := late(&now, 3*time.Millisecond)
			slept := client.Slept
			client.Slept = func(d time.Duration) bool { sleeps++; return slept(d) }
			r := phasetest.Request(t, "GET /?k=a HTTP/1.1\r\nHost: h\r\n\r\n", client, nil)
			r.Response.Length = c.length
			const size = 10_000_000
			for body := make([]byte, size); len(body) > 0; {
				piece := body[:min(len(body), c.piece)]
				if err := h.SendBody(r, piece); err != nil {
					t.Fatal(err)
				}
				client.Recycle()
				body = body[len(piece):]
			}
			want := time.Duration(size) * time.Second / (10 << 20)
			if took := now.Sub(begun); took < want-50*time.Millisecond || took > want || sleeps > 200 {
				t.Errorf("got %v with %d sleeps, want %v with at most 200", took, sleeps, want)
			}
		})
	}
}

// A response of unknown length gives back what it was charged for more than came: others of the key do not wait for it.
func TestBandwidthIsSettled(t *testing.T) {
	for _, c := range []struct {
		name   string
		length int64
		pieces []int
		later  time.Duration // the request ends so long after its last byte
		next   time.Duration // how long the next response of the key waits then
	}{
		{"length known", 300, []int{100, 200}, 0, 30 * time.Millisecond},
		// a 25th of a second is charged, 400 bytes, of which 101 are used
		{"length unknown", -1, []int{100, 1}, 0, 10*time.Millisecond + 100*time.Microsecond},
		{"late", -1, []int{100, 1}, 15 * time.Millisecond, 0},
		{"long after", -1, []int{100, 1}, time.Minute, 0},
		{"nothing left", -1, []int{100, 300}, 0, 40 * time.Millisecond},
		{"into a second turn", -1, []int{100, 350}, 0, 45 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := shapers(t, "limit_bandwidth_zone $arg_k zone=b:1m rate=10000; server { location / { limit_bandwidth zone=b; } }", "/")[0]
			now := limitgate.Time(time.Hour)
			h.now = func() limitgate.Time { return now }
			patient := &phasetest.Client{Slept: func(time.Duration) bool { return true }}
			if _, err := download(t, h, "a", 400, patient); err != nil { // what goes at once is used up
				t.Fatal(err)
			}
			r := phasetest.Request(t, "GET /?k=a HTTP/1.1\r\nHost: h\r\n\r\n", patient, nil)
			r.Shaper, r.Response.Length = h, c.length
			for _, n := range c.pieces {
				if err := h.SendBody(r, make([]byte, n)); err != nil {
					t.Fatal(err)
				}
			}
			now = now.Add(c.later)
			if err := r.Release(); err != nil {
				t.Fatal(err)
			}
			var waited time.Duration
			next := &phasetest.Client{Slept: func(d time.Duration) bool { waited += d; return true }}
			if _, err := download(t, h, "a", 1, next); err != nil || waited != c.next {
				t.Errorf("got %v after %v, want it sent after %v", err, waited, c.next)
			}
		})
	}
}

// However many responses of a key there are, and however they begin, end and leave, what the key gets in a time is its rate and a
// turn.
func TestBandwidthHoldsForMany(t *testing.T) {
	const rate, many = 100_000, 200
	h := shapers(t, "limit_bandwidth_zone $arg_k zone=b:1m rate=100000; server { location / { limit_bandwidth zone=b; } }", "/")[0]
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var mu sync.Mutex
		var sent []struct {
			at time.Duration
			n  int
		}
		var wg sync.WaitGroup
		for i := range many {
			wg.Go(func() {
				time.Sleep(time.Duration(i*37%500) * time.Millisecond)
				leaves := 1 + i%9
				client := &phasetest.Client{Slept: func(d time.Duration) bool {
					time.Sleep(d + time.Duration(i%3)*time.Millisecond)
					leaves--
					return leaves > 0 || i%4 > 0
				}}
				r := phasetest.Request(t, "GET /?k=a HTTP/1.1\r\nHost: h\r\n\r\n", client, nil)
				r.Shaper = h
				if i%2 == 0 {
					r.Response.Length = 6000
				}
				for range 12 {
					before := len(client.Body())
					err := h.SendBody(r, make([]byte, 500))
					mu.Lock()
					sent = append(sent, struct {
						at time.Duration
						n  int
					}{time.Since(begun), len(client.Body()) - before})
					mu.Unlock()
					if err != nil {
						break
					}
				}
				if err := r.Release(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		total := 0
		for i := range sent {
			total += sent[i].n
			// A window begins at each send; those who overslept by 2 ms may fall into it.
			n := 0
			for _, s := range sent[i:] {
				if n += s.n; float64(n) > rate*(s.at-sent[i].at).Seconds()+3*rate/beats {
					t.Fatalf("%d bytes in %v", n, s.at-sent[i].at)
				}
			}
		}
		const wasted = many / 4 * rate / beats // by those who leave: a turn each
		if took := time.Since(begun); float64(total+wasted) < 0.98*rate*took.Seconds() {
			t.Errorf("got %d bytes in %v: the rate is not reached", total, took)
		}
	})
}

func TestTurns(t *testing.T) {
	for _, c := range []struct {
		name               string
		rate               int64
		length, sent, want int64
	}{
		{"slow", 1, 1000, 0, 1},
		{"a 25th of a second", 100_000, -1, 0, 4000},
		{"good packets", 1_000_000, -1, 0, 16 << 10},
		{"fast", 10_000_000, -1, 0, 50_000},
		{"the fastest", maxRate, -1, 0, maxRate / 200},
		{"known", 10_000_000, 300, 0, 300},
		{"known, later", 10_000_000, 50_300, 50_000, 300},
		{"known, more to come", 10_000_000, 1 << 20, 0, 50_000},
		{"more than was said", 10_000_000, 300, 300, 100},
	} {
		r := &request.Request{}
		r.Response.Length, r.Pace.Turn.Sent = c.length, c.sent
		if got := (&bandwidth{piece: pieceOf(c.rate)}).size(r, 100); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
