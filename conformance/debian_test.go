package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// debian is where Debian's package puts its configuration.
const debian = "/etc/nginx/nginx.conf"

// TestDebianConfigurationUntouched checks the file as the package installs it, where it lies.
func TestDebianConfigurationUntouched(t *testing.T) {
	nginx, limitgate := gatewaytest.Nginx(t), gatewaytest.Limitgate(t)
	if _, err := os.Stat(debian); err != nil {
		t.Skipf("SKIPPED: nginx is not Debian's package: %v", err)
	}
	for _, b := range []gatewaytest.Binary{nginx, limitgate} {
		out, err := exec.Command(b.Path, "-t", "-c", debian).CombinedOutput()
		good := err == nil && strings.Contains(string(out), "test is successful")
		if os.Geteuid() == 0 && !good { // others may not open the logs, with either
			t.Errorf("%s -t: %v\n%s", b.Name, err, out)
		}
		if strings.Contains(string(out), "unknown directive") || strings.Contains(string(out), "not supported") {
			t.Errorf("%s -t:\n%s", b.Name, out)
		}
	}
}

// TestDebianDefaultSite serves the package's configuration and default site, moved to ports and folders of the test.
func TestDebianDefaultSite(t *testing.T) {
	nginx, limitgate := gatewaytest.Nginx(t), gatewaytest.Limitgate(t)
	if _, err := os.Stat(debian); err != nil {
		t.Skipf("SKIPPED: nginx is not Debian's package: %v", err)
	}
	requests := []string{
		"GET http:8080 localhost /", "HEAD http:8080 localhost /", "GET http:8080 localhost /index.html", "GET http:8080 other /none",
		"GET http:8080 localhost /sub", "GET http:8080 localhost /sub/", "POST http:8080 localhost / | body x",
		"GET http:8080 localhost / | Accept-Encoding: gzip",
	}
	serve := func(b gatewaytest.Binary) (answers []string) {
		g := gatewaytest.Prepare(t, b, moved(t, debian))
		site := "sites-enabled/default"
		g.Write(site, moved(t, filepath.Join(filepath.Dir(debian), site)))
		g.Write("mime.types", moved(t, "/etc/nginx/mime.types"))
		g.Write("www/index.html", strings.Repeat("<p>welcome</p>\n", 10))
		g.Write("www/sub/x", "")
		g.Run()
		for _, line := range requests {
			answer := requestReal(t, g, line)
			answers = append(answers, line+"\n"+validators.ReplaceAllString(answer, ""))
		}
		return answers
	}
	if d := cmp.Diff(serve(nginx), serve(limitgate)); d != "" {
		t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
	}
}

// validators depend on when the test wrote its files.
var validators = regexp.MustCompile(`(?m)^(Etag|Last-Modified): .*\n`)

// moved reads a file of the package and gives it other ports and folders; the user stays who runs the test.
func moved(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := strings.NewReplacer(
		"listen 80 ", "listen 127.0.0.1:@8080@ ", "listen [::]:80 ", "listen [::1]:@8081@ ",
		"/etc/nginx/", "", "/var/log/nginx/", "logs/", "/var/www/html", "www", "user www-data;", "", "pid /run/nginx.pid;", "",
	).Replace(string(text))
	return s
}
