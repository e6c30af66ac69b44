//go:build race

package memzone

const raceOn = true
