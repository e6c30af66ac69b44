package vars

import (
	"bytes"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/errorlog"
)

const maps = `
map $args $x { default 0; foo bar; FOO2 bar2; "" empty; }
map $args $y {
    hostnames;
    default 0;
    example.com foo;
    example.* right;
    *.example.com left;
    *.deep.example.com deeper;
    .dot.example.com special;
    ~^REGEX.EXAMPLE\.ORG$ sensitive;
    ~*^www.regex.example\.org$ insensitive;
    ~^/u/(?<name>[a-z]+)/(\d+) "$name:$2:$1";
    \include include;
    \~tilde tilde;
    server $server_name;
    nested $z;
}
map $args $z { nested $x-deep; include more.conf; }
map $args $cycle_a { default $cycle_b; }
map $args $cycle_b { default "<$cycle_a>"; }
map "$args-$host" $joined { "foo-example.com" both; }
map $args $live { volatile; default $arg_n; }
map $args $kept { default $arg_n; }
server { set $plain x; location ~ ^/(?<part>.) { set $other $part; } }
`

func TestMap(t *testing.T) {
	table, errs := define(t, maps, "more.conf", "foo more;\n")
	good(t, errs)
	for _, c := range []struct{ args, name, want string }{
		{"1", "x", "0"}, {"foo", "x", "bar"}, {"FoO", "x", "bar"}, {"foo2", "x", "bar2"}, {"", "x", "empty"},
		{"example.com", "y", "foo"}, {"EXAMPLE.COM", "y", "foo"}, {"example.com.", "y", "foo"}, {"example.org", "y", "right"},
		{"example.org.uk", "y", "right"}, {"example.", "y", "0"}, {"example..", "y", "right"}, {"foo.example.com", "y", "left"},
		{"foo.example.com.", "y", "left"}, {".example.com", "y", "left"}, {"a.b.example.com", "y", "left"},
		{"a.deep.example.com", "y", "deeper"}, {"deep.example.com", "y", "left"}, {"dot.example.com", "y", "special"},
		{"www.dot.example.com", "y", "special"}, {"REGEX.EXAMPLE.ORG", "y", "sensitive"}, {"regex.example.org", "y", "0"},
		{"WWW.regex.example.org", "y", "insensitive"}, {"/u/bob/12/", "y", "bob:12:bob"}, {"include", "y", "include"},
		{"~tilde", "y", "tilde"}, {"server", "y", "first.example"}, {"nested", "y", "0-deep"}, {"foo", "z", "more"}, {"none", "z", ""},
		{"foo", "joined", "both"}, {"x", "joined", ""}, {"", "y", "0"},
	} {
		r := sample()
		r.Args = []byte(c.args)
		if got := value(t, table, r, c.name); got != c.want {
			t.Errorf("$%s of %q: got %q, want %q", c.name, c.args, got, c.want)
		}
		if got := value(t, table, r, c.name); got != c.want {
			t.Errorf("$%s of %q, asked again: got %q, want %q", c.name, c.args, got, c.want)
		}
	}
}

func TestMapKeepsItsValueUnlessVolatile(t *testing.T) {
	table, errs := define(t, maps, "more.conf", "")
	good(t, errs)
	r := sample()
	for _, n := range []string{"1", "2"} {
		r.Args = []byte("n=" + n)
		if got := value(t, table, r, "live"); got != n {
			t.Errorf("volatile: got %q, want %q", got, n)
		}
		if got := value(t, table, r, "kept"); got != "1" {
			t.Errorf("kept: got %q, want 1", got)
		}
	}
	r.Reset()
	r.Args = []byte("n=3")
	if got := value(t, table, r, "kept"); got != "3" {
		t.Errorf("kept, next request: got %q, want 3", got)
	}
}

