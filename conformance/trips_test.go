package conformance

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/redistest"
)

// TestRoundTrips counts what the store is sent for one request of a gateway: one script for one limit, and one for three; a place of
// limit_conn is one more, and its release another.
func TestRoundTrips(t *testing.T) {
	server := redistest.Start(t)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), fmt.Sprintf(`events {}
http {
    limit_store main %s;
    limit_req_zone $arg_key zone=one:1m rate=1000r/s store=main;
    limit_count_zone $arg_key zone=two:1m limit=100000 window=1h store=main;
    limit_token_zone $arg_key zone=three:1m rate=1000r/s capacity=9999 store=main;
    limit_conn_zone $arg_key zone=four:1m store=main;
    server {
        listen 127.0.0.1:@8080@;
        root nowhere;
        location /one { limit_req zone=one burst=9999 nodelay; }
        location /three { limit_req zone=one burst=9999 nodelay; limit_count zone=two; limit_token zone=three; }
        location /four { limit_req zone=one burst=9999 nodelay; limit_count zone=two; limit_token zone=three; limit_conn four 10; }
    }
}
`, server.URL()))
	known(t, server, 1)
	for path, want := range map[string]int{"/one": 1, "/three": 1, "/four": 3} {
		const requests = 20
		key := "trip" + strings.TrimPrefix(path, "/")
		_ = status(t, http.DefaultClient, g.URL(8080, path+"?key=first")) // a script that the server does not know yet is sent once more
		trips := heard(t, server, "{"+key+"}", func() {
			for range requests {
				if got := status(t, http.DefaultClient, g.URL(8080, path+"?key="+key)); got != 404 {
					t.Fatalf("%s: got %d, want 404", path, got)
				}
			}
			gatewaytest.Eventually(t, 5*time.Second, "that the last place is released", func() bool { return server.Do("ZCARD", "lg:1c:four:{"+key+"}") == ":0" })
		})
		if trips != want*requests {
			t.Errorf("%s: got %d commands to the store for %d requests, want %d for each", path, trips, requests, want)
		}
	}
}

// heard counts the commands with a text in them that clients send to a server while something is done. What scripts call does not count.
func heard(t *testing.T, s *redistest.Server, text string, do func()) (n int) {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	if ok, err := r.ReadString('\n'); err != nil || ok != "+OK\r\n" {
		t.Fatalf("got %q, %v", ok, err)
	}
	do()
	const end = "no more to be heard"
	s.Do("ECHO", end)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.Contains(line, end):
			return n
		case strings.Contains(line, text) && !strings.Contains(line, " lua]") && !strings.Contains(line, "ZCARD"):
			n++
		}
	}
}
