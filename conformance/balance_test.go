package conformance

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// numbered starts servers that tell their number, 0 and up, and returns their addresses.
func numbered(t *testing.T, n int) (addrs []string) {
	t.Helper()
	for i := range n {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Peer", fmt.Sprint(i))
		}))
		t.Cleanup(s.Close)
		addrs = append(addrs, s.Listener.Addr().String())
	}
	return addrs
}

// spread is a list of servers and what is asked of them.
type spread struct {
	name    string
	method  string // of the upstream
	servers []int  // by weight; 0 is down
	header  func(i int) string
}

const spreadKeys = 1200

func byKey(i int) string { return fmt.Sprintf("X-Key: key/%d-%x", i*i, i) }

var spreads = []spread{
	{"hash", "hash $http_x_key;", []int{1, 1, 1, 1, 1}, byKey},
	{"hash, weights, one down", "hash $http_x_key;", []int{1, 2, 0, 3, 5}, byKey},
	{"ring", "hash $http_x_key consistent;", []int{1, 1, 1, 1, 1}, byKey},
	{"ring, weights, one down", "hash $http_x_key consistent;", []int{1, 2, 0, 3, 5}, byKey},
	{"network of IPv4", "ip_hash;", []int{1, 1, 1, 1, 1}, func(i int) string {
		return fmt.Sprintf("X-Client: %d.%d.%d.%d", 1+i%223, i*31%256, i*i%256, i%256)
	}},
	{"network of IPv4, weights, one down", "ip_hash;", []int{1, 2, 0, 3, 5}, func(i int) string {
		return fmt.Sprintf("X-Client: %d.%d.%d.%d", 1+i%223, i*31%256, i*i%256, i%256)
	}},
	{"address of IPv6", "ip_hash;", []int{1, 2, 0, 3, 5}, func(i int) string {
		return fmt.Sprintf("X-Client: 2001:db8:%x::%x:%x", i*7919%65536, i, i*i%65536)
	}},
}

// lots are spread by lot: their shares are looked at.
var lots = []spread{
	{"random", "random;", []int{1, 2, 3, 4, 0}, byKey},
	{"random two", "random two least_conn;", []int{1, 1, 1, 1, 0}, byKey},
}

// Over 1,200 keys each goes to the same server in both, whatever weights there are, and with one server down.
func TestDistributionIsNginxs(t *testing.T) {
	t.Parallel()
	addrs := numbered(t, 5)
	var text strings.Builder
	for i, s := range append(spreads, lots...) {
		fmt.Fprintf(&text, "upstream u%d { %s", i, s.method)
		for n, weight := range s.servers {
			if weight == 0 {
				fmt.Fprintf(&text, " server %s down;", addrs[n])
			} else {
				fmt.Fprintf(&text, " server %s weight=%d;", addrs[n], weight)
			}
		}
		text.WriteString(" keepalive 8; }\n")
	}
	text.WriteString("set_real_ip_from 127.0.0.1; real_ip_header X-Client; keepalive_requests 100000; access_log off; proxy_http_version 1.1; proxy_set_header Connection \"\";\n" +
		"server { listen 127.0.0.1:@8080@; location ~ ^/(?<group>u[0-9]+)$ { proxy_pass http://$group; } }")
	conf := "events {}\nhttp {\n" + text.String() + "\n}\n"
	nginx, ours := gatewaytest.Start(t, gatewaytest.Nginx(t), conf), gatewaytest.Start(t, gatewaytest.Limitgate(t), conf)
	var all sync.WaitGroup
	for i, s := range append(spreads, lots...) {
		all.Go(func() {
			want, got := askEach(t, nginx.Addr(8080), i, s), askEach(t, ours.Addr(8080), i, s)
			if i < len(spreads) {
				compareSpread(t, s, want, got)
			} else {
				compareLots(t, s, got)
			}
		})
	}
	all.Wait()
}

// askEach asks with every key, on one connection, and returns the numbers of the servers.
func askEach(t *testing.T, addr string, group int, s spread) []byte {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	in := bufio.NewReader(c)
	var got []byte
	for i := range spreadKeys {
		fmt.Fprintf(c, "GET /u%d HTTP/1.1\r\nHost: h\r\n%s\r\n\r\n", group, s.header(i))
		r, err := http.ReadResponse(in, nil)
		if err != nil || len(r.Header.Get("X-Peer")) != 1 {
			t.Errorf("%s: key %d: %v, %v", s.name, i, r, err)
			return got
		}
		r.Body.Close()
		got = append(got, r.Header.Get("X-Peer")[0])
	}
	return got
}

func compareSpread(t *testing.T, s spread, want, got []byte) {
	if len(want) != spreadKeys || len(got) != spreadKeys {
		return // said
	}
	other := 0
	for i := range want {
		if want[i] != got[i] {
			if other++; other == 1 {
				t.Errorf("%s: %s goes to %c, nginx's to %c", s.name, s.header(i), got[i], want[i])
			}
		}
	}
	if other > 0 {
		t.Errorf("%s: %d of %d keys go elsewhere than in nginx", s.name, other, spreadKeys)
	}
	for n, weight := range s.servers {
		if has := bytes.Count(got, []byte{byte('0' + n)}); (has > 0) != (weight > 0) {
			t.Errorf("%s: server %d of weight %d has %d keys", s.name, n, weight, has)
		}
	}
}

func compareLots(t *testing.T, s spread, got []byte) {
	sum := 0
	for _, w := range s.servers {
		sum += w
	}
	for n, w := range s.servers {
		has, mean := bytes.Count(got, []byte{byte('0' + n)}), float64(spreadKeys*w)/float64(sum)
		// Six standard deviations.
		if d := float64(has) - mean; d*d > 36*mean {
			t.Errorf("%s: server %d of weight %d has %d of %d, want about %.0f", s.name, n, w, has, spreadKeys, mean)
		}
	}
}
