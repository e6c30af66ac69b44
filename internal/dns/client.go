package dns

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Client asks name servers. It keeps nothing, and is safe for many goroutines. The zero value asks nobody.
type Client struct {
	Servers []netip.AddrPort // asked in turn; at least one
	IPv4    bool             // ask for A
	IPv6    bool             // ask for AAAA
	Resend  time.Duration    // how long one server is waited for; 0 means 5 s, as in nginx

	turn atomic.Uint32
}

// Answer is what a name stands for.
type Answer struct {
	Addrs []netip.Addr  // at least one, none of them twice; IPv4 first
	TTL   time.Duration // how long that holds
}

// Error is why a name has no addresses, in nginx's numbers and words.
type Error struct{ Code int }

// The numbers: those of DNS, and one for time.
const (
	NotFound = 3
	TimedOut = 110
)

// Error returns NUMBER: WORDS.
func (e *Error) Error() string {
	words := [...]string{1: "Format error", 2: "Server failure", 3: "Host not found", 4: "Unimplemented", 5: "Operation refused"}
	switch {
	case e.Code > 0 && e.Code < len(words):
		return fmt.Sprintf("%d: %s", e.Code, words[e.Code])
	case e.Code == TimedOut:
		return fmt.Sprintf("%d: Operation timed out", e.Code)
	}
	return fmt.Sprintf("%d: Unknown error", e.Code)
}

// Ask returns the addresses of a name, both kinds at once. Its error is an [Error]; when ctx is over it is TimedOut.
func (c *Client) Ask(ctx context.Context, name string) (Answer, error) {
	n, ok := newName(name)
	if !ok {
		return Answer{}, &Error{NotFound} // as in nginx
	}
	four, six := result{code: -1}, result{code: -1}
	done := make(chan struct{})
	// Owned by Ask, which waits for it.
	go func() {
		defer close(done)
		if c.IPv6 {
			six = c.resolve(ctx, n, dnsmessage.TypeAAAA)
		}
	}()
	if c.IPv4 {
		four = c.resolve(ctx, n, dnsmessage.TypeA)
	}
	<-done
	a := Answer{TTL: mostTTL}
	for _, r := range [...]result{four, six} {
		if len(r.addrs) > 0 {
			a.Addrs = append(a.Addrs, r.addrs...)
			a.TTL = min(a.TTL, r.ttl)
		}
	}
	switch {
	case len(a.Addrs) > 0:
		return a, nil
	case four.code > 0:
		return Answer{}, &Error{four.code}
	case six.code > 0:
		return Answer{}, &Error{six.code}
	}
	return Answer{}, &Error{NotFound}
}

// result is what one kind of address came to.
type result struct {
	addrs []netip.Addr
	ttl   time.Duration
	code  int
}

// resolve asks for one kind of address, and for what an alias stands for where the answer does not say it.
func (c *Client) resolve(ctx context.Context, name dnsmessage.Name, kind dnsmessage.Type) result {
	ttl := time.Duration(mostTTL)
	for hops := 0; hops <= mostAliases; hops++ {
		r, code := c.put(ctx, name, kind)
		if code != 0 {
			return result{code: code}
		}
		ttl = min(ttl, r.ttl)
		if len(r.addrs) > 0 {
			return result{addrs: r.addrs, ttl: ttl}
		}
		if same(r.alias, name) {
			return result{}
		}
		hops += r.hops
		name = r.alias
	}
	return result{code: NotFound}
}

// put puts one question to the servers in turn until one has an answer. A server that fails is passed over while there are others.
func (c *Client) put(ctx context.Context, name dnsmessage.Name, kind dnsmessage.Type) (reply, int) {
	first := c.turn.Add(1)
	for try := 0; ; try++ {
		server := c.Servers[(int(first%uint32(len(c.Servers)))+try)%len(c.Servers)]
		begun := time.Now()
		r, err := c.once(ctx, server, name, kind)
		last := try%len(c.Servers) == len(c.Servers)-1
		switch {
		case ctx.Err() != nil:
			return reply{}, TimedOut
		case err == nil && (r.code == dnsmessage.RCodeSuccess || r.code == dnsmessage.RCodeNameError || last):
			return r, int(r.code)
		case err != nil && last && !pause(ctx, c.resend()-time.Since(begun)):
			return reply{}, TimedOut
		}
	}
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *Client) resend() time.Duration {
	if c.Resend > 0 {
		return c.Resend
	}
	return 5 * time.Second
}

// once puts a question to one server.
func (c *Client) once(ctx context.Context, server netip.AddrPort, name dnsmessage.Name, kind dnsmessage.Type) (reply, error) {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails
	q := question{id: binary.BigEndian.Uint16(b[:]), name: name, kind: kind}
	ctx, cancel := context.WithTimeout(ctx, c.resend())
	defer cancel()
	r, err := overUDP(ctx, server, q)
	if err == nil && r.cut {
		return overTCP(ctx, server, q)
	}
	return r, err
}

// connect opens a connection whose reads and writes end with ctx.
func connect(ctx context.Context, network string, server netip.AddrPort) (nc net.Conn, end func(), err error) {
	var d net.Dialer
	nc, err = d.DialContext(ctx, network, server.String())
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	return nc, func() { stop(); _ = nc.Close() }, nil
}

// overUDP waits past everything that is not the answer.
func overUDP(ctx context.Context, server netip.AddrPort, q question) (reply, error) {
	nc, end, err := connect(ctx, "udp", server)
	if err != nil {
		return reply{}, err
	}
	defer end()
	msg, err := q.pack()
	if err != nil {
		return reply{}, err
	}
	if _, err := nc.Write(msg); err != nil {
		return reply{}, err
	}
	b := make([]byte, 4096)
	for {
		n, err := nc.Read(b)
		if err != nil {
			return reply{}, err
		}
		if r, err := q.read(b[:n]); err == nil {
			return r, nil
		}
	}
}

func overTCP(ctx context.Context, server netip.AddrPort, q question) (reply, error) {
	nc, end, err := connect(ctx, "tcp", server)
	if err != nil {
		return reply{}, err
	}
	defer end()
	msg, err := q.pack()
	if err != nil {
		return reply{}, err
	}
	if _, err := nc.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)); err != nil {
		return reply{}, err
	}
	var size [2]byte
	if _, err := io.ReadFull(nc, size[:]); err != nil {
		return reply{}, err
	}
	b := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(nc, b); err != nil {
		return reply{}, err
	}
	r, err := q.read(b)
	if err == nil && r.cut {
		return reply{}, errors.New("an answer over TCP that did not fit")
	}
	return r, err
}
