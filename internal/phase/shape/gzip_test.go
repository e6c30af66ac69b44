package shape

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/internal/request"
)

func TestAcceptEncoding(t *testing.T) {
	for v, want := range map[string]bool{
		"gzip": true, "GZip": true, "gzip, deflate": true, "deflate,gzip": true, "deflate; gzip": true, "gzip;q=1": true, "gzip;q=0.001": true,
		"gzip; Q=0.5": true, "gzip;": true, "gzip;q=0.5,br": true, "xgzip, gzip": true, "gzip ,x": true, "gzip;q=1.000": true, "gzip;q=1 x": true,
		"": false, "gzi": false, "*": false, "br": false, "xgzip": false, "x-gzip": false, "gzipx": false, "gzip;q=0": false, "gzip;q=0.000": false,
		"gzip;q=0.0001": false, "gzip;q=1.001": false, "gzip;q=2": false, "gzip;q=": false, "gzip;q": false, "gzip;q=x": false, "gzip;q=0.x": false,
		"gzip;q=1x": false, "gzip;x=1": false, "gzip;q=0, gzip": false, "gzip x": false, "gzip;q =1": false, "gzip;q=.5": false,
	} {
		if got := acceptsGzip([]byte(v)); got != want {
			t.Errorf("%q: got %v, want %v", v, got, want)
		}
	}
}

func TestGzip(t *testing.T) {
	const accepts = "Accept-Encoding: gzip"
	const on = "gzip on; gzip_types text/plain; "
	for _, c := range []struct {
		name, directives string
		set              func(out *request.Response)
		line             string
		fields           []string
		zipped           bool
	}{
		{"off", "gzip_types *;", nil, getRoot, []string{accepts}, false},
		{"on", on, nil, getRoot, []string{accepts}, true},
		{"not asked for", on, nil, getRoot, nil, false},
		{"another type", "gzip on;", nil, getRoot, []string{accepts}, false},
		{"HTML always", on, func(out *request.Response) { out.ContentType = []byte("TEXT/html") }, getRoot, []string{accepts}, true},
		{"all types", "gzip on; gzip_types *;", nil, getRoot, []string{accepts}, true},
		{"all types, none at all", "gzip on; gzip_types *;", func(out *request.Response) { out.ContentType = nil }, getRoot, []string{accepts}, true},
		{"no type", on, func(out *request.Response) { out.ContentType = nil }, getRoot, []string{accepts}, false},
		{"a type with a charset", on, func(out *request.Response) { out.ContentType = []byte("text/plain; charset=x") }, getRoot, []string{accepts}, false},
		{"and an upstream's", on, func(out *request.Response) {
			out.ContentType, out.Proxied = []byte("text/plain; charset=x"), true
		}, getRoot, []string{accepts}, true},
		{"with another parameter", on, func(out *request.Response) { out.ContentType, out.Proxied = []byte("text/plain; v=1"), true }, getRoot, []string{accepts}, false},
		{"too short", on + "gzip_min_length 38;", nil, getRoot, []string{accepts}, false},
		{"just long enough", on + "gzip_min_length 37;", nil, getRoot, []string{accepts}, true},
		{"of unknown length", on + "gzip_min_length 38;", func(out *request.Response) { out.Length = -1 }, getRoot, []string{accepts}, true},
		{"coded already", on, func(out *request.Response) {
			out.Headers = append(out.Headers, request.Header{Name: nameContentEncoding, Value: []byte("br"), ID: headerOf("Content-Encoding")})
		}, getRoot, []string{accepts}, false},
		{"403", on, func(out *request.Response) { out.Status = 403 }, getRoot, []string{accepts}, true},
		{"404", on, func(out *request.Response) { out.Status = 404 }, getRoot, []string{accepts}, true},
		{"500", on, func(out *request.Response) { out.Status = 500 }, getRoot, []string{accepts}, false},
		{"HTTP/1.0", on, nil, "GET / HTTP/1.0", []string{accepts}, false},
		{"HTTP/1.0 where it may", on + "gzip_http_version 1.0;", nil, "GET / HTTP/1.0", []string{accepts}, true},
		{"through a proxy", on, nil, getRoot, []string{accepts, "Via: x"}, false},
		{"through a proxy where it may", on + "gzip_proxied any;", nil, getRoot, []string{accepts, "Via: x"}, true},
		{"with a password", on + "gzip_proxied auth;", nil, getRoot, []string{accepts, "Via: x", "Authorization: x"}, true},
		{"off wins", on + "gzip_proxied any off;", nil, getRoot, []string{accepts, "Via: x"}, false},
		{"a disabled agent", on + `gzip_disable "curl/[1-6]" x;`, nil, getRoot, []string{accepts, "User-Agent: CURL/5"}, false},
		{"another agent", on + `gzip_disable "curl/[1-6]";`, nil, getRoot, []string{accepts, "User-Agent: curl/8"}, true},
		{"an old browser", on + "gzip_disable msie6;", nil, getRoot, []string{accepts, "User-Agent: MSIE 6.0; x"}, false},
		{"a range is not cut out of it", on, nil, getRoot, []string{accepts, "Range: bytes=1-2"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := answer(t, compile(t, c.directives), c.set, c.line, c.fields...)
			if zipped := strings.Contains(got.head, "Content-Encoding: gzip"); zipped != c.zipped || got.err != nil || got.body != text {
				t.Fatalf("got %q %q %v, want compressed: %v", got.head, got.body, got.err, c.zipped)
			}
			if c.zipped && (!strings.Contains(got.head, `ETag: W/"t"`) || strings.Contains(got.head, "length:") || got.r.ZipIn != int64(len(text)) || got.r.ZipOut < 20) {
				t.Errorf("got %q, %d into %d", got.head, got.r.ZipIn, got.r.ZipOut)
			}
		})
	}
}

