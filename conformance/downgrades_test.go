package conformance

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// downgrade is a stream of HTTP/2 that hopes to become more than one request of HTTP/1 behind the gateway.
type downgrade struct {
	name     string
	fields   string   // of the head: NAME=VALUE, "|" between; GET / POST stand for those of a sound request
	data     []string // DATA frames
	trailers string   // as fields
	open     bool     // nothing ends the stream
	why      string
}

const (
	soundGET  = ":method=GET|:scheme=http|:path=/g|:authority=h"
	soundPOST = ":method=POST|:scheme=http|:path=/p|:authority=h"
)

// pairs reads fields.
func pairs(text string) (list []hpack.HeaderField) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "GET+", soundGET+"|"), "POST+", soundPOST+"|")
	for f := range strings.SplitSeq(strings.TrimSuffix(text, "|"), "|") {
		name, value, _ := strings.Cut(f, "=")
		list = append(list, hpack.HeaderField{Name: name, Value: value})
	}
	return list
}

func block(text string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range pairs(text) {
		_ = e.WriteField(f) // to memory
	}
	return b.Bytes()
}

// send opens a connection of its own, sends the stream and tells what came of it.
func (d downgrade) send(addr string) (string, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	var out bytes.Buffer
	out.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&out, c)
	f.AllowIllegalWrites = true
	_ = f.WriteSettings() // all to memory
	head := block(d.fields)
	last := len(d.data) == 0 && d.trailers == "" && !d.open
	// A head that does not fit into one frame goes on in others.
	first := head[:min(len(head), 16000)]
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: first, EndHeaders: len(first) == len(head), EndStream: last})
	for rest := head[len(first):]; len(rest) > 0; {
		n := min(len(rest), 16000)
		_ = f.WriteContinuation(1, n == len(rest), rest[:n])
		rest = rest[n:]
	}
	for i, data := range d.data {
		_ = f.WriteData(1, i == len(d.data)-1 && d.trailers == "" && !d.open, []byte(data))
	}
	if d.trailers != "" {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(d.trailers), EndHeaders: true, EndStream: !d.open})
	}
	if _, err := c.Write(out.Bytes()); err != nil {
		return "", err
	}
	return readStream(f), nil
}

// readStream reads frames until the stream is over, one way or another.
func readStream(f *http2.Framer) string {
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	status := ""
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			if status == "" {
				return "closed"
			}
			return status
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			if s := frame.PseudoValue("status"); s != "" {
				status = strings.TrimSpace(status + " " + s)
			}
			if frame.StreamEnded() {
				return status
			}
		case *http2.DataFrame:
			if frame.StreamEnded() {
				return status
			}
		case *http2.RSTStreamFrame:
			if status == "" || frame.ErrCode != http2.ErrCodeNo {
				return strings.TrimSpace(status + " " + short(frame.ErrCode.String(), 40))
			}
			return status
		case *http2.GoAwayFrame:
			if frame.ErrCode != http2.ErrCodeNo {
				return strings.TrimSpace(status + " GOAWAY " + frame.ErrCode.String())
			}
		}
	}
}

// downgradeThrough sends all of them through one gateway, each to a server of its own before an upstream of its own.
func downgradeThrough(t *testing.T, b gatewaytest.Binary, all []downgrade, more string) []passage {
	t.Helper()
	conf := "error_log logs/error.log info;\nevents { worker_connections 4096; }\nhttp { access_log off; client_header_timeout 400ms; client_body_timeout 400ms; " +
		"keepalive_timeout 400ms; lingering_timeout 400ms; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_set_header Host $host; " + more + "\n"
	var upstreams []*recorder
	for i := range all {
		r := record(t)
		upstreams = append(upstreams, r)
		conf += fmt.Sprintf("upstream u%d { server %s; keepalive 4; }\nserver { listen 127.0.0.1:@%d@ http2; location / { proxy_pass http://u%d; } }\n", i, r.ln.Addr(), i, i)
	}
	g := gatewaytest.Start(t, b, conf+"}\n")
	out := make([]passage, len(all))
	var wg sync.WaitGroup
	for i, d := range all {
		addr := g.Addr(i)
		wg.Go(func() {
			var err error
			if out[i].answers, err = d.send(addr); err != nil {
				t.Errorf("%s, %s: %v", b.Name, d.name, err)
			}
		})
	}
	wg.Wait()
	g.Stop() // so that the recorders have all there is
	for i := range all {
		out[i].requests, out[i].faults = upstreams[i].seen()
	}
	return out
}

const downgradesHead = `# Streams of HTTP/2 that hope to be more than one request of HTTP/1

As in [SMUGGLING.md](SMUGGLING.md), but sent as frames of HTTP/2, in clear text with prior knowledge. In the second column are the fields of the
head, behind a plus sign those beside the sound ones, and then the data and the trailers. A cell tells the status of the answer, or the
error that the stream was reset with, or that of GOAWAY, and what reached the upstream. ` + "`UPDATE=1 go test -run TestDowngrades ./conformance`" + ` writes the table anew.

`

// TestDowngrades sends streams that would be two requests if they were written down as they are: each is refused, or reaches the upstream
// as exactly one request.
func TestDowngrades(t *testing.T) {
	t.Parallel()
	const streamed = "proxy_request_buffering off;"
	var theirs, theirsStreamed, ours, oursStreamed []passage
	t.Run("send", func(t *testing.T) {
		for name, way := range map[string]struct {
			to     gatewaytest.Binary
			more   string
			result *[]passage
		}{
			"nginx": {gatewaytest.Nginx(t), "", &theirs}, "nginx streamed": {gatewaytest.Nginx(t), streamed, &theirsStreamed},
			"limitgate": {gatewaytest.Limitgate(t), "", &ours}, "limitgate streamed": {gatewaytest.Limitgate(t), streamed, &oursStreamed},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				*way.result = downgradeThrough(t, way.to, downgrades, way.more)
			})
		}
	})
	if t.Failed() || t.Skipped() {
		return
	}
	var rows []trialRow
	for i, d := range downgrades {
		sent := d.fields + strings.Join(append([]string{""}, d.data...), " / ")
		if d.trailers != "" {
			sent += " / " + d.trailers
		}
		rows = append(rows, trialRow{name: d.name, sent: sent, why: d.why, theirs: [2]passage{theirs[i], theirsStreamed[i]}, ours: [2]passage{ours[i], oursStreamed[i]}})
	}
	tabulate(t, "DOWNGRADES.md", downgradesHead, "streams", rows)
}
