package conformance

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

const newBinaryConf = `%s error_log logs/error.log info; admin admin.sock; worker_shutdown_timeout 5s;
events {}
http { access_log logs/access.log;
	limit_req_zone $server_addr zone=all:1m rate=100000r/s; limit_conn_zone $server_addr zone=places:1m;
	server { listen 127.0.0.1:@8080@; listen unix:%s; listen 127.0.0.1:@8443@ ssl http2; ssl_certificate cert.pem; ssl_certificate_key key.pem;
		limit_req zone=all burst=100000 nodelay; limit_conn places 1000; add_header X-Pid $pid always;
		location / { proxy_pass http://%s; }
	} }
`

// replacing is a gateway whose binary is replaced while clients ask.
type replacing struct {
	*gatewaytest.Gateway
	t      *testing.T
	binary string // the link to it
	socket string
	over   context.Context
	stop   context.CancelFunc
	wait   sync.WaitGroup
	asked  atomic.Int64

	mu sync.Mutex
	by map[string]int // answers, by the process
}

// newReplacing prepares b, called by a link, so that another binary can take its place.
func newReplacing(t *testing.T, b gatewaytest.Binary, conf string) *replacing {
	t.Helper()
	r := &replacing{t: t, by: map[string]int{}}
	r.over, r.stop = context.WithCancel(context.Background())
	cert, key := gatewaytest.Certificate(t, "ecdsa", "h")
	r.Gateway = gatewaytest.Prepare(t, b, "")
	r.socket, r.binary = filepath.Join(r.Prefix, "u.sock"), filepath.Join(r.Prefix, "nginx")
	r.Write("nginx.conf", strings.ReplaceAll(conf, "$socket", r.socket))
	r.Write("cert.pem", cert)
	r.Write("key.pem", key)
	r.Binary.Path = r.binary
	r.link(b.Path)
	return r
}

