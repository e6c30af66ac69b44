package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/metrics"
	"github.com/limitgate/limitgate/internal/otlp"
	"github.com/limitgate/limitgate/internal/span"
)

// exports are where spans go. An exporter is kept over a reload that leaves its block as it is; the counters are those of the process.
type exports struct {
	version string
	say     func(level errorlog.Level, line string)
	stats   otlp.Stats

	mu      sync.Mutex    // guards current, and uses of all
	current *openExporter // the one that was asked for last
}

// openExporter is one that is open, and how many generations hold it.
type openExporter struct {
	*otlp.Exporter
	spec    conf.Exporter
	trusted string // the certificates by which the collector is judged
	uses    int
}

// exporterUse is a generation's hold of an exporter. A nil one holds none.
type exporterUse struct {
	of       *exports
	exporter *openExporter
	ended    sync.Once
}

// use gives the exporter that a configuration wants; nil where it wants none. Nothing is called before there are spans.
func (x *exports) use(cfg *conf.Config, dir string, errs *conf.Errors) *exporterUse {
	http := cfg.HTTP()
	if http == nil {
		return nil
	}
	spec, wants := conf.ReadExporter(http, errs)
	if !wants {
		return nil
	}
	trusted, pool, err := readTrusted(spec.Trusted.Text, dir)
	if err != nil {
		errs.Late(conf.AtStart, spec.At, err.Error(), "trusted_certificate names a file of certificates in PEM form")
		return nil
	}
	spec.At, spec.Trusted = conf.Pos{}, conf.Word{Text: spec.Trusted.Text}
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := x.current; c != nil && c.uses > 0 && c.trusted == trusted && reflect.DeepEqual(c.spec, spec) {
		c.uses++
		return &exporterUse{of: x, exporter: c}
	}
	c := otlp.Config{Endpoint: spec.Endpoint, Headers: spec.Headers, Resource: spec.Resource, Version: x.version, Interval: spec.Interval,
		BatchSize: spec.BatchSize, Batches: spec.Batches, Stats: &x.stats, Say: x.say}
	if spec.TLS {
		c.TLS = &tls.Config{RootCAs: pool}
	}
	e, err := otlp.New(c)
	if err != nil {
		errs.Late(conf.AtStart, conf.Pos{}, err.Error(), "")
		return nil
	}
	x.current = &openExporter{Exporter: e, spec: spec, trusted: trusted, uses: 1}
	return &exporterUse{of: x, exporter: x.current}
}

// readTrusted reads trusted_certificate; without one there is no pool.
func readTrusted(name, dir string) (text string, pool *x509.CertPool, err error) {
	if name == "" {
		return "", nil, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	pem, err := os.ReadFile(name)
	if err != nil {
		return "", nil, fmt.Errorf("reading the certificates for otel_exporter: %w", err)
	}
	pool = x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return "", nil, fmt.Errorf("reading the certificates for otel_exporter: %s has none in PEM form", name)
	}
	return string(pem), pool, nil
}

// end gives the hold up. Who is the last sends what waits, and closes.
func (u *exporterUse) end() (err error) {
	if u == nil {
		return nil
	}
	u.ended.Do(func() {
		u.of.mu.Lock()
		u.exporter.uses--
		last := u.exporter.uses == 0
		u.of.mu.Unlock()
		if last {
			err = u.exporter.Close()
		}
	})
	return err
}

// state is what metrics tell.
func (x *exports) state() *metrics.Traces {
	s := &x.stats
	t := &metrics.Traces{Sent: s.Sent.Load(), Dropped: s.Dropped.Load(), Failed: s.Failed.Load(), Waiting: s.Waiting.Load(), Faults: s.Faults.Load()}
	t.Calls = s.Calls.Load() // a call is counted before its fault is, so of what was read last there are as many at least
	return t
}

// spanSink is an exporter as requests know it.
type spanSink struct {
	*otlp.Exporter
	observed *observed
}

var _ span.Sink = spanSink{}

// AppendKey implements span.Sink: what stands for a key is what limitgate top --hash shows.
func (s spanSink) AppendKey(dst []byte, key string) []byte { return s.observed.appendHashed(dst, key) }
