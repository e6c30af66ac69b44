//go:build !inject

package memzone

// injecting is off: disturb compiles to nothing.
const injecting = false

func disturb() {}
