// Package dns asks name servers for the addresses of names, for what is looked up while requests are served. A [Client] asks
// anew each time; a [Cache] asks again when an answer has run out. It reads no configuration, keeps no failure, and knows
// nothing of what the addresses are for.
//
// A question goes over UDP from a port of its own under a number drawn by lot, and over TCP where the answer does not fit.
// What comes back counts only if it has that number and that question; anything else is waited past.
package dns
