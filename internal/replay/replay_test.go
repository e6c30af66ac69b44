package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/limitgate/limitgate/internal/accesslog"
	"github.com/limitgate/limitgate/internal/racing"
)

const oneLimit = `limit_req_zone $binary_remote_addr zone=r:1m rate=1r/s; server { location / { limit_req zone=r burst=2 nodelay; } location /free { } }`

// fatesText is totals in one line, for tables.
func fatesText(f Fates) string {
	b := func(b Band) string {
		if b.Min == b.Max {
			return fmt.Sprint(b.Max)
		}
		return fmt.Sprintf("%d..%d", b.Min, b.Max)
	}
	return fmt.Sprintf("unlimited %s passed %s delayed %s rejected %s dry %s/%s",
		b(f.Unlimited), b(f.Passed), b(f.Delayed), b(f.Rejected), b(f.DryDelayed), b(f.DryRejected))
}

// burst is requests of one client in one instant.
func burst(n int, ms int64, addr, uri string) (list []accesslog.Record) {
	for range n {
		list = append(list, get(ms, addr, uri))
	}
	return list
}

// What is told of the same few requests by configurations of all kinds.
func TestTotals(t *testing.T) {
	for _, c := range []struct {
		name, http string
		records    []accesslog.Record
		want       string
	}{
		{"nodelay", oneLimit, burst(5, 0, "192.0.2.1", "/"), "unlimited 0 passed 3 delayed 0 rejected 2 dry 0/0"},
		{"elsewhere", oneLimit, burst(5, 0, "192.0.2.1", "/free"), "unlimited 5 passed 0 delayed 0 rejected 0 dry 0/0"},
		{"delays", strings.ReplaceAll(oneLimit, "nodelay", ""), burst(5, 0, "192.0.2.1", "/"), "unlimited 0 passed 1 delayed 2 rejected 2 dry 0/0"},
		{"dry run", "limit_req_dry_run on; " + strings.ReplaceAll(oneLimit, "nodelay", ""), burst(5, 0, "192.0.2.1", "/"), "unlimited 0 passed 5 delayed 0 rejected 0 dry 2/2"},
		{"apart", oneLimit, append(burst(3, 0, "192.0.2.1", "/"), burst(3, 0, "192.0.2.2", "/")...), "unlimited 0 passed 6 delayed 0 rejected 0 dry 0/0"},
		{"later", oneLimit, append(burst(4, 0, "192.0.2.1", "/"), burst(2, 2000, "192.0.2.1", "/")...), "unlimited 0 passed 5 delayed 0 rejected 1 dry 0/0"},
		{"returns", `limit_req_zone $uri zone=r:1m rate=1r/s; server { limit_req zone=r; return 301 /x; }`, burst(3, 0, "192.0.2.1", "/"), "unlimited 3 passed 0 delayed 0 rejected 0 dry 0/0"},
		{"windows", `limit_count_zone $binary_remote_addr zone=w:1m limit=2 window=1m; server { limit_count zone=w; }`, burst(5, 0, "192.0.2.1", "/"), "unlimited 0 passed 2 delayed 0 rejected 3 dry 0/0"},
		{"two", `limit_req_zone $uri zone=a:1m rate=1r/s; limit_req_zone $remote_addr zone=b:1m rate=1r/s; server { limit_req zone=a burst=3 nodelay; limit_req zone=b; }`,
			burst(5, 0, "192.0.2.1", "/"), "unlimited 0 passed 1 delayed 0 rejected 4 dry 0/0"},
		{"error page", `limit_req_zone $uri zone=r:1m rate=1r/s; server { error_page 503 /busy; limit_req zone=r; location /busy { } }`,
			burst(3, 0, "192.0.2.1", "/"), "unlimited 0 passed 1 delayed 0 rejected 2 dry 0/0"},
		{"garbage", oneLimit, []accesslog.Record{{Stamp: base, Grain: 1e6, Duration: -1, Request: []byte("\x16\x03"), Status: 400}}, "unlimited 1 passed 0 delayed 0 rejected 0 dry 0/0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fatesText(replayed(t, of(t, c.http), logOf(c.records)).Total); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Places are held as long as the log says, and those that wait take theirs when their delay is over.
func TestPlaces(t *testing.T) {
	http := `limit_conn_zone $binary_remote_addr zone=c:1m; limit_req_zone $binary_remote_addr zone=r:1m rate=1r/s;
		server { limit_conn c 1; location / { } location /slow { limit_req zone=r burst=5; } }`
	client := "192.0.2.1"
	got := replayed(t, of(t, http), logOf([]accesslog.Record{
		lasting(get(0, client, "/slow"), 900), lasting(get(10, client, "/"), 5), // refused: the first is in work
		lasting(get(20, client, "/slow"), 100), // waits until 1000
		lasting(get(950, client, "/"), 100),    // takes the place until 1050, so that the one that waited is refused
	}))
	if s := fatesText(got.Total); s != "unlimited 0 passed 2 delayed 0 rejected 2 dry 0/0" {
		t.Errorf("got %s", s)
	}
	zone := got.Zones[1]
	held := zone.Held
	if zone.Name != "c" || held == nil || held.Peak != 2 || held.PeakKey != client {
		t.Errorf("zone %s: got at once %+v, want 2 of %s", zone.Name, held, client)
	}
	if f := got.Flight; f == nil || f.Peak != 2 {
		t.Errorf("in work at once: got %+v, want 2", f)
	}
}

// What a request waited when it was logged is part of the time that it took, and no longer of the time that it holds a place.
func TestPlacesOfRequestsThatWaited(t *testing.T) {
	http := `limit_conn_zone $binary_remote_addr zone=c:1m; limit_req_zone $binary_remote_addr zone=r:1m rate=1r/s;
		server { location / { limit_conn c 1; } location /slow { limit_conn c 1; limit_req zone=r burst=5; } }`
	for _, c := range []struct{ status, want string }{
		{"DELAYED", "unlimited 0 passed 2 delayed 1 rejected 0 dry 0/0"}, // its place is free again at 1100
		{"PASSED", "unlimited 0 passed 1 delayed 1 rejected 1 dry 0/0"},  // or at 2100
	} {
		got := replayed(t, of(t, http), logOf([]accesslog.Record{
			lasting(get(0, "192.0.2.1", "/slow"), 10), with(lasting(get(10, "192.0.2.1", "/slow"), 1090), "limit_req_status", c.status), get(1500, "192.0.2.1", "/"),
		}))
		if s := fatesText(got.Total); s != c.want {
			t.Errorf("%s: got %s, want %s", c.status, s, c.want)
		}
	}
}

// Lines of a log stand in the order of answers; requests are decided in the order in which they came.
func TestOrderOfArrival(t *testing.T) {
	slow := lasting(get(0, "192.0.2.1", "/"), 30_000)
	var records []accesslog.Record
	for i := range 20 {
		records = append(records, lasting(get(int64(100+i*1000), "192.0.2.2", "/"), 1))
	}
	records = append(records, slow, lasting(get(40_000, "192.0.2.2", "/"), 1))
	// Were the slow one decided where it stands, the one of the other client in its place would be refused.
	http := `limit_req_zone $host zone=r:1m rate=1r/m; server { server_name example.org; limit_req zone=r; }`
	got := replayed(t, of(t, http), logOf(records))
	if c := got.Hit.Clients; len(c) != 1 || c[0].Text != "192.0.2.2" || c[0].N != 21 {
		t.Errorf("who was refused: got %+v, want 21 times 192.0.2.2", c)
	}
	if got.Log.Late != 0 {
		t.Errorf("%d late, want none", got.Log.Late)
	}
}

// Of two that come in one millisecond the log has the refusal first, which took no time: it came behind all the same.
func TestRefusalsOfOneInstantComeLast(t *testing.T) {
	refused, passed := with(get(5, "192.0.2.1", "/late"), "limit_req_status", "REJECTED"), with(lasting(get(5, "192.0.2.1", "/early"), 30), "limit_req_status", "PASSED")
	var verdicts strings.Builder
	o := of(t, `limit_req_zone $host zone=r:1m rate=1r/m; server { server_name example.org; limit_req zone=r; }`)
	o.Verdicts = &verdicts
	replayed(t, o, logOf([]accesslog.Record{refused, passed}, "limit_req_status"))
	var got []string
	for line := range strings.Lines(verdicts.String()) {
		var s step
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		got = append(got, s.Request+" "+s.Logged+" "+s.Verdict)
	}
	if want := []string{"GET /early HTTP/1.1 passed passed", "GET /late HTTP/1.1 rejected rejected"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// One-second stamps give a band: what is refused when all of a second come at once may pass when they are spread.
func TestBand(t *testing.T) {
	var records []accesslog.Record
	for i := range 100 {
		records = append(records, coarseOf(get(int64(i*200), "192.0.2.1", "/")))
	}
	got := replayed(t, of(t, `limit_req_zone $binary_remote_addr zone=r:1m rate=5r/s; server { limit_req zone=r; }`), logOf(records))
	if r := got.Total.Rejected; r.Min != 0 || r.Max != 80 {
		t.Errorf("refused: got %+v, want 0 to 80", r)
	}
	if n := len(got.Assumed); n != 3 || got.Assumed[atOnce].Rejected != 80 || got.Assumed[evenly].Rejected != 0 || got.Assumed[randomly].Rejected == 0 {
		t.Errorf("got %+v", got.Assumed)
	}
	if got.Answer != "this configuration would have refused between 0 % and 80.0 % (0 to 80 of 100 requests)" {
		t.Errorf("got %q", got.Answer)
	}
	again := replayed(t, of(t, `limit_req_zone $binary_remote_addr zone=r:1m rate=5r/s; server { limit_req zone=r; }`), logOf(records))
	if got.Assumed[randomly] != again.Assumed[randomly] {
		t.Errorf("chance is not the same twice: %+v and %+v", got.Assumed[randomly], again.Assumed[randomly])
	}
}

// Requests that were refused when they were logged are kept unless they are to be left out.
func TestRefusedInTheLog(t *testing.T) {
	records := burst(4, 0, "192.0.2.1", "/")
	records[1].Status = 503                                       // that of limit_req, where nothing else is said
	records[2].Status = 429                                       // of anybody
	records[3] = with(records[3], "limit_req_status", "REJECTED") // whatever its status
	records = append(records, with(get(0, "192.0.2.1", "/"), "limit_req_status", "PASSED"), get(0, "192.0.2.1", "/"))
	records[4].Status = 503 // of the upstream: the log says that the limit let it pass
	o := of(t, oneLimit)
	if got := replayed(t, o, logOf(records)); got.Requests != 6 || got.Refused.Requests != 3 || !got.Refused.Kept {
		t.Errorf("kept: got %d requests, %+v", got.Requests, got.Refused)
	}
	o.DropRefused = true
	if got := replayed(t, o, logOf(records)); got.Requests != 3 || got.Refused.Requests != 3 || got.Refused.Kept {
		t.Errorf("left out: got %d requests, %+v", got.Requests, got.Refused)
	}
}

// An address in a log is the client's already where nginx's own proxies were trusted.
func TestRealAddresses(t *testing.T) {
	http := `limit_req_zone $remote_addr zone=r:1m rate=1r/m; set_real_ip_from 10.0.0.0/8; real_ip_header X-Forwarded-For; server { limit_req zone=r; }`
	const header = "http_x_forwarded_for"
	proxy, client := "10.0.0.1", "192.0.2.1"
	for _, c := range []struct {
		name   string
		record accesslog.Record
		tells  string
		want   string
	}{
		{"resolved", get(0, client, "/"), "", client},
		{"resolved, with the header", with(get(0, client, "/"), header, client), header, client},
		{"not resolved, with the header", with(get(0, proxy, "/"), header, client), header, client},
		{"not resolved, without", get(0, proxy, "/"), "", proxy},
		{"both, with the header", with(with(get(0, "203.0.113.1", "/"), "realip_remote_addr", proxy), header, client), header, client},
		{"both, without", with(get(0, client, "/"), "realip_remote_addr", proxy), "", client},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := replayed(t, of(t, http), logOf([]accesslog.Record{c.record, c.record}, c.tells))
			if len(got.Zones[0].Keys) != 1 || got.Zones[0].Keys[0].Text != c.want {
				t.Errorf("got %+v, want %s", got.Zones[0].Keys, c.want)
			}
		})
	}
}

// What the log lacks is said.
func TestNotes(t *testing.T) {
	bare := get(0, "192.0.2.1", "/")
	bare.Host = nil
	for _, c := range []struct {
		http, id string
		record   accesslog.Record
		o        Options
		want     bool
	}{
		{`limit_req_zone $http_x_api_key zone=r:1m rate=1r/s; server { limit_req zone=r; }`, "field", bare, Options{}, true},
		{`map $http_x_api_key $k { default $binary_remote_addr; } limit_req_zone $k zone=r:1m rate=1r/s; server { limit_req zone=r; }`, "field", bare, Options{}, true},
		{oneLimit, "field", bare, Options{}, false},
		{oneLimit + ` server { server_name b; }`, "host", bare, Options{}, true},
		{oneLimit + ` server { server_name b; }`, "host", bare, Options{Host: "b"}, false},
		{oneLimit, "host", bare, Options{}, false},
		{oneLimit + ` server { listen 81; server_name b; }`, "port", bare, Options{}, true},
		{oneLimit + ` server { listen 81; server_name b; }`, "port", with(bare, "server_port", "81"), Options{}, false},
		{oneLimit + ` server { listen 81; server_name b; }`, "port", bare, Options{Port: 81}, false},
		{`limit_conn_zone $binary_remote_addr zone=c:1m; server { limit_conn c 1; }`, "duration", bare, Options{}, true},
		{`limit_conn_zone $binary_remote_addr zone=c:1m; server { limit_conn c 1; }`, "duration", lasting(bare, 1), Options{}, false},
		{oneLimit, "band", coarseOf(bare), Options{}, true},
		{oneLimit, "band", bare, Options{}, false},
		{oneLimit, "path", accesslog.Record{Stamp: base, Grain: 1, Duration: -1, Addr: bare.Addr}, Options{}, true},
		{oneLimit, "address", accesslog.Record{Stamp: base, Grain: 1, Duration: -1, Request: bare.Request, Method: bare.Method, URI: bare.URI}, Options{}, true},
		{oneLimit, "garbage", accesslog.Record{Stamp: base, Grain: 1, Duration: -1, Request: []byte("x")}, Options{}, true},
	} {
		c.o.Config = written(t, c.http)
		got, found := replayed(t, c.o, logOf([]accesslog.Record{c.record})), false
		for _, n := range got.Notes {
			found = found || n.ID == c.id
		}
		if found != c.want {
			t.Errorf("%s: note %q: got %v, want %v: %+v", c.http, c.id, found, c.want, got.Notes)
		}
	}
}

// A zone that is too small is said to be: its limits are not what they seem.
func TestCrowdedZones(t *testing.T) {
	var records []accesslog.Record
	for i := range 4000 {
		records = append(records, get(int64(i/100), fmt.Sprintf("10.0.%d.%d", i/250, i%250), "/"))
	}
	for zone, want := range map[string]string{"r:32k": "gave way to others", "r:32k overflow=reject": "for want of room are among", "r:1m": ""} {
		got := ""
		for _, n := range replayed(t, of(t, `limit_req_zone $binary_remote_addr rate=1r/m zone=`+zone+`; server { limit_req zone=r; }`), logOf(records)).Notes {
			if n.ID == "zone" {
				got = n.Text
			}
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", zone, got, want)
		}
	}
}

// The server is that of the host and the port, as far as the log tells.
func TestServers(t *testing.T) {
	http := `limit_req_zone $server_port$scheme zone=r:1m rate=1r/h;
		server { listen 80; server_name example.org; return 301 https://$host; }
		server { listen 443 ssl; server_name example.org; ssl_certificate c; ssl_certificate_key k; limit_req zone=r; }
		server { listen 8080; server_name other; limit_req zone=r; }`
	r := get(0, "192.0.2.1", "/")
	other := r
	other.Host = []byte("Other.:99")
	absolute, encrypted := get(0, "192.0.2.1", "http://other:80/x"), get(0, "192.0.2.1", "https://example.org:443/x")
	absolute.Host, encrypted.Host = nil, nil
	for _, c := range []struct {
		name   string
		record accesslog.Record
		port   int
		want   string // the key; "": no limit
	}{
		{"not told", r, 0, "443https"},
		{"told", with(r, "server_port", "80"), 0, ""},
		{"told to be encrypted", with(r, "scheme", "https"), 0, "443https"},
		{"given", r, 80, ""},
		{"told, whatever is given", with(r, "server_port", "443"), 80, "443https"},
		{"another name", other, 0, "8080http"},
		{"in the target", absolute, 0, "8080http"},
		{"in the target, encrypted", encrypted, 0, "443https"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := of(t, http)
			o.Port = c.port
			got := replayed(t, o, logOf([]accesslog.Record{c.record, c.record}))
			key := ""
			if len(got.Zones[0].Keys) > 0 {
				key = got.Zones[0].Keys[0].Text
			}
			if key != c.want {
				t.Errorf("got %q, want %q", key, c.want)
			}
		})
	}
}

// Another configuration is compared request by request.
func TestAgainst(t *testing.T) {
	o := of(t, `limit_req_zone $binary_remote_addr zone=old:1m rate=1r/s; server { server_name s; location / { limit_req zone=old; } location /free { } }`)
	other := written(t, `limit_req_zone $binary_remote_addr zone=new:1m rate=1r/s;
server { server_name s; location / { } location /free { limit_req zone=new; } }`)
	o.Against = &other
	records := append(burst(3, 0, "192.0.2.1", "/"), burst(4, 0, "192.0.2.9", "/free")...)
	got := replayed(t, o, logOf(records)).Changes
	if got.NewRefused != (Band{3, 3}) || got.NewPassed != (Band{2, 2}) {
		t.Errorf("got %+v", got)
	}
	refused, let := got.Refused[0], got.Passed[0]
	if refused.Zone != "new" || refused.Location != "/free" || refused.Line != 4 || refused.Keys[0].Text != "192.0.2.9" || refused.Keys[0].N != 3 {
		t.Errorf("newly refused: got %+v", refused)
	}
	if let.Zone != "old" || let.Location != "/" || let.Keys[0].Text != "192.0.2.1" || let.Keys[0].N != 2 {
		t.Errorf("newly let through: got %+v", let)
	}
}

// A replay that is interrupted, or whose log breaks, reports on what it has.
func TestPartial(t *testing.T) {
	r, err := Open(of(t, oneLimit))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	log := logOf(burst(100, 0, "192.0.2.1", "/"))
	out, err := r.Run(ctx, log, func(p Progress) {
		if p.Records >= 50 {
			stop()
		}
	})
	if err != nil || !out.Partial || out.Requests != 56 {
		t.Errorf("interrupted: got %d requests, partial %v, %v", out.Requests, out.Partial, err)
	}
	broken := errors.New("broken")
	log = logOf(burst(10, 0, "192.0.2.1", "/"))
	log.err = broken
	if r, err = Open(of(t, oneLimit)); err != nil {
		t.Fatal(err)
	}
	out, err = r.Run(context.Background(), log, nil)
	if !errors.Is(err, broken) || out == nil || out.Requests != 10 || !out.Partial {
		t.Errorf("broken: got %+v, %v", out, err)
	}
}

// An empty log is no fault.
func TestNothing(t *testing.T) {
	got := replayed(t, of(t, oneLimit), logOf(nil))
	if got.Answer != "the log has no requests to decide on" || got.Requests != 0 {
		t.Errorf("got %q of %d", got.Answer, got.Requests)
	}
}

// The short way of requests that one limit decides on changes no number: a configuration that asks for the time has each go its
// whole way.
func TestTicketsChangeNothing(t *testing.T) {
	racing.Alone(t)
	r := rand.New(rand.NewPCG(9, 10))
	for _, coarse := range []bool{false, true} {
		var records []accesslog.Record
		for i := range 3000 {
			rec := get(int64(i*20), fmt.Sprintf("192.0.2.%d", r.IntN(9)), []string{"/", "/b", "/two", "/free", "/dry"}[r.IntN(5)])
			if i%3 == 0 {
				rec = lasting(rec, r.Int64N(3000))
			}
			if coarse {
				rec = coarseOf(rec)
			}
			records = append(records, rec)
		}
		for _, pages := range []string{"", "error_page 503 /free;"} {
			http := `limit_req_zone $binary_remote_addr zone=a:1m rate=2r/s; limit_req_zone $uri zone=b:1m rate=9r/s; ` + pages + `
				server { location / { limit_req zone=a burst=3; } location /b { limit_req zone=b; } location /two { limit_req zone=a; limit_req zone=b burst=9; }
				location /free { } location /dry { limit_req zone=a; limit_req_dry_run on; } }`
			short, whole := of(t, http), of(t, `map $msec $never { default 1; } `+http)
			for o, timely := range map[*Options]bool{&short: false, &whole: true} {
				if r, err := Open(*o); err != nil || r.plan.configs[0].first.Timely() != timely {
					t.Fatalf("asks for the time: want %v, %v", timely, err)
				}
			}
			other := written(t, strings.ReplaceAll(http, "2r/s", "1r/s"))
			short.Against, whole.Against = &other, &other
			got, want := replayed(t, short, logOf(records)), replayed(t, whole, logOf(records))
			want.Config = got.Config
			for i := range want.Locations {
				want.Locations[i].File = got.Locations[i].File
			}
			for _, list := range [][]Change{want.Changes.Passed} {
				for i := range list {
					list[i].File = got.Changes.Passed[i].File
				}
			}
			if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Series{})); d != "" {
				t.Errorf("coarse %v, %s: %s", coarse, pages, d)
			}
			if got.Total.Rejected.Max == 0 || got.Total.Delayed.Max == 0 || got.Total.DryRejected.Max == 0 {
				t.Errorf("nothing to see: %+v", got.Total)
			}
		}
	}
}
