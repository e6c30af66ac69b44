package static

import (
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// pieceSize is how much of a file is read in one go.
const pieceSize = 32 << 10

// send describes a file and streams it, or the parts of it that the filters leave over.
func (h *Handler) send(r *request.Request, f *os.File, info fs.FileInfo) phase.Next {
	r.SkipsBody = true
	size, out := info.Size(), &r.Response
	out.Status, out.Reason, out.Location, out.ContentType = 200, nil, nil, r.ContentType()
	out.Length, out.Dated, out.Modified, out.Ranges = size, true, info.ModTime().Unix(), request.AnyRanges
	if !r.Settings.NoETag {
		etag := r.Claim(appendETag(r.Scratch(), out.Modified, size))
		out.Headers = append(out.Headers, request.Header{Name: nameETag, Value: etag, ID: header.ETag})
	}
	if err := r.SendHead(); err != nil || !r.BodyAllowed() {
		return sent(r, err)
	}
	if len(out.Parts) == 0 {
		return sent(r, h.copy(r, f, 0, size))
	}
	for _, p := range out.Parts {
		if err := r.SendBody(p.Lead); err != nil {
			return sent(r, err)
		}
		if err := h.copy(r, f, p.From, p.To); err != nil {
			return sent(r, err)
		}
	}
	return sent(r, r.SendBody(out.Tail))
}

var nameETag = []byte("ETag")

// appendETag appends nginx's entity tag of a file.
func appendETag(dst []byte, modified, size int64) []byte {
	dst = strconv.AppendInt(append(dst, '"'), modified, 16)
	dst = strconv.AppendInt(append(dst, '-'), size, 16)
	return append(dst, '"')
}

// copy sends the bytes of a file between two places.
func (h *Handler) copy(r *request.Request, f *os.File, from, to int64) error {
	buffer := h.buffers.Get().(*[]byte)
	defer h.buffers.Put(buffer)
	for from < to {
		n, err := f.ReadAt((*buffer)[:min(pieceSize, to-from)], from)
		if n == 0 {
			if err == io.EOF { // it was cut short while it was sent
				r.Logf(errorlog.Alert, "sendfile() reported that \"%s\" was truncated at %d", f.Name(), from)
			} else {
				r.Logf(errorlog.Crit, "read() \"%s\" failed (%s)", f.Name(), errorlog.Errno(err))
			}
			return io.ErrUnexpectedEOF
		}
		if err := r.SendBody((*buffer)[:n]); err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
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
