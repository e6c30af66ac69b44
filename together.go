package limitgate

import (
	"context"
	"errors"
	"time"
)

// Ask is one of several limits on one request, as a Joint zone is asked about them.
type Ask struct {
	Zone  Zone // that holds the states of the limit: the one that is asked, or one that it Joins
	Limit *Limit
	Key   string
	Cost  Cost
	Mode  Mode // Peek, Check or Take

	// Decision is the answer, and Charge what was charged, if anything was.
	Decision Decision
	Charge   Charge

	// Of limits whose states are words: what the decision made of the state it found, whether that is stored or not, and the instant of
	// the clock that it was made by. At is 0 where the zone does not tell.
	State State
	At    Time
}

// Joint is a Zone that decides on several limits in one go, because each time it is asked takes long: it is elsewhere. All and
// AcquireAll ask such zones by it.
type Joint interface {
	Zone

	// Joins tells whether what is asked about the states of z may go together with what is asked about its own.
	Joins(z Zone) bool

	// DoAll decides on all asks as they find the states. If all pass, those in mode Take are charged. If not, nothing is, and of those
	// in mode Check or Take that are refused the cuts are stored. An error means that it could not decide on one of them; then
	// nothing is charged, as far as the states can be reached.
	DoAll(ctx context.Context, now Time, asks []Ask) error
}

// backTime bounds how long taking back what was charged in vain may take, once the caller may be gone.
const backTime = time.Second

// joined are the legs of All whose zones are Joint, with those next to each other that can go together.
type joined struct {
	asks []Ask
	legs []int // of each ask, the leg
	ends []int // of each group, where in asks it ends
	rest uint64
	twin bool // two of them may name one state
}

// join sorts legs into groups; the rest are those of other zones.
func join(legs []Leg) joined {
	var j joined
	todo := uint64(0)
	for i := range legs {
		if legs[i].Limiter.joint == nil {
			j.rest |= 1 << i
		} else {
			todo |= 1 << i
		}
	}
	for first := 0; todo != 0; first++ {
		if todo&(1<<first) == 0 {
			continue
		}
		of := legs[first].Limiter.joint
		for i := first; i < len(legs); i++ {
			if l := &legs[i]; todo&(1<<i) != 0 && (i == first || of.Joins(l.Limiter.zone)) {
				todo &^= 1 << i
				for _, k := range j.legs {
					j.twin = j.twin || legs[k].Key == l.Key && legs[k].Limiter.zone == l.Limiter.zone
				}
				j.asks = append(j.asks, Ask{Zone: l.Limiter.zone, Limit: &l.Limiter.limit, Key: l.Key, Cost: l.Cost})
				j.legs = append(j.legs, i)
			}
		}
		j.ends = append(j.ends, len(j.asks))
	}
	return j
}

// do asks all groups in a mode, or, where the legs that charge are known, those in Take and the others in Check. Once something is
// refused, what follows is only checked. It gives what was charged.
func (j *joined) do(ctx context.Context, now Time, legs []Leg, m Mode, chargers uint64) (charged uint64, refused bool, err error) {
	begin := 0
	for _, end := range j.ends {
		group, of := j.asks[begin:end], j.legs[begin:end]
		for k := range group {
			if group[k].Mode = m; refused || m == Take && chargers&(1<<of[k]) == 0 {
				group[k].Mode = Check
			}
		}
		if err = legs[of[0]].Limiter.joint.DoAll(ctx, now, group); err != nil {
			legs[of[0]].Decision = undecided()
			return charged, true, err
		}
		for k := range group {
			l := &legs[of[k]]
			l.Decision = group[k].Decision
			refused = refused || l.Decision.Outcome == Rejected
			if group[k].Charge != (Charge{}) {
				l.charge, l.kept = group[k].Charge, l.Limiter.keep(l.Key)
				charged |= 1 << of[k]
			}
		}
		begin = end
	}
	return charged, refused, nil
}

// together is All for legs of which some are in Joint zones: these are checked and charged in one go, and first, so that a
// request that passes takes one round trip for each group of them.
func together(ctx context.Context, now Time, legs []Leg) (Verdict, error) {
	j := join(legs)
	var v Verdict
	for range maxTries {
		var err error
		if v, err = j.try(ctx, now, legs); err != nil || !v.Late {
			return v, err
		}
	}
	return v.late(legs), nil
}

// try is one attempt of together; Late if a leg moved in between.
func (j *joined) try(ctx context.Context, now Time, legs []Leg) (Verdict, error) {
	refused := false
	for i := range legs {
		if j.rest&(1<<i) == 0 {
			continue
		}
		if _, err := legs[i].do(ctx, now, Check); err != nil {
			return Verdict{Decision: undecided(), Leg: i}, err
		}
		refused = refused || legs[i].Decision.Outcome == Rejected
	}
	// Which of two legs with one state charges it is known only when both were asked.
	all := uint64(1)<<len(legs) - 1
	mode := Take
	if refused || j.twin {
		mode = Check
	}
	charged, no, err := j.do(ctx, now, legs, mode, all)
	if refused = refused || no; refused {
		return j.back(ctx, now, legs, charged, false, err)
	}
	todo := chargers(legs)
	if j.twin {
		if charged, no, err = j.do(ctx, now, legs, Take, todo); no {
			return j.back(ctx, now, legs, charged, true, err)
		}
	}
	return account(ctx, now, legs, todo&j.rest, charged)
}

// back takes back what was charged in vain, and gives the refusal of the first leg that refuses.
func (j *joined) back(ctx context.Context, now Time, legs []Leg, charged uint64, late bool, err error) (Verdict, error) {
	if charged != 0 {
		later, cancel := context.WithTimeout(context.WithoutCancel(ctx), backTime)
		defer cancel()
		err = errors.Join(err, takeBack(later, now, legs, charged))
	}
	for i := range legs {
		if d := legs[i].Decision; d.Outcome == Rejected {
			return Verdict{Leg: i, Late: late}.refused(d, legs), err
		}
	}
	return Verdict{Decision: undecided(), Leg: -1}, err
}

// acquireTogether is AcquireAll where all legs can be asked in one go.
func acquireTogether(ctx context.Context, now Time, legs []Leg, places []Place) (Verdict, error) {
	j := join(legs)
	for i := range j.asks {
		j.asks[i].Cost = 1
	}
	if _, refused, err := j.do(ctx, now, legs, Take, ^uint64(0)); refused {
		return j.back(ctx, now, legs, 0, false, err)
	}
	v := Verdict{Leg: -1}
	for i := range legs {
		places[i] = Place{limiter: legs[i].Limiter, charge: legs[i].charge}
		legs[i].charge = Charge{}
		if d := legs[i].Decision; v.Leg < 0 || d.Remaining < v.Remaining {
			v.Decision, v.Leg = d, i
		}
	}
	return v, nil
}

// inOneGo tells whether all of several legs of places can be asked in one.
func inOneGo(legs []Leg) bool {
	if len(legs) < 2 || len(legs) > maxLegs || legs[0].Limiter.joint == nil {
		return false
	}
	for i := range legs {
		if l := legs[i].Limiter; l.limit.Kind != KindConn || i > 0 && !legs[0].Limiter.joint.Joins(l.zone) {
			return false
		}
	}
	return true
}
