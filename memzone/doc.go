// Package memzone keeps the states of a limit in memory: a table of fixed size that many goroutines work on without a
// lock. It knows where a state lives, not what it means, and holds no key: only 56 bits of its hash.
//
// # A slot
//
// is 16 bytes and changes only by one 16-byte compare-and-swap (internal/pair), so a state and its owner can't part:
//
//	W0   fingerprint 56 | version 6 | status 2       W1   state 64
//
//	status 0  empty
//	       1  live: W1 is the state of the fingerprint
//	       2  pending: an insert that is not finished, W1 is a number drawn for it
//	       3  sealed, for a resize: with a fingerprint it is being carried over, without one it is closed for good
//
// Readers load W0, W1 and W0 again. The version grows with each insert into the slot. The seed of the hash is drawn for
// each zone, so that nobody outside can aim at a bucket or a fingerprint. Two keys with one fingerprint share one budget:
// with n live keys a new one meets that with probability n/2^56, one in 10^11 for a zone of 10 megabytes.
//
// # A table
//
// has buckets of eight slots, two cache lines. A key has two candidate buckets, 16 slots; at which slot of a bucket a look begins
// is drawn from the fingerprint, and a new key goes to the first that is empty from there. There is no list, no sweep and
// no lock; a state that has drained equals a fresh one, so its slot is simply taken.
//
// Insert: choose a place (empty, else drained, else an unfinished insert, else by policy the hot state closest to drained,
// or none), claim it as pending, then look again over all candidates in their one order. An earlier place or a live
// one wins; a later pending one is cancelled. So at most one place of a fingerprint ever becomes live, and two first
// requests of one key never get two budgets.
//
// # Logs
//
// do not fit into a slot: a zone of exact logs has a fixed pool of stamps instead, in shards with a lock each. See log.go.
//
// # Resize
//
// see resize.go: a second table is filled slot by slot while requests go on.
package memzone
