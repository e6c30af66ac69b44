package h1

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

// A TLS connection goes the portable way; that its client has left is seen on the socket below.
func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	conf := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}}
	left := make(chan time.Time, 1)
	s := newSite(func(r *request.Request) {
		if string(r.URI) == "/leave" {
			r.Stream.Sleep(10 * time.Second)
			left <- time.Now()
			r.Leave(499)
			return
		}
		demo(r)
	})
	_, addr := startWith(t, Config{Source: s}, func(c net.Conn) net.Conn { return tls.Server(c, conf) })
	plain := dial(t, addr)
	nc := tls.Client(plain.Conn, &tls.Config{InsecureSkipVerify: true})
	c := &client{Conn: nc, t: t, r: bufio.NewReader(nc)}
	big := strings.Repeat("x", 100000)
	for range 3 {
		c.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + big)
		if _, body := c.response(); body != big {
			t.Errorf("got %d bytes", len(body))
		}
	}
	c.send("GET /leave HTTP/1.1\r\nHost: h\r\n\r\n")
	time.Sleep(50 * time.Millisecond)
	began := time.Now()
	_ = nc.Close()
	if d := (<-left).Sub(began); d > 100*time.Millisecond {
		t.Errorf("noticed after %v, want within 100ms", d)
	}
}

// A head that is larger than the output buffer goes out whole.
func TestLargeHead(t *testing.T) {
	value := strings.Repeat("v", 5000)
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, _, addr := open(t, wrap, func(s *site) {
			s.serve = func(r *request.Request) {
				for range 8 {
					r.AddHeader([]byte("X-Large"), []byte(value))
				}
				answerText(r, 200, "behind")
			}
		})
		c := dial(t, addr)
		for range 2 {
			c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			if head, body := c.response(); strings.Count(head, "X-Large: "+value+"\r\n") != 8 || body != "behind" {
				t.Errorf("got a head of %d bytes and %q", len(head), body)
			}
		}
	})
}
