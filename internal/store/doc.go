// Package store stands between the daemon and the stores that a configuration declares: one Store is a connection, what guards it,
// and who watches it. It reads passwords and tells none; what is decided is the business of package guard and of the zones.
package store
