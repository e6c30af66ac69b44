// Package racing tells tests whether the race detector runs: it allocates, and makes pools forget at random, so that
// garbage can't be counted under it, and it slows long runs down. Tests alone import it.
package racing
