// Package rediszone keeps the states of a limit in Redis or Valkey, so that many instances share one: a single server, one
// under Sentinel, or a Cluster. Each decision is one script, which is atomic, and one round trip. It decides nothing about what
// happens when the store does not answer: that is an error here.
//
// # What is stored
//
// A key is
//
//	lg:1r:login:{192.0.2.7}        prefix ":" schema form [salt] ":" zone ":{" key "}"
//
// so all that is kept of one key of a client, by whatever zones, lies in one slot of a cluster. The schema is 1. The form is a
// letter for what the states are (r requests, n requests in nginx's arithmetic, t tokens, p pace, f fixed, s sliding, l log, c
// places); windows have the length and alignment behind it as a salt, in base 36. Neither another version nor another
// configuration reads a state that it would not understand. Of the bytes of a name only { } and % are written in another way,
// as %7B, %7D and %25; a client's key that is longer than 128 bytes is replaced by the first 128 bits of its SHA-256, as %#
// and 32 digits; an empty one by %0.
//
// A state is a string of 12 bytes, the word that memzone has, too, and 4 bytes that name its life. A log is a list, places are a
// sorted set. Every key expires some time after its state equals that of a key nobody has seen, and a key that is found without
// an expiry is given one.
//
// # What decides
//
// The scripts (lua/) do the same arithmetic as the steps of package limitgate, on words in two halves since a number in Lua holds 53
// bits: whether a request passes, and what state follows. The answer is the state that was found and the instant, and the whole
// Decision is computed from these here, by the very steps. If the two should ever differ it is an error.
package rediszone
