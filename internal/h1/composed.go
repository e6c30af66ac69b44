package h1

import "github.com/limitgate/limitgate/internal/header"

// This file makes the head of an answer of fields that came another way than as bytes of HTTP/1.

// Compose begins a head with a status, in place of Parse. Fields follow with AddComposed, EndComposed ends it.
func (r *Response) Compose(status int) {
	r.Reset()
	r.Status, r.ContentLength, r.KeepAlive = status, -1, true
}

// AddComposed adds a field to a head that Compose began, and judges it as Parse does. Both of its pieces stand in b, in order. An
// error is an *Error.
func (r *Response) AddComposed(b []byte, name, value Span) error {
	h := Header{Name: name, Value: value, ID: header.Lookup(name.Of(b))}
	if h.ID != header.Other {
		if keep, err := r.judgeLine(b, h); err != nil || !keep {
			return err
		}
	}
	r.add(h)
	return nil
}

// EndComposed ends a head that takes size bytes of its buffer.
func (r *Response) EndComposed(size int) { r.f.pos = int32(size) }
