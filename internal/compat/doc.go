// Package compat stands between a configuration and a decision to move: it tells what of nginx's configuration limitgate
// does not have, and writes a configuration the way nginx reads it, without what only limitgate has. It runs nothing.
package compat
