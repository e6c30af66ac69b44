// Package settings reads the environment that users of envoyproxy/ratelimit have: what a name means there it means here, where it
// means anything. It says which of the names that are set mean nothing here, so that nobody believes in them. It reads no files and opens nothing.
package settings

import (
	"errors"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settings are what the environment says, with envoyproxy/ratelimit's defaults.
type Settings struct {
	// Listening: GRPC_UDS or GRPC_HOST and GRPC_PORT, HOST and PORT, DEBUG_HOST and DEBUG_PORT, USE_PROMETHEUS, PROMETHEUS_ADDR and _PATH.
	GRPC, HTTP string // address; that of a socket begins with unix:
	Debug      string // "" unless one of its two is set
	Prometheus string // "" unless USE_PROMETHEUS
	PromPath   string

	MaxAge, MaxAgeGrace time.Duration // of connections
	TLS                 bool
	Cert, Key           string
	ClientCA, ClientSAN string

	LogLevel  string // debug, info, warn or error
	LogFormat string // text or json

	Config      string // RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/RUNTIME_APPDIRECTORY; "" unless RUNTIME_ROOT is set
	DotFiles    bool
	ForceStart  bool
	Merge       bool
	NeedConfig  bool // healthy only with a configuration
	Store       string
	StoreUser   string
	StoreAuth   string
	SentinelPW  string
	StoreCA     string
	Timeout     time.Duration // 0: as the store's default
	Jitter      int64         // seconds
	LocalCache  int           // bytes
	NearRatio   float32
	KeyPrefix   string
	StopWhenOne bool // STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT

	Headers                                 bool
	LimitHeader, RemainingHeader, ResetName string

	Shadow, Quota, Metadata bool

	// Ignored are the names that are set and mean nothing here, sorted.
	Ignored []string

	// Unknown are the names that are set and that envoyproxy/ratelimit does not have either, sorted: in the environment of a process
	// those of others, in a list that somebody wrote mistakes.
	Unknown []string
}

// env is an environment that is read.
type env struct {
	values map[string]string
	asked  map[string]bool // the names that mean something
	errs   []error
}

func (e *env) text(name, or string) string {
	if e.set(name) {
		return e.values[name]
	}
	return or
}

func (e *env) set(name string) bool {
	e.asked[name] = true
	return e.values[name] != ""
}

func (e *env) fail(name, want string) {
	e.errs = append(e.errs, fmt.Errorf("environment: %s=%q: must be %s", name, e.values[name], want))
}

func (e *env) flag(name string, or bool) bool {
	if !e.set(name) {
		return or
	}
	v, err := strconv.ParseBool(e.values[name])
	if err != nil {
		e.fail(name, "true or false")
	}
	return v
}

func (e *env) number(name string, or, most int64) int64 {
	if !e.set(name) {
		return or
	}
	v, err := strconv.ParseInt(e.values[name], 10, 64)
	if err != nil || v < 0 || v > most {
		e.fail(name, fmt.Sprintf("a whole number between 0 and %d", most))
		return or
	}
	return v
}

func (e *env) duration(name string, or time.Duration) time.Duration {
	if !e.set(name) {
		return or
	}
	v, err := time.ParseDuration(e.values[name])
	if err != nil || v < 0 {
		e.fail(name, "a time such as 10s")
		return or
	}
	return v
}

// oneOf reads one of some words in whatever case.
func (e *env) oneOf(name string, words ...string) string {
	v := e.text(name, words[0])
	for _, w := range words {
		if strings.EqualFold(v, w) {
			return w
		}
	}
	e.fail(name, "one of "+strings.Join(words, ", "))
	return words[0]
}

// Read reads an environment: name=value pairs as os.Environ gives them. It fails on values that can't be meant.
func Read(environ []string) (Settings, error) {
	e := &env{values: map[string]string{}, asked: map[string]bool{}}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			e.values[name] = value
		}
	}
	s := Settings{
		HTTP:      e.address("HOST", "PORT", "8080"),
		GRPC:      e.address("GRPC_HOST", "GRPC_PORT", "8081"),
		PromPath:  e.text("PROMETHEUS_PATH", "/metrics"),
		MaxAge:    e.duration("GRPC_MAX_CONNECTION_AGE", 24*time.Hour),
		LogFormat: e.oneOf("LOG_FORMAT", "text", "json"),

		MaxAgeGrace: e.duration("GRPC_MAX_CONNECTION_AGE_GRACE", time.Hour),

		TLS: e.flag("GRPC_SERVER_USE_TLS", false), Cert: e.text("GRPC_SERVER_TLS_CERT", ""), Key: e.text("GRPC_SERVER_TLS_KEY", ""),
		ClientCA: e.text("GRPC_CLIENT_TLS_CACERT", ""), ClientSAN: e.text("GRPC_CLIENT_TLS_SAN", ""),

		ForceStart: e.flag("FORCE_START_WITHOUT_INITIAL_CONFIG", false),
		DotFiles:   !e.flag("RUNTIME_IGNOREDOTFILES", false),
		Merge:      e.flag("MERGE_DOMAIN_CONFIG", false),
		NeedConfig: e.flag("HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED", false),

		Timeout:     e.duration("REDIS_TIMEOUT", 0),
		Jitter:      e.number("EXPIRATION_JITTER_MAX_SECONDS", 300, math.MaxInt32),
		LocalCache:  int(e.number("LOCAL_CACHE_SIZE_IN_BYTES", 0, 1<<34)),
		NearRatio:   e.ratio("NEAR_LIMIT_RATIO", 0.8),
		KeyPrefix:   e.text("CACHE_KEY_PREFIX", ""),
		StopWhenOne: e.flag("STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", false),

		Headers:     e.flag("LIMIT_RESPONSE_HEADERS_ENABLED", false),
		LimitHeader: e.text("LIMIT_LIMIT_HEADER", "RateLimit-Limit"), RemainingHeader: e.text("LIMIT_REMAINING_HEADER", "RateLimit-Remaining"),
		ResetName: e.text("LIMIT_RESET_HEADER", "RateLimit-Reset"),

		Shadow: e.flag("SHADOW_MODE", false), Quota: e.flag("QUOTA_MODE", false), Metadata: e.flag("RESPONSE_DYNAMIC_METADATA", false),
	}
	s.LogLevel = e.oneOf("LOG_LEVEL", "warn", "trace", "debug", "info", "warning", "error", "fatal", "panic")
	e.oneOf("CONFIG_TYPE", "FILE")
	e.oneOf("BACKEND_TYPE", "redis")
	if e.set("GRPC_UDS") {
		s.GRPC = "unix:" + e.values["GRPC_UDS"]
	}
	if debug := e.address("DEBUG_HOST", "DEBUG_PORT", "6070"); e.set("DEBUG_HOST") || e.set("DEBUG_PORT") {
		s.Debug = debug
	}
	if addr := e.text("PROMETHEUS_ADDR", ":9090"); e.flag("USE_PROMETHEUS", false) {
		s.Prometheus = addr
	}
	if below := filepath.Join(e.text("RUNTIME_SUBDIRECTORY", ""), e.text("RUNTIME_APPDIRECTORY", "config")); e.set("RUNTIME_ROOT") {
		s.Config = filepath.Join(e.values["RUNTIME_ROOT"], below)
	}
	e.redis(&s)
	s.Ignored, s.Unknown = e.rest()
	return s, errors.Join(e.errs...)
}

