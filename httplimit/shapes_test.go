package httplimit

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/limitgate/limitgate"
)

// shapeOf is the set of parts that a writer has.
func shapeOf(w http.ResponseWriter) (set int) {
	for i, has := range []bool{is[http.Flusher](w), is[http.Hijacker](w), is[io.ReaderFrom](w), is[http.Pusher](w), is[closeNotifier](w), is[stringWriter](w)} {
		if has {
			set |= 1 << i
		}
	}
	return set
}

// able is a writer that can do everything, and counts what it did.
type able struct {
	*httptest.ResponseRecorder
	pushed, hijacked, read int
}

func (a *able) Push(string, *http.PushOptions) error { a.pushed++; return nil }
func (a *able) CloseNotify() <-chan bool             { return make(chan bool, 7) }
func (a *able) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	a.hijacked++
	return nil, nil, errors.New("not here")
}
func (a *able) ReadFrom(r io.Reader) (int64, error) {
	a.read++
	return io.Copy(struct{ io.Writer }{a.ResponseRecorder}, r)
}

// A writer that is followed can do what the one below it can, and nothing else.
func TestEveryShapeOfWriters(t *testing.T) {
	below := plain{httptest.NewRecorder()}
	for set := range 64 {
		inner, _ := trackerShape(set, tracker{ResponseWriter: below})
		if got := shapeOf(inner); got != set {
			t.Fatalf("a writer of set %06b has %06b: the test is wrong", set, got)
		}
		outer, _ := wrapTracker(tracker{ResponseWriter: inner})
		if got := shapeOf(outer); got != set {
			t.Errorf("set %06b: the followed writer has %06b", set, got)
		}
		if n, err := outer.Write([]byte("x")); n != 1 || err != nil {
			t.Errorf("set %06b: writing: got %d, %v", set, n, err)
		}
	}
}

func TestWhatAWriterCanDoIsDoneBelow(t *testing.T) {
	a := &able{ResponseRecorder: httptest.NewRecorder()}
	var got Outcome
	m := build(t, Config{Limits: []Limit{{
		Limiter: limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5}), Key: Everybody,
		Counts: func(o Outcome) bool { got = o; return true },
	}}})
	m.Serve(a, httptest.NewRequest("GET", "/", nil), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := w.(http.Pusher).Push("/x", nil); err != nil || a.pushed != 1 {
			t.Errorf("pushing: got %v, %d times", err, a.pushed)
		}
		if c := w.(closeNotifier).CloseNotify(); cap(c) != 7 {
			t.Errorf("got another channel than the writer's own")
		}
		if _, _, err := w.(http.Hijacker).Hijack(); err == nil || a.hijacked != 1 {
			t.Errorf("hijacking: got %v, %d times", err, a.hijacked)
		}
		w.(http.Flusher).Flush()
		w.WriteHeader(500) // too late: that was a 200
		if n, err := w.(io.StringWriter).WriteString("four"); n != 4 || err != nil {
			t.Errorf("writing a text: got %d, %v", n, err)
		}
		if n, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("and six")); n != 7 || err != nil || a.read != 1 {
			t.Errorf("reading: got %d, %v, %d times", n, err, a.read)
		}
	}))
	if got.Status != 200 || got.Bytes != 11 || a.Body.String() != "fourand six" {
		t.Errorf("got %d with %d bytes of %q, want 200 with 11", got.Status, got.Bytes, a.Body)
	}
}

// quiet is somebody's writer that hides that the one below can be flushed, because it has something to write first.
type quiet struct{ plain }

func (q quiet) Unwrap() http.ResponseWriter { return q.w }

func TestWhatAForeignWriterHidesStaysHidden(t *testing.T) {
	m := build(t, Config{Limits: []Limit{{Limiter: limiter(t, limitgate.Conn{Limit: 1}), Key: Everybody}}})
	m.Serve(quiet{plain{httptest.NewRecorder()}}, httptest.NewRequest("GET", "/", nil), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if is[http.Flusher](w) || is[io.StringWriter](w) {
			t.Error("what the writer below hides can be seen")
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("flushing through Unwrap: got %v", err)
		}
	}))
}

// Of the standard library's writers nothing is lost.
func TestShapesOfRealResponses(t *testing.T) {
	m := build(t, Config{Limits: []Limit{{Limiter: limiter(t, limitgate.Conn{Limit: 5}), Key: Everybody}}})
	seen := make(chan [2]int, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.Serve(w, r, http.HandlerFunc(func(limited http.ResponseWriter, _ *http.Request) { seen <- [2]int{shapeOf(w), shapeOf(limited)} }))
	})
	for _, http2 := range []bool{false, true} {
		s := httptest.NewUnstartedServer(h)
		if s.EnableHTTP2 = http2; http2 {
			s.StartTLS()
		} else {
			s.Start()
		}
		answer, err := s.Client().Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := <-seen; got[0] != got[1] || got[0] == 0 {
			t.Errorf("HTTP/2 %v: got set %06b, want %06b", http2, got[1], got[0])
		}
		s.Close()
	}
}
