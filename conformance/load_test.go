package conformance

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// answer is one response as a client saw it.
type answer struct {
	status int
	body   string
	sent   time.Time
	took   time.Duration
	err    error
}

// client opens a new connection for every request, so that requests of one instant don't queue behind each other.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       20 * time.Second,
}

func get(url string) (a answer) {
	a.sent = time.Now()
	resp, err := client.Get(url)
	if err != nil {
		return answer{err: err, sent: a.sent}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	a.status, a.body, a.err, a.took = resp.StatusCode, string(b), err, time.Since(a.sent)
	return a
}

// atOnce sends n requests over connections that are open already, as close to one instant as a machine can.
func atOnce(t *testing.T, addr, path string, n int) []answer {
	t.Helper()
	answers := make([]answer, n)
	conns := make([]net.Conn, n)
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns[i] = c
	}
	request := fmt.Appendf(nil, "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path)
	start := time.Now()
	for _, c := range conns {
		if _, err := c.Write(request); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() {
			_ = c.SetReadDeadline(start.Add(20 * time.Second))
			b, err := io.ReadAll(c)
			a := answer{sent: start, took: time.Since(start), err: err, body: string(b)}
			if len(b) > 12 {
				fmt.Sscanf(string(b[9:12]), "%d", &a.status)
			}
			answers[i] = a
		})
	}
	wg.Wait()
	return answers
}

// every sends n requests at a fixed pace, whether or not earlier ones were answered.
func every(gap time.Duration, n int, url string) []answer {
	answers := make([]answer, n)
	var wg sync.WaitGroup
	start := time.Now()
	for i := range answers {
		time.Sleep(time.Until(start.Add(time.Duration(i) * gap)))
		wg.Go(func() { answers[i] = get(url) })
	}
	wg.Wait()
	return answers
}

func count(answers []answer, status int) (n int) {
	for _, a := range answers {
		if a.status == status {
			n++
		}
	}
	return n
}

// times lists how long the answers of a status took, shortest first.
func times(answers []answer, status int) (d []time.Duration) {
	for _, a := range answers {
		if a.status == status {
			d = append(d, a.took)
		}
	}
	slices.Sort(d)
	return d
}

// both runs a test on nginx and on limitgate, so that an expectation nginx itself does not meet is seen to be wrong.
func both(t *testing.T, conf string, run func(t *testing.T, g *gatewaytest.Gateway)) {
	t.Helper()
	for _, find := range []func(testing.TB) gatewaytest.Binary{gatewaytest.Nginx, gatewaytest.Limitgate} {
		b := find(t)
		t.Run(b.Name, func(t *testing.T) { run(t, gatewaytest.Start(t, b, conf)) })
	}
}
