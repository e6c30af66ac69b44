package story

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// plot is how large the story is played.
type plot struct {
	bots          int           // addresses
	flood         float64       // requests a second of all bots together
	ramp          time.Duration // within which they join
	workers       int
	work          time.Duration
	calm, measure time.Duration // how long quiet traffic, and a flood, are watched
	slack         time.Duration // by how much the p99 under an enforced limit may be above that of a quiet evening
}

// The flood takes the logins from 180 a second to 2,400, or to 600 in the test that everybody runs.
var (
	long  = plot{bots: 60, flood: 2220, ramp: 3 * time.Second, workers: 4, work: 5 * time.Millisecond, calm: 10 * time.Second, measure: 15 * time.Second, slack: 20 * time.Millisecond}
	short = plot{bots: 15, flood: 420, ramp: 1200 * time.Millisecond, workers: 4, work: 11 * time.Millisecond, calm: time.Second, measure: 1500 * time.Millisecond, slack: 120 * time.Millisecond}
)

const storyStart = `error_log  /var/log/limitgate/error.log notice;
pid        /run/limitgate/limitgate.pid;
admin      /run/limitgate/admin.sock;

events {
    worker_connections  8192;
}

http {
    log_format  shop  '$remote_addr [$time_local] $msec $host $server_port "$request" $status '
                      '$request_time "$http_x_forwarded_for" $limit_req_status $limit_canary';
    access_log  /var/log/limitgate/access.log shop;

    limit_req_zone       $binary_client_network zone=login:10m rate=10r/s;
    limit_req_status     429;
    limit_req_log_level  info;

    upstream shop {
        server     127.0.0.1:9000;
        keepalive  512;
    }

    server {
        listen       127.0.0.1:8080;
        server_name  shop.example;

        proxy_http_version  1.1;
        proxy_set_header    Connection "";

        location = /login {
            limit_req          zone=login burst=20 nodelay;
            limit_req_dry_run  on;
            proxy_pass         http://shop;
        }

        location / {
            proxy_pass  http://shop;
        }
    }

    server {
        listen      127.0.0.1:9100;
        access_log  off;

        location = /metrics {
            metrics;
        }
    }
}
`

const (
	storyMetrics  = `curl -s http://127.0.0.1:9100/metrics | grep '^limitgate_decisions_total' | grep -v ' 0$'`
	storyReload   = "limitgate -s reload -c " + storyConf
	storyTop      = "limitgate top --once -c " + storyConf
	storyTried    = "            limit_req          zone=login burst=20 nodelay;\n            limit_req_dry_run  on;\n"
	storyEnforced = "            limit_req          zone=login burst=5 nodelay;\n"
	storyRollout  = `    limit_rollout login {
        zones         login;
        steps         5% 25% 100%;
        interval      2s;            # 10m in earnest
        window        1s;            # 1m
        min_requests  20;            # 100
        stop          rejected_share > 5%;
        stop          p99 > 500ms;
        webhook       http://127.0.0.1:9200/oncall;
    }

`
	storyTrusted = "    set_real_ip_from   127.0.0.2;\n    real_ip_header     X-Forwarded-For;\n    real_ip_recursive  on;\n\n"
)

// story is one playing of it.
type story struct {
	*page
	*town
	plot
	t       *testing.T // that of both
	pager   *pager
	evening stage // the quiet one
	figures []figures
}

// figures are a row of the table at the end.
type figures struct {
	stage         string
	offered, good float64
	app, user     time.Duration
	bots          string
}

// TestStory plays what an operator does on the worst night and the day after it, with the real commands, and holds docs/story.md
// against that. STORY=write plays it in full and writes the page.
func TestStory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the balancer has an address of its own on loopback, which only Linux gives")
	}
	gatewaytest.Need(t, "curl")
	rewrite := os.Getenv("STORY") == "write"
	p := short
	if rewrite {
		p = long
	} else {
		t.Parallel()
	}
	app, behind := newApplication(t, p.workers, p.work, 500*time.Millisecond)
	pg := newPager(t)
	door := "127.0.0.1:" + gatewaytest.FreePort(t)
	s := &story{t: t, plot: p, pager: pg, page: newPage(t, gatewaytest.Limitgate(t),
		"127.0.0.1:8080", door, "127.0.0.1:9000", behind, "127.0.0.1:9100", "127.0.0.1:"+gatewaytest.FreePort(t), "127.0.0.1:9200", pg.addr)}
	s.town = newTown(t, app, door)
	s.write(storyConf, storyStart)
	s.serve()
	s.begin()
	defer s.come(stream{class: "customer", password: "right", addrs: households(), rate: customerRate})()
	defer s.come(stream{class: "office", password: "right", addrs: []string{officeAddr}, rate: officeRate})()
	s.quiet1()
	s.flood1()
	s.baseline()
	s.dryRun()
	s.canary()
	s.override()
	s.enforce()
	s.rollback()
	s.end()
	s.finish(rewrite)
}

