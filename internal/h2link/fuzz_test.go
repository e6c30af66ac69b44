package h2link

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate/internal/h2"
)

// script is a connection whose peer says what it has to say, and listens to everything.
type script struct {
	r io.Reader
	net.Conn
}

func (s script) Read(p []byte) (int, error)         { return s.r.Read(p) }
func (s script) Write(p []byte) (int, error)        { return len(p), nil }
func (s script) SetWriteDeadline(_ time.Time) error { return nil }
func (s script) Close() error                       { return nil }

// Whatever a peer sends, an answer comes to an end, and is not more than was sent.
func FuzzPeer(f *testing.F) {
	ok, tail := encoded(":status", "200", "a", "b"), encoded("grpc-status", "0")
	whole := h2.AppendSettings(nil, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 3})
	whole = h2.AppendBlock(whole, ok, 1, false, 3)
	whole = append(h2.AppendHeader(whole, 4, http2.FrameData, http2.FlagDataPadded, 1), "\x01abp"...)
	whole = h2.AppendPing(whole, false, [8]byte{1})
	whole = h2.AppendWindowUpdate(whole, 1, 7)
	whole = h2.AppendBlock(whole, tail, 1, true, maxFrame)
	f.Add(whole)
	f.Add(h2.AppendReset(h2.AppendBlock(nil, ok, 1, true, maxFrame), 1, http2.ErrCodeNo))
	f.Add(h2.AppendGoAway(nil, 0, http2.ErrCodeNo))
	f.Add(h2.AppendHeader(nil, 1<<20, http2.FrameData, 0, 1))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		l := New(script{r: bytes.NewReader(said)})
		defer l.Close()
		if _, err := l.Start(Begin{Block: post, Body: []byte("12345"), Room: 4096, Limit: soon}); err != nil {
			return
		}
		h, err := l.Head(soon, stays)
		if err == ErrTimeout || err == nil && h == nil {
			t.Fatalf("head %v, error %v", h, err)
		}
		n := 0
		for err == nil {
			var b []byte
			b, err = l.Data(soon, stays)
			n += len(b)
		}
		if err == ErrTimeout || n > len(said) {
			t.Fatalf("%d bytes of %d, error %v", n, len(said), err)
		}
		if err := l.Write([]byte("x"), true, soon, func() bool { return true }); err == ErrTimeout {
			t.Fatal(err)
		}
		l.End()
	})
}