func TestGzipVary(t *testing.T) {
	h := compile(t, "gzip on; gzip_types text/plain; gzip_vary on;")
	for _, c := range []struct {
		set    func(out *request.Response)
		fields []string
		want   bool
	}{
		{nil, []string{"Accept-Encoding: gzip"}, true},
		{nil, nil, true}, // it might have been
		{func(out *request.Response) { out.Status = 500 }, nil, false},
		{func(out *request.Response) { out.ContentType = []byte("x/y") }, nil, false},
	} {
		if got := answer(t, h, c.set, getRoot, c.fields...); got.r.Response.Vary != c.want {
			t.Errorf("%q: got %v, want %v", c.fields, got.r.Response.Vary, c.want)
		}
	}
}

// What a flush lets through can be read at once, and what comes in pieces of any size comes out as it was.
func TestGzipStreams(t *testing.T) {
	for _, level := range []string{"1", "5", "9"} {
		h := compile(t, "gzip on; gzip_types *; gzip_comp_level "+level+";")
		client := &phasetest.Client{}
		r := phasetest.Request(t, getRoot+"\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n", client, nil)
		r.Shaper, r.Response.Status, r.Response.ContentType = h, 200, []byte("x/y")
		if err := r.SendHead(); err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		var want bytes.Buffer
		for i := range 40 {
			piece := []byte(strings.Repeat("word ", rnd.IntN(1<<rnd.IntN(12))))
			for j := range piece {
				piece[j] += byte(rnd.IntN(4))
			}
			want.Write(piece)
			if err := r.SendBody(piece); err != nil {
				t.Fatal(err)
			}
			if i%10 != 9 {
				continue
			}
			if err := r.Flush(); err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(strings.NewReader(client.Body()))
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, want.Len())
			if _, err := io.ReadFull(z, got); err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Fatalf("level %s, after %d pieces: %d bytes can be read back: %v", level, i+1, want.Len(), err)
			}
		}
		if err := r.Finish(); err != nil {
			t.Fatal(err)
		}
		z, _ := gzip.NewReader(strings.NewReader(client.Body()))
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("level %s: got %d bytes, want %d: %v", level, len(got), want.Len(), err)
		}
		if err := r.Release(); err != nil {
			t.Error(err)
		}
	}
}

// A client that can't be written to ends it, and the compressor is good for the next.
func TestGzipFails(t *testing.T) {
	h := compile(t, "gzip on; gzip_types *;")
	client := &phasetest.Client{}
	r := phasetest.Request(t, getRoot+"\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n", client, nil)
	r.Shaper, r.Response.Status, r.Response.ContentType = h, 200, []byte("x/y")
	if err := r.SendHead(); err != nil {
		t.Fatal(err)
	}
	client.Fail = true
	noise := make([]byte, 256<<10)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	if err := r.SendBody(noise); err != phasetest.ErrGone {
		t.Errorf("got %v, want the stream's error", err)
	}
	if err := r.Release(); err != nil {
		t.Error(err)
	}
	if got := answer(t, h, nil, getRoot, "Accept-Encoding: gzip"); got.body != text {
		t.Errorf("the next: got %q %v", got.body, got.err)
	}
}

func TestFilteringAllocatesNothing(t *testing.T) {
	for name, directives := range map[string]string{
		"none":  "",
		"all":   "expires 1h; add_trailer X-T $host; gzip on; gzip_types *; gzip_vary on;",
		"still": "gzip on;", // another type
	} {
		h := compile(t, directives)
		client := &phasetest.Client{}
		r := phasetest.Request(t, getRoot+"\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n", client, nil)
		body, kind, method := bytes.Repeat([]byte("body "), 5000), []byte("x/y"), []byte("GET")
		n := testing.AllocsPerRun(100, func() {
			client.Recycle()
			host, headers, major, minor := r.Host, r.Headers, r.Major, r.Minor
			r.Reset()
			r.Host, r.Headers, r.Major, r.Minor, r.Shaper, r.Method = host, headers, major, minor, h, method
			r.Response.Status, r.Response.ContentType = 200, kind
			if r.SendHead() != nil || r.SendBody(body) != nil || r.SendBody(body) != nil || r.Finish() != nil || r.Release() != nil {
				t.Fatal("sending failed")
			}
		})
		if n != 0 && !racing.Detector {
			t.Errorf("%s: got %v allocations, want 0", name, n)
		}
	}
}
