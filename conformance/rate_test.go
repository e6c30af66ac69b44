package conformance

import (
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// received is how many bytes had come by an instant since the request was sent.
type received struct {
	at    time.Duration
	bytes int
}

// download reads a response and notes when what arrived.
func download(t *testing.T, addr, path string) []received {
	t.Helper()
	c := dial(t, addr, "GET "+path+" HTTP/1.0\r\nHost: h\r\n\r\n")
	start := time.Now()
	_ = c.(*net.TCPConn).SetReadDeadline(start.Add(30 * time.Second))
	var log []received
	buf := make([]byte, 64<<10)
	for total := 0; ; {
		n, err := c.Read(buf)
		if total += n; n > 0 {
			log = append(log, received{time.Since(start), total})
		}
		if err == io.EOF {
			return log
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// by returns how many bytes had come by an instant.
func by(log []received, at time.Duration) (n int) {
	for _, r := range log {
		if r.at <= at {
			n = r.bytes
		}
	}
	return n
}

// limit_rate is smooth: within 5 % of the rate over any two seconds, and no second for free at the start. It does not run
// beside the tests that make load: what a process misses while others have the processor it does not send later.
func TestLimitRateIsSmooth(t *testing.T) {
	const size = 600 << 10
	for _, c := range []struct {
		name, directives string
		rate, free       int
	}{
		{"100k", "limit_rate 100k;", 100 << 10, 0},
		{"100k after 200k", "limit_rate 100k; limit_rate_after 200k;", 100 << 10, 200 << 10},
		{"set $limit_rate", "set $limit_rate 150k;", 150 << 10, 0},
		{"proxied", "limit_rate 100k; proxy_pass http://127.0.0.1:@8081@;", 100 << 10, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := gatewaytest.Prepare(t, gatewaytest.Limitgate(t), fmt.Sprintf(`
events {}
http {
	server { listen 127.0.0.1:@8080@; root html; location / { %s } }
	server { listen 127.0.0.1:@8081@; root html; }
}`, c.directives))
			g.Write("html/file", "")
			if err := os.WriteFile(filepath.Join(g.Prefix, "html/file"), make([]byte, size), 0o644); err != nil {
				t.Fatal(err)
			}
			g.Run()
			log := download(t, g.Addr(8080), "/file")
			total := log[len(log)-1].bytes
			if total < size {
				t.Fatalf("got %d bytes, want %d and a head", total, size)
			}
			begin := time.Duration(0)
			if c.free > 0 {
				if got := by(log, 100*time.Millisecond); got < c.free || got > c.free+c.rate/5 {
					t.Errorf("after 100 ms: got %d bytes, want the %d that are free and little more", got, c.free)
				}
				begin = 200 * time.Millisecond
			} else if got := by(log, 500*time.Millisecond); got > c.rate/2+c.rate/10 {
				t.Errorf("after 500 ms: got %d bytes, want at most half a second's worth, %d", got, c.rate/2)
			}
			end := log[len(log)-1].at
			for at := begin; at+2*time.Second <= end; at += 100 * time.Millisecond {
				got := float64(by(log, at+2*time.Second) - by(log, at))
				if dev := got/float64(2*c.rate) - 1; math.Abs(dev) > 0.05 {
					t.Errorf("from %v to %v: %.0f bytes, %.1f %% off the rate", at, at+2*time.Second, got, 100*dev)
				}
			}
		})
	}
}
