package conformance

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// framePeer speaks HTTP/2 frame by frame: what it says to a request is named by the last element of its path, with a number
// behind for one of two peers, as with those of HTTP/1.
type framePeer struct {
	ln     net.Listener
	number string

	mu   sync.Mutex // guards seen
	seen []string
}

func startFramePeer(t *testing.T, number string) *framePeer {
	t.Helper()
	p := &framePeer{number: number}
	p.ln = serveEach(t, p.serve)
	return p
}

// dialog is one connection.
type dialog struct {
	*http2.Framer
	c   net.Conn
	id  uint32
	out strings.Builder // of the encoder
	enc *hpack.Encoder
}

// head says a head, or trailers; end ends the stream.
func (d *dialog) head(end bool, fields ...string) {
	d.out.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = d.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = d.WriteHeaders(http2.HeadersFrameParam{StreamID: d.id, BlockFragment: []byte(d.out.String()), EndHeaders: true, EndStream: end})
}

func (p *framePeer) serve(c net.Conn, connection int) {
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil {
		return
	}
	d := &dialog{Framer: http2.NewFramer(c, c), c: c}
	d.enc = hpack.NewEncoder(&d.out)
	d.enc.SetMaxDynamicTableSizeLimit(0) // nginx asks for that
	d.AllowIllegalWrites = true
	_ = d.WriteSettings()
	read := hpack.NewDecoder(4096, nil)
	for {
		path, ok := p.read(d, read, connection)
		if !ok {
			return
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		name, _, _ = strings.Cut(name, "?")
		if n := len(name); n > 0 && (name[n-1] == '1' || name[n-1] == '2') {
			if name[n-1:] == p.number {
				name = name[:n-1]
			} else {
				name = "ok"
			}
		}
		say := dialogs[name]
		if say == nil {
			say = dialogs["ok"]
		}
		if !say(d) {
			return
		}
	}
}

// read reads a whole request and notes what came.
func (p *framePeer) read(d *dialog, decoder *hpack.Decoder, connection int) (path string, ok bool) {
	var fields []string
	body := 0
	for {
		f, err := d.ReadFrame()
		if err != nil {
			return "", false
		}
		ended := false
		switch f := f.(type) {
		case *http2.HeadersFrame:
			d.id = f.StreamID
			list, err := decoder.DecodeFull(f.HeaderBlockFragment())
			if err != nil {
				return "", false
			}
			for _, h := range list {
				fields = append(fields, mask(h.Name+": "+h.Value))
				if h.Name == ":path" {
					path = h.Value
				}
			}
			ended = f.StreamEnded()
		case *http2.DataFrame:
			body += len(f.Data())
			ended = f.StreamEnded()
		}
		if ended {
			p.mu.Lock()
			p.seen = append(p.seen, fmt.Sprintf("%s, connection %d, stream %d, %d bytes: %s", p.number, connection, d.id, body, strings.Join(fields, "; ")))
			p.mu.Unlock()
			return path, true
		}
	}
}

var plain = []string{":status", "200", "content-type", "application/grpc", "x", "y"}

// dialogs are what peers say. They report whether the connection goes on.
var dialogs = map[string]func(*dialog) bool{
	"ok": func(d *dialog) bool {
		d.head(false, plain...)
		_ = d.WriteData(d.id, false, []byte("data"))
		d.head(true, "grpc-status", "0", "grpc-message", "")
		return true
	},
	"alone": func(d *dialog) bool { d.head(true, append(plain, "grpc-status", "12")...); return true },
	"hidden": func(d *dialog) bool {
		d.head(true, append(plain, "server", "s", "date", "d", "x-accel-limit-rate", "0", "x-pad", "p", "hide", "h")...)
		return true
	},
	"length": func(d *dialog) bool {
		d.head(false, append(plain, "content-length", "4")...)
		_ = d.WriteData(d.id, true, []byte("data"))
		return true
	},
	"lengthtrails": func(d *dialog) bool {
		d.head(false, append(plain, "content-length", "4")...)
		_ = d.WriteData(d.id, false, []byte("data"))
		d.head(true, "grpc-status", "0")
		return true
	},
	"toolong": func(d *dialog) bool {
		d.head(false, append(plain, "content-length", "3")...)
		time.Sleep(20 * time.Millisecond) // or it is all part of the head for nginx
		_ = d.WriteData(d.id, true, []byte("data"))
		return true
	},
	"tooshort": func(d *dialog) bool {
		d.head(false, append(plain, "content-length", "9")...)
		_ = d.WriteData(d.id, false, []byte("data"))
		time.Sleep(20 * time.Millisecond) // likewise
		_ = d.WriteData(d.id, true, nil)
		return true
	},
	"padded": func(d *dialog) bool {
		d.head(false, plain...)
		_ = d.WriteDataPadded(d.id, true, []byte("data"), make([]byte, 42))
		return true
	},
	"empty": func(d *dialog) bool {
		d.head(false, plain...)
		_ = d.WriteData(d.id, true, nil)
		return true
	},
	"ping": func(d *dialog) bool {
		_ = d.WritePing(false, [8]byte{1, 2, 3})
		for {
			f, err := d.ReadFrame()
			if err != nil {
				return false
			}
			if p, is := f.(*http2.PingFrame); is && p.IsAck() && p.Data == [8]byte{1, 2, 3} {
				break
			}
		}
		d.head(true, plain...)
		return true
	},
	"s404":     func(d *dialog) bool { d.head(true, ":status", "404", "content-type", "text/plain"); return true },
	"s503":     func(d *dialog) bool { d.head(true, ":status", "503", "content-type", "text/plain"); return true },
	"location": func(d *dialog) bool { d.head(true, ":status", "302", "location", "http://h/x"); return true },
	"hang":     func(d *dialog) bool { _, _ = d.ReadFrame(); _, _ = d.c.Read(make([]byte, 1)); return false },
	"hangbody": func(d *dialog) bool {
		d.head(false, plain...)
		_, _ = d.c.Read(make([]byte, 1))
		_, _ = d.c.Read(make([]byte, 1))
		return false
	},
	"drop": func(d *dialog) bool {
		_ = d.c.(*net.TCPConn).CloseWrite() // closed with something unread it would be a reset
		_, _ = io.Copy(io.Discard, d.c)
		return false
	},
	"dropbody": func(d *dialog) bool {
		d.head(false, plain...)
		_ = d.WriteData(d.id, false, []byte("data"))
		time.Sleep(20 * time.Millisecond)
		return false
	},
	"reset":  func(d *dialog) bool { _ = d.WriteRSTStream(d.id, http2.ErrCodeInternal); return true },
	"refuse": func(d *dialog) bool { _ = d.WriteRSTStream(d.id, http2.ErrCodeRefusedStream); return true },
	"resetbody": func(d *dialog) bool {
		d.head(false, plain...)
		time.Sleep(20 * time.Millisecond)
		_ = d.WriteRSTStream(d.id, http2.ErrCodeCancel)
		return true
	},
	"goaway": func(d *dialog) bool { _ = d.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil); return true },
	"leaving": func(d *dialog) bool {
		_ = d.WriteGoAway(d.id, http2.ErrCodeNo, nil)
		d.head(true, plain...)
		return true
	},
	"push": func(d *dialog) bool {
		_ = d.WritePushPromise(http2.PushPromiseParam{StreamID: d.id, PromiseID: 2, EndHeaders: true})
		return true
	},
	"datafirst": func(d *dialog) bool { _ = d.WriteData(d.id, true, []byte("data")); return true },
	"unknown":   func(d *dialog) bool { d.id += 2; d.head(true, plain...); return true },
	"nostatus":  func(d *dialog) bool { d.head(true, "a", "b"); return true },
	"status":    func(d *dialog) bool { d.head(true, ":status", "2x0"); return true },
	"informs":   func(d *dialog) bool { d.head(true, ":status", "100"); return true },
	"path":      func(d *dialog) bool { d.head(true, ":status", "200", ":path", "/"); return true },
	"statustwo": func(d *dialog) bool { d.head(true, ":status", "200", ":status", "200"); return true },
	"name":      func(d *dialog) bool { d.head(true, ":status", "200", "a b", "c"); return true },
	"trailer": func(d *dialog) bool {
		d.head(false, plain...)
		time.Sleep(20 * time.Millisecond)
		d.head(true, ":status", "200")
		return true
	},
	"trailopen": func(d *dialog) bool {
		d.head(false, plain...)
		time.Sleep(20 * time.Millisecond)
		d.head(false, "a", "b")
		return true
	},
	"pinglength": func(d *dialog) bool { _ = d.WriteRawFrame(http2.FramePing, 0, 0, []byte("x")); return true },
	"pingack":    func(d *dialog) bool { _ = d.WritePing(true, [8]byte{}); return true },
	"index": func(d *dialog) bool {
		_ = d.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, d.id, []byte{0x80 | 100})
		return true
	},
	"large": func(d *dialog) bool {
		_ = d.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, d.id, make([]byte, 16385))
		return true
	},
}

