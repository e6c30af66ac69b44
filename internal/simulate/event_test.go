package simulate

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBadLines(t *testing.T) {
	const rest = `,"remote_addr":"192.0.2.1"`
	for _, c := range []struct{ line, want string }{
		{`x`, "an event is a JSON object"},
		{`[1]`, "an event is a JSON object"},
		{`{`, "the line ends too early"},
		{`{"at_ms":1`, "the line ends too early"},
		{`{"at_ms":1,}`, "this is not JSON"},
		{`{at_ms:1}`, "this is not JSON"},
		{`{"at_ms" 1}`, "this is not JSON"},
		{`{}`, "at_ms is missing"},
		{`{"at_ms":1}`, "remote_addr is missing"},
		{`{"at_ms":1` + rest + `} {}`, "there is more behind the event"},
		{`{"at_ms":"1"` + rest + `}`, "at_ms: must be a number"},
		{`{"at_ms":null` + rest + `}`, "at_ms: must be a number"},
		{`{"at_ms":01` + rest + `}`, "at_ms: this is not a number"},
		{`{"at_ms":1.` + rest + `}`, "at_ms: this is not a number"},
		{`{"at_ms":-1` + rest + `}`, "at_ms: must be from 0 to 9000000000000"},
		{`{"at_ms":1e13` + rest + `}`, "at_ms: must be from 0 to 9000000000000"},
		{`{"at_ms":1e999999999` + rest + `}`, "at_ms: must be from 0 to 9000000000000"},
		{`{"at_ms":99999999999999999999` + rest + `}`, "at_ms: must be from 0 to 9000000000000"},
		{`{"at_ms":1,"remote_addr":"nobody"}`, `remote_addr: "nobody" is no address`},
		{`{"at_ms":1,"remote_addr":7}`, "remote_addr: must be a text"},
		{`{"at_ms":1` + rest + `,"duration_ms":-1}`, "duration_ms: must be from 0 to 9000000000000"},
		{`{"at_ms":1` + rest + `,"id":{}}`, "id: must be a text or a number"},
		{`{"at_ms":1` + rest + `,"id":true}`, "id: must be a text or a number"},
		{`{"at_ms":1` + rest + ",\"id\":\"\xff\"}", "id: must be UTF-8"},
		{`{"at_ms":1` + rest + `,"uri":"/a\nb"}`, "uri: must not hold a line break"},
		{`{"at_ms":1` + rest + `,"uri":"/a\qb"}`, "uri: unknown escape in a text"},
		{"{\"at_ms\":1" + rest + ",\"uri\":\"/a\tb\"}", "uri: control character in a text"},
		{`{"at_ms":1` + rest + `,"headers":[]}`, "headers: must be an object"},
		{`{"at_ms":1` + rest + `,"headers":{"a":1}}`, "headers: a: must be a text"},
		{`{"at_ms":1` + rest + `,"headers":{"a":["b",1]}}`, "headers: a: must be a text"},
		{`{"at_ms":1` + rest + `,"headers":{"a\r":"b"}}`, "headers: must not hold a line break"},
		{`{"at_ms":1` + rest + `,"more":` + strings.Repeat("[", 200) + `}`, "more: values are nested too deeply"},
		{`{"at_ms":1` + rest + `,"more":nul}`, "more: this is not JSON"},
	} {
		var e event
		if err := e.parse([]byte(c.line)); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.line, err, c.want)
		}
	}
}

func TestMillis(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "1": 1e6, "1.5": 15e5, "0.000001": 1, "0.0000019": 1, "1e3": 1e9, "15e-1": 15e5, "1E+0": 1e6, "0e99999": 0,
		"1e-99999": 0, "-0.0e5": 0, "1700000000000.25": 17e17 + 25e4, "9000000000000": 9e18,
	} {
		var s scanner
		s.reset([]byte(text))
		got, ns, err := s.millis()
		if err != nil || ns != want || string(got) != text {
			t.Errorf("%s: got %q, %d, %v, want %d", text, got, ns, err, want)
		}
	}
}

// What an event says arrives in the request, as the edge would have read it.
func TestEvent(t *testing.T) {
	var e event
	line := `{"more":{"a":[1,-2.5e3,true,false,null,"\u0041"]},"host":"Ex.ORG:81","uri":"/a/../%62?c","at_ms":2,"method":"POST",` +
		`"remote_addr":"[2001:db8::1]:99","headers":{"Host":"other","X-A":["1","2"],"X_Dropped":"x","X-B":"  caf\u00e9 \ud83d\ude00 "},"id":"x\"y"}`
	if err := e.parse([]byte(line)); err != nil {
		t.Fatal(err)
	}
	s := open(t, "server { }", "")
	m := new(sim)
	m.fill(&e, s, 1)
	r := &m.visit.Request
	got := string(r.Method) + " " + string(r.URI) + " " + string(r.Args) + " " + string(r.Host) + " " + r.ClientAddr.String()
	if want := "POST /b c ex.org [2001:db8::1]:99"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var fields []string
	for _, h := range r.Headers {
		fields = append(fields, string(h.Name)+"="+string(h.Value))
	}
	if got, want := strings.Join(fields, " "), "Host=Ex.ORG:81 X-A=1 X-A=2 X-B=café 😀"; got != want {
		t.Errorf("headers: got %s, want %s", got, want)
	}
	if string(e.id) != `"x\"y"` {
		t.Errorf("id: got %s", e.id)
	}
}

// FuzzScan holds the scanner against the standard library: it takes what is JSON, and nothing else.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, `[1,2,{"b":null}]`, `"\ud83d\ude00\u00e9\n"`, `-0.5e+10`, `01`, `{"a":}`, `[1,]`, `"\x"`, `tru`, `"\ud83d\u0041"`, ` [ ] `,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s scanner
		s.reset(b)
		_, err := s.skip(0)
		good := err == nil && s.peek() == 0 && s.pos == len(b)
		if want := json.Valid(b); good != want && err != errDepth {
			t.Errorf("%q: taken: %v (%v), want %v", b, good, err, want)
		}
		s.reset(b)
		if text, err := s.str(); err == nil && s.pos == len(b) {
			var want string
			// The library replaces each byte that is no UTF-8; here it stays.
			if err := json.Unmarshal(b, &want); err == nil && string([]rune(string(text))) != want {
				t.Errorf("%q: got %q, want %q", b, text, want)
			}
		}
	})
}
