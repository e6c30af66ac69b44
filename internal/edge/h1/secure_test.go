package h1

import (
	"bufio"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/request"
)

// secured opens an edge whose address speaks TLS.
func secured(t *testing.T, change func(*site)) (*site, *Server, string) {
	t.Helper()
	cert, key := gatewaytest.Certificate(t, "ecdsa", "localhost")
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	s, srv, addr := open(t, nil, func(s *site) {
		s.head.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		s.head.Record = 4 << 10
		change(s)
	})
	return s, srv, addr
}

// encrypt shakes hands on a connection on which first was sent in the clear.
func encrypt(t *testing.T, c *client, first string) *client {
	t.Helper()
	if first != "" {
		c.send(first)
	}
	nc := tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true, ServerName: "asked.example"})
	if err := nc.Handshake(); err != nil {
		t.Fatal(err)
	}
	return &client{Conn: nc, t: t, r: bufio.NewReader(nc)}
}

func TestSecureAddress(t *testing.T) {
	big := strings.Repeat("0123456789", 30_000)
	left := make(chan time.Time, 1)
	_, srv, addr := secured(t, func(s *site) {
		s.head.ProxyProtocol = true
		s.serve = func(r *request.Request) {
			switch {
			case r.Conn.TLS == nil:
				answerText(r, 200, "plain")
			case string(r.URI) == "/big":
				answerText(r, 200, big)
			case string(r.URI) == "/echo":
				demo(r)
			case string(r.URI) == "/leave":
				r.Stream.Sleep(10 * time.Second)
				left <- time.Now()
				r.Leave(499)
			default:
				answerText(r, 200, strings.Join([]string{r.Conn.TLS.ServerName, r.Conn.TLS.Protocol, r.Conn.ProxySource.String()}, " "))
			}
		}
	})
	const proxied = "PROXY TCP4 192.0.2.1 192.0.2.2 1234 80\r\n"
	c := encrypt(t, dial(t, addr), proxied)
	c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /big HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, body := c.response(); body != "asked.example TLSv1.3 192.0.2.1:1234" {
		t.Errorf("got %q", body)
	}
	if _, body := c.response(); body != big {
		t.Errorf("got %d bytes, want %d", len(body), len(big))
	}
	c.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n" + big)
	if _, body := c.response(); body != big {
		t.Errorf("echo: got %d bytes, want %d", len(body), len(big))
	}
	c.send("GET /leave HTTP/1.1\r\nHost: h\r\n\r\n")
	eventually(t, time.Second, "the wait", func() bool { return srv.Stats().Writing == 1 })
	began := time.Now()
	_ = c.Close()
	if d := (<-left).Sub(began); d > 2*time.Second {
		t.Errorf("that the client left was noticed after %v", d)
	}
	plain := dial(t, addr)
	plain.send(proxied + "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, body := plain.response(); body != "plain" {
		t.Errorf("without TLS: got %q", body)
	}
}

// client_header_timeout covers the handshake, and what goes wrong in it is told as nginx tells it.
func TestHandshakesThatFail(t *testing.T) {
	s, _, addr := secured(t, func(s *site) { s.head.HeaderTimeout = 200 * time.Millisecond })
	hang := dial(t, addr)
	hang.send("\x16\x03\x01")
	began := time.Now()
	hang.eof()
	if d := time.Since(began); d < 150*time.Millisecond || d > 600*time.Millisecond {
		t.Errorf("closed after %v, want 200ms", d)
	}
	patient, _, addr := secured(t, func(*site) {})
	_ = dial(t, addr).Close()
	half := dial(t, addr)
	half.send("\x16\x03\x01\x00")
	_ = half.Conn.(*net.TCPConn).CloseWrite()
	half.eof()
	distrustful := tls.Client(dial(t, addr).Conn, &tls.Config{ServerName: "localhost", MaxVersion: tls.VersionTLS12})
	if distrustful.Handshake() == nil {
		t.Error("a self-signed certificate was trusted")
	}
	const tail = " while SSL handshaking, client: 127.0.0.1, server: "
	for _, want := range []string{
		"client timed out (110: Connection timed out)" + tail, "client closed connection" + tail, "peer closed connection in SSL handshake" + tail,
		"SSL_do_handshake() failed (SSL: error:0A000412:SSL routines::sslv3 alert bad certificate:SSL alert number 42)" + tail,
	} {
		gatewaytest.Eventually(t, 2*time.Second, want, func() bool { return strings.Contains(s.log.String()+patient.log.String(), want) })
	}
}

// A client that takes an answer slowly, but takes it, is not cut off by send_timeout, however much is sent at a time.
func TestSlowSecureClient(t *testing.T) {
	big := strings.Repeat("x", 4<<20)
	_, _, addr := secured(t, func(s *site) {
		s.settings.SendTimeout = 300 * time.Millisecond
		s.serve = func(r *request.Request) { answerText(r, 200, big) }
	})
	c := dial(t, addr)
	_ = c.Conn.(*net.TCPConn).SetReadBuffer(64 << 10)
	slow := encrypt(t, c, "")
	slow.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	began, got, p := time.Now(), 0, make([]byte, 64<<10)
	for {
		n, err := slow.r.Read(p)
		if got += n; err != nil {
			break
		}
		if time.Since(began) < 900*time.Millisecond {
			time.Sleep(15 * time.Millisecond)
		}
	}
	if got < len(big) {
		t.Errorf("got %d bytes in %v, want %d", got, time.Since(began), len(big))
	}
}

// A connection that was open in the clear when a reload made its address speak TLS is closed, not told that it is plain.
func TestPlainConnectionMeetsTLS(t *testing.T) {
	before := newSite(func(r *request.Request) { answerText(r, 200, "before") })
	after := newSite(func(r *request.Request) { answerText(r, 400, "plain") })
	after.head.TLS = new(tls.Config)
	src := new(changing)
	src.now.Store(before)
	_, addr := startWith(t, Config{Source: src}, nil)
	c := dial(t, addr)
	c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, body := c.response(); body != "before" {
		t.Errorf("got %q", body)
	}
	src.now.Store(after)
	c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	c.eof()
	if n := after.served.Load(); n != 0 {
		t.Errorf("the new program served %d requests, want none", n)
	}
}
