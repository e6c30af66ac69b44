package limit

import (
	"fmt"
	"sync/atomic"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/found"
	"github.com/limitgate/limitgate/internal/request"
)

// finder is a limit_conn that finds itself. The zone counts and decides; the finder says by which limit.
type finder struct {
	site  found.Site
	table *found.Table
	zone  limitgate.Zone
	of    *limit
	// terms are those of each limit from the lowest on, made when it is found first.
	terms []atomic.Pointer[terms]
}

// retryAfter is what a refusal tells. There is no time at which a place is free: a second is about what it takes to find a new limit.
const retryAfter = 1

// finder makes the limit find itself, if its directive wants that.
func (c *compiler) finder(d *conf.Directive, w wish, zone limitgate.Zone) (*finder, bool) {
	if !w.adaptive {
		return nil, true
	}
	if w.spec.Store.Name != "" {
		c.env.Errors.Add(d.Pos, fmt.Sprintf(`zone "%s" lives in a store: its limit can't be "adaptive"`, w.spec.Name),
			"each instance would find a limit for its own part of the requests; use a zone without store=")
		return nil, false
	}
	config, err := adaptive.Config{Min: w.lowest, Max: w.base.limit}.Complete()
	if err != nil {
		c.env.Errors.Add(d.Pos, err.Error(), "")
		return nil, false
	}
	return &finder{
		site: found.Site{Config: config, Now: c.env.Now}, table: c.env.Found(w.spec.Name), zone: zone,
		terms: make([]atomic.Pointer[terms], w.base.limit-w.lowest+1),
	}, true
}

// ask gives the limit for a key as it is now. A request with a report, whose time is not that of a backend, has the highest.
func (f *finder) ask(r *request.Request, key []byte) (*terms, *found.Limit) {
	if r.Report != nil {
		return &f.of.fixed, nil
	}
	l := f.table.Of(key, r.Now)
	n := l.Now(&f.site)
	at := &f.terms[n-f.site.Config.Min]
	if t := at.Load(); t != nil {
		return t, l
	}
	made, err := limitgate.NewLimiter(f.zone, limitgate.Conn{Limit: n})
	if err != nil {
		return &f.of.fixed, nil // the zone took the highest, and takes all
	}
	t := &terms{of: f.of, numbers: numbers{limit: n}, limiter: made}
	at.Store(t)
	return t, l
}

// learn has the limits that admitted a request see how it ends.
func (l *legs) learn(r *request.Request) {
	for i, at := range l.found {
		if at != nil {
			r.Seats = append(r.Seats, at.Begin(&l.terms[i].of.finder.site))
		}
	}
}

// places is the limit of a leg of places.
func (l *legs) places(i int) int64 {
	c, _ := l.list[i].Limiter.Algorithm().(limitgate.Conn)
	return c.Limit
}
