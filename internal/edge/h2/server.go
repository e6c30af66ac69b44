package h2

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/h2"
	"github.com/limitgate/limitgate/internal/header"
)

// Config is what a Server is made with.
type Config struct {
	Source edge.Source
	Now    func() limitgate.Time // never steps back
	// Product, Version and Build make the server field: "limitgate", "limitgate/1.0", "limitgate/1.0 (build)".
	Product, Version, Build string
}

// Server serves connections that are handed to it. It owns no goroutine beyond theirs.
type Server struct {
	cfg     Config
	names   [3][]byte // the server field for each request.Tokens, encoded
	date    atomic.Pointer[dateField]
	streams sync.Pool // *stream
	inputs  sync.Pool // *[inputSize]byte
}

var _ edge.Taker = (*Server)(nil)

// New returns a server.
func New(cfg Config) (*Server, error) {
	if cfg.Source == nil || cfg.Now == nil {
		return nil, errors.New("making the HTTP/2 edge: source and clock are required")
	}
	s := &Server{cfg: cfg}
	for i, name := range edge.ServerNames(cfg.Product, cfg.Version, cfg.Build) {
		s.names[i] = h2.AppendField(nil, header.Server, "server", []byte(name))
	}
	s.streams.New = func() any { return newStream() }
	s.inputs.New = func() any { return new([inputSize]byte) }
	return s, nil
}

// Take implements edge.Taker.
func (s *Server) Take(l *edge.Link) edge.Taken { return newConn(s, l) }

// dateField is the date field of one second, encoded.
type dateField struct {
	second int64
	field  []byte
}

// dateAt returns the date field for an instant. One is made a second.
func (s *Server) dateAt(now limitgate.Time) []byte {
	second := int64(now) / int64(time.Second)
	d := s.date.Load()
	if d == nil || d.second != second {
		d = &dateField{second: second, field: h2.AppendField(nil, header.Date, "date", h1.AppendDate(nil, second))}
		s.date.Store(d)
	}
	return d.field
}
