package h2

import (
	"errors"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

// The bounds of what a client may do to no purpose.
const (
	slackBytes     = 1 << 20 // that are no part of requests and answers (nginx's bound, as is the factor of 8)
	mostIdle       = 10000   // frames in a row that ask for nothing and give nothing
	mostPieces     = 128     // frames of one head
	mostUnsent     = 1 << 20 // bytes that wait for a client that takes nothing
	leastRefused   = 100     // streams, whatever http2_max_concurrent_streams is
	resetsPerPlace = 2       // streams that were taken back early, by what may be open at once
)

// earlyReset is how soon a stream is taken back early.
const earlyReset = limitgate.Time(time.Second)

// errFlood ends the connection of a client that sends too much of what is of no use.
var errFlood = errors.New("reading a frame: flood")

// tally counts what a client does.
type tally struct {
	total, payload int64 // bytes either way, and those that were of use
	idle           int   // frames since there was something of use
	priorities     int   // PRIORITY frames that may still come
	refused        int   // streams
	resets         int   // streams that the client took back early, less those that were answered
	places         int   // http2_max_concurrent_streams
}

func (t *tally) begin(head *request.HeadSettings) {
	t.places = head.MaxStreams
	t.priorities = max(t.places, leastRefused)
}

// read counts bytes that came.
func (t *tally) read(n int) error {
	t.total += int64(n)
	if t.total/8 > t.payload+slackBytes {
		return errFlood
	}
	return nil
}

// useful notes a frame that asks for something.
func (t *tally) useful(bytes int) {
	t.payload += int64(bytes)
	t.idle = 0
}

// idled notes a frame that may be one of a flood, and reports whether it is.
func (t *tally) idled() bool {
	t.idle++
	return t.idle > mostIdle
}

// flood ends the connection of a client that floods it, with one line in the log.
func (c *conn) flood(code http2.ErrCode) turn {
	if !c.told {
		c.told = true
		c.log(errorlog.Info, "http2 flood detected")
	}
	return c.fail(code, "")
}
