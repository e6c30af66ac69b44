package match

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/internal/request"
)

// names compiles one server for each list of names; the server of index fallback is the default one.
func names(t testing.TB, fallback int, lists ...string) (*Names, *phase.Env) {
	t.Helper()
	var text strings.Builder
	for _, list := range lists {
		if list != "" {
			list = "server_name " + list + ";"
		}
		fmt.Fprintf(&text, "server { %s }\n", list)
	}
	http, env := phasetest.Config(t, text.String())
	env.Vars.Define(http, env.Errors)
	var hosts []Host
	for i, s := range http.Children {
		hosts = append(hosts, Host{Server: i, Names: CompileNames(env, s)})
	}
	return NewNames(env, "0.0.0.0:80", hosts, fallback), env
}

func find(n *Names, host string) (int, *request.Request) {
	r := &request.Request{Host: []byte(host)}
	return n.Find(r), r
}

func TestFind(t *testing.T) {
	n, env := names(t, 1,
		`example.org www.example.org`,           // 0
		`""`,                                    // 1, the default server
		`*.example.org`,                         // 2
		`*.deep.example.org`,                    // 3
		`.dot.net`,                              // 4
		`mail.* www.example.*`,                  // 5
		`~^u\d+\.example\.com$ Big.Example.COM`, // 6
		`~^(?<sub>[a-z]+)\.(example)\.com$`,     // 7
		`~CAPITAL`,                              // 8
		`www.example.org.*`,                     // 9
	)
	phasetest.Good(t, env)
	cases := map[string]int{
		"example.org":           0,
		"www.example.org":       0,
		"":                      1,
		"unknown":               1,
		"org":                   1,
		"a.example.org":         2,
		"b.a.example.org":       2,
		"deep.example.org":      2,
		"x.deep.example.org":    3,
		"y.x.deep.example.org":  3,
		"dot.net":               4,
		"a.dot.net":             4,
		"b.a.dot.net":           4,
		"adot.net":              1,
		"mail.net":              5,
		"mail.a.net":            5,
		"mail":                  1,
		"www.example.net":       5,
		"www.example":           1,
		"www.example.com":       5, // before any expression
		"mail.example.org":      2, // the beginning of a name may be anything before its end may
		"u1.example.com":        6,
		"big.example.com":       6,
		"u.example.com":         7,
		"xcapitalx":             8,
		"www.example.org.hk":    9, // longer than www.example.*
		"www.example.org.co.uk": 9,
	}
	for host, want := range cases {
		if got, _ := find(n, host); got != want {
			t.Errorf("%q: got server %d, want %d", host, got, want)
		}
	}
	_, r := find(n, "abc.example.com")
	if len(r.Captures) != 3 || string(r.Captures[1]) != "abc" || string(r.Captures[2]) != "example" {
		t.Errorf("captures of the host: got %q", r.Captures)
	}
}

func TestHostName(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	n, _ := names(t, 0, "a", "$hostname")
	if got, _ := find(n, strings.ToLower(host)); got != 1 {
		t.Errorf("got server %d, want 1", got)
	}
}

func TestConflicts(t *testing.T) {
	cases := map[string]struct {
		lists []string
		want  []string       // warnings
		find  map[string]int // what hosts lead to all the same
	}{
		"alone":           {[]string{"a a *.b *.b"}, nil, nil},
		"exact":           {[]string{"a", "a", "b"}, []string{`conflicting server name "a" on 0.0.0.0:80, ignored`}, map[string]int{"a": 0, "b": 2}},
		"in one server":   {[]string{"a a", "b"}, []string{`conflicting server name "a" on 0.0.0.0:80, ignored`}, nil},
		"wildcards":       {[]string{"*.a a.*", "*.a a.*"}, []string{`conflicting server name "*.a" on 0.0.0.0:80, ignored`, `conflicting server name "a.*" on 0.0.0.0:80, ignored`}, nil},
		"dot and exact":   {[]string{".a", "a"}, []string{`conflicting server name "a" on 0.0.0.0:80, ignored`}, map[string]int{"a": 0, "x.a": 0}},
		"exact and dot":   {[]string{"b", "a", ".a"}, []string{`conflicting server name ".a" on 0.0.0.0:80, ignored`}, map[string]int{"a": 1, "x.a": 0}},
		"star and dot":    {[]string{"b", "*.a", ".a"}, []string{`conflicting server name ".a" on 0.0.0.0:80, ignored`}, map[string]int{"a": 0, "x.a": 1}},
		"no name twice":   {[]string{"", `""`}, []string{`conflicting server name "" on 0.0.0.0:80, ignored`}, map[string]int{"": 0}},
		"no name and one": {[]string{"", "a"}, nil, map[string]int{"": 0, "a": 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n, env := names(t, 0, c.lists...)
			phasetest.Good(t, env)
			var got []string
			for _, note := range env.Errors.Notices() {
				got = append(got, note.Msg)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("warnings: got %q, want %q", got, c.want)
			}
			for host, want := range c.find {
				if got, _ := find(n, host); got != want {
					t.Errorf("%q: got server %d, want %d", host, got, want)
				}
			}
		})
	}
}

func TestBadNames(t *testing.T) {
	for _, bad := range []string{"a*b.c", "www.*.com", "*.a.*", "a..b", "a.b*"} {
		_, env := names(t, 0, "x", bad)
		var got []string
		for _, e := range env.Errors.List() {
			got = append(got, e.Msg)
		}
		if want := `invalid server name or wildcard "` + bad + `" on 0.0.0.0:80`; !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %s", bad, got, want)
		}
	}
}

func TestServerNameOfTheLog(t *testing.T) {
	for list, want := range map[string]string{"": "", "A.B c": "a.b", ".a.b": "a.b", "*.a.b": "*.a.b", "~^x": "~^x"} {
		if list != "" {
			list = "server_name " + list + ";"
		}
		http, env := phasetest.Config(t, "server { "+list+" }")
		if got := CompileNames(env, http.Children[0])[0].String(); got != want {
			t.Errorf("%q: got %q, want %q", list, got, want)
		}
	}
}

func TestFindMakesNoGarbage(t *testing.T) {
	if racing.Detector {
		t.Skip("expressions take memory from a pool, which forgets under the race detector")
	}
	n, _ := names(t, 0, "a.example.org", "*.example.com", "www.*", `~^x\d+$`)
	r := &request.Request{}
	for _, host := range []string{"a.example.org", "b.c.example.com", "www.x.y", "x12", "none"} {
		r.Host = []byte(host)
		if got := testing.AllocsPerRun(100, func() { n.Find(r) }); got != 0 {
			t.Errorf("%s: %v allocations, want 0", host, got)
		}
	}
}
