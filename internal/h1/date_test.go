package h1

import "testing"

func TestParseDate(t *testing.T) {
	const same = 784111777
	for _, c := range []struct {
		in   string
		want int64 // -1: no date
	}{
		{"Sun, 06 Nov 1994 08:49:37 GMT", same},
		{"Sunday, 06-Nov-94 08:49:37 GMT", same},
		{"Sun Nov  6 08:49:37 1994", same},
		{"x,06 Nov 1994 08:49:37", same},
		{"Sun, 06 Nov 1994 08:49:37 junk", same},
		{"Sun Nov 16 08:49:37 1994", same + 10*86400},
		{"Sunday, 06-Nov-69 08:49:37 GMT", 3150953377},
		{"Thu, 01 Jan 1970 00:00:00 GMT", 0},
		{"Thu, 29 Feb 1996 00:00:00 GMT", 825552000},
		{"Thu, 29 Feb 1995 00:00:00 GMT", -1},
		{"Sun, 06 Nov 1994 24:49:37 GMT", -1},
		{"Sun, 06 Nov 1994 08:49:3", -1},
		{"Sun, 6 Nov 1994 08:49:37 GMT", -1},
		{"Sun, 06 Nov-1994 08:49:37 GMT", -1},
		{"Sun, 06 Xyz 1994 08:49:37 GMT", -1},
		{"Sun Nov x6 08:49:37 1994", -1},
		{"", -1}, {"junk", -1}, {"junk ", -1}, {",", -1},
	} {
		got, ok := ParseDate([]byte(c.in))
		if !ok {
			got = -1
		}
		if got != c.want {
			t.Errorf("%q: got %d, want %d", c.in, got, c.want)
		}
	}
	if s := string(AppendDate(nil, same)); s != "Sun, 06 Nov 1994 08:49:37 GMT" {
		t.Errorf("AppendDate: got %s", s)
	}
}

func TestReadAgent(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Agent
	}{
		{"", Agent{}},
		{"curl/8", Agent{}},
		{"MSIE 5.0", Agent{MSIE6: true, Pads: true}},
		{"Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)", Agent{MSIE6: true, Pads: true}},
		{"Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; SV1)", Agent{Pads: true}},
		{"MSIE 7.0", Agent{Pads: true}},
		{"MSIE 5", Agent{}},
		{"MSIE 6.0 Opera 8", Agent{}},
		{"Mac OS X Safari/7534.48.3", Agent{Safari: true}},
		{"Safari/7534.48.3", Agent{}},
		{"Mac OS X Chrome/1 Safari/7534.48.3", Agent{Pads: true}},
		{"Mac OS X Gecko/1 Safari/7534.48.3", Agent{}},
	} {
		if got := ReadAgent([]byte(c.in)); got != c.want {
			t.Errorf("%q: got %+v, want %+v", c.in, got, c.want)
		}
	}
}
