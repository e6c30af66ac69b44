package dns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/dns/dnstest"
	"golang.org/x/net/dns/dnsmessage"
)

// ask asks, for a second at most.
func ask(c *Client, name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	a, err := c.Ask(ctx, name)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(a.Addrs, " ", a.TTL)
}

func clientOf(servers ...*dnstest.Server) *Client {
	c := &Client{IPv4: true, IPv6: true, Resend: 50 * time.Millisecond}
	for _, s := range servers {
		c.Servers = append(c.Servers, netip.MustParseAddrPort(s.Addr))
	}
	return c
}

func TestAsk(t *testing.T) {
	t.Parallel()
	s := dnstest.Start(t)
	s.Set("one.example", dnstest.Name{Addrs: []string{"192.0.2.1"}, TTL: 7})
	s.Set("two.example", dnstest.Name{Addrs: []string{"2001:db8::1", "192.0.2.1", "192.0.2.2"}, TTL: 300})
	s.Set("twice.example", dnstest.Name{Addrs: []string{"192.0.2.1", "192.0.2.1", "2001:db8::1", "2001:db8::1"}, TTL: 5})
	s.Set("long.example", dnstest.Name{Addrs: []string{"192.0.2.3"}, TTL: 9, Long: true})
	s.Set("alias.example", dnstest.Name{Alias: "one.example", TTL: 3})
	s.Set("far.example", dnstest.Name{Alias: "elsewhere.example", TTL: 60})
	s.Set("self.example", dnstest.Name{Alias: "self.example", TTL: 60})
	s.Set("empty.example", dnstest.Name{})
	s.Set("noise.example", dnstest.Name{Addrs: []string{"192.0.2.4"}, TTL: 1, Noise: true})
	s.Set("failing.example", dnstest.Name{Code: dnsmessage.RCodeServerFailure})
	s.Set("refused.example", dnstest.Name{Code: dnsmessage.RCodeRefused})
	s.Set("silent.example", dnstest.Name{Silent: true})
	c := clientOf(s)
	for name, want := range map[string]string{
		"one.example":                       "[192.0.2.1] 7s",
		"ONE.example.":                      "[192.0.2.1] 7s",
		"two.example":                       "[192.0.2.1 192.0.2.2 2001:db8::1] 5m0s",
		"twice.example":                     "[192.0.2.1 2001:db8::1] 5s",
		"long.example":                      "[192.0.2.3] 9s",
		"alias.example":                     "[192.0.2.1] 3s",
		"far.example":                       "3: Host not found", // nobody knows what it stands for
		"self.example":                      "3: Host not found",
		"empty.example":                     "3: Host not found",
		"noise.example":                     "[192.0.2.4] 1s",
		"failing.example":                   "2: Server failure",
		"refused.example":                   "5: Operation refused",
		"silent.example":                    "110: Operation timed out",
		"nonesuch.example":                  "3: Host not found",
		"a..b":                              "3: Host not found",
		"":                                  "3: Host not found",
		strings.Repeat("x", 64) + ".a":      "3: Host not found",
		strings.Repeat("abcdefg.", 40):      "3: Host not found",
		"with space\x00and\r\nline.example": "3: Host not found",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ask(c, name); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestOneKindOfAddress(t *testing.T) {
	t.Parallel()
	s := dnstest.Start(t)
	s.Set("two.example", dnstest.Name{Addrs: []string{"2001:db8::1", "192.0.2.1"}, TTL: 5})
	c := clientOf(s)
	c.IPv6 = false
	if got := ask(c, "two.example"); got != "[192.0.2.1] 5s" {
		t.Errorf("without IPv6: got %s", got)
	}
	c.IPv4, c.IPv6 = false, true
	if got := ask(c, "two.example"); got != "[2001:db8::1] 5s" {
		t.Errorf("without IPv4: got %s", got)
	}
}

// A server that does not answer, or fails, is passed over while another one does.
func TestServersInTurn(t *testing.T) {
	t.Parallel()
	mute, broken, good, closed := dnstest.Start(t), dnstest.Start(t), dnstest.Start(t), &dnstest.Server{Addr: "127.0.0.1:1"}
	mute.Set("a.example", dnstest.Name{Silent: true})
	broken.Set("a.example", dnstest.Name{Code: dnsmessage.RCodeServerFailure})
	good.Set("a.example", dnstest.Name{Addrs: []string{"192.0.2.1"}, TTL: 5})
	for name, c := range map[string]*Client{"mute": clientOf(mute, good), "broken": clientOf(broken, good), "closed": clientOf(closed, good), "all": clientOf(mute, broken, closed, good)} {
		for range 4 {
			if got := ask(c, "a.example"); got != "[192.0.2.1] 5s" {
				t.Errorf("%s: got %s", name, got)
			}
		}
	}
	// One that nobody listens at is asked again, in its time, until the time is up.
	if got := ask(clientOf(closed), "a.example"); got != "110: Operation timed out" {
		t.Errorf("closed alone: got %s", got)
	}
}

func TestErrors(t *testing.T) {
	for code, want := range map[int]string{1: "1: Format error", 4: "4: Unimplemented", 9: "9: Unknown error", TimedOut: "110: Operation timed out"} {
		if got := (&Error{code}).Error(); got != want {
			t.Errorf("%d: got %s, want %s", code, got, want)
		}
	}
}

func TestAliases(t *testing.T) {
	name := func(s string) dnsmessage.Name { return dnsmessage.MustNewName(s + ".") }
	addr := netip.MustParseAddr("192.0.2.1")
	chain := func(n int) (list []record) {
		for i := range n {
			list = append(list, record{owner: name(fmt.Sprint("n", i)), alias: name(fmt.Sprint("N", i+1)), ttl: time.Duration(100-i) * time.Second})
		}
		return append(list, record{owner: name(fmt.Sprint("n", n)), addr: addr, ttl: time.Hour})
	}
	for n, found := range map[int]bool{0: true, 1: true, mostAliases: true, mostAliases + 1: false} {
		r := reply{alias: name("n0")}
		r.follow(chain(n))
		if (len(r.addrs) == 1) != found {
			t.Errorf("%d aliases: got %v", n, r.addrs)
		}
		if want := min(time.Hour, time.Duration(101-n)*time.Second); found && n > 0 && r.ttl != want {
			t.Errorf("%d aliases: holds for %v, want %v", n, r.ttl, want)
		}
	}
	r := reply{alias: name("a")}
	r.follow([]record{{owner: name("b"), addr: addr}, {owner: name("a"), alias: name("c")}})
	if len(r.addrs) != 0 || r.alias.String() != "c." {
		t.Errorf("an address of somebody else: got %v, ends at %v", r.addrs, r.alias)
	}
}

// FuzzRead reads any bytes as an answer: no panic, and nothing counts that is not to the question.
func FuzzRead(f *testing.F) {
	n, _ := newName("www.example")
	q := question{id: 0x1234, name: n, kind: dnsmessage.TypeA}
	asked := []dnsmessage.Question{{Name: n, Type: q.kind, Class: dnsmessage.ClassINET}}
	h := dnsmessage.ResourceHeader{Name: n, Class: dnsmessage.ClassINET, TTL: 60}
	for _, m := range []dnsmessage.Message{
		{Header: dnsmessage.Header{ID: q.id, Response: true}, Questions: asked},
		{Header: dnsmessage.Header{ID: q.id, Response: true, RCode: dnsmessage.RCodeNameError}, Questions: asked},
		{Header: dnsmessage.Header{ID: q.id, Response: true, Truncated: true}, Questions: asked},
		{Header: dnsmessage.Header{ID: q.id, Response: true}, Questions: asked, Answers: []dnsmessage.Resource{
			{Header: h, Body: &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName("other.example.")}},
			{Header: h, Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}}},
			{Header: h, Body: &dnsmessage.TXTResource{TXT: []string{"x"}}},
		}},
	} {
		b, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := q.read(b)
		if err != nil {
			if !errors.Is(err, errForeign) {
				t.Fatalf("got error %v", err)
			}
			return
		}
		if len(b) < 12 || b[0] != 0x12 || b[1] != 0x34 || b[2]&0x80 == 0 {
			t.Fatal("taken for the answer without its number, or being one")
		}
		if len(r.addrs) > mostAddresses || r.ttl > mostTTL || r.ttl < 0 || r.hops > mostAliases+1 {
			t.Fatalf("beyond its bounds: %d addresses, %v, %d hops", len(r.addrs), r.ttl, r.hops)
		}
		for _, a := range r.addrs {
			if !a.Is4() {
				t.Fatalf("asked for A, got %v", a)
			}
		}
	})
}