func TestCyclesAndUninitialized(t *testing.T) {
	table, errs := define(t, maps, "more.conf", "")
	good(t, errs)
	var log bytes.Buffer
	r := sample()
	r.Settings.ErrorLog = errorlog.New(errorlog.Sink{Writer: &log, Level: errorlog.Warn})
	if got := value(t, table, r, "cycle_b"); got != "<>" {
		t.Errorf("cycle: got %q, want <>", got)
	}
	if want := `cycle while evaluating variable "cycle_b", client: 203.0.113.9`; !strings.Contains(log.String(), want) {
		t.Errorf("log: got %q, want %q in it", log.String(), want)
	}
	log.Reset()
	for range 2 {
		if got := value(t, table, r, "plain"); got != "" {
			t.Errorf("unset: got %q", got)
		}
	}
	if got := strings.Count(log.String(), `using uninitialized "plain" variable`); got != 1 {
		t.Errorf("uninitialized: got %d messages, want 1", got)
	}
	if got := value(t, table, r, "part"); got != "<none>" {
		t.Errorf("a group before its match: got %q", got)
	}
}

func TestMapFaults(t *testing.T) {
	for _, c := range []struct{ http, want string }{
		{"map $uri $x { a 1; A 2; }", `conflicting parameter "a" in `},
		{"map $uri $x { hostnames; .a.b 1; a.b 2; }", `conflicting parameter "a.b" in `},
		{"map $uri $x { hostnames; *.a.b 1; .a.b 2; }", `conflicting parameter ".a.b" in `},
		{"map $uri $x { hostnames; a*b 1; }", `invalid hostname or wildcard "a*b" in `},
		{"map $uri $x { hostnames; a..b 1; }", `invalid hostname or wildcard "a..b" in `},
		{"map $uri $x { default 1; default 2; }", "duplicate default map parameter in "},
		{"map $uri $x { a; }", "invalid number of the map parameters in "},
		{"map $uri $x { a $nosuch; }", `unknown "nosuch" variable`},
		{"map $nosuch $x { a b; }", `unknown "nosuch" variable`},
		{"map $uri x { a b; }", `invalid variable name "x" in `},
		{"map $uri $uri { a b; }", `the duplicate "uri" variable in `},
		{"map $uri $x { a $; }", `invalid variable name in `},
		{"map $uri $x { ~(?<uri>a) b; }", `the duplicate "uri" variable in `},
		{"server { set x 1; }", `invalid variable name "x" in `},
		{"server { set $uri 1; }", `the duplicate "uri" variable in `},
		{"geo $nosuch $x { }", `unknown "nosuch" variable`},
		{"geo $x { 10.0.0.0/33 a; }", `invalid network "10.0.0.0/33" in `},
		{"geo $x { ranges; 10.0.0.0-10.0.0.9 a; 10.0.0.5-10.0.0.12 b; }", `range "10.0.0.5-10.0.0.12" overlaps "10.0.0.0-10.0.0.9" in `},
		{"geo $x { ranges; 10.0.0.9-10.0.0.0 a; }", `invalid range "10.0.0.9-10.0.0.0" in `},
		{"geo $x { 10.0.0.0 a; ranges; }", `the "ranges" directive must be the first directive inside "geo" block in `},
		{"geo $x { a b c; }", "invalid number of the geo parameters in "},
	} {
		_, errs := define(t, c.http)
		list := errs.List()
		if len(list) == 0 || !strings.HasPrefix(list[0].Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.http, list, c.want)
		}
		if len(list) > 1 {
			t.Errorf("%s: got %d faults, want 1: %v", c.http, len(list), list)
		}
	}
}

// FuzzMap: no pair of rows and source panics, and a map that loads answers with one of its results.
func FuzzMap(f *testing.F) {
	f.Add("example.com", "*.example.com", "foo.example.com")
	f.Add("~^a(.*)$", ".b", "ab")
	f.Add(`\~x`, "a.*", "a.b.")
	f.Fuzz(func(t *testing.T, one, two, source string) {
		k := keys{map[string]int{}, map[string]int{}, map[string]int{}}
		for _, hostnames := range []bool{true, false} {
			k.add(one, hostnames, 1)
			k.add(two, hostnames, 2)
		}
		if i, ok := k.find(appendLower(nil, []byte(source))); ok && i != 1 && i != 2 {
			t.Errorf("%q: got result %d", source, i)
		}
	})
}
