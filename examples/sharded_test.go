package examples

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// sharded is a front before three instances.
type sharded struct {
	t        *testing.T
	front    *gatewaytest.Gateway
	limiters map[string]*gatewaytest.Gateway // by address
}

func startSharded(t *testing.T, front gatewaytest.Binary) *sharded {
	t.Helper()
	s := &sharded{t: t, limiters: map[string]*gatewaytest.Gateway{}}
	limiter := strings.Replace(read(t, "sharded/limiter.conf", "8081", "9000"), "rate=10r/s", "rate=10r/h", 1)
	text := read(t, "sharded/front.conf", "8080")
	for _, port := range []string{"8081", "8082", "8083"} {
		g := gatewaytest.Start(t, gatewaytest.Limitgate(t), limiter)
		s.limiters[g.Addr(8081)] = g
		text = strings.Replace(text, "127.0.0.1:"+port, g.Addr(8081), 1)
	}
	s.front = gatewaytest.Start(t, front, text)
	return s
}

// ask sends a request with a key. It returns the status and the instance that answered.
func (s *sharded) ask(key string) (status int, shard string) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.front.URL(8080, "/"), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	tried := strings.Split(answer.Header.Get("X-Shard"), ", ")
	return answer.StatusCode, tried[len(tried)-1]
}

// passed asks n times with a key and counts what passed.
func (s *sharded) passed(key string, n int) (passed int) {
	s.t.Helper()
	for range n {
		switch status, _ := s.ask(key); status {
		case 200:
			passed++
		case 429:
		default:
			s.t.Fatalf("key %s: got %d, want 200 or 429", key, status)
		}
	}
	return passed
}

// A key always meets the same instance, so its limit is one. When an instance dies only its keys move.
func TestSharded(t *testing.T) {
	for _, front := range []gatewaytest.Binary{gatewaytest.Limitgate(t), gatewaytest.Nginx(t)} {
		t.Run(front.Name, func(t *testing.T) { testSharded(startSharded(t, front)) })
	}
}

const (
	keys  = 300 // whose instance is looked at
	spent = 20  // of these, whose limit is used up
	burst = 21  // that pass of a key in limiter.conf
)

func testSharded(s *sharded) {
	t := s.t
	home, count := map[string]string{}, map[string]int{}
	for round := range 2 {
		for i := range keys {
			key := fmt.Sprintf("key-%d", i)
			status, shard := s.ask(key)
			if status != 200 {
				t.Fatalf("%s: got %d, want 200", key, status)
			}
			if round == 0 {
				home[key] = shard
				count[shard]++
			} else if home[key] != shard {
				t.Fatalf("%s met %s and then %s", key, home[key], shard)
			}
		}
	}
	if len(count) != 3 {
		t.Fatalf("got instances %v, want three", count)
	}
	for shard, n := range count {
		if n < keys/10 { // a third, in the mean
			t.Errorf("%s has %d of %d keys", shard, n, keys)
		}
	}
	for i := range spent {
		if got, want := s.passed(fmt.Sprintf("key-%d", i), 25), burst-2; got != want {
			t.Errorf("key-%d: %d passed, want %d: 21 over all instances, of which 2 before", i, got, want)
		}
	}
	s.die(home, count)
}

// die ends the instance of key-0 and looks at what becomes of all keys.
func (s *sharded) die(home map[string]string, count map[string]int) {
	t := s.t
	dead := home["key-0"]
	s.limiters[dead].Stop()
	moved, heirs := 0, []string{}
	for i := spent; i < keys; i++ {
		key := fmt.Sprintf("key-%d", i)
		status, shard := s.ask(key)
		switch {
		case status != 200:
			t.Errorf("%s: got %d, want 200", key, status)
		case home[key] != dead && shard != home[key]:
			t.Errorf("%s moved from %s to %s, and its instance is alive", key, home[key], shard)
		case home[key] == dead && shard == dead:
			t.Errorf("%s was answered by the dead", key)
		case home[key] == dead:
			moved++
			heirs = append(heirs, shard)
		}
	}
	slices.Sort(heirs)
	if heirs = slices.Compact(heirs); len(heirs) != 2 {
		t.Errorf("keys of the dead went to %v, want both that are left", heirs)
	}
	again := 0
	for i := range spent {
		key, want := fmt.Sprintf("key-%d", i), 0
		if home[key] == dead {
			again++
			want = burst // its debt died with its instance: once, and no more than that
		}
		if got := s.passed(key, 25); got != want {
			t.Errorf("%s behind the death: %d passed, want %d", key, got, want)
		}
	}
	t.Logf("of %d keys %d lived on the dead instance; %d of %d looked at moved, none of another; %d of %d used-up keys were given one more burst",
		keys, count[dead], moved, keys-spent, again, spent)
}
