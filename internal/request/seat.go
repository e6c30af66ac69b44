package request

import (
	"time"

	"github.com/limitgate/limitgate/adaptive"
)

// leave tells the limits that find themselves how the request ended, and how long its backends took.
func (r *Request) leave() {
	if len(r.Seats) == 0 {
		return
	}
	o, took := r.learned()
	for i := range r.Seats {
		r.Seats[i].End(took, o)
	}
	r.Seats = r.Seats[:0]
}

// learned is what the request tells. What was refused without asking a backend tells nothing of it.
func (r *Request) learned() (adaptive.Outcome, time.Duration) {
	switch s := r.Response.Status; {
	case s == 499:
		return adaptive.Left, -1
	case s >= 502 && s <= 504:
		return adaptive.Dropped, -1
	case len(r.Attempts) == 0 && (s >= 400 || len(r.Response.Call) > 0):
		return adaptive.Ignored, -1
	}
	took := time.Duration(-1)
	for _, a := range r.Attempts {
		if a.Response < 0 {
			return adaptive.Answered, -1
		}
		took = max(took, 0) + time.Duration(a.Response)
	}
	return adaptive.Answered, took
}
