package rediszone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/redistest"
)

func TestURLs(t *testing.T) {
	for _, c := range []struct {
		url  string
		want address
	}{
		{"redis://h", address{scheme: "redis", hosts: []string{"h:6379"}}},
		{"redis://h:1/3", address{scheme: "redis", hosts: []string{"h:1"}, db: 3}},
		{"redis://a,b:2,[::1],[::1]:3", address{scheme: "redis", hosts: []string{"a:6379", "b:2", "[::1]:6379", "[::1]:3"}}},
		{"rediss://u:p%40@h", address{scheme: "rediss", secure: true, user: "u", password: "p@", hosts: []string{"h:6379"}}},
		{"redis://:p@h", address{scheme: "redis", password: "p", hosts: []string{"h:6379"}}},
		{"redis://:a@b@h", address{scheme: "redis", password: "a@b", hosts: []string{"h:6379"}}},
		{"unix:///run/redis.sock", address{scheme: "unix", socket: true, hosts: []string{"/run/redis.sock"}}},
		{"unix:///run/redis.sock?db=2", address{scheme: "unix", socket: true, hosts: []string{"/run/redis.sock"}, db: 2}},
		{"redis+sentinel://a,b/m/1", address{scheme: "redis+sentinel", hosts: []string{"a:26379", "b:26379"}, master: "m", db: 1}},
		{"rediss+sentinel://a/m", address{scheme: "rediss+sentinel", secure: true, hosts: []string{"a:26379"}, master: "m"}},
	} {
		got, err := parseURL(c.url)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %+v %v, want %+v", c.url, got, err, c.want)
		}
	}
}

// No error tells what may be a password, though it stands where something else belongs.
func TestErrorsTellNoPassword(t *testing.T) {
	for _, url := range []string{
		"", "s3cret", "http://u:s3cret@h", "s3cret://h", "redis://u:s3cret%@h", "redis://u:s3cret%zz@h", "redis://h:s3cret", "redis://h/s3cret",
		"redis://u:s3cret/x@", "redis+sentinel://u:s3cret@h", "unix://s3cret", "unix:///s?s3cret", "redis://", "redis://:s3cret@", "redis://a:b:s3cret",
	} {
		_, err := Open(Options{Name: "shared", URL: url})
		if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.HasPrefix(err.Error(), `store "shared": `) {
			t.Errorf("%q: %v", url, err)
		}
	}
	server := redistest.Start(t, "--requirepass", "right")
	for _, o := range []Options{
		{URL: "redis://:s3cret@" + server.Addr()}, {URL: server.URL(), Password: "s3cret"}, {URL: server.URL(), Username: "u", Password: "s3cret"},
		{URL: "redis://:s3cret@127.0.0.1:1"}, {URL: "rediss://:s3cret@" + server.Addr()},
	} {
		_, err := Dial(t.Context(), o)
		if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: %v", o.URL, err)
		}
	}
}

