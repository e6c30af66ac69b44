//go:build race

package upstream

// raced says that the race detector is on: it allocates, and makes pools forget.
const raced = true
