package simulate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/racing"
)

// short is an answer in one line: status, verdict, delay, limit.
func short(a told) string {
	limit := "-"
	if a.Limit != nil {
		limit = *a.Limit
	}
	s := fmt.Sprintf("%d %s %v %s", a.Status, a.Verdict, a.DelayMS, limit)
	if a.DryRun != "" {
		s += " dry:" + a.DryRun
	}
	return s
}

func shorts(list []told) (out []string) {
	for _, a := range list {
		out = append(out, short(a))
	}
	return out
}

// at makes an event of an instant, a path and more fields.
func at(ms float64, uri string, more ...string) string {
	return fmt.Sprintf(`{"at_ms":%v,"remote_addr":"192.0.2.1","uri":%q%s}`, ms, uri, strings.Join(append([]string{""}, more...), ",")) + "\n"
}

func check(t *testing.T, http string, events, want []string) {
	t.Helper()
	got := shorts(tell(t, open(t, http, ""), strings.Join(events, "")))
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("event %d: got %q, want %q", i, got, want)
		}
	}
}

const twoKinds = `limit_req_zone $binary_remote_addr zone=r:1m rate=1r/s; limit_conn_zone $binary_remote_addr zone=c:1m;
	limit_req_status 429; `

// The status is what the client would get, wherever in the walk it is decided.
func TestStatus(t *testing.T) {
	check(t, twoKinds+`server { limit_req zone=r; error_page 429 = /busy; error_page 403 /denied;
		location / { } location /return { return 418; } location /text { return 201 "text"; } location /gone { return 444; }
		location /busy { limit_req_status 500; return 202; } location /deny { deny all; limit_req zone=r burst=9 nodelay; } location /denied { }
		location /slash/ { proxy_pass http://nowhere.invalid; } location /moved { return 301 /x; } location /small { client_max_body_size 1; }
		location /dry { limit_req_dry_run on; } location /off { error_page 429 /missing; } }`,
		[]string{
			at(0, "/"), at(1, "/"), at(2, "/return"), at(3, "/text"), at(4, "/gone"), at(5, "/deny"), at(6, "/slash"), at(7, "/moved"),
			at(8, "/small", `"headers":{"Content-Length":"2"}`), at(9, "/dry"), at(10, "/off"), at(11, "bad"), at(12, "/", `"method":"g"`),
		},
		[]string{
			"200 pass 0 -", "202 reject 0 r", "418 pass 0 -", "201 pass 0 -", "444 pass 0 -", "403 pass 0 -", "301 pass 0 -", "301 pass 0 -",
			"413 pass 0 -", "200 pass 0 r dry:reject", "429 reject 0 r", "400 pass 0 -", "400 pass 0 -",
		})
}

// Rewriting, if, passwords and try_files act as in the gateway: they decide which limits a request meets, and when.
func TestWaysInside(t *testing.T) {
	check(t, twoKinds+`limit_req_zone $binary_remote_addr zone=s:1m rate=1r/s; server { root /nowhere; rewrite ^/old /new;
		location /new { limit_req zone=r; } location /ret { limit_req zone=r; if ($arg_v) { return 403; } }
		location /rw { limit_req zone=s; rewrite ^ /new last; } location /try { try_files $uri @app; } location @app { limit_req zone=s; }
		location /if { limit_req zone=s burst=9 nodelay; if ($arg_v = 1) { limit_rate 1k; } } location /in { internal; } location /auth { limit_req zone=r; auth_basic x; auth_basic_user_file none; }
		location /post { limit_except GET { deny all; } } location /cycle { rewrite ^ /cycle; } }`,
		[]string{
			at(0, "/old"), at(1, "/old"), at(2, "/rw"), at(3, "/ret?v=1"), at(4, "/try/x"), at(5, "/try/x"), at(6, "/if?v=1"), at(7, "/in"), at(8, "/auth"),
			at(2000, "/auth"), at(2001, "/post", `"method":"POST"`), at(2002, "/post"), at(2003, "/cycle"),
		},
		[]string{
			"200 pass 0 -", "429 reject 0 r", "429 reject 0 r", "403 pass 0 -", "200 pass 0 -", "429 reject 0 s", "200 pass 0 -", "404 pass 0 -", "429 reject 0 r",
			"401 pass 0 -", "403 pass 0 -", "200 pass 0 -", "500 pass 0 -",
		})
}

