package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/rls/settings"
)

// Without any environment all is as envoyproxy/ratelimit has it.
func TestDefaults(t *testing.T) {
	s, err := settings.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.GRPC != "0.0.0.0:8081" || s.HTTP != "0.0.0.0:8080" || s.Debug != "" || s.Prometheus != "" || s.PromPath != "/metrics" {
		t.Errorf("addresses: got %+v", s)
	}
	if s.NearRatio != 0.8 || s.Jitter != 300 || s.LocalCache != 0 || s.MaxAge != 24*time.Hour || s.MaxAgeGrace != time.Hour || s.LogLevel != "warn" || s.LogFormat != "text" {
		t.Errorf("numbers: got %+v", s)
	}
	if s.LimitHeader != "RateLimit-Limit" || s.RemainingHeader != "RateLimit-Remaining" || s.ResetName != "RateLimit-Reset" || s.Headers {
		t.Errorf("headers: got %+v", s)
	}
	if s.Store != "" || s.Config != "" || len(s.Ignored) != 0 {
		t.Errorf("got %+v", s)
	}
}

func TestStores(t *testing.T) {
	for _, c := range []struct{ env, want, user, password string }{
		{"REDIS_URL=/run/redis.sock", "unix:///run/redis.sock", "", ""},
		{"REDIS_SOCKET_TYPE=tcp REDIS_URL=redis:6379 REDIS_AUTH=secret", "redis://redis:6379", "", "secret"},
		{"REDIS_SOCKET_TYPE=TCP REDIS_URL=redis:6379 REDIS_TLS=true REDIS_AUTH=me:secret", "rediss://redis:6379", "me", "secret"},
		{"REDIS_TYPE=cluster REDIS_URL=a:1,b:2", "redis://a:1,b:2", "", ""},
		{"REDIS_TYPE=SENTINEL REDIS_URL=mine,a:1,b:2", "redis+sentinel://a:1,b:2/mine", "", ""},
		{"REDIS_URL=redis://a:1/2", "redis://a:1/2", "", ""},
	} {
		s, err := settings.Read(strings.Fields(c.env))
		if err != nil || s.Store != c.want || s.StoreUser != c.user || s.StoreAuth != c.password {
			t.Errorf("%s: got %q, %q, %q and %v; want %q, %q, %q", c.env, s.Store, s.StoreUser, s.StoreAuth, err, c.want, c.user, c.password)
		}
	}
}

func TestPlaces(t *testing.T) {
	s, err := settings.Read(strings.Fields("RUNTIME_ROOT=/srv RUNTIME_SUBDIRECTORY=rl GRPC_UDS=/run/rl.sock PORT=1 HOST=127.0.0.1 DEBUG_PORT=2 USE_PROMETHEUS=true REDIS_TIMEOUT=20ms"))
	if err != nil || s.Config != "/srv/rl/config" || s.GRPC != "unix:/run/rl.sock" || s.HTTP != "127.0.0.1:1" || s.Debug != "0.0.0.0:2" || s.Prometheus != ":9090" || s.Timeout != 20*time.Millisecond {
		t.Errorf("got %+v and %v", s, err)
	}
}

func TestMistakes(t *testing.T) {
	for env, want := range map[string]string{
		"PORT=http":                        `PORT="http": must be a whole number between 0 and 65535`,
		"SHADOW_MODE=maybe":                `SHADOW_MODE="maybe": must be true or false`,
		"REDIS_TIMEOUT=10":                 `REDIS_TIMEOUT="10": must be a time such as 10s`,
		"LOG_FORMAT=xml":                   `LOG_FORMAT="xml": must be one of text, json`,
		"BACKEND_TYPE=memcache":            `BACKEND_TYPE="memcache": must be one of redis`,
		"CONFIG_TYPE=GRPC_XDS":             `CONFIG_TYPE="GRPC_XDS": must be one of FILE`,
		"NEAR_LIMIT_RATIO=1.5":             `NEAR_LIMIT_RATIO="1.5": must be a number between 0 and 1`,
		"REDIS_TYPE=X":                     `REDIS_TYPE="X": must be one of SINGLE, SENTINEL, CLUSTER`,
		"EXPIRATION_JITTER_MAX_SECONDS=-1": `must be a whole number between 0`,
	} {
		if _, err := settings.Read([]string{env}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want in it %s", env, err, want)
		}
	}
	if _, err := settings.Read([]string{"REDIS_TYPE=SENTINEL", "REDIS_URL=mine"}); err == nil {
		t.Error("a master without sentinels: no error")
	}
}

// Names that mean nothing here are told, those of others are not.
func TestIgnored(t *testing.T) {
	s, err := settings.Read([]string{"USE_STATSD=false", "REDIS_PERSECOND=true", "PATH=/bin", "TRACING_ENABLED=true", "REDIS_POOL_SIZE=", "SHADOW_MODE=true"})
	if got, want := strings.Join(s.Ignored, " "), "REDIS_PERSECOND TRACING_ENABLED USE_STATSD"; err != nil || got != want {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
}

// Names that envoyproxy/ratelimit does not have are told apart, whatever else is set.
func TestUnknown(t *testing.T) {
	s, err := settings.Read(strings.Fields("SHADOW_MOD=true PROMETHEUS_ADDR=:1 RUNTIME_SUBDIRECTORY=x RUNTIME_APPDIRECTORY=y DEBUG_PORT=1 REDIS_TLS=true GRPC_UDS=/s USE_STATSD=false FOO= REDIS_SENTINEL_AUTH=z"))
	if got, want := strings.Join(s.Unknown, " "), "FOO SHADOW_MOD"; err != nil || got != want {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
}
