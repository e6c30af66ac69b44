package conformance

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

const logsHTTP = `log_format f '$uri $status "$arg_x"'; log_format j escape=json '{"u":"$uri","x":"$arg_x"}'; log_format n escape=none '$arg_x';
	server { listen 127.0.0.1:@8080@; root html;
		location /buffered { access_log logs/buffered.log f buffer=1k; return 200 a; }
		location /flushed { access_log logs/flushed.log f buffer=1k flush=100ms; return 200 a; }
		location /gzip { access_log logs/zipped.log f gzip=9 buffer=1k; return 200 a; }
		location /two { access_log logs/one.log f; access_log logs/two.log j if=$arg_x; access_log logs/three.log n buffer=1k; return 200 a; }
		location /named { access_log logs/named_$arg_x.log f; return 200 a; }
		location /kept { open_log_file_cache max=10 min_uses=1 inactive=10s valid=60s; access_log logs/kept_$arg_x.log f; return 200 a; }
		location /noroot { root nowhere; access_log logs/noroot_$arg_x.log f; return 200 a; }
		location /fileroot { root nginx.conf; access_log logs/fileroot_$arg_x.log f; return 200 a; }
		location /nodir { access_log logs/$arg_x/nodir.log f; return 200 a; }
		location /off { access_log off; return 200 a; }
		location /inner { access_log logs/outer.log f; location /inner/x { access_log logs/inner.log f; return 200 a; } return 200 a; }
		location /none { error_log logs/own.log notice; deny all; }
		location / { access_log logs/rest.log f; return 200 a; } }`

var logsAsked = []string{"/buffered?x=1", "/buffered?x=2", "/flushed?x=1", "/gzip?x=1", "/gzip?x=2", "/two", "/two?x=%22", `/two?x="\`, "/two?x=0",
	"/named?x=a", "/named?x=b", "/named?x=a", "/kept?x=a", "/kept?x=a", "/noroot?x=1", "/fileroot?x=1", "/nodir?x=none", "/off", "/inner", "/inner/x",
	"/none", "/rest"}

// logFiles returns all logs but the error log, with compressed ones opened.
func logFiles(t *testing.T, g *gatewaytest.Gateway) (list []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(g.Prefix, "logs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(paths)
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
			z, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if b, err = io.ReadAll(z); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
		if filepath.Base(p) != "error.log" {
			list = append(list, filepath.Base(p)+": "+strings.Join(lines(string(b)), "|"))
		}
	}
	return list
}

// Every log file holds what nginx's holds: while it runs, after its name was moved and USR1, and after QUIT.
func TestLogsSideBySide(t *testing.T) {
	type state struct{ Running, Reopened, Ended, Errors []string }
	var got [2]state
	for i, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		g := gatewaytest.Prepare(t, b, "user root; error_log logs/error.log info;\nevents {}\nhttp {\naccess_log off;\n"+logsHTTP+"\n}\n")
		g.Write("html/x", "")
		g.Run()
		ask := func() {
			for _, target := range logsAsked {
				exchange(t, g.Addr(8080), httpGet(target, "Referer: r", "X_dropped: 1"), nil)
			}
		}
		ask()
		flushed := filepath.Join(g.Prefix, "logs", "flushed.log")
		gatewaytest.Eventually(t, 5*time.Second, "the flush", func() bool { s, err := os.Stat(flushed); return err == nil && s.Size() > 0 })
		got[i].Running = logFiles(t, g)
		for _, name := range []string{"buffered", "one"} {
			if err := os.Rename(filepath.Join(g.Prefix, "logs", name+".log"), filepath.Join(g.Prefix, "logs", name+".log.1")); err != nil {
				t.Fatal(err)
			}
		}
		g.Signal(syscall.SIGUSR1)
		gatewaytest.Eventually(t, 5*time.Second, "the reopening", func() bool {
			moved, err := os.Stat(filepath.Join(g.Prefix, "logs", "buffered.log.1"))
			_, again := os.Stat(filepath.Join(g.Prefix, "logs", "buffered.log"))
			return err == nil && again == nil && moved.Size() > 0
		})
		got[i].Reopened = logFiles(t, g)
		ask()
		g.Signal(syscall.SIGQUIT)
		gatewaytest.Eventually(t, 5*time.Second, "the end", func() bool { _, err := os.Stat(filepath.Join(g.Prefix, "nginx.pid")); return err != nil })
		got[i].Ended = logFiles(t, g)
		for _, l := range lines(g.ErrorLog() + g.Read("logs/own.log")) {
			if strings.Contains(l, ", client: ") && !strings.Contains(l, "while waiting for request") {
				got[i].Errors = append(got[i].Errors, strings.ReplaceAll(l, g.Prefix, "PREFIX"))
			}
		}
	}
	if d := cmp.Diff(got[0], got[1]); d != "" {
		t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
	}
}

// worker_shutdown_timeout ends what is left after a reload, and after QUIT.
func TestShutdownTimeoutSideBySide(t *testing.T) {
	for _, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
			t.Run(fmt.Sprint(b.Name, " ", sig), func(t *testing.T) {
				t.Parallel()
				silent, err := net.Listen("tcp", "127.0.0.1:0") // an upstream that never answers
				if err != nil {
					t.Fatal(err)
				}
				defer silent.Close()
				g := gatewaytest.Start(t, b, "worker_shutdown_timeout 300ms; events {} http { access_log off; server { listen 127.0.0.1:@8080@; location / { proxy_pass http://"+silent.Addr().String()+"; } } }")
				c, err := net.Dial("tcp", g.Addr(8080))
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				_, _ = io.WriteString(c, httpGet("/"))
				up, err := silent.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer up.Close()
				began := time.Now()
				g.Signal(sig)
				_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
				n, err := c.Read(make([]byte, 1))
				if d := time.Since(began); n > 0 || err == nil || d < 250*time.Millisecond || d > 3*time.Second {
					t.Errorf("got %d bytes, %v after %v; want the end after 300ms", n, err, d)
				}
			})
		}
	}
}
