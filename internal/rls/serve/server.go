package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"strings"
	"sync"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
)

// Listening says where a server listens. An address that is empty is not listened on; one of a socket begins with unix:.
type Listening struct {
	GRPC       string
	HTTP       string // /json, /healthcheck, and what Debug has but for the profiles
	Debug      string // /stats, /rlconfig, /debug/pprof
	Prometheus string
	PromPath   string // on Prometheus; /metrics is on HTTP and Debug too

	MaxAge, MaxAgeGrace time.Duration // of gRPC connections
	TLS                 *TLS          // of gRPC; nil: none
}

// Server owns the sockets of a service. Make one with Open, and Close it.
type Server struct {
	grpc   *grpc.Server
	http   []*http.Server
	addrs  map[string]net.Addr
	health *Health
	done   sync.WaitGroup
	stop   context.CancelFunc
	failed chan error
}

// Open listens and serves. More, which may be nil, writes what stands behind the counters of /metrics.
func Open(at Listening, rules *Rules, more func(io.Writer) error) (*Server, error) {
	s := &Server{health: rules.Health, addrs: map[string]net.Addr{}, failed: make(chan error, 8)}
	options, err := at.options()
	if err != nil {
		return nil, err
	}
	s.grpc = grpc.NewServer(options...)
	pb.RegisterRateLimitServiceServer(s.grpc, rules.Service)
	healthpb.RegisterHealthServer(s.grpc, rules.Health.grpc)
	if err := s.listen(at, rules, more); err != nil {
		s.Close(0)
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	// owned by s; ends with Close
	s.done.Go(func() { rules.Follow(ctx) })
	return s, nil
}

// workers is how many goroutines keep their stacks from one request to the next; when all are at work others are started.
const workers = 64

// options are those of the gRPC server.
func (at Listening) options() ([]grpc.ServerOption, error) {
	o := []grpc.ServerOption{grpc.NumStreamWorkers(workers), grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: at.MaxAge, MaxConnectionAgeGrace: at.MaxAgeGrace})}
	if at.TLS == nil {
		return o, nil
	}
	c, err := at.TLS.config()
	if err != nil {
		return nil, err
	}
	return append(o, grpc.Creds(credentials.NewTLS(c))), nil
}

// listen opens all sockets and begins to serve on them.
func (s *Server) listen(at Listening, rules *Rules, more func(io.Writer) error) error {
	counters := metrics(rules.Service.Counters, more)
	main := http.NewServeMux()
	main.Handle("/json", JSON(rules.Service))
	main.Handle("/healthcheck", checked(rules.Health))
	debug := http.NewServeMux()
	for _, m := range []*http.ServeMux{main, debug} {
		m.Handle("/metrics", counters)
		m.Handle("/stats", texts(rules.Service.Counters.WriteText))
		m.Handle("/rlconfig", texts(rules.Write))
	}
	debug.Handle("/debug/pprof/", http.HandlerFunc(pprof.Index))
	debug.Handle("/debug/pprof/profile", http.HandlerFunc(pprof.Profile))
	debug.Handle("/debug/pprof/trace", http.HandlerFunc(pprof.Trace))
	debug.Handle("/{$}", index("/stats", "/rlconfig", "/metrics", "/debug/pprof/"))
	prom := http.NewServeMux()
	if at.Prometheus != "" {
		prom.Handle(at.PromPath, counters)
	}
	if at.GRPC != "" {
		l, err := s.open("grpc", at.GRPC)
		if err != nil {
			return err
		}
		// owned by s; ends with Close
		s.done.Go(func() { s.ended("gRPC", s.grpc.Serve(l)) })
	}
	for _, h := range []struct {
		name, addr string
		handler    http.Handler
	}{{"http", at.HTTP, main}, {"debug", at.Debug, debug}, {"prometheus", at.Prometheus, prom}} {
		if h.addr == "" {
			continue
		}
		l, err := s.open(h.name, h.addr)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: h.handler, ReadHeaderTimeout: headTimeout, IdleTimeout: idleTimeout}
		s.http = append(s.http, server)
		// owned by s; ends with Close
		s.done.Go(func() { s.ended(h.name, server.Serve(l)) })
	}
	return nil
}

const (
	headTimeout = 10 * time.Second
	idleTimeout = 2 * time.Minute
)

// open listens on an address.
func (s *Server) open(name, addr string) (net.Listener, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("listening for %s: %s is there, and is no socket", name, path)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("listening for %s: %w", name, err)
		}
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		return nil, fmt.Errorf("listening for %s: %w", name, err)
	}
	s.addrs[name] = l.Addr()
	return l, nil
}

// ended notes that a listener no longer serves though nobody has closed it.
func (s *Server) ended(name string, err error) {
	if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, grpc.ErrServerStopped) {
		select {
		case s.failed <- fmt.Errorf("serving %s: %w", name, err):
		default:
		}
	}
}

// Addr is where the server listens: for grpc, http, debug or prometheus; nil where it does not.
func (s *Server) Addr(name string) net.Addr { return s.addrs[name] }

// Failed tells of a listener that ended.
func (s *Server) Failed() <-chan error { return s.failed }

// drainPart is what Health calls a server that is about to end.
const drainPart = "draining"

// Close says that it is about to end, answers what was asked for as long as grace allows, and ends.
func (s *Server) Close(grace time.Duration) {
	s.health.Set(drainPart, false)
	if s.stop != nil {
		s.stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	late := time.AfterFunc(grace, s.grpc.Stop)
	s.grpc.GracefulStop()
	late.Stop()
	for _, h := range s.http {
		if h.Shutdown(ctx) != nil {
			_ = h.Close() // what is left is cut off
		}
	}
	s.done.Wait()
}
