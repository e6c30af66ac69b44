package main

import (
	"bytes"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
)

// What the go command noted of the checkout counts, unless whoever built said something else.
func TestBuildTellsItsSource(t *testing.T) {
	noted := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "CGO_ENABLED", Value: "0"}, {Key: "vcs.revision", Value: "0123456789abcdef"},
		{Key: "vcs.time", Value: "2030-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}}}
	for _, c := range []struct {
		info         *debug.BuildInfo
		commit, date string
		want         string
		static       bool
	}{
		{nil, "", "", "", false},
		{noted, "", "", " (0123456789ab modified 2030-01-02T03:04:05Z)", true},
		{noted, "fedcba9876543210", "2031-01-01", " (fedcba987654 2031-01-01)", true},
		{nil, "abc", "", " (abc)", false},
	} {
		if b := buildOf(c.info, c.commit, c.date); b.source() != c.want || b.Static != c.static || b.Version != version {
			t.Errorf("%v %q: got %+v, %q, want %q", c.info, c.commit, b, b.source(), c.want)
		}
	}
}

// Scripts read from -V what there is: each module that is named stands for a directive that nginx's table has.
func TestBuildNamesWhatIsHere(t *testing.T) {
	known := map[string]bool{}
	for _, s := range conf.Table() {
		known[s.Name] = true
	}
	for _, m := range append(asked(), usual()...) {
		if !known[m.directive] {
			t.Errorf("%s: there is no directive %s", m.name, m.directive)
		}
	}
	args := configured()
	for arg, want := range map[string]bool{
		"--with-http_ssl_module": true, "--with-http_realip_module": true, "--with-debug": true, "--without-http_fastcgi_module": true,
		"--without-http-cache": true, "--without-http_proxy_module": false, "--without-http_limit_req_module": false, "--with-http_v3_module": false,
	} {
		if got := slices.Contains(args, arg); got != want {
			t.Errorf("%s: got %v, want %v", arg, got, want)
		}
	}
	var b bytes.Buffer
	printBuild(&b)
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "nginx version: nginx/1.") || !strings.HasPrefix(lines[1], "built with OpenSSL ") ||
		lines[2] != "TLS SNI support enabled" || !strings.HasPrefix(lines[3], "configure arguments: --with-") || strings.Contains(lines[3], "=dynamic") {
		t.Errorf("got %q", b.String())
	}
}
