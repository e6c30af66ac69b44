package conformance

import (
	"fmt"
	"testing"
)

// Section B: whom a limit counts. The peer of every request here is 127.0.0.1.
func TestFieldCasesB(t *testing.T) {
	t.Parallel()
	const pass = "proxy_pass http://127.0.0.1:@8081@;"
	perAddress := func(more string) string {
		return more + `limit_req_zone $binary_remote_addr zone=a:1m rate=1r/m; limit_req_status 429; limit_req zone=a;`
	}
	const balancer = "set_real_ip_from 127.0.0.1; set_real_ip_from 10.0.0.0/8; real_ip_header X-Forwarded-For; real_ip_recursive on; "

	t.Run("31", func(t *testing.T) { // two clients behind one balancer have a bucket each
		g := fieldSite(t, perAddress(balancer), "location / { "+pass+" }")
		for _, client := range []string{"203.0.113.1", "203.0.113.2"} {
			if got := asks(t, g, 3, 200, "/", "X-Forwarded-For: "+client); got != 1 {
				t.Errorf("%s: got %d of 3 passed, want 1", client, got)
			}
		}
	})
	t.Run("32", func(t *testing.T) { // what a client says of itself changes nothing
		for _, c := range []struct{ name, trusted, want string }{
			{"trusted peer", balancer, "203.0.113.9"},
			{"untrusted peer", "set_real_ip_from 10.0.0.0/8; real_ip_header X-Forwarded-For; real_ip_recursive on; ", "127.0.0.1"},
		} {
			t.Run(c.name, func(t *testing.T) {
				g := fieldSite(t, perAddress(c.trusted)+"add_header X-Client $remote_addr always;", "location / { "+pass+" }")
				passed := 0
				for i := range 3 {
					resp := ask(t, g, "/", fmt.Sprintf("X-Forwarded-For: 1.2.3.%d, 203.0.113.9", i))
					if resp.StatusCode == 200 {
						passed++
					}
					if got := resp.Header.Get("X-Client"); got != c.want {
						t.Errorf("client: got %s, want %s", got, c.want)
					}
				}
				if passed != 1 {
					t.Errorf("got %d of 3 passed, want 1", passed)
				}
			})
		}
	})
	t.Run("34", func(t *testing.T) { // one more trusted hop is the same client
		g := fieldSite(t, perAddress(balancer), "location / { "+pass+" }")
		for i, chain := range []string{"203.0.113.9", "203.0.113.9, 10.0.0.7", "203.0.113.9, 10.0.0.7, 10.1.0.8"} {
			if got, want := ask(t, g, "/", "X-Forwarded-For: "+chain).StatusCode, []int{200, 429, 429}[i]; got != want {
				t.Errorf("%s: got %d, want %d", chain, got, want)
			}
		}
	})
	t.Run("35", func(t *testing.T) { // a client that changes its address inside a /64 is one; a mapped address is the address
		g := fieldSite(t, balancer+`limit_req_zone $binary_client_network zone=n:1m rate=1r/m; limit_req_status 429; limit_req zone=n burst=9 nodelay;`, "location / { "+pass+" }")
		passed := 0
		for i := range 1000 {
			passed += asks(t, g, 1, 200, "/", fmt.Sprintf("X-Forwarded-For: 2001:db8:1:2:%x::%x", i%7, i+1))
		}
		if passed != 10 {
			t.Errorf("1000 addresses of one /64: got %d passed, want 10", passed)
		}
		if got := asks(t, g, 1, 200, "/", "X-Forwarded-For: 2001:db8:1:3::1"); got != 1 {
			t.Error("the next /64 was refused")
		}
		passed = asks(t, g, 8, 200, "/", "X-Forwarded-For: 1.2.3.4") + asks(t, g, 8, 200, "/", "X-Forwarded-For: ::ffff:1.2.3.4")
		if passed != 10 {
			t.Errorf("1.2.3.4 and ::ffff:1.2.3.4: got %d of 16 passed, want 10 together", passed)
		}
	})
	t.Run("37", func(t *testing.T) { // a header as the key is the key; see TestFieldCasesAConfiguration for what is refused
		g := fieldSite(t, "limit_req_zone $http_x_tenant zone=h:1m rate=1r/m; limit_req_status 429; limit_req zone=h;", "location / { "+pass+" }")
		for _, tenant := range []string{"A", "B"} {
			if got := asks(t, g, 3, 200, "/", "X-Tenant: "+tenant); got != 1 {
				t.Errorf("tenant %s: got %d of 3 passed, want 1", tenant, got)
			}
		}
	})
	t.Run("38", func(t *testing.T) { // who is mapped to an empty key is not limited, everybody else is
		g := fieldSite(t, balancer+`geo $limited { default 1; 192.168.0.0/16 0; } map $limited $key { 0 ""; 1 $binary_remote_addr; }
			limit_req_zone $key zone=k:1m rate=1r/m; limit_req_status 429; limit_req zone=k;`, "location / { "+pass+" }")
		if got := asks(t, g, 20, 200, "/", "X-Forwarded-For: 192.168.3.4"); got != 20 {
			t.Errorf("allowed network: got %d of 20 passed, want all", got)
		}
		if got := asks(t, g, 5, 200, "/", "X-Forwarded-For: 203.0.113.1"); got != 1 {
			t.Errorf("another: got %d of 5 passed, want 1", got)
		}
	})
	t.Run("38 exempt", func(t *testing.T) { // an allowlist acts on limits of every kind
		g := fieldSite(t, balancer+`limit_exempt 192.168.0.0/16; limit_count_zone $binary_remote_addr zone=n:1m limit=1 window=1d; limit_token_zone $binary_remote_addr zone=t:1m rate=1r/h capacity=1;
			limit_req_zone $binary_remote_addr zone=k:1m rate=1r/m; limit_req_status 429; limit_req zone=k; limit_count zone=n; limit_token zone=t;`, "location / { "+pass+" }")
		if got := asks(t, g, 20, 200, "/", "X-Forwarded-For: 192.168.3.4"); got != 20 {
			t.Errorf("allowed network: got %d of 20 passed, want all", got)
		}
		if got := asks(t, g, 5, 200, "/", "X-Forwarded-For: 203.0.113.1"); got != 1 {
			t.Errorf("another: got %d of 5 passed, want 1", got)
		}
		if got := asks(t, g, 5, 200, "/", "X-Forwarded-For: 192.168.3.4, 203.0.113.2"); got != 1 {
			t.Errorf("another that says it is one of them: got %d of 5 passed, want 1", got)
		}
	})
}
