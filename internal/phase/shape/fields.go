package shape

import (
	"slices"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// fields are the add_header directives of a scope (ngx_http_headers_filter).
type fields []field

// field is one add_header or add_trailer.
type field struct {
	name []byte
	value
	always bool
	id     header.ID
}

func (fs fields) shape(r *request.Request) error {
	safe := plain(r.Response.Status)
	for i := range fs {
		f := &fs[i]
		if !safe && !f.always {
			continue
		}
		v := f.line(r)
		switch f.id {
		case header.LastModified:
			r.Response.Dated = false
			replace(r, f, v)
		case header.ETag:
			replace(r, f, v)
		default:
			if len(v) > 0 {
				r.Response.Headers = append(r.Response.Headers, request.Header{Name: f.name, Value: v, ID: f.id})
			}
		}
	}
	return nil
}

// line is the field's value, kept on one line whatever a client put into a variable: nginx would let it add fields of its
// own.
func (f *field) line(r *request.Request) []byte {
	v := f.of(r)
	if f.text == nil {
		return v
	}
	for i, c := range v {
		if c == '\r' || c == '\n' || c == 0 {
			v[i] = ' '
		}
	}
	return v
}

// replace puts a field that may be there once into the place of the one that is there, or takes that away.
func replace(r *request.Request, f *field, v []byte) {
	out := &r.Response
	i := place(out, f.id)
	switch {
	case len(v) == 0 && i >= 0:
		out.Headers = slices.Delete(out.Headers, i, i+1)
	case len(v) == 0:
	case i >= 0:
		out.Headers[i] = request.Header{Name: f.name, Value: v, ID: f.id}
	default:
		out.Headers = append(out.Headers, request.Header{Name: f.name, Value: v, ID: f.id})
	}
}

// place returns where in the head the first field of a name is, -1 where there is none.
func place(out *request.Response, id header.ID) int {
	for i := range out.Headers {
		if out.Headers[i].ID == id {
			return i
		}
	}
	return -1
}

// get returns the first field of a name; nil where there is none.
func get(out *request.Response, id header.ID) []byte {
	if i := place(out, id); i >= 0 {
		return out.Headers[i].Value
	}
	return nil
}

// trailers are the add_trailer directives of a scope (ngx_http_trailers_filter). Their values are those at the end.
type trailers []field

func (ts *trailers) shape(r *request.Request) error {
	safe := plain(r.Response.Status)
	for i := range *ts {
		if safe || (*ts)[i].always {
			r.Response.Trailing = true
		}
	}
	if r.Response.Trailing && r.BodyAllowed() {
		r.Through(ts)
	}
	return nil
}

// Write implements request.Filter.
func (ts *trailers) Write(to request.Sink, p []byte, m request.Mark) error {
	if m == request.Last {
		r := to.Request()
		safe := plain(r.Response.Status)
		for i := range *ts {
			f := &(*ts)[i]
			if !safe && !f.always {
				continue
			}
			if v := f.line(r); len(v) > 0 {
				r.Response.Trailers = append(r.Response.Trailers, request.Header{Name: f.name, Value: v, ID: f.id})
			}
		}
	}
	return to.Write(p, m)
}

// Release implements request.Filter.
func (ts *trailers) Release() {}
