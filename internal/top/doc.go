// Package top finds the keys that come most often in a stream that is too long to be kept: a Sketch holds a fixed number of keys with
// their counts, and tells for each how far its count may be off. It decides nothing, and forgets: of what it counted a minute ago
// half is left.
//
// # What it promises
//
// A key has one bucket of eight places, by a keyed hash seeded at random. In a bucket the Space-Saving rule of Metwally, Agrawal and El
// Abbadi holds: a key that is held is counted; one that is not takes the place of the smallest, inherits its count, and notes that
// as what it may be over. So, at any time, with f the true (decayed) count of a key, and N the count of all that fell into its bucket:
//
//	held:     Count - Over <= f <= Count + Missed
//	not held: f <= smallest count in its bucket + Missed <= N/8 + Missed
//
// A Sketch has Keys places altogether. Since the hash spreads keys evenly over the buckets, N is about a (Keys/8)th of the stream, and
// the second bound about a Keys-th of it: 0.2 %. List tells the largest of these bounds as it is and not as it is expected: no key that
// is not in the list came more often. A key that makes up more than an eighth of its bucket is always held. Two keys with one
// hash of 64 bits would count as one.
//
// Counts are kept in 65536ths and rounded up where they are halved, so all of this holds to less than a thousandth of a request.
//
// # What it costs
//
// Add takes no lock that is held while anything is waited for, and allocates nothing. Above some 10,000 calls a second it looks at one
// in 2, 4, ... 1024 of them, chosen by the nanosecond, which then count as many times as much: the work stays below a thousandth of a
// processor whatever comes. Counts are then estimates of the truth, and the bounds hold for what was looked at: a key that was
// looked at n times has a standard error of 1/sqrt(n). Missed is what was not counted because two goroutines met in one bucket for
// longer than either would wait.
package top
