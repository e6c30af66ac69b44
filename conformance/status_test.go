package conformance

import (
	"io"
	"net/http"
	"testing"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// stub_status tells what nginx's does, at the first connection, over one that stays open and beside others.
func TestStubStatus(t *testing.T) {
	both(t, `events {} http { access_log off; server { listen 127.0.0.1:@8080@; keepalive_timeout 60;
		location / { return 204; } location /s { stub_status; } } }`, func(t *testing.T, g *gatewaytest.Gateway) {
		ask := func(c *http.Client, method, path string) string {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), method, g.URL(8080, path), nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return resp.Status + " " + resp.Header.Get("Content-Type") + "\n" + string(body)
		}
		first, second := &http.Client{Transport: &http.Transport{}}, &http.Client{Transport: &http.Transport{}}
		defer first.CloseIdleConnections()
		defer second.CloseIdleConnections()
		ask(first, "GET", "/")
		begun := ask(second, "GET", "/s")
		again := ask(second, "HEAD", "/s") + ask(second, "GET", "/s") + ask(second, "POST", "/s")[:len("405 Not Allowed")]
		// What gatewaytest asked before, to see whether the gateway is there, is the same for both.
		want := "200 OK text/plain\nActive connections: 2 \nserver accepts handled requests\n 3 3 2 \nReading: 0 Writing: 1 Waiting: 1 \n"
		if begun != want {
			t.Errorf("got %q, want %q", begun, want)
		}
		want = "200 OK text/plain\n200 OK text/plain\nActive connections: 2 \nserver accepts handled requests\n 3 3 4 \nReading: 0 Writing: 1 Waiting: 1 \n405 Not Allowed"
		if again != want {
			t.Errorf("got %q, want %q", again, want)
		}
	})
}
