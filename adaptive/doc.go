// Package adaptive finds how many requests a backend should have at work at once, from how long they take and how they end. It stands
// where a fixed limit of places would: it admits or refuses at once. It lets nobody wait, knows no keys, and starts no goroutine.
//
//	limit, err := adaptive.New(adaptive.Config{})
//	t, ok := limit.Acquire(limitgate.Now())
//	if !ok {
//		// refuse: 503, Retry-After
//	}
//	defer func() { t.Done(limitgate.Now(), adaptive.Answered) }()
//
// Packages httplimit and grpclimit take a Limiter as it is (Config.Adaptive), and the gateway makes them of `limit_conn ZONE adaptive`.
//
// # How
//
// A backend with n workers takes the same time for up to n requests at once, and with more of them each waits for others. So the mean
// time of requests, compared with what it is without load, tells how many are in a queue that helps nobody. The limit is set to what the
// backend would have at work without that queue, and half as much again (Tolerance), so that it is not idle between two requests. It
// grows by twice while nobody waits, and not at all while it is not reached.
//
// The time without load is learned where few requests are at work, and under load by probes: the limit is cut to a third for about two
// requests' time, and further as long as that makes requests faster. So a backend that became slower or faster for good is told from one
// with too much to do. A probe costs about half of the throughput while it lasts, and at most one twentieth of the time is spent on
// them. Until a new backend is known, its first seconds are served with a limit that is too low.
//
// Where somebody else overloads the backend too, a lower limit here makes nothing faster: that is taken for a slower backend.
//
// # Errors and CPU
//
// A window in which one request in ten is Dropped takes a tenth from the limit. So does a processor that is busier than CPUTarget, in
// proportion. See Processor.
package adaptive