const grpcLog = `log_format up '$request_uri $status|$upstream_addr|$upstream_status|$upstream_http_x|$upstream_trailer_grpc_status';
	access_log logs/access.log up; `

// postCall is a request with a body.
func postCall(target, body string, headers ...string) string {
	return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/grpc\r\n" +
		fmt.Sprintf("Content-Length: %d\r\n", len(body)) + strings.Join(append(headers, ""), "\r\n") + "\r\n" + body
}

// grpcSides are requests of HTTP/1 to gRPC upstreams, which both gateways pass on.
func grpcSides() []side {
	locations := `location / { grpc_pass RAW1; }
		location /set/ { grpc_pass grpc://RAW1; grpc_set_header X-A $arg_a; grpc_set_header X-B b; grpc_set_header User-Agent ""; grpc_hide_header Hide; grpc_pass_header Server; }
		location /host/ { grpc_pass RAW1; grpc_set_header Host svc; }
		location /te/ { grpc_pass RAW1; grpc_set_header TE trailers; grpc_set_header Content-Length ""; }
		location /page/ { grpc_pass RAW1; grpc_intercept_errors on; error_page 404 502 = /own; } location /own { return 200 own; }
		location /var/ { grpc_pass $arg_to; }
		location /kept/ { grpc_pass kept; } location /next/ { grpc_pass both; }
		location /more/ { grpc_pass both; grpc_next_upstream error timeout invalid_header non_idempotent http_404 http_503; }
		location /off/ { grpc_pass both; grpc_next_upstream off; }
		location /small/ { grpc_pass RAW1; grpc_buffer_size 1k; }
		location /rewritten/ { rewrite ^/rewritten/(.*)$ "/a b/$1" break; grpc_pass RAW1; }`
	s := side{headers: []string{"Content-Type", "Content-Length", "Transfer-Encoding", "X", "Location", "Server", "Hide", "X-Pad", "grpc-status"},
		http: grpcLog + "upstream kept { server RAW1; keepalive 2; } upstream both { server RAW1 max_fails=0; server RAW2 max_fails=0; }\n" +
			"server { listen 127.0.0.1:@8080@; grpc_read_timeout 400ms; " + locations + " }"}
	whole := s
	whole.name = "answers"
	for _, n := range []string{"ok", "alone", "hidden", "length", "lengthtrails", "padded", "empty", "ping", "s404", "s503", "location", "leaving"} {
		whole.raw = append(whole.raw, httpGet("/"+n), postCall("/"+n, "hello", "TE: trailers"), strings.Replace(httpGet("/"+n), "GET", "HEAD", 1))
	}
	whole.raw = append(whole.raw, httpGet("/set/hidden?a=1", "X-A: client", "User-Agent: u", "X-C: c"), httpGet("/set/ok?a="), httpGet("/host/ok"), postCall("/te/ok", "x"),
		httpGet("/ok", "TE: deflate", "Keep-Alive: 1", "Expect: x", "Upgrade: h2c", "Cookie: a=b", "X-Under_score: no"), httpGet("/ok?x=%20y#z"), httpGet("/%41/../ok"),
		httpGet("/page/s404"), httpGet("/page/reset"), httpGet("/page/s503"), httpGet("/rewritten/ok?x"), "PUT /ok HTTP/1.0\r\n\r\n",
		"POST /ok HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", httpGet("/var/ok?to=RAW1"), httpGet("/var/ok?to=grpc://both"),
		httpGet("/var/ok?to=nowhere"), httpGet("/var/ok?to=127.0.0.1"), httpGet("/var/ok?to=grpc://:1"), httpGet("/var/ok?to="))
	whole.raw = append(whole.raw, repeat(3, httpGet("/kept/ok"))...)
	whole.raw = append(whole.raw, repeat(2, postCall("/kept/alone", "x"))...)
	whole.raw = append(whole.raw, httpGet("/kept/leaving"), httpGet("/kept/ok"), httpGet("/kept/reset"), httpGet("/kept/ok"))
	faults := s
	faults.name = "faults"
	for _, n := range []string{"toolong", "tooshort", "hang", "hangbody", "drop", "dropbody", "reset", "resetbody", "goaway", "push", "datafirst", "unknown",
		"nostatus", "status", "informs", "path", "statustwo", "name", "trailer", "trailopen", "pinglength", "pingack", "index", "large"} {
		faults.raw = append(faults.raw, httpGet("/"+n))
	}
	next := s
	next.name = "next upstream"
	for _, at := range []string{"/next/", "/more/", "/off/"} {
		for _, n := range []string{"drop1", "drop2", "drop", "reset1", "hang1", "s404", "s503", "nostatus1", "ok"} {
			next.raw = append(next.raw, httpGet(at+n))
			if n != "hang1" {
				next.raw = append(next.raw, postCall(at+n, "body"))
			}
		}
	}
	return []side{whole, faults, next}
}

// Requests of HTTP/1 to upstreams of gRPC, beside nginx: the answers, the logs and what the upstreams see.
func TestGRPCFramesSideBySide(t *testing.T) {
	for _, s := range grpcSides() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			through := func(b gatewaytest.Binary) (seen, []string) {
				one, two := startFramePeer(t, "1"), startFramePeer(t, "2")
				r := strings.NewReplacer("RAW1", one.ln.Addr().String(), "RAW2", two.ln.Addr().String())
				mine := s
				mine.http, mine.raw = r.Replace(s.http), slices.Clone(s.raw)
				for i := range mine.raw {
					mine.raw[i] = r.Replace(mine.raw[i])
				}
				got := look(t, b, mine)
				var requests []string
				for _, p := range []*framePeer{one, two} {
					p.mu.Lock()
					requests = append(requests, p.seen...)
					p.mu.Unlock()
				}
				return got, requests
			}
			want, wanted := through(gatewaytest.Nginx(t))
			got, asked := through(gatewaytest.Limitgate(t))
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
			}
			if d := cmp.Diff(wanted, asked); d != "" {
				t.Errorf("requests of nginx (-) and limitgate (+) differ:\n%s", d)
			}
		})
	}
}
