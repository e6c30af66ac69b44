package upstream

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// backend is a listener whose connections are served by a function, in the order they come.
type backend struct {
	ln   net.Listener
	addr string
	wg   sync.WaitGroup
}

// listen starts a backend. Each connection is closed when serve returns.
func listen(t testing.TB, serve func(c net.Conn, n int)) *backend {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{ln: ln, addr: ln.Addr().String()}
	b.wg.Add(1)
	// Owned by the test: ends when the listener is closed.
	go func() {
		defer b.wg.Done()
		for n := 0; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			b.wg.Add(1)
			// Owned by the backend: ends with its connection.
			go func() {
				defer b.wg.Done()
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(10 * time.Second))
				serve(c, n)
			}()
		}
	}()
	t.Cleanup(func() { ln.Close(); b.wg.Wait() })
	return b
}

// readRequest reads a head, and no more than is there behind it.
func readRequest(c net.Conn) (string, error) {
	var b []byte
	p := make([]byte, 64<<10)
	for {
		n, err := c.Read(p)
		b = append(b, p[:n]...)
		if strings.Contains(string(b), "\r\n\r\n") {
			return string(b), nil
		}
		if err != nil {
			return string(b), err
		}
	}
}

// replies answers every request on a connection with the same bytes.
func replies(answer string) func(net.Conn, int) {
	return func(c net.Conn, _ int) {
		for {
			if _, err := readRequest(c); err != nil {
				return
			}
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	}
}

// once answers one request and closes.
func once(answer string) func(net.Conn, int) {
	return func(c net.Conn, _ int) {
		if _, err := readRequest(c); err == nil {
			_, _ = io.WriteString(c, answer)
		}
	}
}

// gate is a compiled configuration with its locations.
type gate struct {
	env   *phase.Env
	set   *Set
	log   *phasetest.Log
	serve map[string]*Handler
}

// open compiles text, the inside of http.
func open(t testing.TB, text string, patterns ...string) *gate {
	t.Helper()
	http, env := phasetest.Config(t, text)
	env.Vars.Define(http, env.Errors)
	g := &gate{env: env, set: Open(env, http), log: &phasetest.Log{}, serve: map[string]*Handler{}}
	for _, p := range patterns {
		h, _ := g.set.Compile(env, phasetest.Location(t, http, p)).(*Handler)
		g.serve[p] = h
	}
	phasetest.Good(t, env)
	t.Cleanup(func() { g.set.Close() })
	return g
}

// get sends a GET through the location / and returns the request, its client and what came next.
func (g *gate) get(t testing.TB, target string) (*request.Request, *phasetest.Client, phase.Next) {
	t.Helper()
	c := &phasetest.Client{}
	r := phasetest.Request(t, "GET "+target+" HTTP/1.1\r\nHost: h\r\n\r\n", c, g.log)
	r.Slots = make([]request.Slot, g.env.Vars.Slots())
	return r, c, g.serve["/"].Serve(r)
}

// simple is a server with one location.
func simple(pass string, more ...string) string {
	return "server { location / { proxy_pass " + pass + "; " + strings.Join(more, " ") + " } }"
}