// attack lets the bots come. They write an X-Forwarded-For of their own, which must not help.
func (s *story) attack() (stop func()) {
	return s.come(stream{class: "bot", password: "guess", addrs: bots(s.bots), rate: s.flood, ramp: s.ramp, forged: "198.18.0.99"})
}

// pass lets time go by, and returns it as a stage whose requests are answered.
func (s *story) pass(d time.Duration) stage {
	from := time.Now()
	time.Sleep(d)
	st := stage{from, time.Now()}
	time.Sleep(100 * time.Millisecond)
	return st
}

// calmly is pass, again where the machine stood still meanwhile: what is not so any time is not so.
func (s *story) calmly(d time.Duration, is func(stage) bool) (st stage) {
	for range 5 {
		if st = s.pass(d); is(st) {
			break
		}
	}
	return st
}

// offered is how many came in a second.
func (s *story) offered(st stage) (n float64) {
	for _, class := range []string{"customer", "bot", "office"} {
		c := s.look(class, st)
		n += float64(c.visits)
	}
	return n / st.to.Sub(st.from).Seconds()
}

// flooded reports whether the flood is as large as it is to be.
func (s *story) flooded(st stage) bool {
	return s.offered(st) > 0.8*(customerRate+officeRate+s.flood)
}

// measured adds a row to the table, and returns what customers had, the office included.
func (s *story) measured(name string, st stage) (c, b seen) {
	c, b = s.look("customer", st), s.look("bot", st)
	office := s.look("office", st)
	row := figures{stage: name, offered: s.offered(st), good: c.good(), app: s.app.p99(st), user: p99(c.took), bots: "–"}
	if b.visits > 0 {
		row.bots = fmt.Sprintf("%.1f %%", b.refused())
	}
	s.figures = append(s.figures, row)
	s.t.Logf("%+v, office %.1f %% in", row, office.good())
	return c, b
}

// want fails the story where something is not so. The page is of no use then.
func (s *story) want(is bool, format string, args ...any) {
	s.t.Helper()
	if !is {
		s.t.Fatalf(format, args...)
	}
}

// holds wants lines in a text.
func (s *story) holds(text string, lines ...string) {
	s.t.Helper()
	for _, l := range lines {
		if !regexp.MustCompile(l).MatchString(text) {
			s.t.Fatalf("want %s in:\n%s", l, text)
		}
	}
}

// decisions reads what limits of the zone decided, by outcome.
func (s *story) decisions(text string) map[string]float64 {
	n := map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^limitgate_decisions_total\{outcome="(\w+)",zone="login"\} (\S+)$`).FindAllStringSubmatch(text, -1) {
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			s.t.Fatal(err)
		}
		n[m[1]] = v
	}
	return n
}

// since is what grew between two readings.
func since(was, is map[string]float64) map[string]float64 {
	n := map[string]float64{}
	for k, v := range is {
		n[k] = v - was[k]
	}
	return n
}

// reload has the configuration read, and waits until it serves.
func (s *story) reload() {
	s.t.Helper()
	before := s.reloads()
	s.run(storyReload)
	waits(s.t, "a reload", func() bool { return s.reloads() > before })
}

// reloads are those that were taken.
func (s *story) reloads() float64 {
	out, err := s.quiet(`curl -s http://127.0.0.1:9100/metrics | sed -n 's/^limitgate_reloads_total{result="good"} //p'`)
	n, bad := strconv.ParseFloat(strings.TrimSpace(out), 64)
	if err != nil || bad != nil {
		s.t.Fatalf("%v, %v: %s", err, bad, out)
	}
	return n
}

// rotate begins a new access log, without a word on the page.
func (s *story) rotate(to string) {
	s.t.Helper()
	if out, err := s.quiet("mv " + storyLog + "access.log " + to + " && limitgate -s reopen -c " + storyConf); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	waits(s.t, "a new access log", func() bool { _, err := os.Stat(s.real.Replace(storyLog + "access.log")); return err == nil })
}

// pager is whom the rollout calls.
type pager struct {
	addr string
	mu   sync.Mutex
	got  []string
}

func newPager(t *testing.T) *pager {
	p := &pager{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || !json.Valid(text) {
			t.Errorf("webhook: %v, %s", err, text)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.got = append(p.got, string(text))
	}))
	t.Cleanup(server.Close)
	p.addr = server.Listener.Addr().String()
	return p
}

// last is the last event of a kind; "" where there was none.
func (p *pager) last(event string) (text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.got {
		if strings.Contains(one, `"event":"`+event+`"`) {
			text = one
		}
	}
	return text
}
