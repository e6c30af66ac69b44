package rediszone_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/rediszone"
)

func dialed(t *testing.T, server *redistest.Server) *rediszone.Store {
	t.Helper()
	s, err := rediszone.Dial(t.Context(), rediszone.Options{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestInspect finds what keeps a store from being a good one.
func TestInspect(t *testing.T) {
	server := redistest.Start(t)
	s := dialed(t, server)
	z, err := rediszone.New(rediszone.Config{Store: s, Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := limitgate.NewLimiter(z, limitgate.Count{Limit: 5, Window: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Take(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	look := func() rediszone.Server {
		t.Helper()
		list, err := rediszone.Inspect(t.Context(), s, "")
		if err != nil || len(list) != 1 {
			t.Fatalf("got %v, %v, want one server", list, err)
		}
		return list[0]
	}
	got := look()
	if got.Addr != server.Addr() || got.Version == "" || got.Scripts != nil || got.Latency <= 0 || got.Worst < got.Latency {
		t.Errorf("got %+v", got)
	}
	if got.Keys != 1 || got.Endless != 0 || got.Evicts() {
		t.Errorf("got %d keys, %d without an expiry, evicts %v, want 1, none, no", got.Keys, got.Endless, got.Evicts())
	}
	if ttl := got.LongestTTL["one"]; ttl < time.Minute || ttl > 3*time.Minute {
		t.Errorf("got %v for the key of a window of a minute, want up to two windows and a margin", ttl)
	}
	if got.Offset > time.Second || got.Offset < -time.Second {
		t.Errorf("got a clock that is %v ahead, on this machine", got.Offset)
	}
	server.Do("SET", "lg:1r:one:{by hand}", "99")
	server.Do("SET", "other:1r:one:{x}", "99")
	server.Do("CONFIG", "SET", "maxmemory", "100mb")
	server.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	if got := look(); got.Keys != 2 || got.Endless != 1 || !got.Evicts() || got.MaxMemory != 100<<20 {
		t.Errorf("got %+v, want one key of two without an expiry, and a policy that evicts", got)
	}
}

// TestInspectTriesWhatScriptsDo: whatever command a user may not run is named, and nothing stays of what was tried.
func TestInspectTriesWhatScriptsDo(t *testing.T) {
	server := redistest.Start(t)
	server.Do("ACL", "SETUSER", "u", "on", ">secret", "~lg:*", "+@all")
	s, err := rediszone.Dial(t.Context(), rediszone.Options{URL: server.URL(), Username: "u", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for _, command := range []string{"", "EVAL", "GET", "SET", "PTTL", "PEXPIRE", "DEL", "EXISTS", "INCR", "RPUSH", "LLEN", "LINDEX", "LSET", "LREM",
		"LTRIM", "ZADD", "ZCOUNT", "ZRANGE", "ZREM", "ZREMRANGEBYSCORE", "HSET", "HGET", "HGETALL", "HDEL"} {
		if command != "" {
			server.Do("ACL", "SETUSER", "u", "-"+command)
		}
		list, err := rediszone.Inspect(t.Context(), s, "")
		if err != nil || len(list) != 1 {
			t.Fatalf("without %q: got %v, %v, want one server", command, list, err)
		}
		switch got := list[0].Scripts; {
		case command == "" && got != nil:
			t.Errorf("with all commands: got %v", got)
		case command != "" && (got == nil || !strings.HasPrefix(strings.ToUpper(got.Error()), command+": ") && !strings.Contains(got.Error(), "'"+strings.ToLower(command)+"'")):
			t.Errorf("without %s: got %v, want that it is named", command, got)
		}
		server.Do("ACL", "SETUSER", "u", "+@all")
	}
	server.Do("CONFIG", "SET", "maxmemory", "1")
	if list, err := rediszone.Inspect(t.Context(), s, ""); err != nil || list[0].Scripts == nil {
		t.Errorf("without memory: got %+v %v, want that scripts can store nothing", list, err)
	}
	server.Do("CONFIG", "SET", "maxmemory", "0")
	gatewaytest.Eventually(t, 5*time.Second, "that nothing stays", func() bool { return server.Do("DBSIZE") == ":0" })
}

// TestNotes: what one instance writes the others read, once for each change.
func TestNotes(t *testing.T) {
	server := redistest.Start(t)
	n, err := rediszone.NewNotes(dialed(t, server), "")
	if err != nil {
		t.Fatal(err)
	}
	version := ""
	read := func(want map[string]string) {
		t.Helper()
		v, got, err := n.Read(t.Context(), version)
		if err != nil || !maps.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		version = v
	}
	put := func(name, text string) {
		t.Helper()
		if err := n.Put(t.Context(), name, text); err != nil {
			t.Fatal(err)
		}
	}
	read(map[string]string{})
	read(nil)
	put("a", "1")
	put("b", "2")
	read(map[string]string{"a": "1", "b": "2"})
	read(nil)
	put("a", "")
	read(map[string]string{"b": "2"})
	server.Do("FLUSHALL")
	read(map[string]string{})
	put("a", "3")
	read(map[string]string{"a": "3"})
	if ttl := server.Do("PTTL", "lg:1{notes}"); ttl == ":-1" {
		t.Error("got notes that are kept for ever")
	}
	// What is dropped is dropped if it still says the same, and is no news.
	put("b", "4")
	read(map[string]string{"a": "3", "b": "4"})
	if err := n.Drop(t.Context(), map[string]string{"a": "3", "b": "no more", "c": "5"}); err != nil {
		t.Fatal(err)
	}
	read(nil)
	put("d", "6")
	read(map[string]string{"b": "4", "d": "6"})
}
