package conformance

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/memzone"
)

// Section A, what has a clock of its own: what is decided, and when.
func TestFieldCasesANumbers(t *testing.T) {
	t.Parallel()
	ticks := func(n int, gap time.Duration) (at []time.Duration) {
		for i := range n {
			at = append(at, time.Duration(i)*gap)
		}
		return at
	}
	minutely := limitgate.Req{Rate: limitgate.PerMinute(1)}
	minutelyNginx := limitgate.Req{Rate: limitgate.PerMinute(1), Arithmetic: limitgate.Nginx}
	five := limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 5}
	for _, c := range []struct {
		name string
		req  limitgate.Req
		at   []time.Duration
		want string
	}{
		{"1 exact", minutely, ticks(10, time.Minute), "P P P P P P P P P P"},
		{"1 nginx", minutelyNginx, ticks(10, time.Minute), "P R P R P R P R P R"},
		{"4 waits", five, make([]time.Duration, 10), "P D1000 D2000 D3000 D4000 D5000 R R R R"},
		{"4 nodelay", limitgate.Req{Rate: five.Rate, Burst: 5, NoDelay: true}, make([]time.Duration, 10), "P P P P P P R R R R"},
		{"4 delay=3", limitgate.Req{Rate: five.Rate, Burst: 5, Delay: 3}, make([]time.Duration, 10), "P P P P D1000 D2000 R R R R"},
	} {
		t.Run(c.name, func(t *testing.T) {
			take := taker(t, c.req)
			var got []string
			for _, at := range c.at {
				got = append(got, letter(take(at)))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}

	t.Run("3", func(t *testing.T) { // a flow just above a rate without burst gets half of it
		for burst, want := range map[int64][2]int{0: {175, 175}, 10: {300, 312}} {
			for _, arithmetic := range []limitgate.Arithmetic{limitgate.Exact, limitgate.Nginx} {
				take := taker(t, limitgate.Req{Rate: limitgate.PerSecond(300), Burst: burst, Arithmetic: arithmetic})
				passed := 0
				for i := range 350 {
					if take(time.Duration(i) * time.Second / 350).Admitted() {
						passed++
					}
				}
				if passed < want[0] || passed > want[1] {
					t.Errorf("burst %d, %v: got %d of 350 passed, want %d to %d", burst, arithmetic, passed, want[0], want[1])
				}
			}
		}
	})

	t.Run("16", func(t *testing.T) { // Retry-After is what it takes, not a constant
		take := taker(t, limitgate.Req{Rate: limitgate.PerSecond(5), Burst: 12, NoDelay: true})
		for range 13 {
			if d := take(0); !d.Admitted() {
				t.Fatalf("within 1 + burst: got %v", d.Outcome)
			}
		}
		if d := take(0); d.Outcome != limitgate.Rejected || d.RetryAfter() != 200*time.Millisecond {
			t.Errorf("the 14th: got %v after %v, want REJECTED and 200ms", d.Outcome, d.RetryAfter())
		}
	})

	t.Run("18", func(t *testing.T) { // a zone too small for its keys keeps the debt of who owes most, or of everybody in it
		for _, overflow := range []memzone.Overflow{memzone.Evict, memzone.Reject} {
			zone := memzone.New(memzone.Config{Bytes: 32 << 10, Overflow: overflow})
			l, err := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 5, NoDelay: true})
			if err != nil {
				t.Fatal(err)
			}
			take := func(key string) limitgate.Decision {
				d, err := l.TakeAt(context.Background(), instant, key, 1)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			for range 6 {
				take("victim")
			}
			refused := 0
			for i := range 5000 {
				if d := take(fmt.Sprint("other ", i)); !d.Admitted() {
					refused++
				}
			}
			// 32k are 2048 places: with reject nearly all of the other keys beyond them are refused.
			if evicts := overflow == memzone.Evict; evicts && refused > 0 || !evicts && refused < 5000-2048 {
				t.Errorf("overflow %v: got %d of 5000 new keys refused", overflow, refused)
			}
			if d := take("victim"); d.Outcome != limitgate.Rejected || d.NoRoom() {
				t.Errorf("overflow %v: the victim after 5000 other keys: got %v, want REJECTED by its limit", overflow, d.Outcome)
			}
		}
	})

	t.Run("22", func(t *testing.T) { // clocks that disagree by some milliseconds give nothing away and lock nobody out
		const workers, length = 8, 2000 // milliseconds
		for _, arithmetic := range []limitgate.Arithmetic{limitgate.Exact, limitgate.Nginx} {
			take := taker(t, limitgate.Req{Rate: limitgate.PerSecond(1000), Burst: 100, NoDelay: true, Arithmetic: arithmetic})
			passed := 0
			for ms := range length {
				for _, skew := range shuffled(ms, workers) {
					if take(time.Duration(ms-skew) * time.Millisecond).Admitted() {
						passed++
					}
				}
			}
			if most := 1 + 100 + length + workers; passed > most || passed < length {
				t.Errorf("%v: got %d passed, want %d to %d", arithmetic, passed, length, most)
			}
			if d := take((length + 10) * time.Millisecond); !d.Admitted() {
				t.Errorf("%v, when it is over: got %v, want it admitted", arithmetic, d.Outcome)
			}
		}
	})

	t.Run("25", func(t *testing.T) { // 25 days of idling at a million a second overflow nothing
		for _, arithmetic := range []limitgate.Arithmetic{limitgate.Exact, limitgate.Nginx} {
			take := taker(t, limitgate.Req{Rate: limitgate.PerSecond(1_000_000), Burst: 1, Arithmetic: arithmetic})
			take(0)
			for _, days := range []int{24, 25, 26, 49, 50, 51} {
				if d := take(time.Duration(days) * 24 * time.Hour); d.Excess != 0 || !d.Admitted() {
					t.Errorf("%v, after %d days: got %v, excess %v, want it admitted with excess 0", arithmetic, days, d.Outcome, d.Excess)
				}
			}
		}
	})
}

// Section A, what a gateway does with a configuration, on real sockets.
func TestFieldCasesAGateway(t *testing.T) {
	t.Parallel()
	const zone = `limit_req_zone $binary_remote_addr zone=a:1m rate=1r/m; limit_req_status 429; `
	pass := "proxy_pass http://127.0.0.1:@8081@;"

	t.Run("6", func(t *testing.T) { // limits come before access: who is refused entry was counted
		g := fieldSite(t, zone+"limit_req_zone $server_port zone=b:1m rate=1r/m;", "location / { limit_req zone=a burst=4 nodelay; deny all; "+pass+" } "+
			"location /password { limit_req zone=b burst=4 nodelay; auth_basic r; auth_basic_user_file users; "+pass+" }")
		if denied, limited := asks(t, g, 5, 403, "/"), asks(t, g, 15, 429, "/"); denied != 5 || limited != 15 {
			t.Errorf("got %d of 403 first and %d of 429 then, want 5 and 15", denied, limited)
		}
		g.Write("users", "u:{PLAIN}p\n")
		const wrong = "Authorization: Basic dTp4"
		if denied, limited := asks(t, g, 5, 401, "/password", wrong), asks(t, g, 15, 429, "/password", wrong); denied != 5 || limited != 15 {
			t.Errorf("wrong passwords: got %d of 401 first and %d of 429 then, want 5 and 15", denied, limited)
		}
	})
	t.Run("7", func(t *testing.T) { // return comes before limits
		g := fieldSite(t, zone, "location / { limit_req zone=a; return 404; } location /if { limit_req zone=a; if ($args) { return 404; } "+pass+" } "+
			"location /rewrite { limit_req zone=a; rewrite ^ / last; }")
		for _, path := range []string{"/", "/if?x", "/rewrite"} {
			if got := count(atOnce(t, g.Addr(8080), path, 100), 404); got != 100 {
				t.Errorf("%s: got %d of 100 answered by return, want all", path, got)
			}
		}
		if got := asks(t, g, 3, 200, "/if"); got != 1 {
			t.Errorf("without the return: got %d of 3 passed, want 1: the zone was untouched", got)
		}
	})
	t.Run("8", func(t *testing.T) { // limits of a location take the place of those around it
		g := fieldSite(t, zone+"limit_req_zone $server_port zone=site:1m rate=1r/m; limit_req zone=a;",
			"location / { "+pass+" } location /own { limit_req zone=site burst=9 nodelay; "+pass+" }")
		if got := asks(t, g, 10, 200, "/own"); got != 10 {
			t.Errorf("with a limit of its own: got %d of 10 passed, want all: the outer limit does not act", got)
		}
		if got := asks(t, g, 3, 200, "/"); got != 1 {
			t.Errorf("with the inherited limit: got %d of 3 passed, want 1", got)
		}
	})
	t.Run("9", func(t *testing.T) { // limits act once a request: not again behind error_page
		g := fieldSite(t, zone+"limit_req_zone $server_port zone=b:1m rate=1r/m;",
			"location / { limit_req zone=a; error_page 429 = /b; "+pass+" } location /b { limit_req zone=b; "+pass+" }")
		if got := asks(t, g, 5, 200, "/"); got != 5 {
			t.Errorf("got %d of 5 passed, four of them by way of /b, want 5", got)
		}
		if got := asks(t, g, 2, 200, "/b"); got != 1 {
			t.Errorf("straight to /b: got %d of 2 passed, want 1: its zone was untouched", got)
		}
		g = fieldSite(t, zone+"limit_req_zone $server_port zone=b:1m rate=1r/m;",
			"location / { limit_req zone=a burst=9 nodelay; try_files /none /b; } location /b { limit_req zone=b; "+pass+" }")
		if got := asks(t, g, 5, 200, "/"); got != 5 {
			t.Errorf("by way of try_files: got %d of 5 passed, want 5", got)
		}
	})
	t.Run("11", func(t *testing.T) { // a long key is counted
		b := startBackend(t)
		g := fieldSite(t, "limit_conn_zone $http_x_long zone=c:1m; limit_conn_status 429;", "location / { limit_conn c 1; proxy_pass http://"+b.addr+"; }")
		long := "X-Long: " + strings.Repeat("k", 300)
		for range 50 {
			dial(t, g.Addr(8080), "GET /hang HTTP/1.1\r\nHost: h\r\n"+long+"\r\n\r\n")
		}
		gatewaytest.Eventually(t, 5*time.Second, "49 refusals", func() bool { return strings.Count(g.ErrorLog(), `limiting connections by zone "c"`) == 49 })
		if n := b.active.Load(); n != 1 {
			t.Errorf("got %d of 50 at the backend, want 1", n)
		}
	})
	t.Run("12", func(t *testing.T) { // an empty key is not counted
		g := fieldSite(t, "limit_req_zone $http_x_api_key zone=k:1m rate=1r/m; limit_req_status 429;", "location / { limit_req zone=k; "+pass+" }")
		if got := count(atOnce(t, g.Addr(8080), "/", 100), 200); got != 100 {
			t.Errorf("without the header: got %d of 100 passed, want all", got)
		}
		if got := asks(t, g, 3, 200, "/", "X-Api-Key: 1"); got != 1 {
			t.Errorf("with it: got %d of 3 passed, want 1", got)
		}
	})
	t.Run("15", func(t *testing.T) { // the statuses of the two kinds of limits are two directives
		b := startBackend(t)
		g := fieldSite(t, "limit_conn_zone $server_port zone=c:1m; limit_req_status 429;", "location / { limit_conn c 1; proxy_pass http://"+b.addr+"; }")
		dial(t, g.Addr(8080), "GET /hang HTTP/1.1\r\nHost: h\r\n\r\n")
		gatewaytest.Eventually(t, time.Second, "one at the backend", func() bool { return b.active.Load() == 1 })
		if got := ask(t, g, "/ok").StatusCode; got != 503 {
			t.Errorf("got %d, want 503", got)
		}
	})
	t.Run("15 quotas", func(t *testing.T) { // nor does it give one to other kinds
		g := fieldSite(t, "limit_count_zone $server_port zone=n:1m limit=1 window=1d; limit_token_zone $server_port zone=t:1m rate=1r/h capacity=1; limit_req_status 429; limit_token_status 430;",
			"location /n { limit_count zone=n; "+pass+" } location /t { limit_token zone=t; "+pass+" }")
		for path, want := range map[string]int{"/n": 503, "/t": 430} {
			if first, second := ask(t, g, path).StatusCode, ask(t, g, path).StatusCode; first != 200 || second != want {
				t.Errorf("%s: got %d and %d, want 200 and %d", path, first, second, want)
			}
		}
	})
	t.Run("16", func(t *testing.T) { // see TestFieldCasesANumbers: 200 ms are one second in the header
		g := fieldSite(t, "limit_req_zone $server_port zone=a:1m rate=5r/s; limit_req_status 429;", "location / { limit_req zone=a burst=12 nodelay; "+pass+" }")
		for _, a := range atOnce(t, g.Addr(8080), "/", 20) {
			if a.status == 429 && !strings.Contains(a.body, "\r\nRetry-After: 1\r\n") {
				t.Errorf("a refusal without Retry-After: 1:\n%s", a.body)
			}
		}
	})
	t.Run("28", func(t *testing.T) { // limit_rate is for each answer: several at a time get several times as much
		b := startBackend(t)
		g := fieldSite(t, "limit_rate 100k;", "location / { proxy_pass http://"+b.addr+"; proxy_http_version 1.1; }")
		var total atomic.Int64
		var conns [4]net.Conn
		for i := range conns {
			conns[i] = dial(t, g.Addr(8080), "GET /big HTTP/1.1\r\nHost: h\r\n\r\n")
		}
		var wg sync.WaitGroup
		deadline := time.Now().Add(2 * time.Second)
		for _, c := range conns {
			wg.Go(func() {
				_ = c.SetReadDeadline(deadline)
				buf := make([]byte, 64<<10)
				for {
					n, err := c.Read(buf)
					total.Add(int64(n))
					if err != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		if got, want := float64(total.Load()), 4*2*100.*1024; got < 0.9*want || got > 1.1*want {
			t.Errorf("four answers at 100 kB/s for 2 s: got %.0f bytes, want %.0f", got, want)
		}
	})
	t.Run("28 shared", func(t *testing.T) { // limit_bandwidth is for all answers of a key together, and each gets its part
		g := fieldSite(t, "limit_bandwidth_zone $binary_remote_addr zone=b:1m rate=100k;", "location / { limit_bandwidth zone=b; root .; }")
		g.Write("part", strings.Repeat("x", 50<<10))
		begun := time.Now()
		answers := atOnce(t, g.Addr(8080), "/part", 4)
		took, want := time.Since(begun), 2*time.Second
		if n := count(answers, 200); n != 4 || took < want*9/10 || took > want*11/10 {
			t.Errorf("four answers of 50 kB at 100 kB/s together: got %d after %v, want 4 after %v", n, took, want)
		}
	})
	t.Run("30", func(t *testing.T) { // a refusal that is held back; that they are bounded: internal/phase/limit.TestHeldRefusalsAreBounded
		g := fieldSite(t, zone, "location / { limit_req zone=a reject_delay=200ms; "+pass+" }")
		ask(t, g, "/")
		begun := time.Now()
		answers := atOnce(t, g.Addr(8080), "/", 20)
		if got, took := count(answers, 429), time.Since(begun); got != 20 || took < 200*time.Millisecond || took > 3*time.Second {
			t.Errorf("20 at once: got %d refused after %v, want all after 200ms, beside each other", got, took)
		}
		if left := atOnce(t, g.Addr(8080), "/", 1); count(left, 429) != 1 {
			t.Errorf("one more: got %v, want 429", left)
		}
	})
}

// Section A, and 37 of section B: what a configuration may say, and what a reload keeps.
func TestFieldCasesAConfiguration(t *testing.T) {
	t.Parallel()
	limitgate := gatewaytest.Limitgate(t)
	for _, c := range []struct{ name, zone, limit, want string }{
		{"14 no unit", "rate=10", "burst=1", ""},
		{"14 burst 0", "rate=10r/s", "burst=0", `invalid burst value "burst=0"`},
		{"14 delay 0", "rate=10r/s", "burst=1 delay=0", `invalid delay value "delay=0"`},
		{"14 fraction of a burst", "rate=10r/s", "burst=1.5", `invalid burst value "burst=1.5"`},
		{"14 fraction", "rate=0.5r/s", "burst=1", ""},
		{"37 unknown criterion", "depth=1", "burst=1", `invalid parameter "depth=1"`},
		{"37 unknown option", "rate=10r/s", "burst=1 key=$http_x", `invalid parameter "key=$http_x"`},
		{"37 unknown variable", "rate=$nonesuch", "burst=1", `unknown "nonesuch" variable`},
		{"37 a variable as a rate", "rate=$arg_rate", "burst=$arg_burst", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			conf := fmt.Sprintf("pid p; events {}\nhttp { access_log off; limit_req_zone $uri zone=a:1m %s; server { listen 127.0.0.1:1; limit_req zone=a %s; } }\n", c.zone, c.limit)
			if err := os.WriteFile(filepath.Join(dir, "n.conf"), []byte(conf), 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(limitgate.Path, "-t", "-p", dir, "-c", "n.conf", "-e", "stderr").CombinedOutput()
			if good := c.want == ""; good != (err == nil) || !strings.Contains(string(out), c.want) {
				t.Errorf("got %v and\n%s\nwant %q", err, out, c.want)
			}
		})
	}

	t.Run("20", func(t *testing.T) { // a reload forgets no debt; another key is another zone, and refused
		conf := func(v, key, rate, size string) string {
			return fmt.Sprintf(`error_log logs/error.log notice;
events {}
http { access_log off; limit_req_status 429; limit_req_zone %s zone=a:%s rate=%s; add_header X-Version %s always;
	server { listen 127.0.0.1:@8080@; location / { limit_req zone=a burst=2 nodelay; proxy_pass http://127.0.0.1:@8081@; } location /free { return 200; } }
	server { listen 127.0.0.1:@8081@; location / { return 200; } } }`, key, size, rate, v)
		}
		g := gatewaytest.Start(t, limitgate, conf("1", "$server_port", "1r/m", "10m"))
		if got := asks(t, g, 5, 200, "/"); got != 3 {
			t.Fatalf("got %d of 5 passed, want 3", got)
		}
		for i, next := range []string{conf("2", "$server_port", "2r/m", "10m"), conf("3", "$server_port", "2r/m", "20m")} {
			reload(t, g, next, fmt.Sprint(i+2))
			if got := ask(t, g, "/").StatusCode; got != 429 {
				t.Errorf("version %d: got %d, want 429: the debt is kept", i+2, got)
			}
		}
		g.Write("nginx.conf", conf("4", "$remote_addr", "2r/m", "20m"))
		g.Signal(syscall.SIGHUP)
		gatewaytest.Eventually(t, 5*time.Second, "the refusal of another key", func() bool {
			return strings.Contains(g.ErrorLog(), `limit_req "a" uses the "$remote_addr" key while previously it used the "$server_port" key`)
		})
		if v := version(t, g); v != "3" {
			t.Errorf("version %s serves, want 3", v)
		}
	})

	t.Run("20 quotas", func(t *testing.T) { // the same for windows and tokens: another window or algorithm is another count
		conf := func(v, count, window, capacity string) string {
			return fmt.Sprintf(`error_log logs/error.log notice;
events {}
http { access_log off; limit_count_status 429; limit_token_status 430; add_header X-Version %s always;
	limit_count_zone $server_port zone=a:1m %s; limit_count_zone $server_port zone=w:1m limit=2 window=%s; limit_token_zone $server_port zone=t:1m rate=1r/h capacity=%s overflow=reject;
	server { listen 127.0.0.1:@8080@; location / { proxy_pass http://127.0.0.1:@8081@; } location /count { limit_count zone=a; proxy_pass http://127.0.0.1:@8081@; }
		location /window { limit_count zone=w; proxy_pass http://127.0.0.1:@8081@; } location /token { limit_token zone=t cost=2; proxy_pass http://127.0.0.1:@8081@; } location /free { return 200; } }
	server { listen 127.0.0.1:@8081@; location / { return 200; } } }`, v, count, window, capacity)
		}
		g := gatewaytest.Start(t, limitgate, conf("1", "limit=3 window=1d algorithm=fixed", "$arg_w", "5"))
		for path, want := range map[string]int{"/count": 3, "/window?w=100d": 2, "/window?w=200d": 2, "/token": 2} {
			if got := asks(t, g, 5, 200, path); got != want {
				t.Fatalf("%s: got %d of 5 passed, want %d", path, got, want)
			}
		}
		reload(t, g, conf("2", "limit=5 window=1d algorithm=fixed", "$arg_w", "7"), "2")
		for path, want := range map[string]int{"/count": 2, "/window?w=100d": 0, "/window?w=300d": 2, "/token": 1} {
			if got := asks(t, g, 5, 200, path); got != want {
				t.Errorf("after a reload that raises the limits, %s: got %d of 5 passed, want %d", path, got, want)
			}
		}
		reload(t, g, conf("3", "limit=5 window=12h algorithm=fixed", "100d", "7"), "3")
		if got := asks(t, g, 7, 200, "/count"); got != 5 {
			t.Errorf("with another window: got %d of 7 passed, want 5: it begins afresh", got)
		}
		g.Write("nginx.conf", conf("4", "limit=5 window=12h algorithm=log", "100d", "7"))
		g.Signal(syscall.SIGHUP)
		gatewaytest.Eventually(t, 5*time.Second, "the refusal of another algorithm", func() bool {
			return strings.Contains(g.ErrorLog(), `zone "a": binding a limit to its zone: memory zone: holds states of kind fixed window, which a limit of kind log can't read`)
		})
		if v := version(t, g); v != "3" {
			t.Errorf("version %s serves, want 3", v)
		}
	})

	t.Run("21", func(t *testing.T) { // a place that is held over a reload counts
		b := startBackend(t)
		g := gatewaytest.Start(t, limitgate, strings.ReplaceAll(fmt.Sprintf(reloadConf, "1", "1r/m", "1m", b.addr), "limit_conn c 2", "limit_conn c 1"))
		held := dial(t, g.Addr(8080), "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n")
		gatewaytest.Eventually(t, time.Second, "one at the backend", func() bool { return b.active.Load() == 1 })
		reload(t, g, strings.ReplaceAll(fmt.Sprintf(reloadConf, "2", "1r/m", "1m", b.addr), "limit_conn c 2", "limit_conn c 1"), "2")
		if got := get(g.URL(8080, "/conn")).status; got != 429 {
			t.Errorf("beside one held over the reload: got %d, want 429", got)
		}
		held.Close()
		freedAt(t, g, "/conn", "the held one ended")
	})
}