// A place is taken when the delay is over, in the order of time, and answers stay in the order of events.
func TestPlacesAreTakenAfterTheDelay(t *testing.T) {
	http := twoKinds + `server { location / { limit_req zone=r burst=5; limit_conn c 1; } location /conn { limit_conn c 1; } location /req { limit_req zone=r burst=9 nodelay; } }`
	stay := func(ms int) string { return fmt.Sprintf(`"duration_ms":%d`, ms) }
	check(t, http,
		[]string{at(0, "/", stay(900)), at(0, "/", stay(100)), at(950, "/conn", stay(100)), at(1040, "/conn"), at(1050, "/conn")},
		// The second one wants its place at 1000, when the third has it.
		[]string{"200 pass 0 -", "503 reject 1000 c", "200 pass 0 -", "503 reject 0 c", "200 pass 0 -"})
	check(t, http, // at one instant: places back, then those that waited, then new ones
		[]string{at(0, "/", stay(1000)), at(0, "/", stay(10)), at(1000, "/conn"), at(1010, "/conn")},
		[]string{"200 pass 0 -", "200 delay 1000 r", "503 reject 0 c", "200 pass 0 -"})
	check(t, http, // nothing comes behind: what waits is decided all the same
		[]string{at(0, "/", stay(5000)), at(0, "/"), at(0, "/req"), at(0, "/", stay(9))},
		[]string{"200 pass 0 -", "503 reject 1000 c", "200 pass 0 -", "503 reject 3000 c"})
	check(t, http, // no stay: gone before the next one, also in the same instant
		[]string{at(0, "/conn"), at(0, "/conn"), at(0, "/conn", stay(1)), at(0, "/conn")},
		[]string{"200 pass 0 -", "200 pass 0 -", "200 pass 0 -", "503 reject 0 c"})
}

// A request that was delayed and meets its first limit_conn behind an error page meets it when the delay is over, too.
func TestPlacesBehindARedirectAreTakenAfterTheDelay(t *testing.T) {
	http := twoKinds + `server { location / { limit_req zone=r burst=5; deny all; error_page 403 = /held; } location /held { limit_conn c 1; }
		location /conn { limit_conn c 1; } }`
	stay := func(ms int) string { return fmt.Sprintf(`"duration_ms":%d`, ms) }
	check(t, http,
		[]string{at(0, "/", stay(10)), at(0, "/", stay(100)), at(950, "/conn", stay(100)), at(1040, "/conn"), at(1050, "/conn")},
		[]string{"200 pass 0 -", "503 reject 1000 c", "200 pass 0 -", "503 reject 0 c", "200 pass 0 -"})
	check(t, http, // it holds its place from then on
		[]string{at(0, "/"), at(0, "/", stay(100)), at(500, "/conn"), at(999, "/conn"), at(1000, "/conn"), at(1099, "/conn"), at(1100, "/conn")},
		[]string{"200 pass 0 -", "200 delay 1000 r", "200 pass 0 -", "200 pass 0 -", "503 reject 0 c", "503 reject 0 c", "200 pass 0 -"})
}

// A request that is turned away behind limit_conn does not stay, whatever it says.
func TestWhoIsTurnedAwayDoesNotStay(t *testing.T) {
	stay := `"duration_ms":1000`
	check(t, twoKinds+`server { limit_conn c 1; location / { } location /deny { deny all; } }`,
		[]string{at(0, "/deny", stay), at(0, "/", stay), at(10, "/deny", stay), at(1000, "/")},
		[]string{"403 pass 0 -", "200 pass 0 -", "503 reject 0 c", "200 pass 0 -"})
}

