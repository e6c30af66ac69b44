package vars

import (
	"testing"

	"github.com/limitgate/limitgate/internal/racing"
)

// Evaluating what configurations use on every request allocates nothing.
func TestNothingIsAllocated(t *testing.T) {
	if racing.Detector {
		t.Skip("expressions take memory from a pool, which forgets under the race detector")
	}
	table, errs := define(t, maps+geos, "more.conf", "10.1.0.0/16 test;")
	good(t, errs)
	for _, text := range []string{
		"plain", "$remote_addr", "$binary_remote_addr", "$client_network", "$host$uri", "$http_x_api_key", "$arg_y", "$cookie_c",
		"$time_local", "$msec", "$request_time", "$request_id", "$upstream_addr $upstream_response_time", "$proxy_add_x_forwarded_for",
		"$remote_user", "$x", "$y", "$z", "$joined", "$live", "$net", "$arg", "$ranged", "$recursive", "$1$2", "$plain", "$status $bytes_sent",
	} {
		tp, err := table.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		r := sample()
		headers, args := r.Headers, []byte("x=1&y=2")
		dst := make([]byte, 0, 1024)
		n := testing.AllocsPerRun(100, func() {
			// As an edge does it: the request begins anew and keeps its memory.
			captures, attempts, stream := r.Captures, r.Attempts, r.Stream
			r.Reset()
			r.Headers, r.Captures, r.Attempts, r.Stream = headers, captures, attempts, stream
			r.Args = args
			dst = tp.Append(r, dst[:0])
		})
		if n != 0 {
			t.Errorf("%s: got %v allocations, want 0", text, n)
		}
	}
}

func BenchmarkGeo(b *testing.B) {
	table, _ := define(b, geos, "more.conf", "")
	v, err := table.Lookup("live")
	if err != nil {
		b.Fatal(err)
	}
	r := sample()
	dst := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = v(r, dst[:0])
	}
}
