package conformance

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

const resetConf = `error_log logs/error.log info;
events {}
http {
	limit_conn_zone $binary_remote_addr zone=c:1m;
	server {
		listen 127.0.0.1:@8080@ http2;
		location /g { limit_conn c 2; limit_conn_status 429; limit_rate 1000; alias page; }
	}
}
`

// As many streams as there are places pass, and one that comes in the same piece as the RST_STREAM of another finds its place free.
func TestHTTP2PlacesBehindAReset(t *testing.T) {
	t.Parallel()
	for _, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		g := gatewaytest.Prepare(t, b, resetConf)
		g.Write("page", strings.Repeat("0123456789", 1000))
		g.Run()
		c, err := net.Dial("tcp", g.Addr(8080))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		var out bytes.Buffer
		out.WriteString(http2.ClientPreface)
		f := http2.NewFramer(&out, c)
		f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		_ = f.WriteSettings() // all to memory
		open := func(id uint32) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block("GET+"), EndHeaders: true, EndStream: true})
		}
		got := ""
		ask := func(ids ...uint32) {
			for _, id := range ids {
				open(id)
			}
			_, _ = c.Write(out.Bytes()) // the answers tell
			out.Reset()
			for range ids {
				h := nextHead(t, f)
				got += h.PseudoValue("status") + " "
			}
		}
		ask(1, 3, 5)
		for holds, id := uint32(1), uint32(7); id < 47; holds, id = id, id+2 {
			_ = f.WriteRSTStream(holds, http2.ErrCodeCancel)
			ask(id)
		}
		if want := "200 200 429 " + strings.Repeat("200 ", 20); got != want {
			t.Errorf("%s: got %s, want %s", b.Name, got, want)
		}
	}
}

// nextHead reads up to the head of an answer.
func nextHead(t *testing.T, f *http2.Framer) *http2.MetaHeadersFrame {
	t.Helper()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if h, is := frame.(*http2.MetaHeadersFrame); is {
			return h
		}
	}
}