// watched ends whoever serves when the test ends, which needs not be a child of it. It comes behind Run, whose end waits for all of them.
func (r *replacing) watched() {
	r.t.Cleanup(func() {
		r.stop()
		r.wait.Wait()
		for _, name := range []string{"nginx.pid", "nginx.pid.oldbin"} {
			if pid := r.pid(name); pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
}

// link puts another binary in place.
func (r *replacing) link(path string) {
	r.t.Helper()
	if err := os.Symlink(path, r.binary+".new"); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(r.binary+".new", r.binary); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replacing) pid(file string) int {
	pid, _ := strconv.Atoi(strings.TrimSpace(r.Read(file)))
	return pid
}

func (r *replacing) kill(pid int, s syscall.Signal) {
	r.t.Helper()
	if pid <= 1 {
		r.t.Fatalf("there is no process %d", pid) // 0 is everybody here
	}
	if err := syscall.Kill(pid, s); err != nil {
		r.t.Fatal(err)
	}
}

// upgrade starts the binary beside the process that serves, and returns both.
func (r *replacing) upgrade() (old, next int) {
	r.t.Helper()
	old = r.pid("nginx.pid")
	r.kill(old, syscall.SIGUSR2)
	r.eventually("another process serves", func() bool {
		next = r.pid("nginx.pid")
		return next != 0 && next != old && r.pid("nginx.pid.oldbin") == old
	})
	return old, next
}

func (r *replacing) eventually(what string, cond func() bool) {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not within 10s: %s\n%s", what, r.ErrorLog())
		}
	}
}

// alone waits until the pid file names a process and there is no other one.
func (r *replacing) alone(pid int) {
	r.t.Helper()
	r.eventually(fmt.Sprint("process ", pid, " is alone"), func() bool { return r.pid("nginx.pid") == pid && r.pid("nginx.pid.oldbin") == 0 })
	if _, err := os.Stat(r.socket); err != nil {
		r.t.Errorf("the unix socket: %v", err)
	}
}

// serve waits until each of the processes has answered, from now on, and for a while nobody else has. nginx's workers have no number here.
func (r *replacing) serve(who ...any) {
	r.t.Helper()
	r.eventually(fmt.Sprint("answers of ", who, " alone"), func() bool {
		r.mu.Lock()
		clear(r.by)
		r.mu.Unlock()
		from := r.asked.Load()
		for end := time.Now().Add(2 * time.Second); r.asked.Load() < from+100 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, one := range who {
			if r.by[fmt.Sprint(one)] == 0 {
				return false
			}
		}
		return len(r.by) == len(who)
	})
}

// clients ask until the test says that it is over: over TCP, a unix socket, TLS and HTTP/2, on connections of their own and on kept ones.
func (r *replacing) clients() {
	unix := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.socket)
	}
	insecure := &tls.Config{InsecureSkipVerify: true}
	for name, c := range map[string]struct {
		url string
		tr  *http.Transport
	}{
		"TCP":    {r.URL(8080, "/"), &http.Transport{DisableKeepAlives: true}},
		"kept":   {r.URL(8080, "/"), &http.Transport{}},
		"unix":   {"http://h/", &http.Transport{DisableKeepAlives: true, DialContext: unix}},
		"TLS":    {"https://" + r.Addr(8443) + "/", &http.Transport{DisableKeepAlives: true, TLSClientConfig: insecure}},
		"HTTP/2": {"https://" + r.Addr(8443) + "/", &http.Transport{TLSClientConfig: insecure.Clone(), ForceAttemptHTTP2: true}},
	} {
		r.wait.Go(func() {
			defer c.tr.CloseIdleConnections()
			client := &http.Client{Transport: c.tr, Timeout: 10 * time.Second}
			for n := 0; ; n++ {
				select {
				case <-r.over.Done():
					if n < 100 {
						r.t.Errorf("%s: only %d requests", name, n)
					}
					return
				default:
				}
				resp, err := client.Get(c.url)
				if err != nil {
					r.t.Errorf("%s, request %d: %v", name, n, err)
					return
				}
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != 200 || (name == "HTTP/2") != (resp.ProtoMajor == 2) {
					r.t.Errorf("%s, request %d: %s %s, %v", name, n, resp.Proto, resp.Status, err)
					return
				}
				who := resp.Header.Get("X-Pid")
				if strings.HasPrefix(resp.Header.Get("Server"), "nginx") {
					who = "nginx"
				}
				r.mu.Lock()
				r.by[who]++
				r.mu.Unlock()
				r.asked.Add(1)
			}
		})
	}
}

// operators checks which process answers at the admin socket.
func (r *replacing) operators(pid int) {
	r.t.Helper()
	r.eventually(fmt.Sprint("the admin socket is that of ", pid), func() bool {
		var p admin.Peers
		err := admin.NewClient(filepath.Join(r.Prefix, "admin.sock")).Ask("GET", "/v1/peers", "", nil, &p)
		return err == nil && strings.Contains(p.Instance, fmt.Sprintf("/%d-", pid))
	})
}

// said waits for a line of the error log, and counts it.
func (r *replacing) said(line string, times int) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%d times %q", times, line), func() bool { return strings.Count(r.ErrorLog(), line) == times })
}

