//go:build !race

package racing

// Detector says whether the race detector is in the binary.
const Detector = false
