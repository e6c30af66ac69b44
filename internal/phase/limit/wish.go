package limit

import (
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
)

// wish is a limit as its two directives, the zone's and the limit's, want it.
type wish struct {
	key      conf.Word
	spec     phase.ZoneSpec
	base     numbers       // what holds no variables
	varying  []wishedValue // what may hold some
	cost     limitgate.Cost
	costFrom conf.Word
	tarpit   time.Duration // how long a refusal is held back
	canary   conf.Canary
	adaptive bool // the limit finds itself, between lowest and base.limit
	lowest   int64

	// algorithm makes the limit of all its numbers; nil means that it refuses all.
	algorithm func(n numbers) limitgate.Algorithm
}

// wishedValue is a number of a limit; without a text it holds no variables.
type wishedValue struct {
	name string
	word conf.Word
}

// sample puts a number that any limit takes in the place of one that comes with a request.
func (p wishedValue) sample(n *numbers) {
	switch p.name {
	case "rate":
		n.rate = limitgate.PerSecond(1)
	case "limit":
		n.limit = 1
	case "window":
		n.window = time.Hour
	case "capacity":
		n.capacity = 1
	}
}

// read reads a limit and the zone that it names. A zone that is not there was reported when all zones were known.
func (c *compiler) read(d *conf.Directive, k kind) (wish, bool) {
	switch k {
	case byReq:
		l, good := conf.ReadLimitReq(d, c.env.Errors)
		w, found := c.zone(l.Zone, k)
		w.base.burst, w.base.delay, w.base.noDelay = l.Burst, l.Delay, l.NoDelay
		w.varying = append(w.varying, wishedValue{"burst", l.BurstFrom}, wishedValue{"delay", l.DelayFrom})
		w.tarpit, w.spec.Fail, w.canary = l.RejectDelay, fallback(l.Fail), l.Canary
		return w, good && found
	case byConn:
		l, good := conf.ReadLimitConn(d, c.env.Errors)
		w, found := c.zone(l.Zone, k)
		w.base.limit, w.spec.Fail, w.canary = l.Limit, fallback(l.Fail), l.Canary
		w.adaptive, w.lowest = l.Adaptive, l.Min
		return w, good && found
	}
	l, good := conf.ReadLimitQuota(d, c.env.Errors)
	w, found := c.zone(l.Zone, k)
	w.cost, w.costFrom, w.tarpit, w.spec.Fail = limitgate.Cost(l.Cost), l.CostFrom, l.RejectDelay, fallback(l.Fail)
	w.canary = l.Canary
	return w, good && found
}

// zone finds the zone of a name.
func (c *compiler) zone(name string, k kind) (wish, bool) {
	for _, d := range c.http.Own(k.String() + "_zone") {
		if w, good := c.readZone(d, k); good && w.spec.Name == name {
			return w, true
		}
	}
	return wish{}, false
}

// readZone reads a zone's directive, and checks the numbers that it has for good.
func (c *compiler) readZone(d *conf.Directive, k kind) (w wish, good bool) {
	w.cost = 1
	switch k {
	case byReq:
		good = c.readReqZone(d, &w)
	case byCount:
		good = c.readCountZone(d, &w)
	case byToken:
		good = c.readTokenZone(d, &w)
	default:
		var z conf.LimitConnZone
		z, good = conf.ReadLimitConnZone(d, c.env.Errors)
		w.key, w.spec = z.Key, c.specOf(z.Zone, z.Key, "limit_conn_zone", false, z.Store)
		w.algorithm = func(n numbers) limitgate.Algorithm { return limitgate.Conn{Limit: n.limit} }
		return w, good
	}
	if !good {
		return w, false
	}
	n := w.base
	for _, p := range w.varying {
		if p.word.Text != "" {
			p.sample(&n)
		}
	}
	if a := w.algorithm(n); a != nil {
		if err := a.Validate(); err != nil {
			c.env.Errors.Add(d.Pos, fmt.Sprintf("zone %q: %s", w.spec.Name, err), "")
			return w, false
		}
	}
	return w, true
}

func (c *compiler) readReqZone(d *conf.Directive, w *wish) bool {
	z, good := conf.ReadLimitReqZone(d, c.env.Errors)
	if !good {
		return false
	}
	// nginx names the limit, not the zone, where the key of one has changed.
	w.key, w.spec = z.Key, c.specOf(z.Zone, z.Key, "limit_req", z.Reject, z.Store)
	w.varying = []wishedValue{{"rate", z.RateFrom}}
	w.base.rate = z.Rate.Rate
	arithmetic := c.env.Arithmetic
	w.algorithm = func(n numbers) limitgate.Algorithm {
		return limitgate.Req{Rate: n.rate, Burst: n.burst, Delay: n.delay, NoDelay: n.noDelay, Arithmetic: arithmetic}
	}
	return true
}

func (c *compiler) readCountZone(d *conf.Directive, w *wish) bool {
	z, good := conf.ReadLimitCountZone(d, c.env.Errors)
	if !good {
		return false
	}
	w.key, w.spec = z.Key, c.specOf(z.Zone, z.Key, d.Name, z.Reject, z.Store)
	w.base.limit, w.base.window = z.Limit, z.Window
	w.varying = []wishedValue{{"limit", z.LimitFrom}, {"window", z.WindowFrom}}
	windowing := map[string]limitgate.Windowing{"sliding": limitgate.Sliding, "fixed": limitgate.Fixed, "log": limitgate.Log}[z.Algorithm]
	w.algorithm = func(n numbers) limitgate.Algorithm {
		if n.limit == 0 {
			return nil
		}
		return limitgate.Count{Limit: n.limit, Window: n.window, Windowing: windowing, First: z.First, Calendar: z.Timezone}
	}
	return true
}

func (c *compiler) readTokenZone(d *conf.Directive, w *wish) bool {
	z, good := conf.ReadLimitTokenZone(d, c.env.Errors)
	if !good {
		return false
	}
	w.key, w.spec = z.Key, c.specOf(z.Zone, z.Key, d.Name, z.Reject, z.Store)
	w.base.capacity = z.Capacity
	w.varying = []wishedValue{{"rate", z.RateFrom}, {"capacity", z.CapacityFrom}}
	w.base.rate = z.Rate.Rate
	w.algorithm = func(n numbers) limitgate.Algorithm {
		if n.capacity == 0 {
			return nil
		}
		return limitgate.Token{Rate: n.rate, Capacity: n.capacity}
	}
	return true
}

// specOf is a zone as the daemon is asked for it.
func (c *compiler) specOf(z conf.ZoneSize, key conf.Word, directive string, reject bool, store conf.Word) phase.ZoneSpec {
	return phase.ZoneSpec{Name: z.Name, Directive: directive, Key: key.Text, Bytes: int(z.Bytes), Reject: reject, Store: c.store(store.Text)}
}
