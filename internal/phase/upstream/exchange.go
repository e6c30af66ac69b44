package upstream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/h2link"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/tlsconf"
)

// exchange is one request at an upstream. It belongs to the goroutine that serves the request, but for what is said
// otherwise, and is used again by another request when it is over.
type exchange struct {
	set *Set
	h   *Handler
	r   *request.Request

	first    limitgate.Time // when the first attempt began
	near     local          // end of its connections
	headOnly bool           // the request is a HEAD: its answer has no body
	charset  []byte         // that the answer wants (X-Accel-Charset)

	place place
	shake *tlsconf.Handshake // with each peer; nil: connections are not encrypted
	uri   []byte             // in out
	out   []byte             // the request's head, and what of its body is sent with it
	body  []byte             // of proxy_set_body
	more  bool               // the client is still sending the body: it is pumped

	stored bool // the body was read, and is too large to go out with the head: it is pumped, too
	partly bool // the peer does not have the whole body

	call    call // of grpc_pass
	choice  choice
	peer    *peer // taken from choice and not given back
	c       *conn
	kept    bool           // c served a request before
	trusted bool           // and nobody looked whether the peer has closed it since
	fresh   bool           // no kept connection is taken any more
	sent    bool           // the peer may have seen a part of the request
	pieces  bool           // the answer took more than one read
	begun   limitgate.Time // when this attempt began
	waiting bool           // the stream may call Cancel

	resp  h1.Response
	in    []byte // what was read: in[start:end] is not used yet; small, or long
	start int
	end   int
	small []byte
	long  *[]byte // the set's, while it is borrowed

	frame h1.Body // of the answer's body

	wait  waiter // of this goroutine
	pump  pump
	spool spool
	pull  pull

	// What Cancel does, from another goroutine.
	gone   atomic.Bool
	mu     sync.Mutex // guards active and stop
	active *conn
	stop   context.CancelFunc // of connecting
}

// firstBuffer is what an exchange reads with, unless the head may be larger or the body is long.
const firstBuffer = 8 << 10

func newExchange(s *Set) *exchange {
	x := &exchange{set: s, small: make([]byte, firstBuffer)}
	x.wait = waiter{now: s.now, left: x.interrupted}
	x.pump.init(x)
	x.spool.init(x)
	return x
}

// interrupted reports whether a wait of the serving goroutine must end.
func (x *exchange) interrupted() bool { return x.gone.Load() || x.pump.broken.Load() }

func (x *exchange) begin(h *Handler, r *request.Request) {
	x.h, x.r = h, r
	x.out, x.more, x.stored, x.partly = x.out[:0], false, false, false
	x.peer, x.c, x.kept, x.fresh, x.sent, x.waiting = nil, nil, false, false, false, false
	x.start, x.end, x.first = 0, 0, 0
	r.Upstream, r.Behind = r.Upstream[:0], nil
	x.gone.Store(false)
	if len(x.small) < h.headRoom {
		x.small = make([]byte, h.headRoom)
	}
	x.in = x.small
}

// release ends the exchange on every way out, also when what it called panicked.
func (x *exchange) release() {
	x.spool.stop()
	x.spool.reset()
	x.pump.finish()
	x.unwait()
	x.drop()
	if x.peer != nil {
		x.giveBack(false)
	}
	if x.long != nil {
		x.set.bodies.Put(x.long)
		x.long = nil
	}
	if cap(x.out) > 2*bodyBuffer {
		x.out = nil
	}
	x.shake = nil
	x.h, x.r, x.place, x.near, x.uri, x.in, x.charset, x.call = nil, nil, place{}, local{}, nil, nil, nil, call{}
	x.set.exchanges.Put(x)
}

// Cancel ends the exchange because the client has left. It implements request.Canceler.
func (x *exchange) Cancel() {
	x.gone.Store(true)
	x.interruptActive()
	x.mu.Lock()
	if x.stop != nil {
		x.stop()
	}
	x.mu.Unlock()
	x.spool.wake()
}

// interruptActive ends the reads and writes of the connection that is in use, if there is one.
func (x *exchange) interruptActive() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.active != nil {
		x.active.interrupt()
	}
}

