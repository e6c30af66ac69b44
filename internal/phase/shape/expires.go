package shape

import (
	"strconv"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// expires is the expires directive of a scope (ngx_http_set_expires).
type expires struct {
	conf.Expires
	text Text // nil: the time is fixed
	now  func() limitgate.Time
}

func (e *expires) shape(r *request.Request) error {
	if !plain(r.Response.Status) {
		return nil
	}
	x := e.Expires
	if e.text != nil {
		v := r.Claim(e.text.Append(r, r.Scratch()))
		var fault string
		if x, fault = conf.ParseExpires(string(v), x.Kind); fault != "" {
			return nil
		}
	}
	now := int64(e.now()) / int64(time.Second)
	switch x.Kind {
	case conf.ExpiresOff:
	case conf.ExpiresEpoch:
		setExpiry(r, 1, noCache)
	case conf.ExpiresMax:
		setExpiry(r, endOf2037, tenYears)
	default:
		at, age := moment(x, &r.Response, now)
		if x.Time < 0 || age < 0 {
			setExpiry(r, at, noCache)
			return nil
		}
		setExpiry(r, at, r.Claim(strconv.AppendInt(append(r.Scratch(), "max-age="...), age, 10)))
	}
	return nil
}

var (
	nameExpires      = []byte("Expires")
	nameCacheControl = []byte("Cache-Control")
	noCache          = []byte("no-cache")
	tenYears         = []byte("max-age=315360000")
)

// endOf2037 is 31 December 2037, 23:55:55: what expires max says.
const endOf2037 = 2145916555

// moment is when an answer expires, and how long that is from now, in seconds.
func moment(x conf.Expires, out *request.Response, now int64) (at, age int64) {
	span := int64(x.Time / time.Second)
	switch {
	case x.Kind == conf.ExpiresDaily:
		at = daily(now, x.Time)
	case span == 0:
		at = now // also with modified
	case x.Kind == conf.ExpiresModified:
		if changed, known := modified(out); known {
			at = changed + span
		} else {
			return now + span, span
		}
	default:
		at = now + span
	}
	return at, at - now
}

// daily is the next instant at which the local clock shows a time of the day.
func daily(now int64, of time.Duration) int64 {
	t := time.Unix(now, 0)
	hour, minute, second := int(of/time.Hour), int(of/time.Minute%60), int(of/time.Second%60)
	next := time.Date(t.Year(), t.Month(), t.Day(), hour, minute, second, 0, time.Local).Unix()
	if next <= now {
		next = time.Date(t.Year(), t.Month(), t.Day()+1, hour, minute, second, 0, time.Local).Unix()
	}
	return next
}

// setExpiry puts the two fields into the places of those that are there.
func setExpiry(r *request.Request, at int64, control []byte) {
	out := &r.Response
	expiry := request.Header{Name: nameExpires, Value: r.Claim(h1.AppendDate(r.Scratch(), at)), ID: header.Expires}
	if i := place(out, header.Expires); i >= 0 {
		expiry.Name = out.Headers[i].Name
		out.Headers[i] = expiry
	} else {
		out.Headers = append(out.Headers, expiry)
	}
	i := place(out, header.CacheControl)
	if i < 0 {
		out.Headers = append(out.Headers, request.Header{Name: nameCacheControl, Value: control, ID: header.CacheControl})
		return
	}
	out.Headers[i].Value = control
	kept := out.Headers[:i+1]
	for _, h := range out.Headers[i+1:] { // the others of the name say something else
		if h.ID != header.CacheControl {
			kept = append(kept, h)
		}
	}
	out.Headers = kept
}
