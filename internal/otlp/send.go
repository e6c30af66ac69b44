package otlp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/printable"
)

// export is the method of OTLP's TraceService.
const export = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

// run sends batches until the exporter is closed, and then what is left.
func (e *Exporter) run() {
	defer close(e.over)
	tick := time.NewTicker(e.config.Interval)
	defer tick.Stop()
	for {
		due := false
		select {
		case <-e.stop:
			e.flush()
			return
		case <-tick.C:
			due = true
		case <-e.wake:
		}
		for b := e.next(due); b != nil; b = e.next(false) {
			e.send(b)
		}
		e.tell()
	}
}

// send sends a batch, again and again where that may help, until it is taken or too old.
func (e *Exporter) send(b *batch) {
	defer e.done(b)
	wait := e.config.Patience.First
	for begun := time.Now(); ; {
		err := e.call(b)
		if err == nil {
			return
		}
		asked, again := retryable(err)
		e.lastFault = err
		if !again || time.Since(begun)+wait > e.config.Patience.Age {
			e.config.Stats.Failed.Add(uint64(b.n))
			e.tell()
			return
		}
		e.tell()
		pause := time.NewTimer(max(asked, wait*3/4+rand.N(wait/2+1)))
		select {
		case <-pause.C:
		case <-e.stop: // one more, and then the end
			pause.Stop()
			if e.call(b) != nil {
				e.config.Stats.Failed.Add(uint64(b.n))
			}
			return
		}
		wait = min(2*wait, e.config.Patience.Most)
	}
}

// flush sends what waits at the end, each once, as long as the exporter's calls may go on.
func (e *Exporter) flush() {
	for b := e.next(true); b != nil; b = e.next(true) {
		if e.ctx.Err() != nil {
			e.config.Stats.Failed.Add(uint64(b.n))
		} else if err := e.call(b); err != nil {
			e.lastFault = err
			e.config.Stats.Failed.Add(uint64(b.n))
		}
		e.done(b)
	}
	e.told = time.Time{} // nobody will tell later
	e.tell()
}

// call sends a batch once.
func (e *Exporter) call(b *batch) error {
	ctx, cancel := context.WithTimeout(e.ctx, e.config.Patience.Call)
	defer cancel()
	in := e.message(b)
	var out []byte
	err := e.conn.Invoke(ctx, export, &in, &out, grpc.ForceCodec(verbatim{}))
	e.config.Stats.Calls.Add(1)
	if err != nil {
		e.config.Stats.Faults.Add(1)
		return err
	}
	rejected, why := partial(out)
	rejected = min(rejected, uint64(b.n))
	e.config.Stats.Sent.Add(uint64(b.n) - rejected)
	if rejected > 0 {
		e.config.Stats.Failed.Add(rejected)
		e.lastFault = errors.New("some spans were rejected: " + why)
	}
	return nil
}

// message is an ExportTraceServiceRequest. It is made anew for each call: one that was given up may still be read by the transport.
func (e *Exporter) message(b *batch) []byte {
	inner := len(e.scope) + len(b.b)
	middle := len(e.resource) + 1 + protowire.SizeVarint(uint64(inner)) + inner
	m := make([]byte, 0, 1+protowire.SizeVarint(uint64(middle))+middle)
	m = binary.AppendUvarint(append(m, requestSpans<<3|2), uint64(middle))
	m = append(m, e.resource...)
	m = binary.AppendUvarint(append(m, ofScope<<3|2), uint64(inner))
	return append(append(m, e.scope...), b.b...)
}

// partial reads an ExportTraceServiceResponse: how many spans were rejected, and why.
func partial(p []byte) (rejected uint64, why string) {
	const success, count, message = 1, 1, 2
	inner := field(p, success)
	for p := inner; len(p) > 0; {
		num, wire, n := protowire.ConsumeTag(p)
		if n < 0 {
			break
		}
		p = p[n:]
		size := protowire.ConsumeFieldValue(num, wire, p)
		if size < 0 {
			break
		}
		switch {
		case num == count && wire == protowire.VarintType:
			rejected, _ = protowire.ConsumeVarint(p)
		case num == message && wire == protowire.BytesType:
			text, _ := protowire.ConsumeBytes(p)
			why = string(text)
		}
		p = p[size:]
	}
	return rejected, why
}

// field is the first message in a field; nil where there is none.
func field(p []byte, want protowire.Number) []byte {
	for len(p) > 0 {
		num, wire, n := protowire.ConsumeTag(p)
		if n < 0 {
			return nil
		}
		p = p[n:]
		size := protowire.ConsumeFieldValue(num, wire, p)
		if size < 0 {
			return nil
		}
		if num == want && wire == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(p)
			return inner
		}
		p = p[size:]
	}
	return nil
}

// retryable tells whether OTLP says that a call may be made again, and after what time, if the collector named one.
func retryable(err error) (after time.Duration, again bool) {
	s := status.Convert(err)
	for _, d := range s.Details() {
		if info, is := d.(*errdetails.RetryInfo); is {
			after, again = min(max(info.GetRetryDelay().AsDuration(), 0), time.Minute), true
		}
	}
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
		return after, true
	case codes.ResourceExhausted:
		return after, again
	}
	return 0, false
}

const (
	// most is how much of what a collector says is told.
	most = 300
	// secretLeast is how long a word of a header is that is taken for a secret: Bearer is none.
	secretLeast = 8
)

// tell writes to the error log what went wrong since it was last told, unless that was not long ago.
func (e *Exporter) tell() {
	st := e.config.Stats
	lost := st.Dropped.Load() + st.Failed.Load()
	if e.config.Say == nil || e.lastFault == nil && lost == e.toldLost || !e.told.IsZero() && time.Since(e.told) < e.config.Patience.Told {
		return
	}
	line := fmt.Sprintf("otel_exporter: %d spans were lost, the collector at %s does not keep up", lost-e.toldLost, e.config.Endpoint)
	if e.lastFault != nil {
		why := status.Convert(e.lastFault).Message()
		for _, secret := range e.secrets { // which a collector may repeat
			if len(secret) >= secretLeast {
				why = strings.ReplaceAll(why, secret, "***")
			}
		}
		if len(why) > most {
			why = why[:most] + "..."
		}
		line = fmt.Sprintf("otel_exporter: sending spans to %s failed (%s: %s), %d were lost so far", e.config.Endpoint, status.Code(e.lastFault), printable.Text(why), lost-e.toldLost)
	}
	e.config.Say(errorlog.Error, line)
	e.told, e.toldLost, e.lastFault = time.Now(), lost, nil
}

// verbatim is the codec of messages that are encoded already: both sides are a *[]byte.
type verbatim struct{}

// Name is what the peer is told.
func (verbatim) Name() string { return "proto" }

// Marshal gives the bytes.
func (verbatim) Marshal(v any) ([]byte, error) {
	p, is := v.(*[]byte)
	if !is {
		return nil, fmt.Errorf("encoding %T: only bytes can be sent", v)
	}
	return *p, nil
}

// Unmarshal keeps a copy of the bytes.
func (verbatim) Unmarshal(data []byte, v any) error {
	p, is := v.(*[]byte)
	if !is {
		return fmt.Errorf("decoding %T: only bytes can be received", v)
	}
	*p = append((*p)[:0], data...)
	return nil
}