// Through an upgrade and the way back no client is refused and none is reset.
func TestNewBinary(t *testing.T) {
	t.Parallel()
	b := startBackend(t)
	binary := gatewaytest.Limitgate(t)
	r := newReplacing(t, binary, fmt.Sprintf(newBinaryConf, "", "$socket", b.addr+"/ok"))
	r.Run()
	r.watched()
	r.clients()

	first, second := r.upgrade()
	r.serve(first, second)
	r.operators(second)
	for _, pid := range []int{first, second} {
		r.kill(pid, syscall.SIGUSR2)
	}
	r.said("the changing binary signal is ignored: you should shutdown or terminate before either old or new binary's process", 2)
	r.kill(first, syscall.SIGWINCH)
	r.serve(second)
	r.kill(first, syscall.SIGHUP)
	r.serve(first, second)
	r.kill(first, syscall.SIGWINCH)
	r.serve(second)
	r.kill(first, syscall.SIGQUIT)
	r.alone(second)

	// The way back, as nginx's documentation has it, and at once.
	_, third := r.upgrade()
	r.kill(second, syscall.SIGWINCH)
	r.serve(third)
	r.kill(second, syscall.SIGHUP)
	r.serve(second, third)
	r.kill(third, syscall.SIGQUIT)
	r.alone(second)
	r.serve(second)
	r.operators(second)
	_, fourth := r.upgrade()
	r.kill(second, syscall.SIGWINCH)
	r.serve(fourth)
	r.kill(fourth, syscall.SIGQUIT)
	r.alone(second)
	r.serve(second)

	r.fails(second)

	r.link(binary.Path)
	_, last := r.upgrade()
	r.kill(second, syscall.SIGQUIT)
	r.alone(last)
	r.serve(last)
	r.stop()
	r.wait.Wait()
	r.kill(last, syscall.SIGQUIT)
	r.eventually("the last one ends and takes its traces away", func() bool {
		for _, name := range []string{"nginx.pid", "nginx.pid.oldbin", "u.sock", "admin.sock"} {
			if _, err := os.Lstat(filepath.Join(r.Prefix, name)); err == nil {
				return false
			}
		}
		return true
	})
	if log := r.ErrorLog(); strings.Count(log, "[alert]") != 1 {
		t.Errorf("there is another alert than that of the binary that is not there:\n%s", log)
	}
	t.Logf("%d requests by five clients over six upgrades", r.asked.Load())
}

// fails upgrades to what can't take over: the process goes on.
func (r *replacing) fails(pid int) {
	r.t.Helper()
	good := r.Read("nginx.conf")
	before := strings.Count(r.ErrorLog(), "exited with code 1")
	r.Write("nginx.conf", good+"nonsense;")
	r.kill(pid, syscall.SIGUSR2)
	r.said("exited with code 1", before+1)
	r.said("the new binary did not take over: this process goes on as before", 1)
	r.alone(pid)
	r.Write("nginx.conf", good)
	if err := os.Remove(r.binary); err != nil {
		r.t.Fatal(err)
	}
	r.kill(pid, syscall.SIGUSR2)
	r.said(fmt.Sprintf("execve() failed while executing new binary process %q (2: No such file or directory)", r.binary), 1)
	r.alone(pid)
	r.serve(pid)
	r.operators(pid)
}

// nginx passes its sockets on to limitgate, and limitgate to nginx, as each does to its like.
func TestNginxBecomesLimitgateAndBack(t *testing.T) {
	t.Parallel()
	b := startBackend(t)
	nginx, limitgate := gatewaytest.Nginx(t), gatewaytest.Limitgate(t)
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	r := newReplacing(t, nginx, strings.Replace(fmt.Sprintf(newBinaryConf, user, "$socket", b.addr+"/ok"), "admin admin.sock;", "", 1))
	// In the foreground nginx has no ear for these signals.
	args := r.Args()
	args[len(args)-1] = strings.Replace(args[len(args)-1], "daemon off", "daemon on", 1)
	if out, err := exec.Command(r.binary, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r.watched()
	r.eventually("nginx runs", func() bool { return r.pid("nginx.pid") != 0 })
	r.clients()
	r.serve("nginx")

	r.link(limitgate.Path)
	old, next := r.upgrade()
	r.serve("nginx", next)
	r.kill(old, syscall.SIGWINCH)
	r.serve(next)
	r.kill(next, syscall.SIGQUIT)
	r.alone(old)
	r.serve("nginx")
	old, next = r.upgrade()
	r.kill(old, syscall.SIGQUIT)
	r.alone(next)
	r.serve(next)

	r.link(nginx.Path)
	old, next = r.upgrade()
	r.serve("nginx", old)
	r.kill(old, syscall.SIGWINCH)
	r.serve("nginx")
	r.kill(old, syscall.SIGQUIT)
	r.alone(next)
	r.serve("nginx")
	r.stop()
	r.wait.Wait()
	r.kill(next, syscall.SIGQUIT)
	r.eventually("the pid file is gone", func() bool { return r.pid("nginx.pid") == 0 })
	t.Logf("%d requests by five clients over three upgrades", r.asked.Load())
}
