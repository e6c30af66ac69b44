package pipeline

import (
	"crypto/tls"
	"net"
	"runtime"
	"testing"
	"weak"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/request"
)

// greeted is a connection that is being shaken hands with.
type greeted struct {
	net.Conn
	info request.Conn
}

func (g *greeted) Info() *request.Conn { return &g.info }

// What a handshake needed must not outlive its connection, whatever the client was offered.
func TestHandshakesLeaveNothingBehind(t *testing.T) {
	cert, key := gatewaytest.Certificate(t, "ecdsa", "localhost")
	for _, more := range []string{"", "http2 on;", "http2 on; ssl_protocols TLSv1.1 TLSv1.3;", "http2 on; ssl_session_tickets off; ssl_session_cache shared:a:1m;"} {
		g := start(t, `server { listen 443 ssl; `+more+` ssl_certificate "data:`+cert+`"; ssl_certificate_key "data:`+key+`"; }`)
		config := g.program.Head(&g.conn).TLS
		greet := func() (weak.Pointer[tls.Config], weak.Pointer[request.TLS]) {
			conn := new(greeted)
			got, err := config.GetConfigForClient(&tls.ClientHelloInfo{Conn: conn, ServerName: "localhost", SupportedVersions: []uint16{tls.VersionTLS13}})
			if err != nil || got.WrapSession == nil {
				t.Fatalf("%q: got %v, %v", more, got, err)
			}
			if h2 := got.NextProtos[0] == "h2"; h2 != (more != "") {
				t.Errorf("%q: got the protocols %q", more, got.NextProtos)
			}
			return weak.Make(got), weak.Make(conn.info.TLS)
		}
		made, known := greet()
		runtime.GC()
		if made.Value() != nil || known.Value() != nil {
			t.Errorf("%q: a configuration is still there: %v, what is known of the connection: %v", more, made.Value() != nil, known.Value() != nil)
		}
		runtime.KeepAlive(g)
	}
}
