package conformance

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// shooters is how many connections ask at most at one time.
const shooters = 1200

// holder is a backend that keeps each request for as long as it asks for.
func holder(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ms, _ := strconv.Atoi(r.URL.Query().Get("ms"))
		time.Sleep(time.Duration(ms) * time.Millisecond)
		_, _ = io.WriteString(w, "done\n")
	})}
	// owned by the test; ends with Close
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
	return ln.Addr().String()
}

// shoot sends requests at their times, each on a connection that is free, and waits for all answers.
func shoot(t *testing.T, addr string, shots []shot) {
	t.Helper()
	var wg sync.WaitGroup
	var failed atomic.Int64
	queue := make(chan *shot)
	begun := time.Now()
	workers := 0
	for i := range shots {
		s := &shots[i]
		if wait := s.after - time.Since(begun); wait > time.Millisecond {
			time.Sleep(wait)
		}
		select {
		case queue <- s:
			continue
		default:
		}
		if workers < shooters {
			workers++
			// owned by shoot; ends when the queue is closed
			wg.Go(func() {
				if err := shooter(addr, queue); err != nil {
					failed.Add(1)
					t.Error(err)
					for range queue { // nobody may wait for this one
					}
				}
			})
		}
		queue <- s
	}
	close(queue)
	wg.Wait()
	if failed.Load() > 0 {
		t.FailNow()
	}
}

// shooter sends what it takes out of the queue on one connection.
func shooter(addr string, queue <-chan *shot) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for s := range queue {
		if _, err := io.WriteString(c, s.head); err != nil {
			return err
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
	}
	return nil
}