// hold says which connection Cancel interrupts from now on.
func (x *exchange) hold(c *conn) {
	x.mu.Lock()
	x.active = c
	x.mu.Unlock()
}

// watch asks the stream to call Cancel when the client leaves. Another wait of the request, such as for its pace, ends that.
func (x *exchange) watch() {
	if x.h.stays {
		x.r.Stream.Await(nil) // nobody is called; that there is a wait is told all the same
		return
	}
	x.waiting = true
	if !x.r.Stream.Await(x) {
		x.gone.Store(true)
	}
}

func (x *exchange) unwait() {
	if x.waiting {
		x.waiting = false
		x.r.Stream.Await(nil)
	}
}

// serve is the whole exchange.
func (x *exchange) serve() phase.Next {
	if next, ok := x.locate(); !ok {
		return next
	}
	if next, ok := x.gather(); !ok {
		return next
	}
	if x.h.calls != nil {
		x.buildCall()
	} else {
		x.build() // before there is an attempt that variables in it could tell of
	}
	x.prepare()
	x.bind()
	x.separate()
	x.watch()
	if next, ok := x.settle(); !ok {
		return next
	}
	for {
		now := x.set.now()
		if x.first == 0 {
			x.first = now
		}
		if x.peer = x.choice.next(now); x.peer == nil {
			return x.nobody(now)
		}
		x.beginAttempt(x.peer.name, now)
		var f *fault
		if x.h.calls != nil {
			f = x.tryCall()
		} else {
			f = x.try()
		}
		if f == nil {
			f = x.judge()
		}
		if f == nil {
			return x.answer()
		}
		if next, again := x.failed(f); !again {
			return next
		}
	}
}

// try sends the request to the chosen peer and reads the head of its answer.
func (x *exchange) try() *fault {
	for {
		if f := x.connect(); f != nil {
			return f
		}
		err := x.send()
		if err == nil {
			f := x.readHead()
			if !x.stray(f) {
				return f
			}
			a := x.attempt()
			*a = request.Attempt{Addr: a.Addr, URL: a.URL, Connect: -1, Header: -1, Response: -1}
		} else if !x.repeat(err) {
			return x.sendFault(err)
		}
		x.drop()
		x.fresh = true
	}
}

// repeat reports whether the request is sent again because the kept connection it went out on was being closed, which a look
// would have told.
func (x *exchange) repeat(err error) bool {
	return x.kept && x.trusted && x.end == 0 && !x.pump.on && x.repeatable() && !errors.Is(err, errTimeout) && !errors.Is(err, errLeft)
}

// stray reports whether what came on a kept connection that nobody had looked at is not the answer to this request: it makes
// no sense, or more follows it. Then the peer had sent more than the answer before, and whose that is nobody knows.
func (x *exchange) stray(f *fault) bool {
	if !x.kept || !x.trusted {
		return false
	}
	if f != nil {
		return f.kind == faultAnswer
	}
	rest, body := x.in[x.start+x.resp.Size():x.end], x.resp.Body(x.headOnly)
	for !body.Done() && len(rest) > 0 {
		skip, data, err := body.Next(rest)
		if err != nil || skip+data == 0 {
			return false
		}
		rest = rest[skip+data:]
	}
	return body.Done() && len(rest) > 0
}

// repeatable reports whether the request may reach an upstream twice (NGX_HTTP_UPSTREAM_FT_NON_IDEMPOTENT).
func (x *exchange) repeatable() bool {
	switch string(x.r.Method) {
	case "POST", "LOCK", "PATCH":
		return false
	}
	return true
}

// careful is how long a kept connection is trusted without a look whether the peer has closed it.
const careful = 20 * time.Millisecond

