package static

import (
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// pieceSize is how much of a file is read in one go.
const pieceSize = 32 << 10

// send describes a file and streams it.
func (h *Handler) send(r *request.Request, f *os.File, info fs.FileInfo) phase.Next {
	size, modified := info.Size(), info.ModTime().Unix()
	etag := r.Claim(appendETag(r.Scratch(), modified, size))
	switch conditions(r, modified, etag) {
	case changed:
		return fail(r, 412)
	case unchanged:
		describe(r, 304, modified, etag)
		r.Response.ContentType, r.Response.Length = nil, -1
		return sent(r, r.SendHead())
	}
	describe(r, 200, modified, etag)
	part := span{0, size}
	switch ranged := ranges(r, modified, etag, size, &part); ranged {
	case rangeBad:
		r.Response.Headers = r.Response.Headers[:0]
		r.Fail(416)
		r.AddHeader([]byte("Content-Range"), strconv.AppendInt([]byte("bytes */"), size, 10))
		return phase.Fail
	case rangeOne:
		r.Response.Status = 206
		b := strconv.AppendInt(append(r.Scratch(), "bytes "...), part.from, 10)
		b = strconv.AppendInt(append(b, '-'), part.to-1, 10)
		b = strconv.AppendInt(append(b, '/'), size, 10)
		r.AddHeader([]byte("Content-Range"), r.Claim(b))
	default:
		r.AddHeader([]byte("Accept-Ranges"), []byte("bytes"))
	}
	r.Response.Length = part.to - part.from
	if err := r.SendHead(); err != nil || !r.BodyAllowed() {
		return sent(r, err)
	}
	return h.body(r, f, part)
}

// describe makes the head of a file.
func describe(r *request.Request, status int, modified int64, etag []byte) {
	out := &r.Response
	out.Status, out.Reason, out.Location = status, nil, nil
	if len(out.ContentType) == 0 { // else an upstream that sent the request here has named it
		out.ContentType = contentType(r)
	}
	date := time.Unix(modified, 0).UTC().AppendFormat(r.Scratch(), "Mon, 02 Jan 2006 15:04:05 GMT")
	r.AddHeader([]byte("Last-Modified"), r.Claim(date))
	r.AddHeader([]byte("ETag"), etag)
}

// appendETag appends nginx's entity tag of a file.
func appendETag(dst []byte, modified, size int64) []byte {
	dst = strconv.AppendInt(append(dst, '"'), modified, 16)
	dst = strconv.AppendInt(append(dst, '-'), size, 16)
	return append(dst, '"')
}

// contentType is what types say of the extension, or default_type.
func contentType(r *request.Request) []byte {
	uri := r.URI
	for i := len(uri) - 1; i >= 0 && uri[i] != '/'; i-- {
		if uri[i] != '.' {
			continue
		}
		var low [16]byte
		ext := low[:0]
		for _, c := range uri[i+1:] {
			if c >= 'A' && c <= 'Z' {
				c |= 0x20
			}
			ext = append(ext, c)
		}
		if t, ok := r.Settings.Types[string(ext)]; ok {
			return t
		}
		break
	}
	return r.Settings.DefaultType
}

// body streams a part of the file.
func (h *Handler) body(r *request.Request, f *os.File, part span) phase.Next {
	buffer := h.buffers.Get().(*[]byte)
	defer h.buffers.Put(buffer)
	for part.from < part.to {
		n, err := f.ReadAt((*buffer)[:min(pieceSize, part.to-part.from)], part.from)
		if n == 0 {
			if err == io.EOF { // it was cut short while it was sent
				r.Logf(errorlog.Alert, "sendfile() reported that \"%s\" was truncated at %d", f.Name(), part.from)
			} else {
				r.Logf(errorlog.Crit, "read() \"%s\" failed (%s)", f.Name(), errorlog.Errno(err))
			}
			return sent(r, io.ErrUnexpectedEOF)
		}
		if err := r.SendBody((*buffer)[:n]); err != nil {
			return sent(r, err)
		}
		part.from += int64(n)
	}
	return phase.Done
}

// sent ends an answer. One that could not be sent whole must not look whole.
func sent(r *request.Request, err error) phase.Next {
	if err == request.ErrRefused {
		return phase.Fail
	}
	if err != nil {
		r.Response.Silent, r.Response.Close = true, true
	}
	return phase.Done
}
