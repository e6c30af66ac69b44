package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/accesslog"
	"github.com/limitgate/limitgate/internal/racing"
)

// Requests that wait are bounded too; what is decided early is said, and nothing is lost.
func TestWaitingIsBounded(t *testing.T) {
	racing.Alone(t)
	o := of(t, `limit_req_zone $binary_remote_addr zone=r:8m rate=1r/m; limit_conn_zone $binary_remote_addr zone=c:8m;
		server { limit_req zone=r burst=5; limit_conn c 10; }`)
	var log []accesslog.Record
	for i := range 30_000 {
		log = append(log, lasting(get(int64(i/100), fmt.Sprintf("10.0.%d.%d", i/6/250, i/6%250), "/"), 5))
	}
	r, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Run(t.Context(), logOf(log), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := r.runs[0]
	if n.waiting != 0 || n.hastened == 0 || len(n.spare) > mostVisits+chunk {
		t.Errorf("got %d bytes waiting, %d hastened, %d spare visits", n.waiting, n.hastened, len(n.spare))
	}
	if got.Total.Delayed.Max != 25_000 || got.Requests != 30_000 || !slices.ContainsFunc(got.Notes, func(n Note) bool { return n.ID == "wait" }) {
		t.Errorf("got %+v, notes %v", got.Total, got.Notes)
	}
}

// What a log does not have is told as what depends on it, and a key is called empty only where it is.
func TestNotesOfMissingFields(t *testing.T) {
	const empty, depends, looks = "it is empty", "depends on", "looks at"
	for _, c := range []struct{ http, variable, want string }{
		{`limit_req_zone $http_x_key zone=r:1m rate=1r/s; server { limit_req zone=r; }`, "$http_x_key", empty},
		{`map $http_x_key $k { default $k2; } map $remote_addr $k2 { default a; } limit_req_zone $k zone=r:1m rate=1r/s; server { limit_req zone=r; }`, "$http_x_key", depends},
		{`limit_req_zone $remote_addr$http_x_key zone=r:1m rate=1r/s; server { limit_req zone=r; }`, "$http_x_key", depends},
		{`map $http_x_plan $r { default 1r/s; gold 5r/s; } limit_req_zone $remote_addr zone=r:1m rate=$r; server { limit_req zone=r; }`, "$http_x_plan", looks},
		{`limit_req_zone $remote_addr zone=r:1m rate=1r/s; server { if ($http_x_internal) { return 204; } limit_req zone=r; }`, "$http_x_internal", looks},
		{`limit_req_zone $host zone=r:1m rate=1r/s; server { limit_req zone=r; }`, "$host", depends},
		{`limit_req_zone $scheme zone=r:1m rate=1r/s; server { limit_req zone=r; }`, "$scheme", depends},
		{`limit_req_zone $connection zone=r:1m rate=1r/s; server { limit_req zone=r; }`, "$connection", depends},
		{`limit_req_zone $remote_addr zone=r:1m rate=1r/s; server { limit_req zone=r; }`, "", ""},
	} {
		var found []string
		for _, n := range replayed(t, of(t, c.http), logOf([]accesslog.Record{get(0, "192.0.2.1", "/")})).Notes {
			if n.ID == "field" {
				found = append(found, n.Text)
			}
		}
		text := strings.Join(found, "; ")
		if len(found) > 1 || c.want == "" && text != "" || !strings.Contains(text, c.want) || !strings.Contains(text, c.variable) {
			t.Errorf("%s: got %q, want %q of %s", c.http, found, c.want, c.variable)
		}
	}
}

// Keys of bytes are told as the addresses they are, or escaped so that two of them are two.
func TestKeysOfBytes(t *testing.T) {
	o := of(t, `map $uri $k { default $binary_remote_addr; } limit_req_zone $k zone=r:1m rate=1r/m; server { limit_req zone=r; }`)
	log := append(burst(3, 0, "203.0.113.200", "/"), burst(3, 1, "203.0.113.201", "/")...)
	keys := replayed(t, o, logOf(log)).Zones[0].Keys
	if len(keys) != 2 || keys[0].Text != "203.0.113.200" || keys[1].Text != "203.0.113.201" {
		t.Errorf("got %+v", keys)
	}
	for key, want := range map[string]string{"a\xff": `a\xff`, `a\xff`: `a\\xff`, "é": "é", "\u202e": `\xe2\x80\xae`} {
		if got := string(escaped(nil, []byte(key))); got != want {
			t.Errorf("%q: got %s, want %s", key, got, want)
		}
	}
}

// A refusal has the status of the place where it was decided.
func TestRefusalStatuses(t *testing.T) {
	for http, want := range map[string][]int{
		`server { limit_req zone=r; location / { limit_req_status 420; } }`:  {420, 429},
		`server { limit_req zone=r; location /a { limit_req_status 420; } }`: {420, 429, 503},
		`limit_req_status 444; server { location / { limit_req zone=r; } }`:  {429, 444},
		`limit_req zone=r; server { limit_req_status 430; }`:                 {429, 430},
		`server { location / { } }`:                                          {429},
	} {
		r, err := Open(of(t, `limit_req_zone $uri zone=r:1m rate=1r/s; `+http))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.plan.refusals; !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", http, got, want)
		}
	}
}

// Of an empty log programs get arrays all the same.
func TestEmptyLogHasArrays(t *testing.T) {
	got := replayed(t, of(t, oneLimit), logOf(nil))
	if got.Hit.Clients == nil || got.Hit.Agents == nil || got.Hit.Paths == nil || got.Series.Admitted == nil || got.Series.Start != "" {
		t.Errorf("got %+v and %+v, want empty arrays", got.Hit, got.Series)
	}
}

func TestAnswerWithoutLimits(t *testing.T) {
	got := replayed(t, of(t, `server { }`), logOf([]accesslog.Record{get(0, "192.0.2.1", "/")}))
	if want := "this configuration has no limits, and would have refused none of 1 request"; got.Answer != want {
		t.Errorf("got %q, want %q", got.Answer, want)
	}
}
