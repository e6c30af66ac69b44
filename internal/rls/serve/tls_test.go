package serve_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/rls/decide"
	"github.com/limitgate/limitgate/internal/rls/load"
	"github.com/limitgate/limitgate/internal/rls/serve"
	"github.com/limitgate/limitgate/internal/rls/stats"
	"github.com/limitgate/limitgate/memzone"
)

// gRPC over TLS, for clients whose certificate has the right name; and all other addresses, a socket among them.
func TestTLSAndSockets(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir, "limitgate.test")
	other, otherKey := certificate(t, dir, "other.test")
	both := write(t, dir, "both.pem", text(t, cert)+text(t, other))
	for _, at := range []serve.Listening{
		{GRPC: "127.0.0.1:0", TLS: &serve.TLS{Cert: cert, Key: key, ClientCA: both, ClientSAN: "limitgate.test"}, Debug: "127.0.0.1:0", Prometheus: "127.0.0.1:0", PromPath: "/p"},
		{GRPC: "unix:" + dir + "/s", TLS: &serve.TLS{Cert: cert, Key: key}},
	} {
		rules := &serve.Rules{Folder: load.Folder{Dir: t.TempDir()}, Zones: decide.NewMemory(memzone.Config{}), Health: serve.NewHealth(),
			Log: slog.New(slog.DiscardHandler), Service: &serve.Service{Counters: new(stats.Registry), Now: limitgate.Now}}
		if err := rules.Load(); err != nil {
			t.Fatal(err)
		}
		s, err := serve.Open(at, rules, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(time.Second)
		target := s.Addr("grpc").String()
		if s.Addr("grpc").Network() == "unix" {
			target = "unix:" + target
		}
		for _, c := range []struct {
			cert, key string
			want      bool
		}{{cert, key, true}, {other, otherKey, at.TLS.ClientCA == ""}} {
			pair, err := tls.LoadX509KeyPair(c.cert, c.key)
			if err != nil {
				t.Fatal(err)
			}
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM([]byte(text(t, cert)))
			conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "limitgate.test", Certificates: []tls.Certificate{pair}})))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, err = pb.NewRateLimitServiceClient(conn).ShouldRateLimit(context.Background(), request("nowhere", "a", "b"))
			if (err == nil) != c.want {
				t.Errorf("%s, certificate %s: got %v, want an answer %v", target, c.cert, err, c.want)
			}
		}
		for name, path := range map[string]string{"debug": "/rlconfig", "prometheus": "/p"} {
			if s.Addr(name) == nil {
				continue
			}
			r, err := http.Get("http://" + s.Addr(name).String() + path)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			r.Body.Close()
			if r.StatusCode != http.StatusOK {
				t.Errorf("%s: got %d, want 200", name, r.StatusCode)
			}
		}
	}
	if _, err := serve.Open(serve.Listening{TLS: &serve.TLS{Cert: "missing", Key: key}}, &serve.Rules{Health: serve.NewHealth(), Service: new(serve.Service)}, nil); err == nil {
		t.Error("a certificate that is not there: no error")
	}
}

// certificate makes files of a certificate and its key.
func certificate(t *testing.T, dir, name string) (cert, key string) {
	c, k := gatewaytest.Certificate(t, "ecdsa", name)
	return write(t, dir, name+".pem", c), write(t, dir, name+".key", k)
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
