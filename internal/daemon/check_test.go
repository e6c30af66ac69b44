package daemon

import (
	"strings"
	"testing"
)

// A key may stand in the configuration itself; what -T prints is sent around.
func TestDumpsShowNoKeys(t *testing.T) {
	g := newGate(t)
	g.config(`map $uri $k { default "-----BEGIN RSA PRIVATE KEY-----
SECRET
-----END RSA PRIVATE KEY-----"; a "-----BEGIN CERTIFICATE-----
PUBLIC"; b "-----BEGIN PRIVATE KEY-----
SECRET"; }`)
	if code := Check(g.options(), CheckMode{Dump: true}); code != 0 {
		t.Fatalf("Check: got %d, want 0: %s", code, g.read("console"))
	}
	const want = "-----BEGIN RSA PRIVATE KEY----- not shown -----END RSA PRIVATE KEY-----"
	if got := g.read("console"); strings.Contains(got, "SECRET") || !strings.Contains(got, want) || !strings.Contains(got, "PUBLIC") {
		t.Errorf("got %q, want all but the keys", got)
	}
}