// connect gets a connection to the chosen peer, a kept one where there is one.
func (x *exchange) connect() *fault {
	if k := x.choice.g.idle; k != nil && !x.fresh {
		calls, key := x.h.calls != nil, ""
		if x.shake != nil {
			key = x.shake.Key()
		}
		for c := k.take(x.peer, calls, key); c != nil; c = k.take(x.peer, calls, key) {
			x.trusted = c.link == nil && time.Duration(x.begun-c.since) <= careful && !c.doubtful && x.repeatable() && !x.more && !x.stored
			if !x.trusted && c.spent() {
				c.close()
				continue
			}
			c.used++
			x.c, x.kept = c, true
			x.attempt().Connect = 0
			x.hold(c)
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), x.h.connectTimeout)
	defer cancel()
	x.mu.Lock()
	x.stop = cancel
	x.mu.Unlock()
	var c *conn
	err := error(errLeft)
	if !x.gone.Load() { // looked at after stop is set: Cancel says so first
		c, err = dial(ctx, x.peer, dialing{near: x.near.addr, probe: x.h.probe}, x.begun)
		if err == nil && x.shake != nil {
			err = c.secure(ctx, x.shake, time.Unix(0, int64(x.set.now())))
		}
	}
	x.mu.Lock()
	x.stop = nil
	x.mu.Unlock()
	if err != nil {
		return x.connectFault(ctx, err)
	}
	if x.h.calls != nil {
		c.link = h2link.New(c.nc)
	}
	x.hold(c)
	c.used = 1
	x.c, x.kept = c, false
	x.attempt().Connect = int64(x.set.now() - x.begun)
	return nil
}

// send sends the request and waits for the first bytes of the answer.
func (x *exchange) send() error {
	x.start, x.end = 0, 0
	x.sent, x.pieces = true, false
	a := x.attempt()
	if x.more || x.stored {
		n, err := x.c.write(&x.wait, x.out, x.h.sendTimeout)
		if a.Sent += int64(n); err != nil {
			return &writeError{err}
		}
		x.pump.start()
		return nil
	}
	now := x.begun
	if !x.kept { // connecting took time
		now = x.set.now()
	}
	sent, n, err := x.c.roundTrip(&x.wait, now, x.out, x.in, x.h.sendTimeout, x.h.readTimeout)
	a.Sent += int64(sent)
	a.Received += int64(n)
	x.end = n
	return err
}

// readHead reads the head of the answer; what comes before it (100, 103) is passed over.
func (x *exchange) readHead() *fault {
	x.resp.Reset()
	a := x.attempt()
	for {
		if x.end > x.start {
			done, err := x.resp.Parse(x.in[x.start:x.end], x.h.headRoom)
			switch {
			case err != nil:
				a.Received -= max(0, int64(x.end-x.start-x.h.headRoom)) // nginx reads no further
				return badAnswer(err.Error())
			case !done:
			case x.resp.HTTP09:
				return badAnswer(h1.NoHeaderMessage)
			case x.resp.Size() > x.h.headRoom:
				a.Received -= int64(x.end - x.start - x.h.headRoom)
				return badAnswer("upstream sent too big header while reading response header from upstream")
			case x.resp.Interim():
				x.start += x.resp.Size()
				x.resp.Reset()
				continue
			default:
				a.Header = int64(x.set.now() - x.begun)
				a.Status = x.resp.Status
				return nil
			}
		}
		if x.end == len(x.in) {
			// Only what was passed over can fill the buffer: the head itself would be too big.
			x.end = copy(x.in, x.in[x.start:x.end])
			x.start = 0
		}
		x.pieces = true
		n, err := x.c.read(&x.wait, x.in[x.end:], x.h.readTimeout)
		for errors.Is(err, errTimeout) {
			more := x.pump.patience(x.h.readTimeout)
			if more <= 0 {
				break
			}
			n, err = x.c.read(&x.wait, x.in[x.end:], more)
		}
		if err != nil {
			return x.readFault(err)
		}
		x.end += n
		a.Received += int64(n)
	}
}

// drop closes the connection.
func (x *exchange) drop() {
	if x.c != nil {
		x.countCall()
		x.hold(nil)
		x.c.close()
		x.c = nil
	}
}

// giveBack tells the group how its peer fared; it reports whether that took the peer out.
func (x *exchange) giveBack(failed bool) bool {
	p := x.peer
	x.peer = nil
	var now limitgate.Time
	if failed || p.slow.over > 0 { // the clock is not read for what has no date
		now = x.set.now()
	}
	return x.choice.done(p, failed, now)
}
