package conformance

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// http2Client speaks HTTP/2, by TLS or in clear text.
func http2Client(t *testing.T) *http.Client {
	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, Protocols: new(http.Protocols), DisableCompression: true}
	tr.Protocols.SetHTTP2(true)
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

const http2Conf = `error_log logs/error.log info;
events {}
http {
	log_format seen '$remote_addr "$request" $status $body_bytes_sent $request_length $connection_requests $server_protocol $http2 $scheme $http_host '
		'$http_cookie $limit_req_status $limit_conn_status $request_completion';
	access_log logs/access.log seen;
	limit_req_zone $binary_remote_addr zone=r:1m rate=1r/m;
	limit_req_zone $arg_k zone=d:1m rate=10r/s;
	limit_conn_zone $arg_k zone=c:1m;
	limit_req_status 429;
	server {
		listen 127.0.0.1:@8080@ ssl http2;
		listen 127.0.0.1:@8081@ http2;
		ssl_certificate rsa.crt;
		ssl_certificate_key rsa.key;
		add_trailer X-Trailer $arg_t;
		location / { return 200 "$request_method $uri $args $http_x_a\n"; }
		location /204 { return 204; }
		location /301 { return 301 /else?x; }
		location /403 { deny all; }
		location /up/ { proxy_pass http://127.0.0.1:@8082@/; }
		location /small { client_max_body_size 3; proxy_pass http://127.0.0.1:@8082@/; }
		location /reject { limit_req zone=r; return 200 "passed\n"; }
		location /late { limit_req zone=r; proxy_pass http://127.0.0.1:@8082@/; }
		location /dry { limit_req zone=r; limit_req_dry_run on; proxy_pass http://127.0.0.1:@8082@/; }
		location /delay { limit_req zone=d burst=10; proxy_pass http://127.0.0.1:@8082@/; }
		location /conn { limit_conn c 2; limit_rate 4000; alias page; }
	}
	server {
		listen 127.0.0.1:@8082@;
		access_log off;
		location / { return 200 "upstream: $request $content_length $http_cookie $http_te $http_connection\n"; }
	}
}
`

// startHTTP2 starts a gateway with its certificate and its page.
func startHTTP2(t *testing.T, b gatewaytest.Binary) *gatewaytest.Gateway {
	g := gatewaytest.Prepare(t, b, http2Conf)
	cert, key := gatewaytest.Certificate(t, "rsa", "localhost")
	g.Write("rsa.crt", cert)
	g.Write("rsa.key", key)
	g.Write("page", strings.Repeat("0123456789", 800))
	g.Run()
	return g
}

// http2Asks are requests on one connection, in order: method, path, body, fields.
var http2Asks = [][]string{
	{"GET", "/a/../b?x=1", ""}, {"GET", "/x", "", "X-A", "b"}, {"HEAD", "/x", ""}, {"GET", "/204", ""}, {"GET", "/301", ""}, {"GET", "/403", ""},
	{"GET", "/up/missing%20x", ""}, {"POST", "/up/p", "some text"}, {"POST", "/small", "some text"}, {"GET", "/up/c", "", "Cookie", "a=b; c=d", "Te", "trailers"},
	{"GET", "/x?t=5", ""}, {"PUT", "/x", strings.Repeat("y", 100000)}, {"GET", "/reject", ""}, {"GET", "/reject", ""}, {"POST", "/late", "some text"}, {"GET", "/dry", ""},
}

var pageSize = regexp.MustCompile(`(" [34]\d\d) \d+`)

