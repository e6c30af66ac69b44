package replay

// A stamp that is far in the future of all before it would make everything behind it late. It is believed once the lines that
// follow do not go back before it: then the log had a gap.

// confirming is how many lines of one mind settle what a doubtful stamp is.
const confirming = 3

// doubt looks at the stamp of an entry before it is admitted.
func (k *intake) doubt(e *entry) {
	switch {
	case len(k.doubted) == 0:
		if e.second <= k.newest+farthest {
			k.along(e)
			return
		}
		k.doubted, k.against = append(k.doubted, e), 0
	case e.second < k.doubted[0].second-farthest:
		k.along(e)
		if k.against++; k.against == confirming {
			k.settle(false)
		}
	default:
		if k.doubted = append(k.doubted, e); len(k.doubted) > confirming {
			k.settle(true)
		}
	}
}

// settle believes the first doubted stamp or does not, and looks again at those that came behind it.
func (k *intake) settle(believed bool) {
	list := k.doubted
	k.doubted = nil
	if believed {
		k.along(list[0])
	} else {
		k.counts.stray++
		k.waiting -= list[0].size()
		k.waits--
		k.recycle(list[0])
	}
	for _, e := range list[1:] {
		k.doubt(e)
	}
}

// believe settles what is doubted when nothing else comes.
func (k *intake) believe() {
	for len(k.doubted) > 0 {
		k.settle(k.against < len(k.doubted))
	}
}

// along admits an entry that is not far in the future. Where line after line is far in the past, the log begins anew there.
func (k *intake) along(e *entry) {
	behind := k.newest - farthest - e.second
	switch {
	case behind <= 0:
		k.behind = 0
	case k.behind < confirming:
		k.behind++
		k.late(e, behind)
		e.second, e.stamp = e.second+behind, e.stamp+behind
	default:
		k.behind = 0
		k.counts.back++
		k.release(true)
		k.newest, k.released = e.second, [spreads]int64{}
	}
	k.admit(e)
}

// late counts an entry that comes so much later than the log says. It ends when it did.
func (k *intake) late(e *entry, by int64) {
	if !e.late {
		k.counts.late++
	}
	e.late = true
	k.counts.latest = max(k.counts.latest, by)
	e.stay = max(0, e.stay-by)
}
