package shape

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// text is the body of the tests.
const text = "0123456789abcdefghijklmnopqrstuvwxyz\n"

const (
	changed = 1709208001 // 29 February 2024, 12:00:01
	at      = "Thu, 29 Feb 2024 12:00:01 GMT"
	before  = "Thu, 29 Feb 2024 12:00:00 GMT"
	after   = "Thu, 29 Feb 2024 12:00:02 GMT"
	tag     = `"t"`
)

// file is an answer with a file in it, as it comes to the filters.
func file(out *request.Response) {
	out.ContentType, out.Dated, out.Modified, out.Ranges = []byte("text/plain"), true, changed, request.AnyRanges
	out.Headers = append(out.Headers[:0], request.Header{Name: []byte("ETag"), Value: []byte(tag), ID: header.ETag})
}

// answered is what a client got.
type answered struct {
	err    error
	status int
	head   string // as phasetest has it, or nothing for a refused answer
	body   string // uncompressed
	r      *request.Request
}

// answer sends text through the filters of a location; line and fields are the request's.
func answer(t testing.TB, h *Handler, set func(out *request.Response), line string, fields ...string) answered {
	t.Helper()
	client := &phasetest.Client{}
	r := phasetest.Request(t, line+"\r\nHost: h\r\n"+strings.Join(append(fields, ""), "\r\n")+"\r\n", client, nil)
	r.Shaper, r.Response.Status, r.Response.Length = h, 200, int64(len(text))
	file(&r.Response)
	if set != nil {
		set(&r.Response)
	}
	got := answered{r: r, err: r.SendHead()}
	if got.err == nil && r.BodyAllowed() {
		got.err = send(r)
	}
	if got.err == nil {
		got.err = r.Finish()
	}
	if err := r.Release(); err != nil {
		t.Error(err)
	}
	got.status, got.head, got.body = r.Response.Status, client.Head(), client.Body()
	if strings.Contains(got.head, "Content-Encoding: gzip") && got.body != "" {
		z, err := gzip.NewReader(strings.NewReader(got.body))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		got.body = string(plain)
	}
	return got
}

// send sends text in small pieces, or the parts of it that are left over.
func send(r *request.Request) error {
	parts := r.Response.Parts
	if len(parts) == 0 {
		parts = []request.Part{{To: int64(len(text))}}
	}
	for _, p := range parts {
		if err := r.SendBody(p.Lead); err != nil {
			return err
		}
		for piece := range bytes.SplitAfterSeq([]byte(text[p.From:p.To]), []byte("g")) {
			if err := r.SendBody(piece); err != nil {
				return err
			}
		}
	}
	return r.SendBody(r.Response.Tail)
}
