// Package rollout stands beside the limits: it says for which part of the keys a limit is enforced, what became of the requests of both
// parts, and when the part grows or goes back to nothing. It reads no clock, opens no file and asks no limit; who owns a Live gives it
// the time, and does what an Event says.
//
//	Split   zone, key -> enforced or watched: a hash that is the same in every process
//	Live    the share of a rollout as requests see it, and a window of what became of them: lock-free adds
//	Plan    a limit_rollout block; (State, now, Sample) -> (State, Event), pure
package rollout
