package h2

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// seed writes frames as a client would.
func seed(f *testing.F, write func(fr *http2.Framer, block func(fields ...string) []byte)) {
	var out, b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	fr := http2.NewFramer(&out, nil)
	fr.AllowIllegalWrites = true
	write(fr, func(fields ...string) []byte {
		b.Reset()
		for i := 0; i < len(fields); i += 2 {
			_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		return bytes.Clone(b.Bytes())
	})
	f.Add(out.Bytes())
}

// Whatever bytes come, nothing panics, and nothing is left when the client has gone.
func FuzzConn(f *testing.F) {
	seed(f, func(fr *http2.Framer, block func(...string) []byte) {
		_ = fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 15})
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(get("/large?100")...), EndStream: true, EndHeaders: true, PadLength: 3})
		_ = fr.WriteWindowUpdate(1, 1000)
		_ = fr.WriteWindowUpdate(0, 1000)
		_ = fr.WritePing(false, [8]byte{1})
		_ = fr.WriteGoAway(0, http2.ErrCodeNo, nil)
	})
	seed(f, func(fr *http2.Framer, block func(...string) []byte) {
		whole := block(get("/echo")...)
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: whole[:2]})
		_ = fr.WriteContinuation(1, true, whole[2:])
		_ = fr.WriteDataPadded(1, false, []byte("abc"), make([]byte, 5))
		_ = fr.WriteData(1, true, []byte("de"))
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: block(get("/pieces?3")...), EndStream: true, EndHeaders: true})
		_ = fr.WriteRSTStream(3, http2.ErrCodeCancel)
		_ = fr.WritePriority(5, http2.PriorityParam{StreamDep: 3, Weight: 7})
	})
	seed(f, func(fr *http2.Framer, block func(...string) []byte) {
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(append(get("/"), "content-length", "5", "cookie", "a", "cookie", "b", "X", "y")...), EndHeaders: true})
		_ = fr.WriteData(1, true, []byte("more than five"))
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: block(get("/silent")...), EndStream: true, EndHeaders: true})
		_ = fr.WriteRawFrame(0xbe, 1, 2, []byte("unknown"))
		_ = fr.WriteSettingsAck()
	})
	s := newSite(f, demo, func(s *site) {
		s.head.HeaderTimeout, s.head.KeepaliveIdle, s.settings.SendTimeout, s.settings.BodyTimeout = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	})
	f.Fuzz(func(t *testing.T, in []byte) {
		ended := s.ended.Load() + 1
		nc, err := net.Dial("tcp", s.ln.Addr().String())
		if err != nil {
			t.Skip(err)
		}
		defer nc.Close()
		_ = nc.SetDeadline(time.Now().Add(5 * time.Second))
		read := make(chan struct{})
		go func() { defer close(read); _, _ = io.Copy(io.Discard, nc) }()
		_, _ = io.WriteString(nc, http2.ClientPreface)
		_, _ = nc.Write(in)
		_ = nc.(*net.TCPConn).CloseWrite()
		<-read
		for i := 0; s.ended.Load() < ended; i++ {
			if i == 3000 {
				t.Fatal("the connection did not end with its client")
			}
			time.Sleep(time.Millisecond)
		}
		if n, m := s.under.Load(), s.held.Load(); n != 0 || m != 0 {
			t.Errorf("%d requests are under way and the program is held %d times when their client has gone", n, m)
		}
		s.mu.Lock()
		s.taken = s.taken[:0]
		s.mu.Unlock()
	})
}
