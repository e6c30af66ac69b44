package leasezone

// Stats are counters of a zone, of requests if nothing else is said.
type Stats struct {
	Spared  uint64 // decisions without a call
	Borrows uint64 // calls that borrowed, or tried to
	Single  uint64 // calls for one request alone
	Failed  uint64 // calls, of both kinds, that got no answer
	Full    uint64 // of those for one request, because its key found no room

	Borrowed uint64 // in batches
	Returned uint64 // of these, that went back
	Aged     uint64 // of these, that nobody had spent when they drained
}

// Stats reads the counters.
func (z *Zone) Stats() Stats {
	return Stats{
		Spared: z.spared.Load(), Borrows: z.borrows.Load(), Single: z.single.Load(), Failed: z.failed.Load(), Full: z.full.Load(),
		Borrowed: z.borrowed.Load(), Returned: z.returned.Load(), Aged: z.aged.Load(),
	}
}
