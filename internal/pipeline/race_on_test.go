//go:build race

package pipeline

// raceEnabled: the race detector makes pools forget, so that garbage can't be counted.
const raceEnabled = true
