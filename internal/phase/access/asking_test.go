package access

import (
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// service is an Asker whose subrequests have their answers already.
type service struct {
	answer func(sub *request.Request)
	asked  int
	parted int
}

func (s *service) Ask(r *request.Request, path []byte) *request.Request {
	s.asked++
	sub := &request.Request{Stream: r.Stream}
	sub.Reset()
	r.Branch(sub, path)
	s.answer(sub)
	return sub
}

func (s *service) Part(r, sub *request.Request) {
	s.parted++
	r.Join(sub)
}

// says makes an answer with header fields, "Name: value".
func says(status int, fields ...string) func(*request.Request) {
	return func(sub *request.Request) {
		sub.Response.Status = status
		for _, f := range fields {
			name, value, _ := strings.Cut(f, ": ")
			sub.AddHeader(sub.Keep([]byte(name)), sub.Keep([]byte(value)))
		}
	}
}

func TestAsking(t *testing.T) {
	const both = "satisfy any; auth_basic r; auth_basic_user_file /dev/null; auth_request /a;"
	limits := []string{"Retry-After: 7", "ratelimit: x", "RateLimit-Policy: y", "X-RateLimit-Reset: 1", "X-Rate: no", "WWW-Authenticate: no"}
	cases := map[string]struct {
		rules  string
		answer func(*request.Request)
		status int      // 0: the request goes on
		fields []string // names of what it leaves in the answer
		log    string
		silent bool
	}{
		"2xx":                          {rules: "auth_request /a;", answer: says(299)},
		"off":                          {rules: "auth_request off;", answer: says(403)},
		"403":                          {rules: "auth_request /a;", answer: says(403, "WWW-Authenticate: Bearer"), status: 403},
		"401 and what it asks for":     {rules: "auth_request /a;", answer: says(401, "WWW-Authenticate: Basic", "WWW-Authenticate: Bearer", "X: y"), status: 401, fields: []string{"WWW-Authenticate", "WWW-Authenticate"}},
		"429 and what it says":         {rules: "auth_request /a;", answer: says(429, limits...), status: 429, fields: []string{"Retry-After", "ratelimit", "RateLimit-Policy", "X-RateLimit-Reset"}},
		"429 where any is enough":      {rules: "satisfy any; deny all; auth_request /a;", answer: says(429), status: 429},
		"503":                          {rules: "auth_request /a;", answer: says(503, "Retry-After: 7"), status: 500, log: "error: auth request unexpected status: 503\n"},
		"3xx":                          {rules: "auth_request /a;", answer: says(302), status: 500, log: "error: auth request unexpected status: 302\n"},
		"any: a password is not asked": {rules: both, answer: says(204), log: "info: no user/password was provided for basic authentication\n"},
		"any: neither": {rules: both, answer: says(403), status: 401, fields: []string{"WWW-Authenticate"},
			log: "info: no user/password was provided for basic authentication\n"},
		"all: the address refuses first": {rules: "deny all; auth_request /a;", answer: says(204), status: 403, log: "error: access forbidden by rule\n"},
		"silence":                        {rules: "auth_request /a;", answer: func(sub *request.Request) { sub.Leave(444) }, status: 444, silent: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			http, env := phasetest.Config(t, "server { location / { "+c.rules+" } }")
			s := &service{answer: c.answer}
			h := Compile(env, phasetest.Location(t, http, "/"), s)
			phasetest.Good(t, env)
			var log phasetest.Log
			r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, &log)
			next := phase.Continue
			if h != nil {
				next = h.Serve(r)
			}
			want := phase.Fail
			switch {
			case c.silent:
				want = phase.Done
			case c.status == 0:
				want = phase.Continue
			}
			if next != want || c.status != 0 && r.Response.Status != c.status || r.Response.Silent != c.silent {
				t.Errorf("got %v, status %d, silent %v", next, r.Response.Status, r.Response.Silent)
			}
			var fields []string
			for _, f := range r.Response.Headers {
				fields = append(fields, string(f.Name))
			}
			if strings.Join(fields, " ") != strings.Join(c.fields, " ") {
				t.Errorf("fields: got %q, want %q", fields, c.fields)
			}
			if got := log.Messages(); got != c.log {
				t.Errorf("log: got %q, want %q", got, c.log)
			}
			if s.asked != s.parted {
				t.Errorf("asked %d times, parted %d", s.asked, s.parted)
			}
		})
	}
}

// What only wants to know what the limits say has nobody to ask, and a subrequest is not checked.
func TestNobodyAsks(t *testing.T) {
	http, env := phasetest.Config(t, "server { location / { auth_request /a; deny all; } location /r { auth_request /a; } }")
	s := &service{answer: says(403)}
	r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, nil)
	r.Main = []byte("GET")
	if next := Compile(env, phasetest.Location(t, http, "/"), s).Serve(r); next != phase.Continue {
		t.Errorf("a subrequest: got %v", next)
	}
	r.Main, r.Report = nil, &request.Report{}
	if next := Compile(env, phasetest.Location(t, http, "/r"), s).Serve(r); next != phase.Continue || s.asked != 0 {
		t.Errorf("a request with a report: got %v, asked %d times", next, s.asked)
	}
	phasetest.Good(t, env)
}
