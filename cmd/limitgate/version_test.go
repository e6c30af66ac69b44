package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
)

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
