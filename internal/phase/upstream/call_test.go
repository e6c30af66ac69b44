package upstream

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limitgate/limitgate/internal/dns/dnstest"
	"github.com/limitgate/limitgate/internal/grpctest"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// message is a message of gRPC: five bytes, and what they say the length of.
func message(what string) []byte {
	m, _ := proto.Marshal(wrapperspb.Bytes([]byte(what)))
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m))), m...)
}

// caller makes calls through a location, one behind the other.
type caller struct {
	g *gate
	t *testing.T
}

// calling is a server with one location that passes calls on.
func calling(pass string, more ...string) string {
	return "server { location / { grpc_pass " + pass + "; " + strings.Join(more, " ") + " } }"
}

// call sends a request whose body is there in pieces, and serves it.
func (c caller) call(path string, fields string, pieces ...[]byte) (*request.Request, *phasetest.Client, phase.Next) {
	c.t.Helper()
	client := &phasetest.Client{First: pieces}
	return c.with(client, path, fields)
}

func (c caller) with(client *phasetest.Client, path, fields string) (*request.Request, *phasetest.Client, phase.Next) {
	c.t.Helper()
	raw := "POST " + path + " HTTP/1.1\r\nHost: client\r\nTE: trailers\r\nContent-Type: application/grpc\r\n" + fields
	if client.First != nil || client.Pieces != nil {
		raw += "Transfer-Encoding: chunked\r\n"
	}
	r := phasetest.Request(c.t, raw+"\r\n", client, c.g.log)
	r.Slots = make([]request.Slot, c.g.env.Vars.Slots())
	return r, client, c.g.serve["/"].Serve(r)
}

func trailer(r *request.Request, name string) string {
	for _, h := range r.Response.Trailers {
		if string(h.Name) == name {
			return string(h.Value)
		}
	}
	return ""
}

// One call of each kind, whole in both directions: what the server sees, and what the client gets of head, body and trailers.
func TestCallsOfAllKinds(t *testing.T) {
	t.Parallel()
	s := grpctest.Serve(t)
	c := caller{open(t, calling(s.Addr), "/"), t}
	for _, k := range []struct {
		method string
		body   []string
		want   []string
	}{
		{grpctest.Unary, []string{"one"}, []string{"one"}},
		{grpctest.Collect, []string{"a", "b", "c"}, []string{"abc"}},
		{grpctest.Expand, []string{"xyz"}, []string{"x", "y", "z"}},
		{grpctest.Chat, []string{"1", "2"}, []string{"1", "2"}},
		{grpctest.Unary, []string{strings.Repeat("long", 100_000)}, []string{strings.Repeat("long", 100_000)}},
	} {
		var pieces [][]byte
		for _, b := range k.body {
			pieces = append(pieces, message(b))
		}
		r, client, next := c.call(k.method, "X-Custom: v\r\nGrpc-Timeout: 5S\r\n", pieces...)
		var want string
		for _, b := range k.want {
			want += string(message(b))
		}
		if next != phase.Done || client.Body() != want || trailer(r, "grpc-status") != "0" || trailer(r, "x-tail") != "t" {
			t.Errorf("%s: next %v, %d bytes of %d, trailers %v; log %s", k.method, next, len(client.Body()), len(want), r.Response.Trailers, c.g.log.Messages())
		}
		if head := client.Head(); !strings.HasPrefix(head, "200 \n") || !strings.Contains(head, "type: application/grpc\n") {
			t.Errorf("%s: head %q", k.method, head)
		}
		md := s.Metadata()
		if md.Get("x-custom")[0] != "v" || md.Get(":authority")[0] != s.Addr || len(md.Get("grpc-timeout")) > 0 && md.Get("grpc-timeout")[0] != "5S" {
			t.Errorf("%s: the server saw %v", k.method, md)
		}
	}
	if got := c.g.log.Messages(); got != "" {
		t.Errorf("log: %s", got)
	}
}

