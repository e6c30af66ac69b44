package upstream

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
)

// answers are what backends send to one request before they close, and what becomes of it.
var answers = []struct {
	name, method, answer string
	more                 string // directives
	head, body, log      string
	next                 phase.Next
	silent               bool
	keep                 bool // the connection could be kept
}{
	{name: "length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/x\r\nX-A: b\r\n\r\nok",
		head: "200 OK\nlength: 2\ntype: text/x\nX-A: b\n", body: "ok", next: phase.Done},
	{name: "to the end", answer: "HTTP/1.1 200 Fine thing\r\n\r\nsome\nmore",
		head: "200 Fine thing\n", body: "some\nmore", next: phase.Done},
	{name: "chunked", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: v\r\n\r\n",
		head: "200 OK\n", body: "abcde", next: phase.Done},
	{name: "HTTP/1.0", answer: "HTTP/1.0 404 Nope\r\nContent-Type: t\r\n\r\nx", head: "404 Nope\ntype: t\n", body: "x", next: phase.Done},
	{name: "no reason", answer: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", head: "200 \nlength: 0\n", next: phase.Done},
	{name: "HEAD", method: "HEAD", answer: "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n", head: "200 OK\nlength: 20\n", next: phase.Done},
	{name: "304 with length", answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 20\r\nETag: \"x\"\r\n\r\n",
		head: "304 Not Modified\nlength: 20\nETag: \"x\"\n", next: phase.Done},
	{name: "204", answer: "HTTP/1.1 204 No Content\r\n\r\n", head: "204 No Content\n", next: phase.Done},
	{name: "100 and 103 first", answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz",
		head: "200 OK\nlength: 1\n", body: "z", next: phase.Done},
	{name: "hidden fields", answer: "HTTP/1.1 200 OK\r\nDate: d\r\nServer: s\r\nX-Pad: p\r\nX-Accel-Expires: 1\r\nX-Accel-Buffering: no\r\n" +
		"X-Accel-Charset: x\r\nX-Accel-Foo: f\r\nKeep-Alive: k\r\nConnection: x\r\nTrailer: t\r\nProxy-Connection: z\r\nUpgrade: u\r\n" +
		"Last-Modified: Mon, 30 Nov 2026 00:00:00 GMT\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Encoding: identity\r\nContent-Length: 0\r\n\r\n",
		head: "200 OK\nlength: 0\nX-Accel-Foo: f\nTrailer: t\nProxy-Connection: z\nUpgrade: u\nLast-Modified: Mon, 30 Nov 2026 00:00:00 GMT\nSet-Cookie: a\nSet-Cookie: b\nContent-Encoding: identity\n", next: phase.Done},
	{name: "Location of the upstream", answer: "HTTP/1.1 302 Moved\r\nX-A: 1\r\nLocation: http://BACKEND/there\r\nContent-Length: 0\r\n\r\n",
		head: "302 Moved\nlength: 0\nlocation: http://h/there\nX-A: 1\n", next: phase.Done},
	{name: "Location elsewhere", answer: "HTTP/1.1 302 Moved\r\nLocation: http://other/there\r\nContent-Length: 0\r\n\r\n",
		head: "302 Moved\nlength: 0\nLocation: http://other/there\n", next: phase.Done},
	{name: "Location without host", answer: "HTTP/1.1 302 Moved\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n",
		head: "302 Moved\nlength: 0\nLocation: /there\n", next: phase.Done},
	{name: "Refresh", answer: "HTTP/1.1 200 OK\r\nRefresh: 1; url=http://BACKEND/x\r\nContent-Length: 0\r\n\r\n",
		head: "200 OK\nlength: 0\nRefresh: 1; url=/x\n", next: phase.Done},
	{name: "twice", answer: "HTTP/1.1 200 OK\r\nLocation: a\r\nLocation: b\r\nContent-Length: 0\r\n\r\n", head: "200 OK\nlength: 0\nLocation: a\n", next: phase.Done,
		log: "warn: upstream sent duplicate header line: \"Location: b\", previous value: \"Location: a\", ignored while reading response header from upstream\n"},
	{name: "more than its length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokEXTRA", head: "200 OK\nlength: 2\n", body: "ok", next: phase.Done,
		log: "warn: upstream sent more data than specified in \"Content-Length\" header while reading upstream\n"},

	{name: "nothing", answer: "", next: phase.Fail,
		log: "error: upstream prematurely closed connection while reading response header from upstream\n"},
	{name: "half a head", answer: "HTTP/1.1 200 OK\r\nContent-", next: phase.Fail,
		log: "error: upstream prematurely closed connection while reading response header from upstream\n"},
	{name: "no head", answer: "HELLO world\r\n\r\n", next: phase.Fail,
		log: "error: upstream sent no valid HTTP/1.0 header while reading response header from upstream\n"},
	{name: "bad header", answer: "HTTP/1.1 200 OK\r\nA b: 1\r\n\r\n", next: phase.Fail,
		log: "error: upstream sent invalid header: \"A\\x20...\" while reading response header from upstream\n"},
	{name: "head that is too big", answer: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 5000) + "\r\n\r\n", next: phase.Fail,
		log: "error: upstream sent too big header while reading response header from upstream\n"},
	{name: "head that fits a larger buffer", more: "proxy_buffer_size 16k; proxy_buffers 8 16k;", answer: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 15000) + "\r\nContent-Length: 1\r\n\r\ny",
		head: "200 OK\nlength: 1\nA: " + strings.Repeat("x", 15000) + "\n", body: "y", next: phase.Done},
	{name: "101 nobody asked for", answer: "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", next: phase.Fail,
		log: "error: upstream sent 101 response to a request without \"Upgrade\" header while reading response header from upstream\n"},
	{name: "end within the length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", head: "200 OK\nlength: 100\n", body: "abc", next: phase.Done, silent: true,
		log: "error: upstream prematurely closed connection while reading upstream\n"},
	{name: "end within chunks", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", head: "200 OK\n", body: "abc", next: phase.Done, silent: true,
		log: "error: upstream prematurely closed connection while reading upstream\n"},
	{name: "broken chunks", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcxx\r\n", head: "200 OK\n", body: "abc", next: phase.Done, silent: true,
		log: "error: upstream sent invalid chunked response while reading upstream\n"},
}

