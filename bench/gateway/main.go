// Command gateway compares limitgate with nginx as whole processes: the same configuration file, the same load, one core
// for the gateway under test and one for backend and load generator, in turn, so that a drift of the machine meets both.
// It prints CPU time per request from the kernel's accounting, requests per second, p99 and memory, each as the median
// and as the ratio limitgate/nginx of neighbouring runs.
//
//	go run ./gateway -limitgate ../bin/limitgate [-rounds 7] [-seconds 4] [-conns 64] [-only proxied|rejected]
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	b := bench{}
	flag.StringVar(&b.ours, "limitgate", "../bin/limitgate", "the limitgate binary")
	flag.StringVar(&b.nginx, "nginx", "/usr/sbin/nginx", "the nginx binary, also the backend of both")
	flag.IntVar(&b.rounds, "rounds", 7, "paired runs of each load")
	flag.IntVar(&b.seconds, "seconds", 4, "length of one run")
	flag.IntVar(&b.conns, "conns", 64, "client connections")
	only := flag.String("only", "", "run one load: proxied, rejected, h2-proxied or h2-rejected")
	flag.Parse()
	if err := b.run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	ours, nginx            string
	rounds, seconds, conns int
	dir                    string
}

// sample is one run's figures.
type sample struct {
	cpuMicros, perSecond, p99Millis, rssMB float64
	requests                               float64
}

// load is one of the compared situations.
type load struct {
	name, path, expect string
	streams            int // requests at a time on a connection of HTTP/2; 0: HTTP/1.1
}

var loads = []load{
	{"proxied", "/", "every answer 200, through a limit_req that passes, access log on", 0},
	{"rejected", "/reject", "every answer but a few 429, access log on", 0},
	{"h2-proxied", "/", "as proxied, over HTTP/2", 10},
	{"h2-rejected", "/reject", "as rejected, over HTTP/2", 10},
}

const backendConf = `worker_processes 1; pid %[1]s/backend.pid; error_log %[1]s/backend.log;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 100000000; server { listen 127.0.0.1:7801 backlog=4096; location / { return 200 "hello from the backend\n"; } } }
`

// frontConf is read by both, unchanged.
const frontConf = `worker_processes 1; pid %[1]s/%[2]s.pid; error_log %[1]s/%[2]s-error.log crit;
events { worker_connections 4096; }
http {
	access_log %[1]s/%[2]s-access.log;
	keepalive_requests 100000000;
	limit_req_zone $binary_remote_addr zone=pass:10m rate=1000000r/s;
	limit_req_zone $binary_remote_addr zone=stop:10m rate=1r/m;
	limit_req_status 429;
	limit_req_log_level info;
	upstream backend { server 127.0.0.1:7801; keepalive 1024; } # more than streams at once: else either dials
	server {
		listen 127.0.0.1:7800 backlog=4096;
		listen 127.0.0.1:7802 http2 backlog=4096;
		location / {
			limit_req zone=pass burst=1000000 nodelay;
			proxy_pass http://backend;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
		}
		location /reject {
			limit_req zone=stop;
			proxy_pass http://backend;
		}
	}
}
`

