package simulate

import "github.com/limitgate/limitgate/internal/virtual"

// sim is one event while it is decided on, with the memory that it needs. It is used again and again.
type sim struct {
	visit virtual.Visit
	owner *Simulator
	raw   []byte // the head that the client would have sent
	echo  []byte // id and at_ms as they came
	idLen int
	turn  uint64 // in the queue of answers
	held  bool   // it was kept by the gate, and is spare when it is decided
}

var _ virtual.Visitor = (*sim)(nil)

// Visit implements virtual.Visitor.
func (m *sim) Visit() *virtual.Visit { return &m.visit }

// Ended implements virtual.Visitor: it answers.
func (m *sim) Ended() error {
	s := m.owner
	s.queue.answer(m)
	if m.held {
		s.spare = append(s.spare, m)
	}
	return s.queue.write(s.out)
}

// fill makes the request that the edge would make of an event.
func (m *sim) fill(e *event, s *Simulator, serial uint64) {
	m.owner, m.held = s, false
	m.echo = append(append(m.echo[:0], e.id...), e.atText...)
	m.idLen = len(e.id)
	m.compose(e)
	m.visit.Reset(serial, e.at, e.addr)
	m.visit.Stay = e.stay
	m.visit.Read(m.raw, &s.gate.Rules)
}

// compose writes the head. A request without a host is one of HTTP/1.0, which needs none.
func (m *sim) compose(e *event) {
	host, version := e.host, " HTTP/1.1\r\n"
	if host == nil {
		host = e.named
	}
	if host == nil {
		version = " HTTP/1.0\r\n"
	}
	if cap(m.raw) > largeHead {
		m.raw = nil
	}
	b := append(append(m.raw[:0], e.method...), ' ')
	b = append(append(b, e.uri...), version...)
	if host != nil {
		b = append(append(append(b, "Host: "...), host...), "\r\n"...)
	}
	m.raw = append(append(b, e.fields...), "\r\n"...)
}
