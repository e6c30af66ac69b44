package request

import "testing"

func TestSplitUnsafe(t *testing.T) {
	for _, c := range []struct {
		target, path, args string
		safe               bool
	}{
		{"/a/b", "/a/b", "", true},
		{"/a?b=c?d", "/a", "b=c?d", true},
		{"a", "a", "", true},
		{"/a%20b?%20", "/a b", "%20", true},
		{"/%zz%4", "/zz", "", true},
		{"/%4zb", "/b", "", true},
		{"/a..b/..c/c..", "/a..b/..c/c..", "", true},
		{"/a?/../", "/a", "/../", true},
		{"", "", "", false},
		{"?x", "?x", "", false},
		{"..", "..", "", false},
		{"/../a", "/../a", "", false},
		{"/a/..?b", "/a/..?b", "", false},
		{"/a/%2e%2E/b?c", "/a/../b", "c", false},
		{"/a%00b", "/a\x00b", "", false},
		{"/a\x00b", "/a\x00b", "", false},
	} {
		path, args, safe := new(Request).SplitUnsafe([]byte(c.target))
		if string(path) != c.path || safe != c.safe || string(args) != c.args {
			t.Errorf("%q: got %q, %q, %v; want %q, %q, %v", c.target, path, args, safe, c.path, c.args, c.safe)
		}
	}
}