func TestAnswers(t *testing.T) {
	for _, c := range answers {
		t.Run(c.name, func(t *testing.T) {
			var b *backend
			b = listen(t, func(nc net.Conn, _ int) {
				if _, err := readRequest(nc); err == nil {
					_, _ = io.WriteString(nc, strings.ReplaceAll(c.answer, "BACKEND", b.addr))
				}
			})
			g := open(t, simple("http://"+b.addr, c.more), "/")
			method := c.method
			if method == "" {
				method = "GET"
			}
			client := &phasetest.Client{}
			r := phasetest.Request(t, method+" /x HTTP/1.1\r\nHost: h\r\n\r\n", client, g.log)
			if got := g.serve["/"].Serve(r); got != c.next {
				t.Errorf("next: got %v, want %v", got, c.next)
			}
			if got := client.Head(); got != c.head {
				t.Errorf("head: got %q, want %q", got, c.head)
			}
			if got := client.Body(); got != c.body {
				t.Errorf("body: got %q, want %q", got, c.body)
			}
			if got := g.log.Messages(); got != c.log {
				t.Errorf("log: got %q, want %q", got, c.log)
			}
			if c.next == phase.Fail && (r.Response.Status != 502 || r.Attempts[0].Status != 502) {
				t.Errorf("status: got %d and %d, want 502", r.Response.Status, r.Attempts[0].Status)
			}
			if r.Response.Silent != c.silent {
				t.Errorf("silent: got %v, want %v", r.Response.Silent, c.silent)
			}
			if a := r.Attempts[0]; a.Sent == 0 || a.Response < 0 || a.Connect < 0 || c.next == phase.Done && a.Header < 0 {
				t.Errorf("attempt: %+v", a)
			}
			if a := r.Attempts[0]; a.Received != int64(len(strings.ReplaceAll(c.answer, "BACKEND", b.addr))) && c.next == phase.Done {
				t.Errorf("received: got %d, want %d", a.Received, len(c.answer))
			}
		})
	}
}

