package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/decide"
	"github.com/limitgate/limitgate/internal/rls/load"
	"github.com/limitgate/limitgate/internal/rls/serve"
	"github.com/limitgate/limitgate/internal/rls/settings"
	"github.com/limitgate/limitgate/internal/rls/shared"
	"github.com/limitgate/limitgate/internal/rls/stats"
	"github.com/limitgate/limitgate/memzone"
	"github.com/limitgate/limitgate/rediszone"
)

// rlsFlags are the flags of the service. What is not given is as the environment says.
type rlsFlags struct {
	config, listen, http, store string
	memory                      int
}

// defaultMemory is the size of a zone in memory, in megabytes.
const defaultMemory = 64

// grace is how long what was asked for may take to be answered once the service is to end.
const grace = 5 * time.Second

// serveRules runs the service until it is told to end.
func serveRules(f rlsFlags) error {
	s, err := settings.Read(os.Environ())
	if err != nil {
		return err
	}
	if f.config = cmp.Or(f.config, s.Config); f.config == "" {
		return errors.New("rls: --config names the folder of rules (or RUNTIME_ROOT, as in envoyproxy/ratelimit)")
	}
	log := rlsLog(os.Stderr, s)
	for _, name := range s.Ignored {
		log.Warn("a setting of envoyproxy/ratelimit that means nothing here", "name", name)
	}
	zones, end, err := rlsZones(f, s, log)
	if err != nil {
		return bad(err)
	}
	defer end()
	server, rules, err := startRules(f, s, zones, log)
	if err != nil {
		return bad(err)
	}
	defer server.Close(grace)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	for {
		select {
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				log.Info("ending", "signal", sig.String())
				return nil
			}
			rules.Reload()
		case err := <-server.Failed():
			return bad(err)
		}
	}
}

// startRules loads the rules and listens.
func startRules(f rlsFlags, s settings.Settings, zones rlsStore, log *slog.Logger) (*serve.Server, *serve.Rules, error) {
	counters := new(stats.Registry)
	var ill []string
	if s.NeedConfig {
		ill = append(ill, serve.ConfigPart)
	}
	health := serve.NewHealth(ill...)
	rules := &serve.Rules{
		Folder:  load.Folder{Dir: f.config, DotFiles: s.DotFiles, Merge: s.Merge},
		Options: decide.Options{Shadow: s.Shadow, Quota: s.Quota, StopOver: s.StopWhenOne, NearRatio: s.NearRatio, Prefix: s.KeyPrefix},
		Zones:   zones, Cache: decide.NewCache(s.LocalCache), Health: health, NeedConfig: s.NeedConfig, Log: log,
		Service: &serve.Service{
			Headers:  serve.Headers{On: s.Headers, Limit: s.LimitHeader, Remaining: s.RemainingHeader, Reset: s.ResetName},
			Metadata: s.Metadata, Counters: counters, Now: limitgate.Now,
		},
	}
	if err := rules.Load(); err != nil && !s.ForceStart {
		return nil, nil, err
	} else if err != nil {
		rules.Tell(err)
	}
	zones.watch(health)
	at := serve.Listening{
		GRPC: cmp.Or(f.listen, s.GRPC), HTTP: cmp.Or(f.http, s.HTTP), Debug: s.Debug, Prometheus: s.Prometheus, PromPath: s.PromPath,
		MaxAge: s.MaxAge, MaxAgeGrace: s.MaxAgeGrace,
	}
	if s.TLS {
		at.TLS = &serve.TLS{Cert: s.Cert, Key: s.Key, ClientCA: s.ClientCA, ClientSAN: s.ClientSAN}
	}
	server, err := serve.Open(at, rules, zones.metrics)
	if err != nil {
		return nil, nil, err
	}
	log.Warn("listening", "grpc", fmt.Sprint(server.Addr("grpc")), "http", fmt.Sprint(server.Addr("http")))
	return server, rules, nil
}

// rlsStore is where counters are, and what is told of it.
type rlsStore interface {
	decide.Zones
	watch(*serve.Health)
	metrics(io.Writer) error
}

// inMemory counts in this process.
type inMemory struct{ *decide.Memory }

func (inMemory) watch(*serve.Health)     {}
func (inMemory) metrics(io.Writer) error { return nil }

// inStore counts in Redis.
type inStore struct {
	*shared.Store
	ctx context.Context
}

// watch makes the service ill until the store was reached once.
func (s inStore) watch(h *serve.Health) {
	h.Set("redis", false)
	// owned by serveRules; ends when the store was reached, or with it
	go func() {
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			if _, err := s.Far().Client(); err == nil {
				h.Set("redis", true)
				tick.Stop()
				return
			}
			select {
			case <-s.ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}()
}

// metrics writes what the guard of the store counts.
func (s inStore) metrics(w io.Writer) error {
	st := s.Guard().Stats()
	_, err := fmt.Fprintf(w, `# TYPE limitgate_rls_store_calls counter
limitgate_rls_store_calls{result="ok"} %d
limitgate_rls_store_calls{result="failed"} %d
limitgate_rls_store_calls{result="spared"} %d
# TYPE limitgate_rls_store_fallbacks counter
limitgate_rls_store_fallbacks{fail="open"} %d
limitgate_rls_store_fallbacks{fail="closed"} %d
limitgate_rls_store_fallbacks{fail="local"} %d
# TYPE limitgate_rls_store_up gauge
limitgate_rls_store_up %d
`, st.Calls-st.Failed, st.Failed, st.Spared, st.Open, st.Closed, st.Local, map[bool]int{true: 1}[st.Phase == 0])
	return err
}

// rlsZones opens where the counters are.
func rlsZones(f rlsFlags, s settings.Settings, log *slog.Logger) (rlsStore, func(), error) {
	url := cmp.Or(f.store, s.Store)
	if url == "" || url == "memory" {
		return inMemory{decide.NewMemory(memzone.Config{Bytes: f.memory << 20})}, func() {}, nil
	}
	host, _ := os.Hostname()
	ctx, stop := context.WithCancel(context.Background())
	store, err := shared.Open(shared.Config{
		Options: rediszone.Options{URL: url, Username: s.StoreUser, Password: s.StoreAuth, SentinelPassword: s.SentinelPW, CAFile: s.StoreCA},
		Name:    fmt.Sprintf("rls-%s-%d-%d", host, os.Getpid(), time.Now().UnixNano()),
		Timeout: s.Timeout, Jitter: s.Jitter,
		Tell: func(e shared.Event) { log.Error("store", "what", shared.Words(e)) },
	})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return inStore{store, ctx}, func() { stop(); store.Close() }, nil
}

// rlsLog makes the log.
func rlsLog(w io.Writer, s settings.Settings) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelWarn}
	switch {
	case slices.Contains([]string{"trace", "debug"}, s.LogLevel):
		o.Level = slog.LevelDebug
	case s.LogLevel == "info":
		o.Level = slog.LevelInfo
	case !strings.HasPrefix(s.LogLevel, "warn"):
		o.Level = slog.LevelError
	}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