// Answers that one holds back for hours cost a line each, and come in their order.
func TestAnswersBehindOneThatWaits(t *testing.T) {
	http := `limit_req_zone $http_x_key zone=r:1m rate=1r/h; limit_conn_zone $http_x_key zone=c:1m;
		server { limit_req zone=r burst=1; limit_conn c 1; }`
	s := open(t, http, "")
	events := at(0, "/", `"headers":{"X-Key":"k"}`) + at(0, "/", `"headers":{"X-Key":"k"}`)
	for i := range 5000 {
		events += at(float64(i), "/", fmt.Sprintf(`"id":%d`, i))
	}
	list := tell(t, s, events)
	if got := short(list[1]); got != "200 delay 3.6e+06 r" {
		t.Errorf("got %s, want a delay of an hour", got)
	}
	for i, a := range list[2:] {
		if a.ID != float64(i) {
			t.Fatalf("answer %d is that of %v", i, a.ID)
		}
	}
	if n := len(s.spare); n > 1 {
		t.Errorf("%d simulations were made for those that wait, want 1", n)
	}
}

// What goes on while time goes back: a line that is late moves nothing, a clock that was set carries on.
func TestTimeGoesBack(t *testing.T) {
	http := twoKinds + `server { location / { limit_conn c 1; } }`
	stay := `"duration_ms":1000`
	check(t, http,
		[]string{at(100_000, "/", stay), at(99_000, "/"), at(100_999, "/"), at(101_000, "/", stay), at(90_000, "/", stay), at(102_000, "/")},
		[]string{"200 pass 0 -", "503 reject 0 c", "503 reject 0 c", "200 pass 0 -", "503 reject 0 c", "200 pass 0 -"})
	check(t, http, // set back by an hour: the stay ends a second of the new time later
		[]string{at(4_000_000, "/", stay), at(400_000, "/"), at(400_999, "/"), at(401_000, "/")},
		[]string{"200 pass 0 -", "503 reject 0 c", "503 reject 0 c", "200 pass 0 -"})
}

func TestAServerIsFoundByItsName(t *testing.T) {
	http := `limit_req_zone $server_port$server_addr zone=r:1m rate=1r/s;
		server { listen 8080; return 201; } server { listen 8081; server_name b.example; return 202; }
		server { listen 127.0.0.2:8082; server_name *.c.example; limit_req zone=r; } server { listen 8080; server_name d.example; return 204; }`
	check(t, http,
		[]string{at(0, "/"), at(0, "/", `"host":"b.example:99"`), at(0, "/", `"host":"x.C.example"`), at(0, "/", `"headers":{"host":"d.example"}`), at(0, "/", `"host":"e"`)},
		[]string{"201 pass 0 -", "202 pass 0 -", "200 pass 0 -", "204 pass 0 -", "201 pass 0 -"})
}

func TestClientsBehindProxiesAreTold(t *testing.T) {
	check(t, twoKinds+`set_real_ip_from 192.0.2.0/24; real_ip_header X-Forwarded-For; server { limit_req zone=r; }`,
		[]string{at(0, "/", `"headers":{"X-Forwarded-For":"198.51.100.1"}`), at(0, "/", `"headers":{"X-Forwarded-For":["198.51.100.1","198.51.100.2"]}`), at(0, "/", `"headers":{"x-forwarded-for":"198.51.100.1"}`)},
		[]string{"200 pass 0 -", "200 pass 0 -", "429 reject 0 r"})
}

func TestArithmetic(t *testing.T) {
	zone := `limit_req_zone $binary_remote_addr zone=r:1m rate=1r/m; server { limit_req zone=r; }`
	events := at(0, "/") + at(60_000, "/") + at(62_500, "/")
	for _, c := range []struct{ http, option, want string }{
		{zone, "", "pass pass reject"}, {zone, "nginx", "pass reject pass"},
		{"limit_arithmetic nginx; " + zone, "", "pass reject pass"}, {"limit_arithmetic nginx; " + zone, "exact", "pass pass reject"},
	} {
		var got []string
		for _, a := range tell(t, open(t, c.http, c.option), events) {
			got = append(got, a.Verdict)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: got %v, want %s", c.option, got, c.want)
		}
	}
}

func TestLongKeysAreCountedAndEmptyOnesAreNot(t *testing.T) {
	key := func(n int) string { return fmt.Sprintf(`"headers":{"X-Key":%q}`, strings.Repeat("k", n)) }
	check(t, `limit_req_zone $http_x_key zone=r:1m rate=1r/s; server { limit_req zone=r; }`,
		[]string{at(0, "/", key(70_000)), at(0, "/", key(70_000)), at(0, "/", key(70_001)), at(0, "/", key(0)), at(0, "/", key(0)), at(0, "/")},
		[]string{"200 pass 0 -", "503 reject 0 r", "200 pass 0 -", "200 pass 0 -", "200 pass 0 -", "200 pass 0 -"})
}