func (b *bench) run(only string) error {
	dir, err := os.MkdirTemp("", "limitgate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.dir = dir
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	stop, _, err := b.start(b.nginx, "backend", fmt.Sprintf(backendConf, dir), "1")
	if err != nil {
		return err
	}
	defer stop()
	for _, l := range loads {
		if only != "" && only != l.name {
			continue
		}
		if err := b.compare(l); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) compare(l load) error {
	fmt.Printf("%s: %s; %d pairs of %d s, %d keep-alive connections\n", l.name, l.expect, b.rounds, b.seconds, b.conns)
	var ours, theirs []sample
	for i := range b.rounds {
		order := []string{"nginx", "limitgate"}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, name := range order {
			s, err := b.measure(name, l)
			if err != nil {
				return fmt.Errorf("%s %s: %w", name, l.name, err)
			}
			if name == "nginx" {
				theirs = append(theirs, s)
			} else {
				ours = append(ours, s)
			}
		}
	}
	row := func(what string, f func(sample) float64) {
		var o, t, r []float64
		for i := range ours {
			o, t, r = append(o, f(ours[i])), append(t, f(theirs[i])), append(r, f(ours[i])/f(theirs[i]))
		}
		fmt.Printf("  %-22s nginx %9.2f   limitgate %9.2f   ratio median %.2f (%.2f to %.2f)\n", what, median(t), median(o), median(r), slices.Min(r), slices.Max(r))
	}
	row("CPU us per request", func(s sample) float64 { return s.cpuMicros })
	row("requests per second", func(s sample) float64 { return s.perSecond })
	slowest := "p99 ms"
	if l.streams > 0 {
		slowest = "longest ms"
	}
	row(slowest, func(s sample) float64 { return s.p99Millis })
	row("memory MB (peak)", func(s sample) float64 { return s.rssMB })
	return nil
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

// start runs a program on a configuration, pinned to one core, and returns how to end it and the pids that belong to it.
func (b *bench) start(binary, name, conf, core string) (stop func(), pids func() []int, err error) {
	path := filepath.Join(b.dir, name+".conf")
	if err := os.WriteFile(path, []byte(conf), 0o644); err != nil {
		return nil, nil, err
	}
	cmd := exec.Command("taskset", "-c", core, binary, "-p", b.dir+"/", "-c", path, "-e", filepath.Join(b.dir, name+"-start.log"), "-g", "daemon off;")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	for range 200 {
		if _, err := os.Stat(filepath.Join(b.dir, name+".pid")); err == nil {
			time.Sleep(200 * time.Millisecond)
			pids = func() []int { return append(children(cmd.Process.Pid), cmd.Process.Pid) }
			return stop, pids, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	return nil, nil, fmt.Errorf("%s did not write its pid file", binary)
}

func children(pid int) (out []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, f := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(f); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// measure starts a fresh gateway, warms it up, and takes its figures over one run of load.
func (b *bench) measure(name string, l load) (s sample, err error) {
	binary := b.nginx
	if name == "limitgate" {
		binary = b.ours
	}
	stop, pids, err := b.start(binary, name, fmt.Sprintf(frontConf, b.dir, name), "0")
	if err != nil {
		return s, err
	}
	defer stop()
	drive := b.wrk
	if l.streams > 0 {
		drive = b.h2load
	}
	if _, _, err := drive(l, 1); err != nil {
		return s, err
	}
	before := cpuTicks(pids())
	requests, p99, err := drive(l, b.seconds)
	if err != nil {
		return s, err
	}
	ticks := cpuTicks(pids()) - before
	for _, p := range pids() {
		s.rssMB += peakMB(p)
	}
	_ = os.Remove(filepath.Join(b.dir, name+"-access.log"))
	s.requests, s.p99Millis = requests, p99
	s.perSecond = requests / float64(b.seconds)
	s.cpuMicros = float64(ticks) * 1e6 / 100 / requests
	return s, nil
}

// wrk runs the load generator on the other core and returns the number of requests and the p99 in milliseconds.
func (b *bench) wrk(l load, seconds int) (requests, p99 float64, err error) {
	out, err := exec.Command("taskset", "-c", "1", "wrk", "-t1", "-c", strconv.Itoa(b.conns), "-d", strconv.Itoa(seconds)+"s", "--latency", "http://127.0.0.1:7800"+l.path).CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	refused := 0.0
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "99%":
			d, err := time.ParseDuration(f[1])
			if err != nil {
				return 0, 0, err
			}
			p99 = float64(d.Microseconds()) / 1000
		case len(f) > 2 && f[1] == "requests" && f[2] == "in":
			requests, _ = strconv.ParseFloat(f[0], 64)
		case strings.Contains(line, "Non-2xx"):
			refused, _ = strconv.ParseFloat(f[len(f)-1], 64)
		case strings.Contains(line, "Socket errors"):
			return 0, 0, fmt.Errorf("wrk: %s", strings.TrimSpace(line))
		}
	}
	if requests == 0 {
		return 0, 0, fmt.Errorf("wrk saw no request:\n%s", out)
	}
	if share := refused / requests; l.name == "rejected" && share < 0.99 || l.name == "proxied" && refused > 0 {
		return 0, 0, fmt.Errorf("wrong load: %.0f of %.0f refused\n%s", refused, requests, out)
	}
	return requests, p99, nil
}

// h2load is wrk for HTTP/2. Of times it knows means only: in the place of the p99 stands the longest.
func (b *bench) h2load(l load, seconds int) (requests, longest float64, err error) {
	out, err := exec.Command("taskset", "-c", "1", "h2load", "-t1", "-c", strconv.Itoa(b.conns), "-m", strconv.Itoa(l.streams), "-D", strconv.Itoa(seconds),
		"http://127.0.0.1:7802"+l.path).CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("h2load (Debian: nghttp2-client): %w\n%s", err, out)
	}
	refused, failed := 0.0, 0.0
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(strings.ReplaceAll(line, ",", ""))
		switch {
		case strings.HasPrefix(line, "requests:") && len(f) > 10: // requests: 9 total 9 started 9 done 9 succeeded 0 failed 0 errored 0 timeout
			requests, _ = strconv.ParseFloat(f[5], 64)
			failed, _ = strconv.ParseFloat(f[11], 64)
		case strings.HasPrefix(line, "status codes:") && len(f) > 6: // status codes: 9 2xx 0 3xx 0 4xx 0 5xx
			refused, _ = strconv.ParseFloat(f[6], 64)
		case strings.HasPrefix(line, "time for request:") && len(f) > 4:
			d, err := time.ParseDuration(f[4])
			if err != nil {
				return 0, 0, err
			}
			longest = float64(d.Microseconds()) / 1000
		}
	}
	if requests == 0 || failed > 0 {
		return 0, 0, fmt.Errorf("h2load saw %.0f answers and %.0f errors:\n%s", requests, failed, out)
	}
	if share := refused / requests; l.name == "h2-rejected" && share < 0.99 || l.name == "h2-proxied" && refused > 0 {
		return 0, 0, fmt.Errorf("wrong load: %.0f of %.0f refused\n%s", refused, requests, out)
	}
	return requests, longest, nil
}

// cpuTicks sums user and system time in clock ticks (100 a second).
func cpuTicks(pids []int) (n int64) {
	for _, p := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
		_, rest, _ := strings.Cut(string(text), ") ")
		f := strings.Fields(rest)
		if len(f) > 13 {
			u, _ := strconv.ParseInt(f[11], 10, 64)
			k, _ := strconv.ParseInt(f[12], 10, 64)
			n += u + k
		}
	}
	return n
}

func peakMB(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			kb, _ := strconv.ParseFloat(f[1], 64)
			return kb / 1024
		}
	}
	return 0
}
