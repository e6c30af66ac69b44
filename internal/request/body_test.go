package request_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/tempfile"
)

// Which bodies stay in memory and which go to a file, and what is said of those.
func TestKeepBody(t *testing.T) {
	const notice, warn = "notice: a client request body", "warn: a client request body"
	for _, c := range []struct {
		name   string
		head   string
		pieces []int
		mode   request.BodyFile
		file   bool
		log    string
	}{
		{"none", "A: b", nil, request.BodyFileIfLarge, false, ""},
		{"none, file only", "A: b", nil, request.BodyFileKept, false, ""},
		{"empty, file only", "Content-Length: 0", nil, request.BodyFileKept, true, ""},
		{"small", "Content-Length: 3", []int{3}, request.BodyFileIfLarge, false, ""},
		{"small, file only", "Content-Length: 3", []int{3}, request.BodyFileKept, true, notice},
		{"small, clean", "Content-Length: 3", []int{1, 2}, request.BodyFileClean, true, notice},
		{"a buffer", "Content-Length: 1000", []int{1, 999}, request.BodyFileIfLarge, false, ""},
		{"nearly a quarter more", "Content-Length: 1250", []int{1, 1249}, request.BodyFileIfLarge, false, ""},
		{"a quarter more", "Content-Length: 1251", []int{1, 1250}, request.BodyFileIfLarge, true, warn},
		{"a part is behind the head", "Content-Length: 1700", []int{1000, 700}, request.BodyFileIfLarge, false, ""},
		{"more came at once", "Content-Length: 5000", []int{4000, 1000}, request.BodyFileIfLarge, true, warn},
		{"many pieces", "Content-Length: 3000", []int{100, 900, 1100, 100, 800}, request.BodyFileIfLarge, true, warn},
		{"chunked, small", "Transfer-Encoding: chunked", []int{100, 100}, request.BodyFileIfLarge, false, ""},
		{"chunked, empty, file only", "Transfer-Encoding: chunked", nil, request.BodyFileKept, true, ""},
		{"chunked, large", "Transfer-Encoding: chunked", []int{600, 600, 600}, request.BodyFileIfLarge, true, warn},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, log := &phasetest.Client{}, &phasetest.Log{}
			var sent []byte
			for i, n := range c.pieces {
				p := bytes.Repeat([]byte{byte('a' + i)}, n)
				client.First = append(client.First, p)
				sent = append(sent, p...)
			}
			r := phasetest.Request(t, "POST / HTTP/1.1\r\nHost: h\r\n"+c.head+"\r\n\r\n", client, log)
			r.Settings.BodyFolder, _ = tempfile.NewSet(new(atomic.Uint32), "").Add(t.TempDir(), nil, "")
			r.Settings.HeaderBuffer, r.Settings.BodyBuffer, r.Settings.BodyFile = 500, 1000, c.mode
			for range 2 { // the second time it is there
				if err := r.KeepBody(); err != nil {
					t.Fatal(err)
				}
			}
			b := &r.Body
			if got := b.File != nil; got != c.file || !b.Whole || b.Length != int64(len(sent)) {
				t.Errorf("file: got %v, want %v; whole %v, length %d of %d", got, c.file, b.Whole, b.Length, len(sent))
			}
			if got := log.Messages(); !strings.HasPrefix(got, c.log) || c.log == "" && got != "" {
				t.Errorf("log: got %q, want %q", got, c.log)
			}
			if b.InMemory() != (!c.file && c.head != "A: b") {
				t.Errorf("in memory: got %v", b.InMemory())
			}
			got, name := b.Bytes, ""
			if b.File != nil {
				name = b.File.Name()
				got, _ = io.ReadAll(io.NewSectionReader(b.File, 0, b.Length+1))
			}
			if !bytes.Equal(got, sent) {
				t.Errorf("got %d bytes, want the %d that were sent", len(got), len(sent))
			}
			r.CloseBody()
			if _, err := os.Stat(name); (err == nil) != (c.file && c.mode == request.BodyFileKept) {
				t.Errorf("the file when the request is over: %v", err)
			}
		})
	}
}

func TestBodyThatCannotBeKept(t *testing.T) {
	client, log := &phasetest.Client{First: [][]byte{make([]byte, 3000)}, BodyErr: io.ErrUnexpectedEOF}, &phasetest.Log{}
	r := phasetest.Request(t, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", client, log)
	r.Settings.BodyBuffer = 1000
	if err := r.KeepBody(); !errors.Is(err, io.ErrUnexpectedEOF) || r.Body.Whole {
		t.Errorf("a body that breaks off: got %v, whole %v", err, r.Body.Whole)
	}
	r.CloseBody()

	r = phasetest.Request(t, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000\r\n\r\n", &phasetest.Client{First: [][]byte{make([]byte, 1000), make([]byte, 2000)}}, log)
	r.Settings.BodyBuffer = 1000
	r.Settings.BodyFolder, _ = tempfile.NewSet(new(atomic.Uint32), "").Add("/proc/none", nil, "")
	err := r.KeepBody()
	var b *request.BodyError
	if want := `open() "/proc/none/0000000001" failed (` + "2: No such file or directory)"; !errors.As(err, &b) || b.Status != 500 || b.Log != want {
		t.Errorf("no folder: got %v, want %s", err, want)
	}
}
