//go:build !race

package h1

// raceEnabled says that the race detector runs: it makes sync.Pool forget at random.
const raceEnabled = false