func TestWaysIn(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "right")
	certificate, key := gatewaytest.Certificate(t, "ecdsa", "localhost")
	dir := t.TempDir()
	for name, text := range map[string]string{"cert.pem": certificate, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server.Do("ACL", "SETUSER", "limits", "on", ">word", "~lg:*", "+ping", "+eval", "+evalsha", "+time",
		"+get", "+set", "+del", "+pttl", "+pexpire", "+zadd", "+zrem", "+zcount", "+zremrangebyscore",
		"+llen", "+lindex", "+lset", "+lrem", "+ltrim", "+rpush") // what docs/redis.md says it takes
	port := gatewaytest.FreePort(t)
	redistest.Start(t, "--tls-port", port, "--tls-cert-file", filepath.Join(dir, "cert.pem"), "--tls-key-file", filepath.Join(dir, "key.pem"), "--tls-auth-clients", "no", "--tls-ca-cert-file", filepath.Join(dir, "cert.pem"))
	for _, o := range []Options{
		{URL: "redis://:right@" + server.Addr()},
		{URL: "redis://" + server.Addr() + "/3", Password: "right"},
		{URL: "redis://limits:word@" + server.Addr()},
		{URL: server.URL(), Username: "limits", Password: "word"},
		{URL: "unix://" + server.Socket() + "?db=1", Password: "right"},
		{URL: "rediss://localhost:" + port, CAFile: filepath.Join(dir, "cert.pem")},
	} {
		s, err := Dial(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", o.URL, err)
			continue
		}
		l := bound(t, zone(t, Config{Store: s, Name: "z"}), limitgate.Req{Rate: limitgate.PerSecond(1)})
		if d, err := l.Take(t.Context(), o.URL); err != nil || !d.Admitted() {
			t.Errorf("%s: %+v %v", o.URL, d, err)
		}
		everyCommand(t, s)
		s.Close()
	}
	if _, err := Dial(t.Context(), Options{URL: "rediss://localhost:" + port}); err == nil {
		t.Error("a certificate that nobody signed was believed")
	}
}

// everyCommand does all that a zone does, by each kind of limit.
func everyCommand(t *testing.T, s *Store) {
	t.Helper()
	for i, a := range append(kinds(), limitgate.Conn{Limit: 5}) {
		l := bound(t, zone(t, Config{Store: s, Name: "all" + strconv.Itoa(i), Lease: testLease}), a)
		if a.Kind() == limitgate.KindConn {
			p := acquire(t, l, "k")
			time.Sleep(testLease / 2) // for a renewal
			if err := p.Release(t.Context()); err != nil {
				t.Error(err)
			}
			if n := heldBy(t, l, "k", 5); n != 0 {
				t.Errorf("%d held", n)
			}
			continue
		}
		r, _, err := l.TakeReceiptAt(t.Context(), limitgate.Now(), "k", 2)
		if err := errors.Join(err, r.Refund(t.Context()), l.Reset(t.Context(), "k")); err != nil {
			t.Errorf("%v: %v", a.Kind(), err)
		}
		for range 6 {
			take(t, l, "k")
		}
	}
}

// A deadline holds whatever the store does, and the error tells where it was.
func TestDeadlines(t *testing.T) {
	server := redistest.Start(t)
	s, err := Dial(t.Context(), Options{Name: "shared", URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := bound(t, zone(t, Config{Store: s, Name: "login"}), limitgate.Req{Rate: limitgate.PerSecond(1)})
	take(t, l, "k")
	server.Pause()
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		begin := time.Now()
		d, err := l.Take(ctx, "k")
		if took := time.Since(begin); took > time.Second {
			t.Errorf("an answer took %v", took)
		}
		if d.Admitted() || !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), `store "shared", zone "login": `) {
			t.Errorf("got %+v %v", d, err)
		}
		cancel()
	}
	server.Resume()
	eventually(t, 10*time.Second, "no answer from a store that goes on", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := l.Take(ctx, "k")
		return err == nil
	})
}

// A gateway that starts while the store is away decides as soon as it is there, without being told.
func TestOpenBeforeTheStoreIsThere(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	s, err := Open(Options{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := bound(t, zone(t, Config{Store: s, Name: "z"}), limitgate.Req{Rate: limitgate.PerSecond(1)})
	if _, err := l.Take(t.Context(), "k"); err == nil {
		t.Error("a store that is not there answers")
	}
	server.Run()
	eventually(t, 10*time.Second, "no answer", func() bool { _, err := l.Take(t.Context(), "k"); return err == nil })
	server.Kill() // and one that ends and comes back
	if _, err := l.Take(t.Context(), "k"); err == nil {
		t.Error("a store that ended answers")
	}
	server.Run()
	eventually(t, 10*time.Second, "no answer", func() bool { _, err := l.Take(t.Context(), "k"); return err == nil })
}
