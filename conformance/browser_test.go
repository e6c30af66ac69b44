package conformance

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// page opens three WebSockets where two have a place, talks, closes one, and opens another. It tells what happened in one request.
const page = `<!doctype html><title>t</title><script>
const open = () => new Promise(done => {
	const s = new WebSocket("ws://" + location.host + "/ws");
	s.onmessage = m => done({s, text: m.data});
	s.onerror = () => done({text: "refused"});
});
const say = (s, text) => new Promise(done => { s.onmessage = m => done(m.data); s.send(text); });
const shut = s => new Promise(done => { s.onclose = e => done(e.wasClean); s.close(); });
(async () => {
	let told = [];
	try {
		const a = await open(), b = await open(), c = await open();
		told.push(a.text, b.text, c.text);
		const long = "x".repeat(100000);
		told.push(await say(a.s, "hello"), await say(b.s, long) == long);
		told.push(await shut(a.s));
		let d;
		for (let i = 0; i < 50; i++) {
			d = await open();
			if (d.text != "refused") break;
			await new Promise(done => setTimeout(done, 50));
		}
		told.push(d.text, await say(d.s, "again"));
	} catch (e) { told.push(String(e)); }
	fetch("/told?" + encodeURIComponent(told.join(" ")));
})();
</script>`

// A browser talks WebSocket through the gateway, within the limit.
func TestBrowser(t *testing.T) {
	t.Parallel()
	chromium := gatewaytest.Need(t, "chromium")
	backend := startSockets(t, page)
	told := make(chan string, 1)
	report := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case told <- r.URL.RawQuery:
		default:
		}
	}))
	t.Cleanup(report.Close)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), fmt.Sprintf(`error_log logs/error.log info;
events {}
http { access_log logs/access.log; limit_conn_zone $binary_remote_addr zone=places:1m; limit_conn_status 429; limit_conn_log_level info;
	server { listen 127.0.0.1:@8080@; proxy_http_version 1.1;
		location / { proxy_pass http://%s; }
		location /ws { limit_conn places 2; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; proxy_pass http://%[1]s; }
		location /told { proxy_pass http://%s; } } }
`, backend.addr, report.Listener.Addr()))
	profile, err := os.MkdirTemp("", "browser-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
		"--disable-background-networking", "--no-proxy-server", "--user-data-dir="+profile, g.URL(8080, "/page"))
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with its children, which stand in its group
		_ = cmd.Wait()
		_ = os.RemoveAll(profile) // one of them may still write; what is left is in a folder for temporary files
	}()
	select {
	case got := <-told:
		if want := "welcome%20welcome%20refused%20hello%20true%20true%20welcome%20again"; got != want {
			t.Errorf("the browser tells %q, want %q", got, want)
		}
	case <-time.After(60 * time.Second):
		t.Fatalf("the browser told nothing; access log:\n%s", g.Read("logs/access.log"))
	}
	gatewaytest.Eventually(t, 2*time.Second, "the refusal is logged", func() bool {

		return strings.Contains(g.Read("logs/access.log"), `"GET /ws HTTP/1.1" 429`)
	})
}