func TestABadLineEndsIt(t *testing.T) {
	s := open(t, twoKinds+`server { limit_req zone=r burst=5; limit_conn c 5; }`, "")
	var out bytes.Buffer
	err := s.Run(strings.NewReader(at(0, "/")+"\n"+at(1, "/")+"{}\n"+at(2, "/")), &out)
	var bad *InputError
	if !errors.As(err, &bad) || bad.Line != 4 {
		t.Fatalf("got %v, want line 4", err)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d answers, want those of the 2 lines before it:\n%s", n, out.String())
	}
	out.Reset()
	err = s.Run(io.MultiReader(strings.NewReader(at(0, "/")), bytes.NewReader(make([]byte, maxLine+1))), &out)
	if !errors.As(err, &bad) || bad.Line != 2 || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("a line without end: got %v after %q", err, out.String())
	}
}

// TestAByteOrderMarkIsNoFault: before the first line, and there alone.
func TestAByteOrderMarkIsNoFault(t *testing.T) {
	s := open(t, twoKinds+`server { limit_req zone=r burst=5; limit_conn c 5; }`, "")
	var out bytes.Buffer
	if err := s.Run(strings.NewReader("\ufeff"+at(0, "/")), &out); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("got %v after %q", err, out.String())
	}
	var bad *InputError
	if err := s.Run(strings.NewReader(at(0, "/")+"\ufeff"+at(0, "/")), &out); !errors.As(err, &bad) || bad.Line != 2 {
		t.Errorf("got %v, want line 2", err)
	}
}

// Who asks line by line is answered line by line: nothing waits for a batch to be full.
func TestAnswersComeAtOnce(t *testing.T) {
	s := open(t, twoKinds+`server { limit_req zone=r burst=5; }`, "")
	events, ask := io.Pipe()
	answer, out := io.Pipe()
	done := make(chan error, 1)
	// owned by the test; ends with the input
	go func() { done <- s.Run(events, out) }()
	answers := bufio.NewScanner(answer)
	for i := range 3 * batchSize {
		if _, err := io.WriteString(ask, at(float64(i), "/", fmt.Sprintf(`"id":%d`, i))); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() || !strings.HasPrefix(answers.Text(), fmt.Sprintf(`{"id":%d,`, i)) {
			t.Fatalf("event %d: got %q", i, answers.Text())
		}
	}
	ask.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A reader of the answers who leaves ends it, and reading ahead with it.
func TestNobodyReadsTheAnswers(t *testing.T) {
	s := open(t, twoKinds+`server { limit_req zone=r burst=5; }`, "")
	answer, out := io.Pipe()
	answer.Close()
	if err := s.Run(&lines{[]byte(at(0, "/")), 1_000_000}, out); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
	}
}

// lines repeats events for ever.
type lines struct {
	text []byte
	left int
}

func (l *lines) Read(b []byte) (int, error) {
	if l.left == 0 {
		return 0, io.EOF
	}
	l.left--
	return copy(b, l.text), nil
}

// Memory stays flat: twice as many events leave no more garbage.
func TestEventsCostNoGarbage(t *testing.T) {
	if racing.Detector {
		t.Skip("garbage can't be counted under the race detector")
	}
	s := open(t, twoKinds+`server { server_name h; limit_req zone=r burst=3; limit_conn c 2; }`, "")
	var text strings.Builder
	for i := range 100 {
		text.WriteString(at(float64(i*7), "/a?b", `"host":"h"`, `"headers":{"User-Agent":"x","X-A":["b","c"]}`, `"duration_ms":30`, `"id":"q"`))
	}
	cost := func(rounds int) float64 {
		return testing.AllocsPerRun(3, func() {
			if err := s.Run(&lines{[]byte(text.String()), rounds}, io.Discard); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := cost(20), cost(200)
	if each := (many - few) / (180 * 100); each > 0.001 {
		t.Errorf("%.4f allocations an event, want none", each)
	}
}
