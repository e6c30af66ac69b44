package settings

import (
	"strings"
)

// redis reads where the store is. Without REDIS_URL there is none: the counters are in memory.
func (e *env) redis(s *Settings) {
	kind := e.oneOf("REDIS_TYPE", "SINGLE", "SENTINEL", "CLUSTER")
	socket := e.oneOf("REDIS_SOCKET_TYPE", "unix", "tcp")
	s.StoreCA, s.SentinelPW = e.text("REDIS_TLS_CACERT", ""), e.text("REDIS_SENTINEL_AUTH", "")
	if user, password, ok := strings.Cut(e.text("REDIS_AUTH", ""), ":"); ok {
		s.StoreUser, s.StoreAuth = user, password
	} else {
		s.StoreAuth = user
	}
	scheme := "redis"
	if e.flag("REDIS_TLS", false) {
		scheme = "rediss"
	}
	at := e.text("REDIS_URL", "")
	if at == "" {
		return
	}
	switch first, rest, _ := strings.Cut(at, ","); {
	case strings.Contains(at, "://"):
		s.Store = at
	case kind == "SENTINEL" && rest == "":
		e.fail("REDIS_URL", "the name of the master and, behind commas, the addresses of the sentinels")
	case kind == "SENTINEL":
		s.Store = scheme + "+sentinel://" + rest + "/" + first
	case kind == "CLUSTER" || socket == "tcp":
		s.Store = scheme + "://" + at
	default:
		s.Store = "unix://" + at
	}
}