// A stream goes both ways at once: each answer comes before the next question.
func TestACallGoesBothWaysAtOnce(t *testing.T) {
	t.Parallel()
	s := grpctest.Serve(t)
	c := caller{open(t, calling("grpc://"+s.Addr), "/"), t}
	client := &phasetest.Client{Pieces: make(chan []byte)}
	done := make(chan phase.Next)
	// Owned by the test: ends with the call.
	go func() {
		_, _, next := c.with(client, grpctest.Chat, "")
		done <- next
	}()
	want := ""
	for _, m := range []string{"a", "b", "c"} {
		client.Pieces <- message(m)
		want += string(message(m))
		eventually(t, func() bool { return client.Body() == want })
	}
	close(client.Pieces)
	if next := <-done; next != phase.Done {
		t.Errorf("next: got %v; log %s", next, c.g.log.Messages())
	}
}

// eventually waits until something that goes on elsewhere is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to that")
		}
	}
}

// A client that leaves ends its call at the server.
func TestACallEndsWithItsClient(t *testing.T) {
	t.Parallel()
	s := grpctest.Serve(t)
	c := caller{open(t, calling(s.Addr), "/"), t}
	client := &phasetest.Client{Pieces: make(chan []byte)}
	done := make(chan *request.Request)
	// Owned by the test: ends with the call.
	go func() {
		r, _, _ := c.with(client, grpctest.Chat, "")
		done <- r
	}()
	eventually(t, func() bool { return s.Running.Load() == 1 })
	client.Leave()
	if r := <-done; r.Response.Status != 499 || !r.Response.Silent {
		t.Errorf("status %d, silent %v", r.Response.Status, r.Response.Silent)
	}
	eventually(t, func() bool { return s.Cancelled.Load() == 1 && s.Running.Load() == 0 })
}

// What the server refuses comes as it is: trailers alone, in the head.
func TestTrailersAlone(t *testing.T) {
	t.Parallel()
	s := grpctest.Serve(t)
	c := caller{open(t, calling(s.Addr), "/"), t}
	_, client, next := c.call(grpctest.Unary, "Fail-With: Aborted\r\n", message("x"))
	head := client.Head()
	if next != phase.Done || !strings.Contains(head, "grpc-status: 10\n") || !strings.Contains(head, "length: 0\n") || client.Body() != "" {
		t.Errorf("next %v, head %q, body %q", next, head, client.Body())
	}
}

// A server of calls may have a name that variables make, which a name server knows.
func TestCallsToNamesThatVariablesMake(t *testing.T) {
	t.Parallel()
	s, names := grpctest.Serve(t), dnstest.Start(t)
	_, port, _ := net.SplitHostPort(s.Addr)
	names.Set("calls.example", dnstest.Name{Addrs: []string{"127.0.0.1"}, TTL: 60})
	c := caller{open(t, calling("grpc://$http_x_to:"+port, "resolver "+names.Addr+" ipv6=off; resolver_timeout 200ms;"), "/"), t}
	for range 2 {
		r, client, next := c.call(grpctest.Unary, "X-To: Calls.example\r\n", message("one"))
		if next != phase.Done || client.Body() != string(message("one")) || trailer(r, "grpc-status") != "0" {
			t.Fatalf("next %v, body %q, trailers %v; log %s", next, client.Body(), r.Response.Trailers, c.g.log.Messages())
		}
		if got, want := s.Metadata().Get(":authority")[0], "Calls.example:"+port; !strings.EqualFold(got, want) {
			t.Errorf("the server was called %s, want %s", got, want)
		}
	}
	if n := names.Asked("calls.example"); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
	if r, _, next := c.call(grpctest.Unary, "X-To: nonesuch.example\r\n", message("one")); next != phase.Fail || r.Response.Status != 502 ||
		c.g.log.Messages() != "error: nonesuch.example could not be resolved (3: Host not found)\n" {
		t.Errorf("a name that nobody knows: next %v, status %d, log %s", next, r.Response.Status, c.g.log.Messages())
	}
}
