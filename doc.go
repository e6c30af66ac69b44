// Package limitgate limits traffic: the words of the field and the pure algorithms.
package limitgate

// Time is nanoseconds since the Unix epoch.
type Time int64
