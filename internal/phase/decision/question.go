package decision

import (
	"bytes"
	"strconv"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// The things that a field may say.
const (
	path = iota
	method
	url
	host
	scheme
	things
)

// family is the names of the fields that say them, in lower case; "" where no field does.
type family [things]string

// What nginx is told to send. Its Host field is the client's where it is set to that: no other field has a say, because nginx
// passes on all that its client sends.
var original = family{path: "x-original-uri", method: "x-original-method"}

// What ingress-nginx sends of itself: the whole URL.
var ingress = family{url: "x-original-url", method: "x-original-method"}

// What Traefik and Caddy send of themselves, each time.
var forwarded = family{path: "x-forwarded-uri", method: "x-forwarded-method", host: "x-forwarded-host", scheme: "x-forwarded-proto"}

// question is what is asked about. Empty parts are not said; all are in the memory of the fields.
type question struct {
	target []byte
	method []byte
	host   []byte // as the field has it
	scheme request.Scheme
}

// fault is why a question has no answer: what of it is wrong, and how. The zero value is none.
type fault struct{ what, how string }

const (
	unread      = "is not as a request could have it"
	contradicts = "is there twice, and differs"
	ambiguous   = "is not the same in two families of fields: limit_decision needs from= to name one"
)

// read reads the question of a request.
func (p *Place) read(r *request.Request) (question, fault) {
	switch p.from {
	case conf.FromRequest:
		return question{}, fault{}
	case conf.FromOriginal:
		return readFamily(r, &original)
	case conf.FromIngress:
		return readFamily(r, &ingress)
	case conf.FromForwarded:
		return readFamily(r, &forwarded)
	}
	var q question
	for _, f := range [...]*family{&original, &ingress, &forwarded} {
		other, wrong := readFamily(r, f)
		switch {
		case wrong != (fault{}):
			return q, wrong
		case q.target == nil:
			q = other
		case other.target != nil && !bytes.Equal(q.target, other.target):
			return q, fault{f[path] + f[url], contradicts}
		case other.target != nil:
			if what := q.differs(&other, r); what != "" {
				return q, fault{what, ambiguous}
			}
		}
	}
	return q, fault{}
}

// differs tells in what two families that name the same path ask about different requests; "" in nothing. What one of them does
// not say is that of the question: a client that adds the path to a family its proxy does not set must not get rid of the rest.
func (q *question) differs(other *question, r *request.Request) string {
	switch {
	case !bytes.Equal(q.methodFor(r), other.methodFor(r)):
		return "method"
	case !bytes.Equal(q.hostFor(r), other.hostFor(r)):
		return "host"
	case q.secureFor(r) != other.secureFor(r):
		return "scheme"
	}
	return ""
}

func (q *question) methodFor(r *request.Request) []byte {
	if q.method != nil {
		return q.method
	}
	return r.Method
}

func (q *question) hostFor(r *request.Request) []byte {
	if len(q.host) == 0 {
		return r.Host
	}
	name, given := h1.GivenHost(r.Scratch(), q.host)
	if name = r.Claim(name); !given {
		return q.host
	}
	return name
}

func (q *question) secureFor(r *request.Request) bool {
	if q.scheme != request.OfConnection {
		return q.scheme == request.HTTPS
	}
	return r.Secure()
}

// readFamily reads what the fields of a family say. Without a path they say nothing, whatever they are: the proxy did not
// set them.
func readFamily(r *request.Request, f *family) (question, fault) {
	var said [things][]byte
	var wrong fault
	for i := range r.Headers {
		h := &r.Headers[i]
		if len(h.Name) < shortest || !header.EqualFold(h.Name[:2], "x-") {
			continue
		}
		for what, name := range f {
			if name == "" || !header.EqualFold(h.Name, name) {
				continue
			}
			if said[what] != nil && !bytes.Equal(said[what], h.Value) {
				wrong = fault{name, contradicts}
			}
			if said[what] = h.Value; h.Value == nil {
				said[what] = empty
			}
		}
	}
	q := question{target: said[path], method: said[method], host: said[host]}
	switch {
	case said[path] == nil && said[url] == nil:
		return question{}, fault{}
	case wrong != (fault{}):
		return q, wrong
	case said[url] != nil && !q.locate(said[url]):
		return q, fault{f[url], unread}
	}
	if q.scheme == request.OfConnection {
		q.scheme = schemeOf(said[scheme])
	}
	return q, fault{}
}

// shortest is the length of the shortest name of all families.
const shortest = len("x-original-uri")

// empty is the value of a field that is there and says nothing.
var empty = []byte{}

// locate takes a whole URL apart. It reports false for one that does not read.
func (q *question) locate(whole []byte) bool {
	before, rest, cut := bytes.Cut(whole, []byte("://"))
	q.scheme = schemeOf(before)
	slash := bytes.IndexByte(rest, '/')
	if !cut || q.scheme == request.OfConnection || slash < 0 {
		return false
	}
	q.host, q.target = rest[:slash:slash], rest[slash:]
	return true
}

// schemeOf reads the name of a scheme, with those of websockets. One that is no such name says nothing.
func schemeOf(name []byte) request.Scheme {
	switch {
	case header.EqualFold(name, "https"), header.EqualFold(name, "wss"):
		return request.HTTPS
	case header.EqualFold(name, "http"), header.EqualFold(name, "ws"):
		return request.HTTP
	}
	return request.OfConnection
}

// apply makes of a request the one that a question asks about, where each part reads as an edge would have read it.
func (p *Place) apply(r *request.Request, q *question) fault {
	uri, args, given := h1.GivenTarget(r.Scratch(), q.target, p.keepSlashes)
	uri = r.Claim(uri)
	switch {
	case !given:
		return fault{"path", unread}
	case q.method != nil && !h1.GivenMethod(q.method):
		return fault{"method", unread}
	}
	if len(q.host) > 0 {
		name, given := h1.GivenHost(r.Scratch(), q.host)
		name = r.Claim(name)
		if !given {
			return fault{"host", unread}
		}
		r.Host = name
		for i := range r.Headers {
			if r.Headers[i].ID == header.Host {
				r.Headers[i].Value = q.host
			}
		}
	}
	if q.method != nil {
		r.Method = q.method
	}
	r.Target, r.URI, r.Args, r.Over = q.target, uri, args, q.scheme
	line := append(append(append(append(r.Scratch(), r.Method...), ' '), r.Target...), " HTTP/"...)
	line = append(strconv.AppendInt(line, int64(r.Major), 10), '.')
	r.Line = r.Claim(strconv.AppendInt(line, int64(r.Minor), 10))
	for _, slot := range p.derived {
		if slot < len(r.Slots) {
			r.Slots[slot] = request.Slot{}
		}
	}
	return fault{}
}
