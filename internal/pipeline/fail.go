package pipeline

import (
	"bytes"
	"slices"

	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// fail answers a request whose status is an error or a redirect without a body (ngx_http_special_response_handler). It
// returns where the walk goes on.
func (j *journey) fail() int {
	r, status := j.r, j.r.Response.Status
	switch {
	case r.Response.Sent:
		// The head said something else, and cannot be taken back.
		r.Response.Close = true
		return atEnd
	case silent(status) && r.Asked == nil:
		r.Leave(status)
		return atEnd
	}
	s := &j.p.scopes[r.Location]
	if s.decision != nil && s.decision.Conclude(r) {
		return atEnd
	}
	if silent(status) {
		// Who asks takes silence for a service that is away, and may let pass what is refused here.
		status = 403
		r.Response.Status = status
	}
	r.ErrStatus = status
	if breaksConnection(status) {
		r.Response.Close = true
	}
	place(r)
	if j.paged || len(s.errorPages) == 0 || r.Redirects > maxRedirects {
		return j.page(status)
	}
	j.paged, j.given = !s.recursive, true
	if page := s.errorPage(status); page != nil {
		r.Response.Page, r.Response.ContentType, r.Response.Call = nil, nil, r.Response.Call[:0]
		return j.send(page)
	}
	return j.page(status)
}

// silent reports whether a status is said by closing the connection, without an answer.
func silent(status int) bool { return status == 408 || status == 444 || status == 499 }

// pages are nginx's pages for codes, by code, ready to be sent.
type pages [600][]byte

// newPages writes the pages, signed.
func newPages(signature string) *pages {
	var ps pages
	for code := range ps {
		ps[code] = h1.AppendPage(nil, code, signature)
	}
	return &ps
}

// of returns the page for a code, or nothing for those without one.
func (ps *pages) of(code int) []byte {
	if code < 0 || code >= len(ps) {
		return nil
	}
	return ps[code]
}

// page answers with the page for a code, or with the one that the request was given.
func (j *journey) page(code int) int {
	r := j.r
	r.ErrStatus = answerStatus(code)
	if call := r.Response.Call; len(call) > 0 {
		r.ErrStatus = 200
		r.Response.Headers = append(r.Response.Headers, call...)
		_ = r.Answer(r.ErrStatus, r.Response.ContentType, nil) // as below
		return atEnd
	}
	if r.Response.Page != nil {
		_ = r.Answer(r.ErrStatus, r.Response.ContentType, r.Response.Page)
		return atEnd
	}
	body := j.p.pages.of(code)
	if r.Settings.Tokens == request.TokensOff {
		body = j.p.bare.of(code)
	}
	// What the head says of another body is not said of the page.
	r.Response.Dated, r.Response.Ranges = false, request.NoRanges
	r.Response.Headers = slices.DeleteFunc(r.Response.Headers, func(h request.Header) bool {
		return h.ID == header.ETag || h.ID == header.LastModified || h.ID == header.AcceptRanges
	})
	var contentType []byte
	if len(body) > 0 {
		contentType = typeHTML
		if agent, found := r.Get(header.UserAgent); found && code >= 400 && r.Major > 0 && !r.Settings.NoPadding && h1.WantsPadding(agent) {
			body = r.Claim(append(append(r.Scratch(), body...), h1.PagePadding...))
		}
	}
	// The client is gone if this fails; the edge knows.
	_ = r.Answer(r.ErrStatus, contentType, body)
	return atEnd
}

var typeHTML = []byte("text/html")

// answerStatus is the status a code is answered with: nginx's own codes for broken requests are 400 to the client.
func answerStatus(code int) int { return h1.AnswerStatus(code) }

// breaksConnection reports whether the connection is not trusted with another request after an error.
func breaksConnection(status int) bool {
	switch status {
	case 400, 413, 414, 495, 496, 497, 500, 501:
		return true
	}
	return false
}

// isRedirect reports whether a status sends the client to Location.
func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// place puts a Location where it belongs: a path stays where sending completes it, anything else is a field like others. It
// replaces one that was set before.
func place(r *request.Request) {
	out := &r.Response
	if out.Location == nil {
		return
	}
	out.Location = oneLine(r, out.Location)
	out.Headers = slices.DeleteFunc(out.Headers, func(h request.Header) bool { return h.ID == header.Location })
	if len(out.Location) == 0 || out.Location[0] != '/' {
		r.AddHeader(nameLocation, out.Location)
		out.Location = nil
	}
}

// oneLine escapes what would end the line of a Location, whatever a client put into a variable: nginx would let it add
// fields of its own.
func oneLine(r *request.Request, location []byte) []byte {
	if bytes.IndexByte(location, '\n') < 0 && bytes.IndexByte(location, '\r') < 0 {
		return location
	}
	b := r.Scratch()
	for _, c := range location {
		if c == '\n' || c == '\r' {
			b = request.AppendEscape(b, c)
		} else {
			b = append(b, c)
		}
	}
	return r.Claim(b)
}

var nameLocation = []byte("Location")