func TestAnswerComesInDrops(t *testing.T) {
	answer := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n"
	b := listen(t, func(c net.Conn, _ int) {
		_, _ = readRequest(c)
		for i := range len(answer) {
			_, _ = c.Write([]byte{answer[i]})
			time.Sleep(100 * time.Microsecond)
		}
	})
	g := open(t, simple("http://"+b.addr), "/")
	_, c, _ := g.get(t, "/")
	if got, want := c.Head()+c.Body(), "200 OK\nX-A: b\nabc0123456789abcdef"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLongAnswer(t *testing.T) {
	body := strings.Repeat("0123456789abcdef", 1<<16)
	for name, head := range map[string]string{"length": "Content-Length: 1048576\r\n", "to the end": ""} {
		t.Run(name, func(t *testing.T) {
			b := listen(t, once("HTTP/1.1 200 OK\r\n"+head+"\r\n"+body))
			g := open(t, simple("http://"+b.addr), "/")
			r, c, _ := g.get(t, "/")
			if c.Body() != body {
				t.Errorf("got %d bytes, want %d", len(c.Body()), len(body))
			}
			if got := r.Attempts[0].Length; got != 1<<20 {
				t.Errorf("length: got %d, want %d", got, 1<<20)
			}
		})
	}
}

func TestAccelRedirect(t *testing.T) {
	for _, c := range []struct {
		to   string
		next phase.Next
		uri  string
		log  string
	}{
		{"/in?a=b", phase.Detour, "/in", ""},
		{"/i%6e?a=b", phase.Detour, "/in", ""},
		{"@in", phase.Detour, "@in", ""},
		{"/in/../../etc", phase.Fail, "", "error: unsafe URI \"/in/../../etc\" was detected while reading response header from upstream\n"},
		{"?elsewhere", phase.Fail, "", "error: unsafe URI \"?elsewhere\" was detected while reading response header from upstream\n"},
	} {
		b := listen(t, once("HTTP/1.1 200 OK\r\nX-Accel-Redirect: "+c.to+"\r\nSet-Cookie: c\r\nX-A: a\r\nContent-Type: t\r\nContent-Length: 2\r\n\r\nno"))
		g := open(t, simple("http://"+b.addr), "/")
		r, client, next := g.get(t, "/")
		if next != c.next || string(r.Detour.Path) != c.uri || client.Head() != "" || g.log.Messages() != c.log {
			t.Errorf("%s: got %v %q, head %q, log %q", c.to, next, r.Detour.Path, client.Head(), g.log.Messages())
		}
		args := ""
		if strings.Contains(c.to, "?") && next == phase.Detour {
			args = "a=b"
		}
		if string(r.Detour.Args) != args || len(r.Response.Headers) != 1 || next == phase.Detour && string(r.Response.ContentType) != "t" {
			t.Errorf("%s: got args %q and %+v", c.to, r.Detour.Args, r.Response)
		}
	}
}

func TestAccelLimitRate(t *testing.T) {
	b := listen(t, once("HTTP/1.1 200 OK\r\nX-Accel-Limit-Rate: 1000\r\nContent-Length: 0\r\n\r\n"))
	g := open(t, simple("http://"+b.addr), "/")
	r, _, _ := g.get(t, "/")
	if !r.LimitRate.Set || r.LimitRate.BytesPerSec != 1000 {
		t.Errorf("got %+v, want 1000", r.LimitRate)
	}
	if len(r.Upstream) != 2 || string(r.Upstream[0].Value) != "1000" {
		t.Errorf("upstream fields: got %q, want both", r.Upstream)
	}
}

// proxy_redirect default maps what proxy_pass put in place of the location's prefix back to it.
func TestRedirectToTheLocation(t *testing.T) {
	var b *backend
	b = listen(t, func(c net.Conn, _ int) {
		_, _ = readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 301 Moved\r\nLocation: http://"+b.addr+"/two/x?y\r\nContent-Length: 0\r\n\r\n")
	})
	for pattern, want := range map[string]string{"/one/": "http://h/one/x?y", "/other": "http://h/two/x?y", "/third": ""} {
		g := open(t, "server { location /one/ { proxy_pass http://"+b.addr+"/two/; } location /other { proxy_pass http://"+b.addr+
			"; } location /third { proxy_pass http://"+b.addr+"/elsewhere/; } }", pattern)
		c := &phasetest.Client{}
		r := phasetest.Request(t, "GET "+pattern+" HTTP/1.1\r\nHost: h\r\n\r\n", c, g.log)
		g.serve[pattern].Serve(r)
		if got := string(r.Response.Location); got != want {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}

func TestSendingToTheClientFails(t *testing.T) {
	b := listen(t, replies("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	g := open(t, simple("http://"+b.addr), "/")
	c := &phasetest.Client{Fail: true}
	r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", c, g.log)
	if got := g.serve["/"].Serve(r); got != phase.Done || !r.Response.Silent {
		t.Errorf("got %v, silent %v; want Done and silent", got, r.Response.Silent)
	}
}