// address reads a host and a port.
func (e *env) address(host, port, or string) string {
	p := strconv.FormatInt(e.number(port, 0, 65535), 10)
	if !e.set(port) {
		p = or
	}
	return net.JoinHostPort(e.text(host, "0.0.0.0"), p)
}

// ratio reads a part of one, as precisely as envoyproxy/ratelimit does.
func (e *env) ratio(name string, or float32) float32 {
	if !e.set(name) {
		return or
	}
	v, err := strconv.ParseFloat(e.values[name], 32)
	if err != nil || v < 0 || v > 1 || math.IsNaN(v) {
		e.fail(name, "a number between 0 and 1")
		return or
	}
	return float32(v)
}

// rest gives the names that are set and that nothing here reads: those of envoyproxy/ratelimit, and others.
func (e *env) rest() (ignored, unknown []string) {
	for name, v := range e.values {
		switch {
		case e.asked[name]:
		case slices.Contains(meaningless[:], name) || strings.HasPrefix(name, "CONFIG_GRPC_XDS_") || strings.HasPrefix(name, "XDS_CLIENT_") ||
			strings.HasPrefix(name, "REDIS_PERSECOND") || strings.HasPrefix(name, "MEMCACHE_") || strings.HasPrefix(name, "TRACING_"):
			if v != "" {
				ignored = append(ignored, name)
			}
		default:
			unknown = append(unknown, name)
		}
	}
	slices.Sort(ignored)
	slices.Sort(unknown)
	return ignored, unknown
}

// meaningless are the names of envoyproxy/ratelimit that mean nothing here.
var meaningless = [...]string{
	"RUNTIME_WATCH_ROOT",
	"REDIS_POOL_SIZE", "REDIS_PIPELINE_WINDOW", "REDIS_PIPELINE_LIMIT", "REDIS_POOL_ON_EMPTY_BEHAVIOR", "REDIS_HEALTH_CHECK_ACTIVE_CONNECTION",
	"REDIS_TLS_CLIENT_CERT", "REDIS_TLS_CLIENT_KEY", "REDIS_TLS_SKIP_HOSTNAME_VERIFICATION",
	"USE_STATSD", "STATSD_HOST", "STATSD_PORT", "USE_DOG_STATSD", "USE_DOG_STATSD_MOGRIFIERS",
	"PROMETHEUS_MAPPER_YAML", "STATS_FLUSH_INTERVAL", "DISABLE_STATS", "EXTRA_TAGS",
}
