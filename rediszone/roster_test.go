package rediszone_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/rediszone"
)

var _ guard.Roster = (*rediszone.Roster)(nil)

// TestRoster: who signs is there, who stops is gone after its time, and nothing is left without an expiry.
func TestRoster(t *testing.T) {
	server := redistest.Start(t)
	s, err := rediszone.Dial(t.Context(), rediszone.Options{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r, err := rediszone.NewRoster(s, "")
	if err != nil {
		t.Fatal(err)
	}
	sign := func(name string, keep time.Duration) []string {
		t.Helper()
		live, left, err := r.Sign(t.Context(), name, keep)
		if len(left) > 0 && !slices.Equal(left, []string{"b"}) {
			t.Errorf("got %v that left, want b alone", left)
		}
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(live)
		return live
	}
	sign("a", time.Minute)
	sign("short", time.Millisecond)
	if got := sign("b", time.Minute); !slices.Contains(got, "a") || !slices.Contains(got, "b") {
		t.Errorf("got %v, want a and b", got)
	}
	time.Sleep(5 * time.Millisecond) // the server's clock decides
	if got := sign("a", time.Minute); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v, want a and b: the third has not signed again", got)
	}
	if err := r.Leave(t.Context(), "b", 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if live, left, err := r.Sign(t.Context(), "a", time.Minute); err != nil || !slices.Equal(live, []string{"a"}) || !slices.Equal(left, []string{"b"}) {
		t.Errorf("got %v, and %v that left, %v; want a, and b", live, left, err)
	}
	if got := sign("b", time.Minute); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v, want a and b, which is back", got)
	}
	if ttl := server.Do("PTTL", "lg:1peers"); !strings.HasPrefix(ttl, ":") || strings.HasPrefix(ttl, ":-") {
		t.Errorf("got a time to live of %s, want one", ttl)
	}
	if _, err := rediszone.NewRoster(s, "a{b}"); err == nil {
		t.Error("got no error for a prefix with braces")
	}
}
