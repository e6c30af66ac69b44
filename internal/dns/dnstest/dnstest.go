// Package dnstest is a name server for tests: on loopback, over UDP and TCP on one port, with what the test says of names. It
// resolves nothing itself.
package dnstest

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Name is what the server says of one name. The zero value has no addresses.
type Name struct {
	Addrs  []string // of both kinds
	Alias  string   // another name, whose records follow if the server has them
	TTL    uint32   // seconds
	Code   dnsmessage.RCode
	Silent bool // nothing is answered
	Long   bool // over UDP the answer does not fit
	Noise  bool // before the answer over UDP come messages that are none
}

// Server is a running name server.
type Server struct {
	Addr string // HOST:PORT

	udp net.PacketConn
	tcp net.Listener
	wg  sync.WaitGroup

	mu    sync.Mutex // guards what follows
	names map[string]Name
	asked map[string]int
}

// Start starts a server that ends with the test. Names it was not told of do not exist.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{names: map[string]Name{}, asked: map[string]int{}}
	var err error
	for range 20 { // the same port must be free for both
		if s.udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		s.Addr = s.udp.LocalAddr().String()
		if s.tcp, err = net.Listen("tcp", s.Addr); err == nil {
			break
		}
		s.udp.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.wg.Add(2)
	// Owned by the test: ends when its socket is closed.
	go func() { defer s.wg.Done(); s.serveUDP() }()
	// Likewise.
	go func() { defer s.wg.Done(); s.serveTCP() }()
	t.Cleanup(func() { s.udp.Close(); s.tcp.Close(); s.wg.Wait() })
	return s
}

// Port is the port alone.
func (s *Server) Port() uint16 { return netip.MustParseAddrPort(s.Addr).Port() }

// Set says what is known of a name from now on.
func (s *Server) Set(name string, n Name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[strings.ToLower(name)+"."] = n
}

// Asked returns how often addresses of IPv4 were asked for by a name.
func (s *Server) Asked(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[strings.ToLower(name)+"."]
}

func (s *Server) serveUDP() {
	b := make([]byte, 4096)
	for {
		n, from, err := s.udp.ReadFrom(b)
		if err != nil {
			return
		}
		for _, m := range s.answer(b[:n], false) {
			_, _ = s.udp.WriteTo(m, from)
		}
	}
}

func (s *Server) serveTCP() {
	for {
		c, err := s.tcp.Accept()
		if err != nil {
			return
		}
		s.wg.Add(1)
		// Owned by the server: ends with its connection.
		go func() {
			defer s.wg.Done()
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			var size [2]byte
			if _, err := io.ReadFull(c, size[:]); err != nil {
				return
			}
			b := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			for _, m := range s.answer(b, true) {
				_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(m))), m...))
			}
		}()
	}
}

// answer returns the messages that answer one.
func (s *Server) answer(msg []byte, whole bool) (out [][]byte) {
	var m dnsmessage.Message
	if m.Unpack(msg) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	s.mu.Lock()
	name, known := s.names[strings.ToLower(q.Name.String())]
	if q.Type == dnsmessage.TypeA {
		s.asked[strings.ToLower(q.Name.String())]++
	}
	m.Response, m.Additionals = true, nil
	if known && name.Code == 0 {
		m.Answers = s.records(q.Name, name, q.Type)
	}
	s.mu.Unlock()
	switch {
	case name.Silent:
		return nil
	case !known:
		m.RCode = dnsmessage.RCodeNameError
	default:
		m.RCode = name.Code
	}
	if name.Noise && !whole {
		out = append(out, noise(m)...)
	}
	if name.Long && !whole {
		m.Truncated, m.Answers = true, nil
	}
	b, err := m.Pack()
	if err != nil {
		return out
	}
	return append(out, b)
}

// records returns those of a name, and of what it stands for. s is locked.
func (s *Server) records(owner dnsmessage.Name, n Name, kind dnsmessage.Type) (list []dnsmessage.Resource) {
	h := dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET, TTL: n.TTL}
	if n.Alias != "" {
		target := dnsmessage.MustNewName(n.Alias + ".")
		list = append(list, dnsmessage.Resource{Header: h, Body: &dnsmessage.CNAMEResource{CNAME: target}})
		if next, known := s.names[strings.ToLower(n.Alias)+"."]; known && next.Alias != strings.TrimSuffix(owner.String(), ".") {
			list = append(list, s.records(target, next, kind)...)
		}
		return list
	}
	for _, text := range n.Addrs {
		a := netip.MustParseAddr(text)
		switch {
		case a.Is4() && kind == dnsmessage.TypeA:
			list = append(list, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && kind == dnsmessage.TypeAAAA:
			list = append(list, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return list
}

// noise returns what an attacker might send who sees nothing of the question: other numbers, other names, no sense.
func noise(m dnsmessage.Message) (out [][]byte) {
	wrong := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 9999},
		Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, 66}}}
	other := m
	other.ID++
	other.Answers = []dnsmessage.Resource{wrong}
	name := m
	name.Questions = []dnsmessage.Question{{Name: dnsmessage.MustNewName("evil.example."), Type: m.Questions[0].Type, Class: dnsmessage.ClassINET}}
	name.Answers = other.Answers
	question := m
	question.Response = false
	question.Answers = other.Answers
	for _, n := range []dnsmessage.Message{other, name, question} {
		if b, err := n.Pack(); err == nil {
			out = append(out, b)
		}
	}
	return append(out, []byte("nonsense"), nil)
}
