package conformance

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

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

const downgradesHead = `# Streams of HTTP/2 that hope to be more than one request of HTTP/1

As in [SMUGGLING.md](SMUGGLING.md), but sent as frames of HTTP/2, in clear text with prior knowledge. In the second column are the fields of the
head, behind a plus sign those beside the sound ones, and then the data and the trailers. A cell tells the status of the answer, or the
error that the stream was reset with, or that of GOAWAY, and what reached the upstream. ` + "`UPDATE=1 go test -run TestDowngrades ./conformance`" + ` writes the table anew.

`

// TestDowngrades sends streams that would be two requests if they were written down as they are: each is refused, or reaches the upstream
// as exactly one request.
func TestDowngrades(t *testing.T) {
	t.Parallel()
	var attempts []attempt
	for _, d := range downgrades {
		attempts = append(attempts, attempt{d.name, d.send})
	}
	theirs, ours := fourWays(t, attempts, "http2", "proxy_set_header Host $host; ")
	var rows []trialRow
	for i, d := range downgrades {
		sent := d.fields + strings.Join(append([]string{""}, d.data...), " / ")
		if d.trailers != "" {
			sent += " / " + d.trailers
		}
		rows = append(rows, trialRow{name: d.name, sent: sent, why: d.why, theirs: [2]passage{theirs[0][i], theirs[1][i]}, ours: [2]passage{ours[0][i], ours[1][i]}})
	}
	tabulate(t, "DOWNGRADES.md", downgradesHead, "streams", rows)
}
