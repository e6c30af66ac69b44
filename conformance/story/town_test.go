package story

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// Who comes to the shop. The addresses are those for documentation; the balancer's is its own on loopback.
const (
	balancerAddr = "127.0.0.2"
	officeAddr   = "203.0.113.50" // above 5 % and below 25 % among the keys of zone "login", so that a rollout meets it at its second step
	customers    = 400
	customerRate = 168 // logins a second of all customers together
	officeRate   = 12
)

// town is everything around the gateway: a balancer in front of it, the application behind it, and who comes.
type town struct {
	t       *testing.T
	door    string // the balancer's address
	app     *application
	mu      sync.Mutex
	visits  []visit
	lines   []*line        // to the balancer, that are free
	streets sync.WaitGroup // those who come
}

// visit is a login that was tried.
type visit struct {
	class, addr string
	at          time.Time
	took        time.Duration
	status      int // 0: no answer
	retryAfter  string
}

// newTown opens the application and the balancer before the gateway at addr. Both close with the test.
func newTown(t *testing.T, app *application, addr string) *town {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(balancerAddr)}}
	door := httptest.NewServer(balancer(&url.URL{Scheme: "http", Host: addr}, &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 4096}))
	w := &town{t: t, door: door.Listener.Addr().String(), app: app}
	t.Cleanup(func() {
		w.streets.Wait()
		for _, l := range w.lines {
			l.Close()
		}
		door.Close()
	})
	return w
}

// balancer is a reverse proxy that writes whom it heard behind X-Forwarded-For. All clients of the test are on one machine: whose
// connection it is to be the header Peer tells, which goes no further.
func balancer(to *url.URL, transport http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Transport:  transport,
		BufferPool: &buffers{},
		ErrorLog:   log.New(io.Discard, "", 0), // clients that leave; what they miss their own counts tell
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
			peer := r.In.Header.Get("Peer")
			r.Out.Header.Del("Peer")
			if told := r.In.Header.Get("X-Forwarded-For"); told != "" {
				peer = told + ", " + peer
			}
			r.Out.Header.Set("X-Forwarded-For", peer)
		},
	}
}

// buffers are the balancer's.
type buffers struct{ pool sync.Pool }

const bufferSize = 4096

func (b *buffers) Get() []byte {
	if p, kept := b.pool.Get().(*[bufferSize]byte); kept {
		return p[:]
	}
	return make([]byte, bufferSize)
}

func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }

// stream is one class of clients: each comes equally often, so many a second altogether. With a ramp one after the other joins.
type stream struct {
	class, password string
	addrs           []string
	rate            float64
	ramp            time.Duration
	forged          string // an X-Forwarded-For of the client's own
}

// come lets a stream come until it is stopped. A client that gets no answer does not keep the others from coming.
func (w *town) come(s stream) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var waiting atomic.Int64
	w.streets.Go(func() {
		start := time.Now()
		next := start
		for k := 0; ctx.Err() == nil; k++ {
			here := len(s.addrs)
			if past := next.Sub(start); past < s.ramp {
				here = 1 + int(float64(here-1)*float64(past)/float64(s.ramp))
			}
			next = next.Add(time.Duration(float64(time.Second) / s.rate * float64(len(s.addrs)) / float64(here)))
			if now := time.Now(); now.Sub(next) > time.Second {
				next = now // the machine stood still: what was missed does not come all at once
			}
			time.Sleep(time.Until(next))
			if waiting.Load() >= int64(len(s.addrs)*mostWaiting) {
				continue
			}
			waiting.Add(1)
			w.streets.Go(func() { defer waiting.Add(-1); w.login(s, s.addrs[k%here]) })
		}
	})
	stop = sync.OnceFunc(cancel)
	w.t.Cleanup(stop)
	return stop
}

// mostWaiting is how many answers a client waits for before it tries no more.
const mostWaiting = 40

// login tries a password.
func (w *town) login(s stream, addr string) {
	v := visit{class: s.class, addr: addr, at: time.Now()}
	if a, err := w.ask(s, addr); err == nil {
		v.status, v.retryAfter = a.StatusCode, a.Header.Get("Retry-After")
	}
	v.took = time.Since(v.at)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.visits = append(w.visits, v)
}

// line is a connection to the balancer.
type line struct {
	net.Conn
	r *bufio.Reader
}

// ask sends a login over a line that is free, or over a new one, and reads the answer to its end.
func (w *town) ask(s stream, addr string) (a *http.Response, err error) {
	l, err := w.line()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil || a.Close {
			l.Close()
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lines = append(w.lines, l)
	}()
	body := "password=" + s.password
	text := "POST /login HTTP/1.1\r\nHost: shop.example\r\nPeer: " + addr + "\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	if s.forged != "" {
		text += "X-Forwarded-For: " + s.forged + "\r\n"
	}
	if err := l.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(l, text+"\r\n"+body); err != nil {
		return nil, err
	}
	if a, err = http.ReadResponse(l.r, nil); err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, a.Body)
	return a, err
}

