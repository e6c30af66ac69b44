package vars

import (
	"slices"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

// definition is a variable with a slot: its value is computed or set once a request and kept.
type definition struct {
	table    *Table
	name     string
	slot     int
	volatile bool // computed anew for every use
	group    bool // a named group, or an answer: without a value until it gets one
	eval     evaluator
}

// evaluator computes a value. It appends to dst and returns nil, or leaves dst and returns bytes that outlive the request.
type evaluator func(r *request.Request, dst []byte) (out, lasting []byte)

// of returns the slot in r, making room for all slots of the table where r has none yet.
func (d *definition) of(r *request.Request) *request.Slot {
	if have, want := len(r.Slots), d.table.slots; have < want {
		r.Slots = slices.Grow(r.Slots, want-have)[:want]
		clear(r.Slots[have:])
	}
	return &r.Slots[d.slot]
}

// set is a Setter.
func (d *definition) set(r *request.Request, value []byte) {
	*d.of(r) = request.Slot{Value: value, State: request.SlotFound}
}

// value is a Variable.
func (d *definition) value(r *request.Request, dst []byte) ([]byte, bool) {
	s := d.of(r)
	switch s.State {
	case request.SlotFound:
		return append(dst, s.Value...), true
	case request.SlotNotFound:
		return dst, false
	case request.SlotBusy:
		r.Logf(errorlog.Error, `cycle while evaluating variable "%s"`, d.name)
		return dst, false
	}
	if d.eval == nil && d.group {
		return dst, false
	}
	if d.eval == nil {
		if r.Logs(errorlog.Warn) && !r.Settings.HideUnset {
			r.Logf(errorlog.Warn, `using uninitialized "%s" variable`, d.name)
		}
		*s = request.Slot{State: request.SlotFound}
		return dst, true
	}
	s.State = request.SlotBusy
	n := len(dst)
	dst, lasting := d.eval(r, dst)
	if lasting != nil {
		dst = append(dst, lasting...)
	}
	*s = request.Slot{}
	if d.volatile {
		return dst, true
	}
	if lasting == nil {
		lasting = r.Keep(dst[n:])
	}
	*s = request.Slot{Value: lasting, State: request.SlotFound}
	return dst, true
}
