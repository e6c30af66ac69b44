// Package replay tells what the limits of a configuration would have done to the traffic that a log tells of. It stands behind
// accesslog, which reads records, and before package show, which writes the report: records go in, sums come out. Package
// virtual takes the requests through the phases of the very program that the gateway runs; there is no arithmetic of limits
// here, and nothing is guessed that the log does not tell.
//
// # The way of a record
//
// The intake, a goroutine of its own, copies what it needs of a record into an entry, spreads the entries of one coarse stamp
// over the time that it may mean, and puts them into the order in which the requests came: a log is written when requests end.
// The buffer for that is bounded. A run is one configuration under one assumption: it makes the request of an entry, has it
// decided, and adds to its tally. All runs go over the log together, in one pass; what they keep is bounded, whatever the
// length of the log: counters, buckets that become wider, and the most frequent of what was refused.
package replay