func (w *town) line() (*line, error) {
	w.mu.Lock()
	if n := len(w.lines); n > 0 {
		l := w.lines[n-1]
		w.lines = w.lines[:n-1]
		w.mu.Unlock()
		return l, nil
	}
	w.mu.Unlock()
	c, err := net.Dial("tcp", w.door)
	if err != nil {
		return nil, err
	}
	return &line{c, bufio.NewReaderSize(c, 1024)}, nil
}

// seen is what came of the visits of one class within a stage, and how long the application took meanwhile.
type seen struct {
	visits int
	status map[int]int
	took   []time.Duration // of those that got 200, shortest first
	unsaid int             // 429 without a whole number of seconds to wait
	addrs  map[string]int  // how often each was refused with 429
}

// look counts the visits of a class that began in a stage.
func (w *town) look(class string, s stage) seen {
	c := seen{status: map[int]int{}, addrs: map[string]int{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.visits {
		if v.class != class || v.at.Before(s.from) || !v.at.Before(s.to) {
			continue
		}
		c.visits++
		c.status[v.status]++
		switch v.status {
		case 200:
			c.took = append(c.took, v.took)
		case 429:
			c.addrs[v.addr]++
			if n, err := strconv.Atoi(v.retryAfter); err != nil || n < 1 {
				c.unsaid++
			}
		}
	}
	slices.Sort(c.took)
	return c
}

// good is the share that got in, in percent.
func (c *seen) good() float64 { return 100 * float64(c.status[200]) / float64(max(c.visits, 1)) }

// refused is the share that a limit turned away, in percent.
func (c *seen) refused() float64 { return 100 * float64(c.status[429]) / float64(max(c.visits, 1)) }

// stage is a part of the story.
type stage struct{ from, to time.Time }

// p99 is the time that one of a hundred is above.
func p99(sorted []time.Duration) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)*99/100]
}

// application checks passwords, which takes a worker a while. Requests that find no worker wait in a queue; where that is
// too long already they get 503. When a worker is free again is reckoned and not waited for, so that a busy machine does not make it slower.
type application struct {
	work, patience time.Duration
	mu             sync.Mutex
	free           []time.Time // when each worker is free
	served         []service
}

// service is a password that was checked.
type service struct {
	at   time.Time
	took time.Duration
}

// newApplication listens until the test ends.
func newApplication(t *testing.T, workers int, work, patience time.Duration) (a *application, addr string) {
	t.Helper()
	a = &application{work: work, patience: patience, free: make([]time.Time, workers)}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return a, server.Listener.Addr().String()
}

// ServeHTTP answers 200 to the right password and 401 to others.
func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	password := r.PostFormValue("password")
	done, room := a.queue(at)
	if !room {
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	time.Sleep(time.Until(done))
	a.mu.Lock()
	a.served = append(a.served, service{at, time.Since(at)})
	a.mu.Unlock()
	if password != "right" {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	fmt.Fprintln(w, "welcome")
}

// queue takes the worker that is free first, if that is soon enough.
func (a *application) queue(now time.Time) (done time.Time, room bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := 0
	for i := range a.free {
		if a.free[i].Before(a.free[first]) {
			first = i
		}
	}
	begin := a.free[first]
	if begin.Before(now) {
		begin = now
	}
	if begin.Sub(now) > a.patience {
		return now, false
	}
	a.free[first] = begin.Add(a.work)
	return a.free[first], true
}

// p99 is that of the checks which began in a stage.
func (a *application) p99(s stage) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	var took []time.Duration
	for _, one := range a.served {
		if !one.at.Before(s.from) && one.at.Before(s.to) {
			took = append(took, one.took)
		}
	}
	slices.Sort(took)
	return p99(took)
}

// households are the customers' addresses: half of them IPv6, each a /64 of its own.
func households() (addrs []string) {
	for i := range customers / 2 {
		addrs = append(addrs, fmt.Sprintf("198.51.100.%d", i+1), fmt.Sprintf("2001:db8:0:%x::1", i+1))
	}
	return addrs
}

// bots are the addresses of those who try passwords.
func bots(n int) (addrs []string) {
	for i := range n {
		addrs = append(addrs, fmt.Sprintf("192.0.2.%d", i+1))
	}
	return addrs
}

// waits until something holds.
func waits(t *testing.T, what string, cond func() bool) {
	t.Helper()
	gatewaytest.Eventually(t, 30*time.Second, what, func() bool {
		if cond() {
			return true
		}
		time.Sleep(45 * time.Millisecond) // commands are processes
		return false
	})
}
