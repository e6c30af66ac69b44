package serve

import (
	"sync"

	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// serviceName is what gRPC's health calls the service.
const serviceName = "ratelimit"

// Health tells whether the service is well: when all its parts are. It is safe for concurrent use.
type Health struct {
	grpc *health.Server

	mu  sync.Mutex // guards ill
	ill map[string]bool
}

// NewHealth makes one whose named parts are ill at first.
func NewHealth(parts ...string) *Health {
	h := &Health{grpc: health.NewServer(), ill: map[string]bool{}}
	for _, p := range parts {
		h.ill[p] = true
	}
	h.tell()
	return h
}

// Set notes how a part is.
func (h *Health) Set(part string, well bool) {
	h.mu.Lock()
	if well {
		delete(h.ill, part)
	} else {
		h.ill[part] = true
	}
	h.mu.Unlock()
	h.tell()
}

// Well tells whether all parts are.
func (h *Health) Well() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ill) == 0
}

// tell tells gRPC.
func (h *Health) tell() {
	s := healthpb.HealthCheckResponse_NOT_SERVING
	if h.Well() {
		s = healthpb.HealthCheckResponse_SERVING
	}
	h.grpc.SetServingStatus(serviceName, s)
	h.grpc.SetServingStatus("", s)
}
