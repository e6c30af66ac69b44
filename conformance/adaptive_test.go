package conformance

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// pool is a backend of some workers, whose number and speed a test changes while requests come.
type pool struct {
	addr string
	took atomic.Int64 // how long a worker has a request

	mu      sync.Mutex // guards what follows
	free    *sync.Cond // a worker has become free
	workers int
	busy    int
}

func startPool(t *testing.T) *pool {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pool{addr: ln.Addr().String()}
	p.free = sync.NewCond(&p.mu)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		for p.busy >= p.workers {
			p.free.Wait()
		}
		p.busy++
		p.mu.Unlock()
		time.Sleep(time.Duration(p.took.Load()))
		p.mu.Lock()
		p.busy--
		p.mu.Unlock()
		p.free.Broadcast()
		_, _ = io.WriteString(w, "done")
	})}
	go func() { _ = s.Serve(ln) }() // owned by the test, ends when it closes the server
	t.Cleanup(func() { s.Close() })
	return p
}

func (p *pool) be(workers int, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.workers = workers
	p.took.Store(int64(took))
	p.free.Broadcast()
}

const adaptiveConf = `
error_log logs/error.log notice;
events {}
http {
	log_format limits '$status $limit_conn_status $limit_conn_limit';
	access_log logs/access.log limits;
	limit_conn_zone app zone=b:1m;
	limit_conn_status 429;
	limit_conn_log_level notice;
	upstream app { server %[2]s; keepalive 64; }
	server {
		listen 127.0.0.1:@8080@;
		add_header X-Version %[1]s always;
		location /free { access_log off; return 200; }
		location / { limit_conn b adaptive max=400; proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; }
	}
}`

// crowd is clients that ask all the time, and come again a while after they are refused.
type crowd struct {
	stop    atomic.Bool
	all     sync.WaitGroup
	passed  atomic.Int64
	refused atomic.Int64
	since   atomic.Int64 // the largest version that an answer came from
}

func startCrowd(t *testing.T, g *gatewaytest.Gateway, clients int) *crowd {
	c := &crowd{}
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	asks := &http.Client{Transport: transport, Timeout: 20 * time.Second}
	for range clients {
		c.all.Go(func() { // ends when the crowd is stopped
			for !c.stop.Load() {
				resp, err := asks.Get(g.URL(8080, "/"))
				if err != nil {
					t.Errorf("a client of the crowd: %v", err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				v, _ := strconv.ParseInt(resp.Header.Get("X-Version"), 10, 64)
				c.since.Store(max(c.since.Load(), v))
				switch after := resp.Header.Get("Retry-After"); {
				case resp.StatusCode == 200 && after == "":
					c.passed.Add(1)
				case resp.StatusCode == 429 && after == "1":
					c.refused.Add(1)
					time.Sleep(100 * time.Millisecond)
				default:
					t.Errorf("got %d with Retry-After %q, want 200 without or 429 with 1", resp.StatusCode, after)
					return
				}
			}
		})
	}
	t.Cleanup(func() {
		c.stop.Store(true)
		c.all.Wait()
		transport.CloseIdleConnections()
	})
	return c
}

// found reads the limits that the last lines of the access log tell.
func found(t *testing.T, g *gatewaytest.Gateway, lines int) (limits []int) {
	t.Helper()
	all := strings.Split(g.Read("logs/access.log"), "\n")
	all = all[:len(all)-1] // behind the last line
	for _, line := range all[max(len(all)-lines, 0):] {
		f := strings.Fields(line)
		want := map[string]string{"200": "PASSED", "429": "REJECTED"}
		if len(f) != 3 || want[f[0]] != f[1] {
			t.Fatalf("got the line %q, want a status, its meaning and the limit", line)
		}
		n, err := strconv.Atoi(f[2])
		if err != nil {
			t.Fatalf("got the line %q: %v", line, err)
		}
		limits = append(limits, n)
	}
	return limits
}

// The limit follows a real backend: of 16 workers, then of 2 slow ones, then of 16 again. What is refused says so, the log tells the
// limit, and a reload forgets nothing.
func TestAdaptiveLimitFollowsItsBackend(t *testing.T) {
	t.Parallel()
	b := startPool(t)
	b.be(16, 40*time.Millisecond)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), fmt.Sprintf(adaptiveConf, "1", b.addr))
	c := startCrowd(t, g, 60)
	// between waits until the limit is there, and was for as many requests as are asked within some time.
	between := func(what string, low, high int) {
		t.Helper()
		gatewaytest.Eventually(t, 60*time.Second, what, func() bool {
			time.Sleep(50 * time.Millisecond)
			limits := found(t, g, 60)
			return len(limits) == 60 && slices.Min(limits) >= low && slices.Max(limits) <= high
		})
		t.Logf("%s: a limit of %d; %d passed, %d refused so far", what, found(t, g, 1)[0], c.passed.Load(), c.refused.Load())
	}
	between("16 workers are kept busy", 16, 50)
	b.be(2, 80*time.Millisecond)
	between("2 slow workers are not asked for more than they can do", 2, 9)

	g.Write("nginx.conf", fmt.Sprintf(adaptiveConf, "2", b.addr))
	g.Signal(syscall.SIGHUP)
	gatewaytest.Eventually(t, 10*time.Second, "the reload serves", func() bool { return c.since.Load() == 2 })
	if limits := found(t, g, 20); slices.Max(limits) > 9 {
		t.Errorf("after the reload: got limits of %v, want at most 9 as before, and not the 20 of a beginning", limits)
	}

	b.be(16, 40*time.Millisecond)
	between("16 workers are busy again", 16, 50)
	c.stop.Store(true)
	c.all.Wait()
	if c.passed.Load() < 100 || c.refused.Load() < 100 {
		t.Errorf("got %d passed and %d refused, want many of both", c.passed.Load(), c.refused.Load())
	}
	line := regexp.MustCompile(`\[notice\] \d+#\d+: \*\d+ limiting connections, limit: \d+ by zone "b", client: 127.0.0.1, server: , request: "GET / HTTP/1.1", host: "`)
	if !line.MatchString(g.ErrorLog()) {
		t.Errorf("no line like %s in the error log", line)
	}
	// Nobody is at work any more: no place is lost.
	limits := found(t, g, 1)
	if answers := atOnce(t, g.Addr(8080), "/", limits[0]); count(answers, 200) != limits[0] {
		t.Errorf("got %d of %d passed at once when all is quiet, want all", count(answers, 200), limits[0])
	}
}

// nginx has no limit that finds itself, and says so of its words.
func TestAdaptiveLimitIsNotNginxs(t *testing.T) {
	t.Parallel()
	conf := strings.Replace(fmt.Sprintf(adaptiveConf, "1", "127.0.0.1:1"), " $limit_conn_limit", "", 1)
	for limit, message := range map[string]string{
		"adaptive":         `[emerg] invalid number of connections "adaptive" in `,
		"adaptive max=400": `[emerg] invalid number of arguments in "limit_conn" directive in `,
	} {
		for _, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
			g := gatewaytest.Prepare(t, b, strings.Replace(conf, "adaptive max=400", limit, 1))
			out, err := exec.Command(b.Path, append(g.Args(), "-t")...).CombinedOutput()
			want, good := message, b.Name == "limitgate"
			if good {
				want = "test is successful"
			}
			if (err == nil) != good || !strings.Contains(string(out), want) {
				t.Errorf("%s of %s: got %v and %s, want %s", b.Name, limit, err, out, want)
			}
		}
	}
}
