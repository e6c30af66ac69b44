// Package decide answers requests of a rate limit service: it finds the rules of the descriptors, counts in zones of limitgate, and
// puts the answers together as envoyproxy/ratelimit does. Time and zones are handed in; it knows no protocol, opens nothing and
// starts nothing.
//
// A rule with algorithm fixed, the default, counts in package tally what it refuses as well; all rules of one request are counted,
// whatever the others say. Rules with another algorithm are taken from the limits of package limitgate, and a refusal by those is not
// charged.
package decide
