package h1

import "testing"

// What is given in parts is read as Parse reads it, or left to Parse; package replay holds the two against each other.
func TestGiven(t *testing.T) {
	for target, want := range map[string]string{
		"/": "/ -", "/a?b=c": "/a b=c", "/a?": "/a -", "/a?b?c%zz": "/a b?c%zz", "/a%20b": "/a b -", "//a/./b/../c": "/a/c -", "/a#f?x": "/a -", "/a?x#f": "/a x",
		"": "no", "*": "no", "http://a/": "no", "/a b": "no", "/\x01": "no", "/a?\x7f": "no", "/%": "no", "/%00": "no", "/..": "no",
	} {
		path, args, given := GivenTarget(nil, []byte(target), false)
		got := string(path) + " " + string(args)
		switch {
		case !given:
			got = "no"
		case args == nil:
			got += "-"
		}
		if got != want {
			t.Errorf("target %q: got %q, want %q", target, got, want)
		}
	}
	if path, _, _ := GivenTarget(nil, []byte("//a"), true); string(path) != "//a" {
		t.Errorf("slashes are kept: got %s", path)
	}
	for host, want := range map[string]string{"a": "a", "Example.ORG.:80": "example.org", "[::1]:8080": "[::1]", "": "no", "a:x": "no", "a..b": "no", "a/b": "no"} {
		got, given := GivenHost(nil, []byte(host))
		if !given {
			got = []byte("no")
		}
		if string(got) != want {
			t.Errorf("host %q: got %q, want %q", host, got, want)
		}
	}
	for method, want := range map[string]bool{"GET": true, "M-SEARCH": true, "A_B": true, "": false, "get": false, "G T": false, "CONNECT": false, "TRACE": false} {
		if got := GivenMethod([]byte(method)); got != want {
			t.Errorf("method %q: got %v", method, got)
		}
	}
	for value, want := range map[string]bool{"": true, "a b": true, "ü": true, " a": false, "a ": false, "a\tb": false, "a\x00": false, "a\r\nb": false} {
		if got := GivenValue([]byte(value)); got != want {
			t.Errorf("value %q: got %v", value, got)
		}
	}
}
