package shape

import (
	"bytes"
	"compress/gzip"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// compression is the gzip directives of a scope (ngx_http_gzip_filter).
type compression struct {
	on        bool
	types     map[string]bool // in small letters; nil: all
	minLength int64
	proxied   proxied
	minor     int // lowest version of HTTP 1
	vary      bool
	msie6     bool // gzip_disable msie6
	agents    []*regexp.Regexp
	writers   *sync.Pool // of *zipper, of the scope's level
	now       func() limitgate.Time
}

var (
	nameContentEncoding = []byte("Content-Encoding")
	codingGzip          = []byte("gzip")
)

func (c *compression) shape(r *request.Request) error {
	out := &r.Response
	if !c.on || out.Status != 200 && out.Status != 403 && out.Status != 404 || len(get(out, header.ContentEncoding)) > 0 ||
		out.Length >= 0 && out.Length < c.minLength || !c.fits(out) {
		return nil
	}
	out.Vary = c.vary
	if !c.wanted(r) {
		return nil
	}
	out.Headers = append(out.Headers, request.Header{Name: nameContentEncoding, Value: codingGzip, ID: header.ContentEncoding})
	out.Length, out.Ranges = -1, request.NoRanges
	remove(out, header.AcceptRanges)
	weaken(r)
	if r.BodyAllowed() {
		z := c.writers.Get().(*zipper)
		z.begin(c.writers)
		r.Through(z)
	}
	return nil
}

// fits reports whether answers of a type are compressed. Of an upstream's type the charset is no part.
func (c *compression) fits(out *request.Response) bool {
	t := out.ContentType
	switch {
	case c.types == nil: // also one that has none
		return true
	case len(t) == 0:
		return false
	}
	if out.Proxied {
		t = withoutCharset(t)
	}
	if c.types[string(t)] {
		return true
	}
	var low [64]byte
	return len(t) <= len(low) && c.types[string(header.AppendLower(low[:0], t))]
}

// withoutCharset cuts a type where a charset parameter begins (ngx_http_upstream_copy_content_type).
func withoutCharset(t []byte) []byte {
	for i := 0; i < len(t); i++ {
		if t[i] != ';' {
			continue
		}
		p := bytes.TrimLeft(t[i+1:], " ")
		if len(p) >= len("charset=") && header.EqualFold(p[:len("charset=")], "charset=") {
			return t[:i]
		}
	}
	return t
}

// wanted reports whether the client takes gzip, and may get it.
func (c *compression) wanted(r *request.Request) bool {
	coding, ok := r.Get(header.AcceptEncoding)
	if !ok || !acceptsGzip(coding) || r.Major < 1 || r.Major == 1 && r.Minor < c.minor {
		return false
	}
	agent, named := r.Get(header.UserAgent)
	if c.msie6 && named && h1.ReadAgent(agent).MSIE6 {
		return false
	}
	if _, through := r.Get(header.Via); through && !c.proxied.allows(r, c.now()) {
		return false
	}
	for _, re := range c.agents {
		if named && re.Match(agent) {
			return false
		}
	}
	return true
}

// weaken makes a strong ETag weak: the bytes behind it are not the same any more. What is no tag goes.
func weaken(r *request.Request) {
	out := &r.Response
	i := place(out, header.ETag)
	if i < 0 {
		return
	}
	switch v := out.Headers[i].Value; {
	case len(v) > 2 && v[0] == 'W' && v[1] == '/':
	case len(v) == 0 || v[0] != '"':
		remove(out, header.ETag)
	default:
		out.Headers[i].Value = r.Claim(append(append(r.Scratch(), "W/"...), v...))
	}
}

// zipRoom is how much of a compressed body is passed on at once.
const zipRoom = 8 << 10

// zipper compresses one body at a time. It lends itself out of a pool with all its memory, and allocates nothing for a body.
type zipper struct {
	z       *gzip.Writer
	out     []byte // compressed and not passed on yet
	to      request.Sink
	in, cut int64
	home    *sync.Pool
}

var (
	_ request.Filter = (*zipper)(nil)
	_ io.Writer      = (*funnel)(nil)
)

// newZippers returns a pool of zippers of a level.
func newZippers(level int) *sync.Pool {
	return &sync.Pool{New: func() any {
		z := &zipper{out: make([]byte, 0, zipRoom)}
		z.z, _ = gzip.NewWriterLevel((*funnel)(z), level) // from 1 to 9, which all exist
		return z
	}}
}

func (z *zipper) begin(home *sync.Pool) {
	z.home, z.in, z.cut, z.out = home, 0, 0, z.out[:0]
	z.z.Reset((*funnel)(z))
	z.z.OS = unix
}

// unix is how gzip names the system in its head: 3, as nginx does.
const unix = 3

// Write implements request.Filter.
func (z *zipper) Write(to request.Sink, p []byte, m request.Mark) error {
	z.to = to
	z.in += int64(len(p))
	_, err := z.z.Write(p)
	switch {
	case err != nil:
	case m == request.Sync:
		err = z.z.Flush()
	case m == request.Last:
		err = z.z.Close()
	}
	if err != nil {
		return err
	}
	if m == request.More {
		return nil
	}
	if r := to.Request(); m == request.Last {
		r.ZipIn, r.ZipOut = z.in, z.cut
	}
	return z.pass(m)
}

// pass hands on what is compressed so far.
func (z *zipper) pass(m request.Mark) error {
	p := z.out
	z.out = z.out[:0]
	return z.to.Write(p, m)
}

// Release implements request.Filter.
func (z *zipper) Release() {
	home := z.home
	z.home, z.to = nil, request.Sink{}
	home.Put(z)
}

// funnel is the zipper as the compressor writes to it, in pieces of a few hundred bytes: they are passed on as one.
type funnel zipper

// Write implements io.Writer.
func (f *funnel) Write(p []byte) (int, error) {
	z := (*zipper)(f)
	z.cut += int64(len(p))
	for rest := p; len(rest) > 0; {
		n := min(len(rest), zipRoom-len(z.out))
		z.out = append(z.out, rest[:n]...)
		if rest = rest[n:]; len(z.out) == zipRoom {
			if err := z.pass(request.More); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// typeSet reads gzip_types; nil stands for all.
func typeSet(names []string) map[string]bool {
	types := map[string]bool{"text/html": true}
	for _, n := range names {
		if n == "*" {
			return nil
		}
		types[strings.ToLower(n)] = true
	}
	return types
}