// The same requests over HTTP/2 get the same answers and log lines from nginx and from here, by TLS and in clear text.
func TestHTTP2SideBySide(t *testing.T) {
	t.Parallel()
	var got [2]seen
	for i, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		g := startHTTP2(t, b)
		for _, base := range []string{"https://" + g.Addr(8080), "http://" + g.Addr(8081)} {
			c := http2Client(t)
			for _, a := range http2Asks {
				got[i].Answers = append(got[i].Answers, askHTTP2(t, c, base, a))
			}
		}
		time.Sleep(50 * time.Millisecond) // logs are written after the answer
		for _, l := range lines(g.Read("logs/access.log")) {
			got[i].Access = append(got[i].Access, pageSize.ReplaceAllString(l, "$1 PAGE")) // which has the server's name
		}
		for _, l := range lines(g.ErrorLog()) {
			if strings.Contains(l, "limiting requests") || strings.Contains(l, "too large body") || strings.Contains(l, "forbidden") {
				got[i].Errors = append(got[i].Errors, l)
			}
		}
	}
	if d := cmp.Diff(got[0], got[1]); d != "" {
		t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
	}
}

func askHTTP2(t *testing.T, c *http.Client, base string, a []string) string {
	t.Helper()
	r, err := http.NewRequest(a[0], base+a[1], strings.NewReader(a[2]))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("User-Agent", "test")
	for i := 3; i < len(a); i += 2 {
		r.Header.Set(a[i], a[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		return fmt.Sprintf("%s %s: %v", a[0], a[1], err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return mask(fmt.Sprintf("%s %s: %s %d, %s %s %v %v\n%s", a[0], a[1], resp.Proto, resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Location"),
		resp.Trailer, err, body))
}

// Streams of one connection count like connections; a place is free as soon as a client takes its request back.
func TestHTTP2StreamsHoldPlaces(t *testing.T) {
	t.Parallel()
	for _, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		t.Run(b.Name, func(t *testing.T) {
			g := startHTTP2(t, b)
			c := http2Client(t)
			ctx, cancel := context.WithCancel(context.Background())
			var held, all sync.WaitGroup
			status := make(chan int, 5)
			held.Add(5)
			for range 5 {
				all.Add(1)
				go func() {
					defer all.Done()
					r, _ := http.NewRequestWithContext(ctx, "GET", "https://"+g.Addr(8080)+"/conn?k=a", nil)
					resp, err := c.Do(r)
					if err != nil {
						status <- 0
						held.Done()
						return
					}
					status <- resp.StatusCode
					held.Done()
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}()
			}
			held.Wait()
			close(status)
			var got []int
			for s := range status {
				got = append(got, s)
			}
			slices.Sort(got)
			if want := []int{200, 200, 503, 503, 503}; !slices.Equal(got, want) {
				t.Errorf("five streams, two places: %v, want %v", got, want)
			}
			cancel() // RST_STREAM
			all.Wait()
			gatewaytest.Eventually(t, 2*time.Second, "a free place", func() bool {
				return strings.Contains(askHTTP2(t, c, "https://"+g.Addr(8080), []string{"HEAD", "/conn?k=a", ""}), " 200,")
			})
		})
	}
}

// Delayed streams wait their own time, and hold up nobody.
func TestHTTP2DelaysOnlyTheStream(t *testing.T) {
	t.Parallel()
	for _, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		t.Run(b.Name, func(t *testing.T) {
			g := startHTTP2(t, b)
			c := http2Client(t)
			base := "http://" + g.Addr(8081)
			askHTTP2(t, c, base, []string{"GET", "/x", ""})
			began := time.Now()
			var delayed sync.WaitGroup
			for range 5 {
				delayed.Add(1)
				go func() {
					defer delayed.Done()
					if got := askHTTP2(t, c, base, []string{"POST", "/delay?k=a", "some text"}); !strings.Contains(got, " 200,") {
						t.Error(got)
					}
				}()
			}
			time.Sleep(20 * time.Millisecond)
			for range 10 {
				askHTTP2(t, c, base, []string{"GET", "/x", ""})
			}
			if d := time.Since(began); d > 300*time.Millisecond {
				t.Errorf("requests without a limit took until %v", d)
			}
			delayed.Wait()
			if d := time.Since(began); d < 390*time.Millisecond || d > 2*time.Second {
				t.Errorf("five requests at 10 a second took %v", d)
			}
		})
	}
}
