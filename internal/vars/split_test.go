package vars

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Random texts of all short lengths meet the share that nginx gives them; so do those whose hash is at a bound.
func TestSplitClientsLikeNginx(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var http, all strings.Builder
	const texts = 400
	for i := range texts {
		word := make([]byte, i%41)
		for j := range word {
			word[j] = "abcdefghijklmnopqrstuvwxyz0123456789./:-"[r.IntN(40)]
		}
		rows := []string{"0.01% never; 33.33% a; 33.33% $host; 33.33% c;", "50% a; * b;", "10% a; 20.5% b;", "99.99% a; .01% b;", "100% a; * b;", "* a;", ""}[r.IntN(7)]
		fmt.Fprintf(&http, "split_clients \"%s$arg_none\" $v%d { %s }\n", word, i, rows)
		fmt.Fprintf(&all, "$v%d|", i)
	}
	o := startOracle(t, http.String()+`server { listen ADDR; return 200 "`+all.String()+`"; }`)
	body, _, _ := o.ask(t, "tcp", "GET / HTTP/1.0\r\n\r\n")
	want := strings.Split(body, "|")
	table, errs := define(t, http.String(), "none.conf", "")
	good(t, errs)
	seen := map[string]int{}
	for i := range texts {
		got := value(t, table, sample(), fmt.Sprint("v", i))
		if got != want[i] {
			t.Errorf("text %d: got %q, nginx has %q", i, got, want[i])
		}
		seen[got]++
	}
	if len(seen) < 4 {
		t.Errorf("got %v", seen)
	}
}

// A share gets about its part of many texts.
func TestSplitClientsIsFair(t *testing.T) {
	table, errs := define(t, `split_clients $args $half { 50% first; * second; }`, "none.conf", "")
	good(t, errs)
	first := 0
	for i := range 10_000 {
		req := sample()
		req.Args = fmt.Appendf(nil, "user=%d", i)
		if value(t, table, req, "half") == "first" {
			first++
		}
	}
	// Five standard deviations of a fair coin.
	if first < 4750 || first > 5250 {
		t.Errorf("got %d of 10,000 in the first half", first)
	}
}
