package rediszone

import (
	"encoding/binary"
	"errors"

	"github.com/limitgate/limitgate"
)

// What goes to a script is, for each key, one argument of few bytes, big-endian:
//
//	form 8 | flags 8 | the numbers of the form, as its part of the script reads them
//
// and before these the instant, if it is not the server's: microseconds 64, nanoseconds 16. flags is passes 1 | first 1 | 0 4 |
// mode 2. What comes back is for each key the state that was found, and at the end the instant in microseconds:
//
//	word 64 | life 32 | passed 8        of a log: stamp 64 | life 32 | how many count 32 | passed 8
const (
	flagPasses = 1 << 7
	flagFirst  = 1 << 6
	flagAlone  = 1 << 6 // of what is given back

	wordReply = 8 + 4 + 1
	logReply  = 8 + 4 + 4 + 1
	timeReply = 8

	// maxDrifts is how often a calendar is asked about when the store's time is not what was thought.
	maxDrifts = 4
)

var (
	errDrift    = errors.New("the time of the store jumps between windows of the calendar")
	errAnswer   = errors.New("the script gave an answer that is none")
	errNoKey    = errors.New("a charge in this zone is given back with its key")
	errForeign  = errors.New("the place is none of this zone's")
	errDisagree = errors.New("the script and the steps of the limit do not agree")
)

// modes are the modes as scripts know them.
func mode(m limitgate.Mode) byte {
	switch m {
	case limitgate.Peek:
		return 0
	case limitgate.Check:
		return 1
	}
	return 2
}

// instant gives the caller's time for a script, or nothing, where it is the server's that counts.
func (z *Zone) instant(now limitgate.Time) string {
	if !z.caller {
		return ""
	}
	n := uint64(max(now, 0))
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 10), n/1000)
	return limitgate.BytesKey(binary.BigEndian.AppendUint16(b, uint16(n%1000)))
}

// time is the instant of an answer.
func (z *Zone) time(answer []byte, now limitgate.Time) limitgate.Time {
	if z.caller || len(answer) < timeReply {
		return now
	}
	return limitgate.Time(binary.BigEndian.Uint64(answer[len(answer)-timeReply:]) * 1000)
}

// terms writes what a script has to know of a request.
func terms(t limitgate.Terms, m limitgate.Mode) []byte {
	flags := mode(m)
	if t.Passes {
		flags |= flagPasses
	}
	if t.First {
		flags |= flagFirst
	}
	if !t.Passes {
		t.Cost = 0 // may have more bits than there is room for, and says nothing
	}
	b := append(make([]byte, 0, 56), byte(t.Form), flags)
	word, half := binary.BigEndian.AppendUint64, binary.BigEndian.AppendUint32
	switch t.Form {
	case limitgate.FormDebt:
		b = word(word(word(b, t.Most), t.Add), uint64(t.Full))
	case limitgate.FormNginx:
		b = word(word(word(word(b, t.Most), t.Add), uint64(t.Rate)), uint64(t.Flush))
	case limitgate.FormConn: // a lease and a name follow
		b = half(half(b, uint32(t.Cost)), uint32(t.Limit))
	default:
		b = half(half(half(b, uint32(t.Cost)), uint32(t.Limit)), uint32(t.Full))
		b = word(b, uint64(t.Window))
	}
	switch t.Form {
	case limitgate.FormFixed:
		b = word(word(b, uint64(t.From)), uint64(t.Until))
	case limitgate.FormSliding:
		b = half(b, uint32(t.Back))
	}
	return b
}

// reply is what is left of an answer to read, and the instant it holds for.
type reply struct {
	rest []byte
	at   limitgate.Time
}

// drifted tells that the script did not decide, because the terms do not hold for its instant.
func (r *reply) drifted() bool { return len(r.rest) == timeReply }

// next reads the answer about one key; held is of a log.
func (r *reply) next(f limitgate.Form) (word limitgate.State, life uint64, held int64, passed, ok bool) {
	size := wordReply
	if f == limitgate.FormLog {
		size = logReply
	}
	if len(r.rest) < size+timeReply {
		return 0, 0, 0, false, false
	}
	b := r.rest[:size]
	r.rest = r.rest[size:]
	if f == limitgate.FormLog {
		held = int64(binary.BigEndian.Uint32(b[12:]))
	}
	return limitgate.State(binary.BigEndian.Uint64(b)), uint64(binary.BigEndian.Uint32(b[8:])), held, b[size-1] == 1, true
}
