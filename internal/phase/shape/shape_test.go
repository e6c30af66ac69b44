package shape

import (
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// compile returns the shaper of the location / inside a server.
func compile(t testing.TB, directives string) *Handler {
	t.Helper()
	http, env := phasetest.Config(t, "add_header X-Outer o; server { location / { "+directives+" } }")
	h := NewSet().Compile(env, phasetest.Location(t, http, "/")).(*Handler)
	phasetest.Good(t, env)
	return h
}

func ask(t testing.TB, c *phasetest.Client) *request.Request {
	t.Helper()
	return phasetest.Request(t, "GET /p%0aX-Evil:%201?rate=2k HTTP/1.1\r\nHost: h\r\n\r\n", c, nil)
}

func TestAddHeader(t *testing.T) {
	for _, c := range []struct {
		name, directives string
		status           int
		want             string
	}{
		{"fixed and variable", `add_header X-A "b c"; add_header x-host $host;`, 200, "X-A: b c\nx-host: h\n"},
		{"inherited", "", 200, "X-Outer: o\n"},
		{"empty values are left out", `add_header X-A $arg_none; add_header X-B "";`, 200, ""},
		{"errors get only always", "add_header X-A a; add_header X-B b always;", 404, "X-B: b\n"},
		{"redirects get all", "add_header X-A a; add_header X-B b always;", 307, "X-A: a\nX-B: b\n"},
		{"other good statuses don't", "add_header X-A a;", 202, ""},
		{"a value is one line", "add_header X-A $uri;", 200, "X-A: /p X-Evil: 1\n"},
		{"twice", "add_header X-A 1; add_header X-A 2;", 200, "X-A: 1\nX-A: 2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := compile(t, c.directives)
			client := &phasetest.Client{}
			r := ask(t, client)
			r.Shaper, r.Response.Status = h, c.status
			if err := r.SendHead(); err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(client.Head(), "\n")
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAddHeaderReplacesWhatIsThereOnce(t *testing.T) {
	h := compile(t, `add_header Last-Modified "";  add_header etag '"mine"';`)
	client := &phasetest.Client{}
	r := ask(t, client)
	r.Shaper, r.Response.Status = h, 200
	for _, f := range []string{"Last-Modified", "X-A", "ETag"} {
		r.AddHeader([]byte(f), []byte("theirs"))
	}
	if err := r.SendHead(); err != nil {
		t.Fatal(err)
	}
	if got, want := client.Head(), "200 \nX-A: theirs\netag: \"mine\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// slow sends a body on virtual time and returns how long it took, and the client.
func slow(t *testing.T, h *Handler, body int, set func(r *request.Request)) (time.Duration, *phasetest.Client) {
	t.Helper()
	now := limitgate.Time(time.Hour)
	h.now = func() limitgate.Time { return now }
	client := &phasetest.Client{Slept: func(d time.Duration) bool {
		now = now.Add(d)
		return true
	}}
	r := ask(t, client)
	r.Shaper, r.Response.Status = h, 200
	set(r)
	start := now
	for body > 0 {
		n := min(body, 4096)
		if err := r.SendBody([]byte(strings.Repeat("x", n))); err != nil {
			t.Fatal(err)
		}
		body -= n
	}
	return now.Sub(start), client
}

func TestLimitRate(t *testing.T) {
	none := func(*request.Request) {}
	for _, c := range []struct {
		name, directives string
		set              func(r *request.Request)
		want             time.Duration
	}{
		{"without", "", none, 0},
		{"fixed", "limit_rate 10k;", none, 10 * time.Second},
		{"after", "limit_rate 10k; limit_rate_after 52400;", none, 4883 * time.Millisecond},
		{"a variable", "limit_rate $arg_rate;", none, 50 * time.Second},
		{"a variable that is no number", "limit_rate $host;", none, 0},
		{"after by a variable", "limit_rate 10k; limit_rate_after $arg_rate;", none, 9800 * time.Millisecond},
		{"the request's own rate wins", "limit_rate 10k;", func(r *request.Request) { r.LimitRate = request.RateSetting{Set: true, BytesPerSec: 20480} }, 5 * time.Second},
		{"and without any other", "", func(r *request.Request) { r.LimitRate = request.RateSetting{Set: true, BytesPerSec: 20480} }, 5 * time.Second},
		{"also when it is none", "limit_rate 10k;", func(r *request.Request) { r.LimitRate = request.RateSetting{Set: true} }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, client := slow(t, compile(t, c.directives), 102400, c.set)
			if got < c.want-80*time.Millisecond || got > c.want+40*time.Millisecond {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if len(client.Body()) != 102400 {
				t.Errorf("got %d bytes, want 102400", len(client.Body()))
			}
		})
	}
}

func TestAClientThatLeavesEndsTheWait(t *testing.T) {
	h := compile(t, "limit_rate 10;")
	client := &phasetest.Client{Slept: func(time.Duration) bool { return false }}
	r := ask(t, client)
	r.Shaper = h
	if err := r.SendBody([]byte("0123456789")); err != ErrLeft {
		t.Errorf("got %v, want ErrLeft", err)
	}
	if client.Body() != "0" {
		t.Errorf("got %q, want what was allowed", client.Body())
	}
}

func TestSendingFails(t *testing.T) {
	h := compile(t, "limit_rate 1k;")
	r := ask(t, &phasetest.Client{Fail: true})
	r.Shaper = h
	if err := r.SendBody([]byte("x")); err != phasetest.ErrGone {
		t.Errorf("got %v, want the stream's error", err)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ directives, want string }{
		{"limit_rate x;", `"limit_rate" directive invalid value`},
		{"add_header X $nonesuch;", `unknown "nonesuch" variable`},
		{"add_header X a sometimes;", `invalid parameter "sometimes"`},
	} {
		http, env := phasetest.Config(t, "server { location / { "+c.directives+" } }")
		NewSet().Compile(env, phasetest.Location(t, http, "/"))
		list := env.Errors.List()
		if len(list) != 1 || list[0].Msg != c.want {
			t.Errorf("%s: got %v, want %q", c.directives, list, c.want)
		}
	}
}

func TestShapingAllocatesNothing(t *testing.T) {
	h := compile(t, "limit_rate 100m; add_header X-Host $host; add_header X-A b;")
	client := &phasetest.Client{Slept: func(time.Duration) bool { return true }}
	r := ask(t, client)
	r.Shaper = h
	body := make([]byte, 1000)
	n := testing.AllocsPerRun(100, func() {
		client.Recycle()
		host, headers := r.Host, r.Headers
		r.Reset()
		r.Host, r.Headers, r.Shaper, r.Response.Status = host, headers, h, 200
		if r.SendHead() != nil || r.SendBody(body) != nil {
			t.Fatal("sending failed")
		}
	})
	if n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
