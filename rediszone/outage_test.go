package rediszone_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/rediszone"
)

// TestOutage tells a server that is away, or can't work, from one that was asked something wrong.
func TestOutage(t *testing.T) {
	server := redistest.Start(t)
	s, err := rediszone.Dial(t.Context(), rediszone.Options{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	z, err := rediszone.New(rediszone.Config{Store: s, Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := limitgate.NewLimiter(z, limitgate.Req{Rate: limitgate.PerSecond(1)})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(key string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := l.TakeAt(ctx, limitgate.Now(), key, 1)
		return err
	}
	server.Do("LPUSH", "lg:1peers", "something else")
	r, err := rediszone.NewRoster(s, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Sign(t.Context(), "a", time.Second); err == nil || rediszone.Outage(err) {
		t.Errorf("a key that holds something else: got %v, outage %v, want an error that is none", err, rediszone.Outage(err))
	}
	server.Do("CONFIG", "SET", "maxmemory", "1")
	if err := ask("new"); err == nil || !rediszone.Outage(err) {
		t.Errorf("no memory: got %v, outage %v, want an outage", err, rediszone.Outage(err))
	}
	server.Pause()
	if err := ask("k"); !errors.Is(err, context.DeadlineExceeded) || !rediszone.Outage(err) {
		t.Errorf("no answer: got %v, outage %v, want an outage", err, rediszone.Outage(err))
	}
	server.Resume()
	server.Kill()
	if err := ask("k"); err == nil || !rediszone.Outage(err) {
		t.Errorf("nobody there: got %v, outage %v, want an outage", err, rediszone.Outage(err))
	}
	if rediszone.Outage(nil) {
		t.Error("no error: got an outage")
	}
}

// TestOutageByWhatIsSaid: an error says by its code whether the server is out of order, or what it was asked was wrong.
func TestOutageByWhatIsSaid(t *testing.T) {
	server := redistest.Start(t)
	s, err := rediszone.Dial(t.Context(), rediszone.Options{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"LOADING Redis is loading the dataset in memory": true, "READONLY You can't write against a read only replica.": true,
		"MISCONF Redis is configured to save RDB snapshots": true, "OOM command not allowed when used memory > 'maxmemory'.": true,
		"CLUSTERDOWN The cluster is down": true, "BUSY Redis is busy running a script.": true, "NOREPLICAS Not enough good replicas to write.": true,
		"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.": true,
		"ERR user_script:7: attempt to perform arithmetic on a nil value":                                                                 false, "ERR unknown command 'EVALSHA'": false,
		"ERR The user executing the script can't run this command or subcommand": false, "ERR value is not an integer or out of range": false,
		"NOPERM this user has no permissions to run the 'set' command": false, "WRONGTYPE Operation against a key holding the wrong kind of value": false,
	} {
		said := c.Do(t.Context(), c.B().Eval().Script("return redis.error_reply(ARGV[1])").Numkeys(0).Arg(text).Build()).Error()
		if err := fmt.Errorf("deciding: %w", said); said == nil || rediszone.Outage(err) != want {
			t.Errorf("%v: got outage %v, want %v", err, rediszone.Outage(err), want)
		}
	}
	// Whatever it says to who wants to connect, nobody is connected then.
	out, err := rediszone.Open(rediszone.Options{URL: server.URL() + "/4711"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.Close)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err = out.Client(); err != nil && strings.Contains(err.Error(), "DB index") {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("got %v, want that there is no such database", err)
		}
	}
	if !rediszone.Outage(err) {
		t.Errorf("%v: got no outage", err)
	}
}
